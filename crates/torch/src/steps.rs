use std::collections::HashSet;
use std::str::FromStr;

/// The steps that are wanted: from one up to, but not including, another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepRange {
    begin: u64,
    end: u64,
}

/// A text that is not a range of steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongSteps(String);

impl std::fmt::Display for WrongSteps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "'{}' is not a range of steps; expected, for example, 2..5 for the steps 2, 3 and 4, or 2.. for all from 2 on",
            self.0
        )
    }
}

impl std::error::Error for WrongSteps {}

impl Default for StepRange {
    fn default() -> Self {
        Self { begin: 0, end: u64::MAX }
    }
}

impl StepRange {
    /// Returns whether a step is wanted.
    pub fn contains(self, step: u64) -> bool {
        (self.begin..self.end).contains(&step)
    }

    /// Returns whether no step from this one on is wanted.
    pub fn is_over(self, step: u64) -> bool {
        step >= self.end
    }
}

/// Parses `2..5`, `2..`, `..5`, or a single step.
impl FromStr for StepRange {
    type Err = WrongSteps;

    fn from_str(text: &str) -> Result<Self, WrongSteps> {
        let wrong = || WrongSteps(text.to_owned());
        let number = |digits: &str, missing: u64| match digits {
            "" => Ok(missing),
            _ if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().map_err(|_| wrong()),
            _ => Err(wrong()),
        };
        let (begin, end) = match text.split_once("..") {
            Some((begin, end)) => (number(begin, 0)?, number(end, u64::MAX)?),
            None if text.is_empty() => return Err(wrong()),
            None => {
                let only = number(text, 0)?;
                (only, only.saturating_add(1))
            }
        };
        if begin < end { Ok(Self { begin, end }) } else { Err(wrong()) }
    }
}

/// Counts the steps of a program.
///
/// A step is an iteration of the outermost module: it ends when that module is called again, or when a module is called
/// after an optimizer has changed the parameters. Once the program says itself where a step ends, only that counts.
#[derive(Debug, Clone, Default)]
pub struct Steps {
    step: u64,
    called: HashSet<usize>,
    has_optimized: bool,
    is_manual: bool,
}

impl Steps {
    /// Returns the current step.
    pub fn current(&self) -> u64 {
        self.step
    }

    /// Notes the call of an outermost module, which is known by its address. Returns whether a new step begins.
    pub fn called(&mut self, module: usize) -> bool {
        let begins = self.would_begin(module);
        if begins {
            self.next();
        }
        self.called.insert(module);
        begins
    }

    /// Returns whether the call of this outermost module begins a new step.
    pub fn would_begin(&self, module: usize) -> bool {
        !self.is_manual && (self.has_optimized || self.called.contains(&module))
    }

    /// Notes that an optimizer has changed parameters.
    pub fn optimized(&mut self) {
        self.has_optimized = true;
    }

    /// Ends the step because the program says so. From now on, only the program ends steps.
    pub fn end(&mut self) {
        self.is_manual = true;
        self.next();
    }

    /// Ends the step because what comes now is not looked at.
    pub fn cut(&mut self) {
        self.next();
    }

    fn next(&mut self) {
        self.step += 1;
        self.called.clear();
        self.has_optimized = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_excludes_its_end() {
        let steps = |text: &str| -> Vec<u64> {
            let range: StepRange = text.parse().unwrap();
            (0..6).filter(|&step| range.contains(step)).collect()
        };
        assert_eq!(steps("2..5"), [2, 3, 4]);
        assert_eq!(steps("4.."), [4, 5]);
        assert_eq!(steps("..2"), [0, 1]);
        assert_eq!(steps("3"), [3]);
        for wrong in ["", "5..2", "2..2", "a", "1...3", "-1..2", "1..x"] {
            assert!(wrong.parse::<StepRange>().is_err(), "{wrong}");
        }
        assert!("2..5".parse::<StepRange>().unwrap().is_over(5));
        assert!(!StepRange::default().is_over(u64::MAX - 1));
    }

    #[test]
    fn a_step_is_an_iteration_of_the_outermost_module() {
        let mut steps = Steps::default();
        let (net, loss) = (1, 2);
        assert!(!steps.called(net) && !steps.called(loss));
        assert!(steps.called(net), "inference calls it again");
        steps.optimized();
        assert!(steps.called(loss), "training ends a step with the optimizer");
        assert!(!steps.called(net));
        assert_eq!(steps.current(), 2);
        steps.cut();
        assert!(!steps.called(net), "it is called the first time in this step");
        assert!(steps.called(net), "steps end as before");
        assert_eq!(steps.current(), 4);
        steps.end();
        assert!(!steps.called(net) && !steps.called(net), "the program ends the steps itself");
        assert_eq!(steps.current(), 5);
    }
}
