//! The options as clap reads them.

mod dump;
mod engine;
mod feed;
mod profiler;

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use opscope::engine::EngineName;
use opscope::model::LoadBudget;
use opscope_job::benchmark::OutputFormat;
use opscope_job::verify::Verify;

pub use self::dump::DumpArguments;
pub use self::engine::{EngineArguments, engine_name};
pub use self::feed::{FeedArguments, given_files};
pub use self::profiler::ProfilerArguments;
use super::values::{one_of, percent, seconds, truth};

const MODEL: &str = "Model and input";
const MEASURING: &str = "Measuring";
const INSTRUMENTS: &str = "Profile, dump and debug";
const OUTPUT: &str = "Output";
/// The heading of options without an effect here.
pub const NOTED: &str = "Accepted for scripts of other tools, with a note";
/// The heading of options that are refused.
pub const REFUSED: &str = "Known and refused, with the reason";

/// Where a run's inputs are, in the original tool.
const RUN_MODES: [&str; 4] = ["array", "files", "tensor", "full"];

/// The options of `opscope benchmark` as they stand on the command line, after [`expand`](super::expand).
///
/// Of an option that is given twice the last one counts. The defaults are not here but where options are resolved,
/// because that must distinguish what was given.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(args_override_self = true)]
#[allow(missing_docs)]
pub struct BenchmarkArguments {
    /// The ONNX file
    #[arg(value_name = "MODEL", help_heading = MODEL)]
    pub model_file: Option<PathBuf>,
    /// The same as MODEL [also: -om, -m, --om-model]
    #[arg(long, value_name = "MODEL", help_heading = MODEL)]
    pub model: Option<PathBuf>,
    #[command(flatten)]
    pub fed: FeedArguments,
    /// Let loading take N times the time and memory that a model of its size may take [default: 1]
    #[arg(long, value_name = "N", help_heading = MODEL)]
    pub load_budget: Option<LoadBudget>,
    /// Measured runs per set of inputs [default: as many as fit into two seconds]
    #[arg(long = "loop", value_name = "N", help_heading = MEASURING)]
    pub loops: Option<NonZeroU64>,
    /// Warm-up runs before those [default: as many as fit into 0.2 seconds before two measured ones; with --loop, 1]
    /// [also: -wcount]
    #[arg(long, value_name = "N", help_heading = MEASURING)]
    pub warmup_count: Option<u64>,
    /// Repeat until the confidence interval of the median is at most this wide
    #[arg(long, value_name = "PERCENT", value_parser = percent, help_heading = MEASURING)]
    pub until_stable: Option<f64>,
    /// Repeat for at least this many seconds; with --until-stable for at most this many [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = MEASURING)]
    pub duration: Option<Duration>,
    /// Runs at a time [default: 1]
    #[arg(long, value_name = "N", help_heading = MEASURING)]
    pub threads: Option<NonZeroUsize>,
    /// Threads within one operator [default: 1]
    #[arg(long, value_name = "N", help_heading = MEASURING)]
    pub engine_threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub engine: EngineArguments,
    /// Compare the optimised plan with the exact one before it is timed, and run a weaker one where it is wrong: auto
    /// (where that is quick), on, off [default: auto]
    #[arg(long, value_parser = one_of(Verify::ALL, |verify| verify.name()), ignore_case = true, value_name = "WHEN")]
    #[arg(help_heading = MEASURING)]
    pub verify: Option<Verify>,
    /// The engine whose outputs are the reference of --verify: tract or onnxruntime (short: ort); exit code 4 if no
    /// form of the plan gives them [default: the same engine, exactly as the file says]
    #[arg(long, value_name = "ENGINE", value_parser = engine_name(), help_heading = MEASURING)]
    pub reference_engine: Option<EngineName>,
    /// Samples in a run: sets the batch dimension that the model leaves open [also: --batch]
    // Not among the spellings, because `debug --batch` is another option.
    #[arg(long, alias = "batch", value_name = "N", help_heading = MODEL)]
    pub batch_size: Option<u64>,
    /// Record where the time goes; needs --output [also: -pf]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = INSTRUMENTS)]
    pub profiler: Option<bool>,
    #[command(flatten)]
    pub profiled: ProfilerArguments,
    /// Write every output of every operator; needs --output
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = INSTRUMENTS)]
    pub dump: Option<bool>,
    #[command(flatten)]
    pub dumped: DumpArguments,
    /// Profile or dump as this file says; --profiler and --dump are then ignored [also: -acl]
    #[arg(long, value_name = "FILE", help_heading = INSTRUMENTS)]
    pub acl_json_path: Option<PathBuf>,
    /// Only compare the file of --acl-json-path with the model
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = INSTRUMENTS)]
    pub check: Option<bool>,
    /// Run a tool over the model: a shared library that was made for AMD's rocprofiler-sdk; may be given several times
    #[arg(long, value_name = "LIBRARY", help_heading = INSTRUMENTS)]
    pub tool: Vec<PathBuf>,
    /// Let a debugger attach while the model runs, with `opscope debug --attach`; at this socket, or at one that the
    /// number of the process leads to
    #[arg(long, num_args = 0..=1, require_equals = true, value_name = "SOCKET", help_heading = INSTRUMENTS)]
    pub debug_server: Option<Option<PathBuf>>,
    /// Run the job in a process of its own: a crash of the engine's library is then an error of this command, and what
    /// was captured until then is kept
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = INSTRUMENTS)]
    pub isolate: Option<bool>,
    /// The directory of results [also: -o]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
    /// The name of this run in it [default: date and time] [also: -od]
    #[arg(long, value_name = "NAME", help_heading = OUTPUT)]
    pub output_dirname: Option<PathBuf>,
    /// Replace a run of that name, once the new one is whole; without it, a taken name is an error
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = OUTPUT)]
    pub overwrite: Option<bool>,
    /// How the model's outputs are written [default: NPY; behind -om, BIN]
    #[arg(long, value_parser = one_of(OutputFormat::ALL, |format| format.name()), ignore_case = true)]
    #[arg(value_name = "FORMAT", help_heading = OUTPUT)]
    pub outfmt: Option<OutputFormat>,
    /// The axis on which outputs are split per input file [default: 0] [also: -oba]
    #[arg(long, value_name = "AXIS", help_heading = OUTPUT)]
    pub output_batchsize_axis: Option<usize>,
    /// Print all numbers: the machine, memory, percentiles, copies, and the tables of a profile
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = OUTPUT)]
    pub details: Option<bool>,
    /// Rows of the tables of a profile [default: 10]
    #[arg(long, value_name = "N", help_heading = OUTPUT)]
    pub rows: Option<usize>,
    /// Print one JSON document
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = OUTPUT)]
    pub json: Option<bool>,
    /// Print only errors, and the document of --json
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = OUTPUT)]
    pub quiet: Option<bool>,
    /// Print more messages
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = OUTPUT)]
    pub debug: Option<bool>,
    /// There is one device here, the CPU [also: -d]
    #[arg(long, value_name = "N", help_heading = NOTED)]
    pub device: Option<String>,
    /// Inputs always come from the host's memory [also: -rm]
    #[arg(long, value_parser = RUN_MODES, ignore_case = true, value_name = "MODE", help_heading = NOTED)]
    pub run_mode: Option<String>,
    /// The copies in and out are always shown [also: -das]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = NOTED)]
    pub display_all_summary: Option<bool>,
    /// The engine knows the sizes of outputs [also: -outsize]
    #[arg(long, value_name = "SIZES", help_heading = NOTED)]
    pub output_size: Option<String>,
    /// A dump is npy files anyway
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = NOTED)]
    pub dump_npy: Option<bool>,
    /// --threads needs no pipeline
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = NOTED)]
    pub pipeline: Option<bool>,
    /// There is one device to give the inputs to
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = NOTED)]
    pub divide_input: Option<bool>,
    /// There are no files of msprof to rename
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = NOTED)]
    pub profiler_rename: Option<bool>,
    /// The energy is not measured [also: -ec]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = NOTED)]
    pub energy_consumption: Option<bool>,
    /// There is no NPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=2048), help_heading = NOTED)]
    pub npu_id: Option<u16>,
    /// Preprocessing on another vendor's device [also: -aipp]
    #[arg(long, value_name = "FILE", help_heading = REFUSED)]
    pub aipp_config: Option<PathBuf>,
    /// Another program
    #[arg(long, value_name = "NAME", help_heading = REFUSED)]
    pub backend: Option<String>,
    /// Belongs to --backend
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", help_heading = REFUSED)]
    pub perf: Option<bool>,
}
