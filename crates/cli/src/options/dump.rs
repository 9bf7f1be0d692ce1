use opscope::dump::Flow;

use super::profiler::Bytes;
use super::refusal::Refusal;

const DUMPED: &str = "What is dumped, and how (with --dump)";

/// What a dump holds and how it is taken, as it stands on the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
#[allow(missing_docs)]
pub struct DumpArguments {
    /// Only operators of this name; `*` and `?` stand for characters, `re:` begins a regular expression; repeatable
    #[arg(long, value_name = "PATTERN", help_heading = DUMPED)]
    pub dump_operator: Vec<String>,
    /// Only operators of this type, such as Conv; likewise
    #[arg(long, value_name = "PATTERN", help_heading = DUMPED)]
    pub dump_type: Vec<String>,
    /// Only operators from one to another in the order of the graph, written FIRST..LAST; repeatable
    #[arg(long, value_name = "FIRST..LAST", help_heading = DUMPED)]
    pub dump_range: Vec<String>,
    /// What operators take, what they give, or both; outputs if not given
    #[arg(long, value_enum, value_name = "SIDE", help_heading = DUMPED)]
    pub dump_io: Option<DumpSide>,
    /// Only this input or output slot, from 0; repeatable
    #[arg(long, value_name = "N", help_heading = DUMPED)]
    pub dump_slot: Vec<usize>,
    /// Only these runs, counted from 0, such as "0|5-10"
    #[arg(long, value_name = "RUNS", help_heading = DUMPED)]
    pub dump_run: Option<String>,
    /// No more than so many tensors
    #[arg(long, value_name = "N", help_heading = DUMPED)]
    pub dump_first: Option<u64>,
    /// Only tensors with a NaN or an infinite element
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = super::truth)]
    #[arg(value_name = "BOOL", help_heading = DUMPED)]
    pub dump_non_finite: Option<bool>,
    /// No more than so many bytes; what does not fit is named in the manifest
    #[arg(long, value_name = "SIZE", help_heading = DUMPED)]
    pub dump_budget: Option<Bytes>,
    /// Which files; npy if not given
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = DUMPED)]
    pub dump_format: Option<DumpFormat>,
    /// The memory for tensors that wait to be written; 256M if not given
    #[arg(long, value_name = "SIZE", help_heading = DUMPED)]
    pub dump_cap: Option<Bytes>,
    /// What happens when it is full; block if not given
    #[arg(long, value_enum, value_name = "POLICY", help_heading = DUMPED)]
    pub dump_policy: Option<DumpPolicy>,
    /// Only say how many tensors and bytes the dump would have
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = super::truth)]
    #[arg(value_name = "BOOL", help_heading = DUMPED)]
    pub dump_estimate: Option<bool>,
}

/// The side of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[allow(missing_docs)]
pub enum DumpSide {
    Inputs,
    Outputs,
    All,
}

/// The files of a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum DumpFormat {
    /// numpy's, one for each tensor
    Npy,
    /// AscendCL's, one for each operator and run
    Ascend,
    /// No tensors: their statistics, as a table
    Statistics,
}

/// What happens to a tensor that finds no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum DumpPolicy {
    /// The run waits
    Block,
    /// It is left out and named
    Drop,
    /// It waits in a file
    Spill,
}

impl DumpArguments {
    /// The first option that was given; for a command line without `--dump`.
    pub(super) fn first_given(&self) -> Option<&'static str> {
        let none = Self::default();
        [
            ("--dump-operator", self.dump_operator != none.dump_operator),
            ("--dump-type", self.dump_type != none.dump_type),
            ("--dump-range", self.dump_range != none.dump_range),
            ("--dump-io", self.dump_io.is_some()),
            ("--dump-slot", self.dump_slot != none.dump_slot),
            ("--dump-run", self.dump_run.is_some()),
            ("--dump-first", self.dump_first.is_some()),
            ("--dump-non-finite", self.dump_non_finite.is_some()),
            ("--dump-budget", self.dump_budget.is_some()),
            ("--dump-format", self.dump_format.is_some()),
            ("--dump-cap", self.dump_cap.is_some()),
            ("--dump-policy", self.dump_policy.is_some()),
            ("--dump-estimate", self.dump_estimate.is_some()),
        ]
        .into_iter()
        .find_map(|(option, given)| given.then_some(option))
    }

    /// Checks what can be checked without the model.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        for range in &self.dump_range {
            if range.split_once("..").is_none_or(|(first, last)| first.is_empty() || last.is_empty()) {
                let (what, right) =
                    (format!("'{range}' is no range"), "write two names, such as /conv1/Conv../relu1/Relu");
                return Err(Refusal::Value { option: "--dump-range", what, right });
            }
        }
        if let Some(cap) = self.dump_cap.filter(|cap| cap.0 < Flow::SMALLEST_CAP as u64) {
            let (what, right) = (format!("{} bytes are too few", cap.0), "write 64K or more");
            return Err(Refusal::Value { option: "--dump-cap", what, right });
        }
        Ok(())
    }
}
