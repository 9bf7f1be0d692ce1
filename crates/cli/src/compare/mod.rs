//! `opscope compare`: two dumps, a model and a dump, or two models; or the times of two recordings or two summaries.

mod ranks;
mod runs;
mod tensors;
mod times;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use opscope::dump::{MatchBy, ModuleMap, Order, Shards};
use opscope::engine::EngineName;
use opscope::model::{Fidelity, LoadBudget};
use opscope_job::compare::times::{By, Threshold, Times};

use crate::artifact::Artifact;
use crate::exit::{Exit, Failure};
use crate::isolate::Invocation;
use crate::options::{EngineArguments, engine_name, one_of};
use crate::terminal::shown_path;

/// The arguments of `opscope compare`.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// What is compared: a dump (ours, AscendCL's, a directory of .npy, one file), an ONNX file to run, or times: a
    /// recording or a summary; or a run by its name, OUT/RUN, of which the dump, the times or the outputs are taken
    tensors: PathBuf,
    /// What it is compared with, the baseline, likewise. Of times, the older one is the baseline, whichever comes first
    #[arg(required_unless_present = "baseline")]
    reference: Option<PathBuf>,
    /// Which of the two is the baseline, or the baseline itself where only one path is given
    #[arg(long, value_name = "PATH")]
    baseline: Option<PathBuf>,
    /// How the first model is run: exact, every operator as it stands in the file; or optimised, fused and fast, where
    /// only what the kernels give is compared
    #[arg(long, value_parser = one_of(Fidelity::ALL, |fidelity| fidelity.name()), default_value_t = Fidelity::Exact)]
    #[arg(value_name = "FIDELITY")]
    fidelity: Fidelity,
    /// How the second model is run, likewise
    #[arg(long, value_parser = one_of(Fidelity::ALL, |fidelity| fidelity.name()), default_value_t = Fidelity::Exact)]
    #[arg(value_name = "FIDELITY")]
    reference_fidelity: Fidelity,
    /// Threads within an operator for the first model
    #[arg(long, value_name = "N", default_value = "1")]
    engine_threads: NonZeroUsize,
    /// Threads within an operator for the second model
    #[arg(long, value_name = "N", default_value = "1")]
    reference_threads: NonZeroUsize,
    #[command(flatten)]
    engine: EngineArguments,
    /// What runs the second model: tract or onnxruntime (short: ort) [default: the engine of the first one]
    #[arg(long, value_name = "ENGINE", value_parser = engine_name(), help_heading = "Engine")]
    reference_engine: Option<EngineName>,
    /// Let loading take N times the time and memory that a model of its size may take [default: 1]
    #[arg(long, value_name = "N")]
    load_budget: Option<LoadBudget>,
    /// The inputs of models that are run, as `opscope benchmark` takes them [default: random data]
    #[arg(long, value_name = "FILES")]
    input: Vec<OsString>,
    /// The seed of random data
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Shapes of random data, such as "data:1,600;info:1,600"
    #[arg(long, value_name = "SHAPES")]
    dym_shape: Option<String>,
    /// The model of the dumps: gives the order of operators and what each of them takes
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// A file of name pairs, "name,name in the reference" a line
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
    /// What modules of the first program are called in the second: a regular expression for a path or its beginning, and
    /// the path there, such as 'model\.layers\.(\d+)=transformer.h.$1'; may be repeated, one is applied after the other
    #[arg(long, value_name = "PATTERN=PATH")]
    map: Vec<ModuleMap>,
    /// How to join tensors of which each rank has a part, by the module: such as 'qkv_proj:dim=-1' for the last
    /// dimension of what it computes, or added up: 'o_proj/aten.mm:sum'; may be repeated. Without it, each rank of a set
    /// is compared with that of the other set
    #[arg(long, value_name = "MODULE:HOW")]
    shards: Vec<Shards>,
    /// Of programs: one side ran with a smaller batch. Of tensors that differ only in their first dimension, what both have
    /// is compared
    #[arg(long)]
    first_samples: bool,
    /// How to match tensors that no mapping names: "name", or "position" in the graph where values were renamed
    #[arg(long = "match", value_parser = one_of(MatchBy::ALL, |way| way.name()), value_name = "WAY")]
    #[arg(default_value = "name")]
    match_by: MatchBy,
    /// Tolerances, such as "0.001" or "float16=0.01,1e-3": relative, and as a share of the largest element
    /// [default of the share: a twentieth of the relative one]; or "noise:DUMP": a value differs if its error to the dump
    /// of a run in a wider type is more than 8 times the other side's, or N times with "noise:DUMP,N"
    #[arg(long = "tolerance", value_name = "[TYPE=]REL[,OF_MAX]")]
    tolerances: Vec<String>,
    /// The least signal-to-noise ratio, in decibels, of a quantised model's tensors against the original's [default:
    /// 10]
    #[arg(long, value_name = "DB")]
    least_sqnr: Option<f64>,
    /// The order of the table: as the graph executes, or the largest error first
    #[arg(long, value_parser = one_of(Order::ALL, |order| order.name()), default_value_t = Order::Graph)]
    #[arg(value_name = "ORDER")]
    order: Order,
    /// End with exit code 4 if the times are longer than the baseline's by more than this with 95 % confidence: in
    /// total, or of an operator or a type, such as "5%" or "10%:MatMul"; may be repeated
    #[arg(long, value_name = "PERCENT[:NAME]")]
    fail_above: Vec<Threshold>,
    /// What the rows are when times of recordings are compared. For ranks, each side is a directory with a recording
    /// per rank
    #[arg(long, value_parser = one_of(By::ALL, By::name), value_name = "ROWS", default_value = "op")]
    by: By,
    /// Rows of the table
    #[arg(long, value_name = "N", default_value_t = 30)]
    rows: usize,
    /// Also write the comparison as a table with commas
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Run the models in a process of its own: a crash of an engine's library is then an error of this command
    #[arg(long)]
    isolate: bool,
    /// Of runs that are given by their names, compare the models' outputs
    #[arg(long)]
    outputs: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
    /// Print no messages but errors; the comparison is printed
    #[arg(long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(arguments: &CompareArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let sides = Sides::of(arguments)?;
    let (compared, baseline) = runs::resolve(sides, arguments)?;
    let sides = Sides { compared: &compared, baseline: &baseline, ..sides };
    let outcome = match Times::is_at(sides.compared) || Times::is_at(sides.baseline) {
        true => times::run(arguments, sides),
        false => tensors::run(arguments, sides, invocation),
    };
    outcome.map_err(|failure| foreign(sides).unwrap_or(failure))
}

/// Returns the failure that says how a trace or dump of another tool is compared, if a side is one.
fn foreign(sides: Sides<'_>) -> Option<Failure> {
    let found = |path: &Path| Artifact::foreign(path).map(|found| (path.to_owned(), found.hint()));
    let (path, hint) = found(sides.compared).or_else(|| found(sides.baseline))?;
    Some(Failure::wrong_use(format!("{}: {hint}", shown_path(&path))))
}

/// The two paths.
#[derive(Debug, Clone, Copy)]
struct Sides<'a> {
    /// What is compared.
    compared: &'a Path,
    /// What it is compared with: the second path, unless the user chose.
    baseline: &'a Path,
    /// Whether the user chose the baseline.
    is_chosen: bool,
}

impl<'a> Sides<'a> {
    fn of(arguments: &'a CompareArguments) -> Result<Self, Failure> {
        let first = arguments.tensors.as_path();
        let (compared, baseline) = match (arguments.reference.as_deref(), arguments.baseline.as_deref()) {
            (Some(second), None) => return Ok(Self { compared: first, baseline: second, is_chosen: false }),
            (None, Some(baseline)) => (first, baseline),
            (Some(second), Some(baseline)) if is_same(baseline, second) => (first, second),
            (Some(second), Some(baseline)) if is_same(baseline, first) => (second, first),
            (second, baseline) => {
                let shown = |path: Option<&Path>| path.unwrap_or(first).display().to_string();
                return Err(Failure::wrong_use(format!(
                    "--baseline {} is neither of the two that are compared, {} and {}",
                    shown(baseline),
                    first.display(),
                    shown(second)
                )));
            }
        };
        Ok(Self { compared, baseline, is_chosen: true })
    }
}

/// Returns whether two paths are equal, either as they are written or as they are resolved.
fn is_same(one: &Path, other: &Path) -> bool {
    let found = |path: &Path| path.canonicalize().ok();
    one == other || found(one).is_some_and(|one| Some(one) == found(other))
}

fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let write = || {
        let mut file = std::fs::File::create_new(path)?;
        std::io::Write::write_all(&mut file, text.as_bytes())
    };
    write().map_err(|error| Failure::failed(format!("{path:?} cannot be written: {error}")))
}
