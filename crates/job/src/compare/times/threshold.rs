use std::fmt;
use std::str::FromStr;

use opscope_text::did_you_mean;

use super::comparison::{Change, Judgement, TimesComparison};

/// How much slower B may be: `5%` in total, or `10%:MatMul` for an operator or all operators of a type.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// The largest difference that is allowed, in percent of A.
    pub percent: f64,
    /// The operator or type that it is for; `None` for the whole run.
    pub of: Option<String>,
}

/// Why a threshold is wrong.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum ThresholdError {
    /// It is not written as one.
    #[error("'{0}' is not a threshold: write a percentage such as 5%, or 10%:NAME for an operator or a type")]
    Syntax(String),
    /// Nothing has this name.
    #[error("no operator and no type is called '{name}'{}", hint.as_ref().map_or_else(String::new, |hint| format!("; did you mean '{hint}'?")))]
    Unknown {
        /// The name.
        name: String,
        /// The name that is most like it.
        hint: Option<String>,
    },
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ThresholdError::Syntax(text.to_owned());
        let (percent, of) = match text.split_once(':') {
            Some((percent, of)) => (percent, Some(of)),
            None => (text, None),
        };
        let percent = percent.trim().strip_suffix('%').ok_or_else(wrong)?;
        let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
        let is_right = percent.is_finite() && percent >= 0.0 && of != Some("");
        is_right.then(|| Self { percent, of: of.map(str::to_owned) }).ok_or_else(wrong)
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.of {
            Some(of) => write!(f, "{}%:{of}", self.percent),
            None => write!(f, "{}%", self.percent),
        }
    }
}

/// The shortest measurement that is advised, in seconds.
const SHORTEST: f64 = 5.0;
/// The longest one, in seconds.
const LONGEST: f64 = 120.0;

impl Threshold {
    /// Returns `true` if the whole interval of a change in percent lies above the threshold, `false` if no part of it
    /// does, and `None` if only a part does.
    fn is_below(&self, (low, high): (f64, f64)) -> Option<bool> {
        match () {
            () if low > self.percent => Some(true),
            () if high <= self.percent => Some(false),
            () => None,
        }
    }

    /// Returns for how many seconds both sides should be measured to decide, in steps of five, if they were measured for
    /// `measured` seconds and that did not decide. An interval becomes narrower with the root of that time.
    fn needs_seconds(&self, measured: f64, change: &Change) -> u64 {
        let ratio = match (change.percent_interval, change.percent) {
            (Some((low, high)), Some(percent)) => {
                let side = if percent > self.percent { percent - low } else { high - percent };
                (side / (percent - self.percent).abs()).powi(2)
            }
            _ => 1.0,
        };
        let least = SHORTEST.max(2.0 * measured);
        let needed = if ratio.is_finite() { measured * ratio } else { LONGEST };
        (needed.clamp(least, least.max(LONGEST)) / 5.0).ceil() as u64 * 5
    }
}

impl TimesComparison {
    /// Adds the judgements of thresholds.
    ///
    /// # Errors
    /// Returns an error if nothing has the name of one of them.
    pub fn with_thresholds(mut self, thresholds: &[Threshold]) -> Result<Self, ThresholdError> {
        self.judgements = thresholds.iter().map(|threshold| self.judge(threshold)).collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// Returns what a threshold says: it is exceeded if the whole confidence interval lies above it, and not exceeded if none
    /// of it does; otherwise it cannot be told. A name is first looked for among the operators, then among the types.
    ///
    /// # Errors
    /// Returns an error if nothing has the name of the threshold.
    pub fn judge(&self, threshold: &Threshold) -> Result<Judgement, ThresholdError> {
        let (of, change) = match &threshold.of {
            None => ("run".to_owned(), self.run),
            Some(name) => self.named(name)?,
        };
        let exceeded = change.percent_interval.and_then(|interval| threshold.is_below(interval));
        let measured = self.a.run_seconds.max(self.b.run_seconds);
        let measure_seconds = exceeded.is_none().then(|| threshold.needs_seconds(measured, &change));
        Ok(Judgement { threshold: threshold.to_string(), exceeded, measure_seconds, of, change })
    }

    fn named(&self, name: &str) -> Result<(String, Change), ThresholdError> {
        let has_name = |operators: &[String]| operators.iter().any(|operator| operator == name);
        if let Some(row) = self.operators.iter().find(|row| has_name(&row.operators)) {
            return Ok((format!("operator {name}"), row.change));
        }
        if let Some(row) = self.op_types.iter().find(|row| row.op_type == name) {
            return Ok((format!("type {name}"), row.change));
        }
        let operators = self.operators.iter().flat_map(|row| &row.operators);
        let known = operators.chain(self.op_types.iter().map(|row| &row.op_type)).map(String::as_str);
        Err(ThresholdError::Unknown { name: name.to_owned(), hint: did_you_mean(name, known).map(str::to_owned) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(percent: f64, percent_interval: Option<(f64, f64)>) -> Change {
        Change {
            a_ns: None,
            b_ns: None,
            a_interval_ns: None,
            b_interval_ns: None,
            difference_ns: 0.0,
            difference_interval_ns: None,
            percent: Some(percent),
            percent_interval,
        }
    }

    #[test]
    fn an_interval_on_both_sides_of_a_threshold_decides_nothing() {
        let threshold: Threshold = "5%".parse().unwrap();
        for (interval, decided) in [
            ((-14.0, 35.0), None),
            ((5.1, 9.0), Some(true)),
            ((5.0, 9.0), None),
            ((-9.0, 5.0), Some(false)),
            ((-9.0, 5.1), None),
        ] {
            assert_eq!(threshold.is_below(interval), decided, "{interval:?}");
        }
    }

    #[test]
    fn the_advised_duration_narrows_the_interval_to_the_distance_and_has_limits() {
        let threshold: Threshold = "5%".parse().unwrap();
        // Three times as far as the threshold: nine times as long.
        assert_eq!(threshold.needs_seconds(3.0, &change(2.0, Some((-7.0, 11.0)))), 30);
        assert_eq!(threshold.needs_seconds(3.0, &change(8.0, Some((-1.0, 20.0)))), 30);
        assert_eq!(threshold.needs_seconds(0.1, &change(0.0, Some((-9.0, 9.0)))), 5);
        assert_eq!(threshold.needs_seconds(30.0, &change(0.0, Some((-6.0, 6.0)))), 60, "at least twice as long");
        assert_eq!(threshold.needs_seconds(3.0, &change(5.0, Some((-14.0, 35.0)))), 120);
        assert_eq!(threshold.needs_seconds(0.01, &change(5.0, None)), 5);
    }
}
