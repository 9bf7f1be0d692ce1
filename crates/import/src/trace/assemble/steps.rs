//! Which ranges the user calls a run.

use regex_lite::Regex;

use super::names::{NameNumber, Names};

/// How runs are found: by the names of ranges.
#[derive(Debug, Clone)]
pub struct Steps(Regex);

impl Default for Steps {
    /// The steps that `torch.profiler` writes, and the runs that ONNX Runtime does.
    fn default() -> Self {
        Self(Regex::new(r"^(ProfilerStep#\d+|model_run)$").expect("it is a regular expression"))
    }
}

impl Steps {
    /// Takes `re:PATTERN`, or a name that a range must have as it is.
    ///
    /// # Errors
    /// Returns an error if the pattern is no regular expression.
    pub fn new(text: &str) -> Result<Self, regex_lite::Error> {
        let pattern = match text.strip_prefix("re:") {
            Some(pattern) => pattern.to_owned(),
            None => format!("^{}$", regex_lite::escape(text)),
        };
        Ok(Self(Regex::new(&pattern)?))
    }

    fn is_step(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

/// Which names are those of steps. Each name is asked for once.
#[derive(Debug, Default)]
pub(super) struct StepNames {
    steps: Steps,
    /// By the names' numbers.
    known: Vec<Option<bool>>,
}

impl StepNames {
    pub fn new(steps: Steps) -> Self {
        Self { steps, known: Vec::new() }
    }

    pub fn is_step(&mut self, name: NameNumber, names: &Names) -> bool {
        let place = name.0 as usize;
        if self.known.len() <= place {
            self.known.resize(place + 1, None);
        }
        *self.known[place].get_or_insert_with(|| self.steps.is_step(names.text(name)))
    }
}
