//! NaN and infinity in a model's outputs.

use std::fmt;
use std::path::Path;

use opscope_onnx::Graph;
use opscope_tensor::{ScanQuery, ScanResult, Tensor};
use opscope_text::{counted, grouped, shell_path, shell_word};
use serde::Serialize;

/// The outputs of a run that have NaN or infinite elements. Only the first measured run of each set of inputs is
/// checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotFinite {
    /// The first measured run with such an output, from 0. The set of inputs has the same number.
    pub run: usize,
    /// The outputs.
    pub outputs: Vec<NotFiniteOutput>,
    /// A shell command that finds the operator which computes the first of these elements.
    pub command: String,
}

/// An output that has NaN or infinite elements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotFiniteOutput {
    /// Its name.
    pub output: String,
    /// Elements that are NaN.
    pub nan: u64,
    /// Elements that are infinite.
    pub infinite: u64,
    /// All elements.
    pub elements: u64,
}

impl NotFiniteOutput {
    /// Scans the outputs of a run.
    pub(super) fn find(graph: &Graph, outputs: &[Option<Tensor>]) -> Vec<Self> {
        let scanned = graph.outputs.iter().zip(outputs).filter_map(|(&id, output)| {
            let ScanResult { count, nan, infinite, .. } =
                ScanResult::of(&output.as_ref()?.view(), ScanQuery::NON_FINITE).ok()?;
            (nan + infinite > 0).then(|| Self { output: graph.value(id).name.clone(), nan, infinite, elements: count })
        });
        scanned.collect()
    }
}

impl fmt::Display for NotFiniteOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { output, nan, infinite, elements } = self;
        write!(f, "output {output} has ")?;
        match (*nan, *infinite) {
            (nan, 0) => write!(f, "{} NaN", grouped(nan))?,
            (0, infinite) => write!(f, "{} infinite", grouped(infinite))?,
            (nan, infinite) => write!(f, "{} NaN and {} infinite", grouped(nan), grouped(infinite))?,
        }
        write!(f, " among its {}", counted(grouped(*elements), "element"))
    }
}

impl NotFinite {
    /// Creates the report of a run. `again` are the options with which `opscope debug` runs the model as the benchmark
    /// did.
    pub(super) fn new(run: usize, outputs: Vec<NotFiniteOutput>, model: &Path, again: &[String]) -> Self {
        let catch = if outputs.iter().any(|output| output.nan > 0) { "catch nan" } else { "catch inf" };
        let runs = if run == 0 { "run".to_owned() } else { format!("run {}", run + 1) };
        let words = again.iter().map(String::as_str).chain(["-ex", catch, "-ex", &runs]);
        let words: Vec<String> = words.map(shell_word).collect();
        let command = format!("opscope debug {} {}", shell_path(model), words.join(" "));
        Self { run, outputs, command }
    }

    /// Returns the finding as one sentence.
    pub fn sentence(&self) -> String {
        let more = match self.outputs.len().saturating_sub(1) {
            0 => String::new(),
            1 => ", and so does 1 more output".to_owned(),
            more => format!(", and so do {more} more outputs"),
        };
        let first = self.outputs.first().map(ToString::to_string).unwrap_or_default();
        format!("in run {}, {first}{more}; find the operator with: {}", self.run, self.command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(nan: u64, infinite: u64) -> NotFiniteOutput {
        NotFiniteOutput { output: "y".to_owned(), nan, infinite, elements: 10 }
    }

    #[test]
    fn the_command_catches_what_there_is_with_the_inputs_of_the_run() {
        let again = ["--seed=3", "--dym-shape=x:2,3;y:1"].map(str::to_owned);
        let found = NotFinite::new(0, vec![output(0, 1), output(2, 0)], Path::new("it's.onnx"), &again[..1]);
        assert_eq!(found.command, r"opscope debug 'it'\''s.onnx' --seed=3 -ex 'catch nan' -ex run");
        let found = NotFinite::new(4, vec![output(0, 1)], Path::new("m.onnx"), &again);
        assert_eq!(found.command, "opscope debug m.onnx --seed=3 '--dym-shape=x:2,3;y:1' -ex 'catch inf' -ex 'run 5'");
    }

    #[test]
    fn a_sentence_says_how_many_of_how_many_elements() {
        let sentence =
            |outputs: &[NotFiniteOutput]| NotFinite::new(0, outputs.to_vec(), Path::new("m.onnx"), &[]).sentence();
        let of_nan = sentence(&[output(3, 0), output(0, 1)]);
        assert!(
            of_nan.starts_with("in run 0, output y has 3 NaN among its 10 elements, and so does 1 more output; find"),
            "{of_nan}"
        );
        assert!(sentence(&[output(0, 3)]).starts_with("in run 0, output y has 3 infinite among its 10 elements; find"));
        assert!(
            sentence(&[output(3, 1)])
                .starts_with("in run 0, output y has 3 NaN and 1 infinite among its 10 elements; find")
        );
    }
}
