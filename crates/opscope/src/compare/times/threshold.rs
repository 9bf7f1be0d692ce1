use std::fmt;
use std::str::FromStr;

use super::comparison::{Change, Judgement, TimesComparison};
use crate::spelling::did_you_mean;

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

impl TimesComparison {
    /// Adds what thresholds say.
    ///
    /// # Errors
    /// Returns an error if nothing has the name of one of them.
    pub fn with_thresholds(mut self, thresholds: &[Threshold]) -> Result<Self, ThresholdError> {
        self.judgements = thresholds.iter().map(|threshold| self.judge(threshold)).collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// Returns what a threshold says: it is exceeded only if the whole confidence interval lies above it. A name is first
    /// looked for among the operators, then among the types.
    ///
    /// # Errors
    /// Returns an error if nothing has the name of the threshold.
    pub fn judge(&self, threshold: &Threshold) -> Result<Judgement, ThresholdError> {
        let (of, change) = match &threshold.of {
            None => ("run".to_owned(), self.run),
            Some(name) => self.named(name)?,
        };
        let exceeded = change.percent_interval.map(|(low, _)| low > threshold.percent);
        Ok(Judgement { threshold: threshold.to_string(), exceeded, of, change })
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
