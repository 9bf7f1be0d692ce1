//! Which ranges the user calls a run.

use regex_lite::Regex;

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

    pub(super) fn is_step(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}
