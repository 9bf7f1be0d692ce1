use std::fmt::Display;
use std::path::PathBuf;

use opscope::dump::{Delivery, DumpFormat, Flow, IoSelection, OperatorRange, Pattern, Policy, Request, Selection};
use opscope::trace::Bytes;
use opscope_job::benchmark::CaptureSpec;

use crate::options::refusal::Refusal;
use crate::options::values::{one_of, size, truth};

const DUMPED: &str = "What is dumped, and how (with --dump)";

/// What a dump holds and how it is taken, as it stands on the command line.
#[derive(Debug, Clone, Default, clap::Args)]
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
    /// The inputs of operators, their outputs, or both [default: outputs]
    #[arg(long, value_parser = one_of(IoSelection::ALL, |io| io.name()), value_name = "SIDE", help_heading = DUMPED)]
    pub dump_io: Option<IoSelection>,
    /// Only this input or output slot, from 0; repeatable
    #[arg(long, value_name = "N", help_heading = DUMPED)]
    pub dump_slot: Vec<usize>,
    /// Only these runs, counted from 0, such as "0|5-10"
    #[arg(long, value_name = "RUNS", help_heading = DUMPED)]
    pub dump_run: Option<String>,
    /// At most this many tensors
    #[arg(long, value_name = "N", help_heading = DUMPED)]
    pub dump_first: Option<u64>,
    /// Only tensors with a NaN or an infinite element
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = DUMPED)]
    pub dump_non_finite: Option<bool>,
    /// At most this many bytes; what does not fit is named in the manifest
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = DUMPED)]
    pub dump_budget: Option<Bytes>,
    /// Which files: numpy's, one for each tensor; AscendCL's, one for each operator and run; or a table of statistics
    /// [default: npy]
    #[arg(long, value_parser = one_of(DumpFormat::ALL.iter().copied(), |format| format.name), value_name = "FORMAT")]
    #[arg(help_heading = DUMPED)]
    pub dump_format: Option<&'static DumpFormat>,
    /// Also count the elements of every tensor by powers of two, in histograms.jsonl; not with --dump-format ascend
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = DUMPED)]
    pub dump_histograms: Option<bool>,
    /// The memory for tensors that wait to be written [default: 224M]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = DUMPED)]
    pub dump_cap: Option<Bytes>,
    /// What happens when it is full: the run waits, the tensor is left out and named, or it waits in a file [default:
    /// block]
    #[arg(long, value_parser = one_of(Policy::all(), Policy::name), value_name = "POLICY", help_heading = DUMPED)]
    pub dump_policy: Option<Policy>,
    /// Only say how many tensors and bytes the dump would have
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = DUMPED)]
    pub dump_estimate: Option<bool>,
}

impl DumpArguments {
    /// Returns the first option that was given, for a command line without `--dump`.
    pub(in crate::options) fn first_given(&self) -> Option<&'static str> {
        [
            ("--dump-operator", !self.dump_operator.is_empty()),
            ("--dump-type", !self.dump_type.is_empty()),
            ("--dump-range", !self.dump_range.is_empty()),
            ("--dump-io", self.dump_io.is_some()),
            ("--dump-slot", !self.dump_slot.is_empty()),
            ("--dump-run", self.dump_run.is_some()),
            ("--dump-first", self.dump_first.is_some()),
            ("--dump-non-finite", self.dump_non_finite.is_some()),
            ("--dump-budget", self.dump_budget.is_some()),
            ("--dump-format", self.dump_format.is_some()),
            ("--dump-histograms", self.dump_histograms.is_some()),
            ("--dump-cap", self.dump_cap.is_some()),
            ("--dump-policy", self.dump_policy.is_some()),
            ("--dump-estimate", self.dump_estimate.is_some()),
        ]
        .into_iter()
        .find_map(|(option, given)| given.then_some(option))
    }

    /// Returns the capture of the runs, into this directory.
    pub(in crate::options) fn capture(&self, directory: PathBuf) -> Result<CaptureSpec, Refusal> {
        let format = self.dump_format.unwrap_or(DumpFormat::ALL[0]);
        let histograms = self.dump_histograms.unwrap_or(false);
        if histograms && !format.has_histograms {
            let reason = "a dump in this format has no histograms";
            return Err(Refusal::Excludes { first: "--dump-histograms", second: "--dump-format", reason });
        }
        Ok(CaptureSpec::Dump { directory, request: Box::new(self.request()?), format, histograms })
    }

    /// Returns which tensors are dumped, and how they reach the files.
    fn request(&self) -> Result<Request, Refusal> {
        let selection = self.selection()?;
        if let Some(cap) = self.dump_cap.filter(|cap| cap.get() < Flow::SMALLEST_CAP as u64) {
            let (what, right) = (format!("{cap} are too few"), "write 64K or more");
            return Err(Refusal::Value { option: "--dump-cap", what, right });
        }
        let mut flow = Flow::default();
        flow.cap = self.dump_cap.map_or(flow.cap, |cap| cap.get() as usize);
        flow.policy = self.dump_policy.clone().unwrap_or(flow.policy);
        let queued = self.dump_cap.is_some() || self.dump_policy.is_some();
        Ok(Request { selection, delivery: queued.then_some(Delivery::Queued(flow)), ..Request::default() })
    }

    fn selection(&self) -> Result<Selection, Refusal> {
        fn unreadable<E: Display>(option: &'static str) -> impl Fn(E) -> Refusal {
            move |error| Refusal::unreadable(option, error)
        }
        let patterns = |option: &'static str, given: &[String]| {
            given.iter().map(|text| Pattern::parse(text).map_err(unreadable(option))).collect::<Result<Vec<_>, _>>()
        };
        let runs = self.dump_run.as_deref().map(str::parse).transpose().map_err(unreadable("--dump-run"))?;
        Ok(Selection {
            operators: patterns("--dump-operator", &self.dump_operator)?,
            op_types: patterns("--dump-type", &self.dump_type)?,
            ranges: self.dump_range.iter().map(|text| operator_range(text)).collect::<Result<_, _>>()?,
            io: self.dump_io.unwrap_or_default(),
            slots: (!self.dump_slot.is_empty()).then(|| self.dump_slot.clone()),
            runs: runs.unwrap_or_default(),
            first: self.dump_first,
            only_non_finite: self.dump_non_finite.unwrap_or(false),
            byte_budget: self.dump_budget.map(Bytes::get),
            ..Selection::default()
        })
    }
}

/// Reads `FIRST..LAST`.
fn operator_range(text: &str) -> Result<OperatorRange, Refusal> {
    match text.split_once("..") {
        Some((begin, end)) if !begin.is_empty() && !end.is_empty() => {
            Ok(OperatorRange { begin: begin.to_owned(), end: end.to_owned() })
        }
        _ => {
            let (what, right) =
                (format!("'{text}' is not a range"), "write two names, such as /conv1/Conv../relu1/Relu");
            Err(Refusal::Value { option: "--dump-range", what, right })
        }
    }
}
