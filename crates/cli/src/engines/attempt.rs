//! `opscope attempt`: tries whether an engine runs a model. If so, prints the engine's version and, on request, how
//! long a run takes. The command is hidden: another opscope calls it before it recommends an engine.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use opscope::Session;
use opscope::model::{Fidelity, LoadOptions};
use opscope_job::inputs::ShapeSpec;
use rustix::process::Pid;

use super::question::END;
use crate::child::die_with;
use crate::exit::{Exit, Failure};
use crate::options::{EngineArguments, FeedArguments};
use crate::terminal::print;

/// The arguments of `opscope attempt`.
#[derive(Debug, Args)]
pub struct AttemptArguments {
    /// The ONNX file
    model: PathBuf,
    /// The number of the process that asks; this one dies with it
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    parent: i32,
    /// Whether runs are timed, too
    #[arg(long)]
    timed: bool,
    /// The threads of an operator
    #[arg(long, value_name = "N", default_value = "1")]
    engine_threads: NonZeroUsize,
    #[command(flatten)]
    fed: FeedArguments,
    #[command(flatten)]
    engine: EngineArguments,
}

/// Runs the model once.
pub fn run(arguments: &AttemptArguments) -> Result<Exit, Failure> {
    let parent = Pid::from_raw(arguments.parent).ok_or_else(|| Failure::wrong_use("--parent: 0 is no process"))?;
    die_with(parent).map_err(Failure::failed)?;
    let spec = arguments.engine.spec(&std::env::vars_os().collect()).map_err(Failure::wrong_use)?;
    let engine = spec.open().map_err(|error| Failure::engine(&error))?;
    let version = engine.version().to_owned();
    let options = LoadOptions::new(Fidelity::Optimised, arguments.engine_threads);
    let session = Session::open_with(engine, &arguments.model, &options).map_err(Failure::failed)?;
    let shapes = arguments.fed.shapes().map_err(Failure::wrong_use)?;
    let inputs = arguments.fed.inputs().map_err(Failure::wrong_use)?;
    let (inputs, _) =
        inputs.find(session.graph(), shapes.first().unwrap_or(&ShapeSpec::Smallest)).map_err(Failure::failed)?;
    let batch = inputs.batch(session.graph(), 0).map_err(Failure::failed)?;
    let run = || session.run(&batch.tensors, &[]).map_err(Failure::failed);
    run()?;
    let median = if arguments.timed { format!("{}\n", median_nanos(run)?) } else { String::new() };
    print(format!("{version}\n{median}{END}"))?;
    Ok(Exit::Done)
}

/// How many runs are timed at most, and about how long they may take together.
const MOST_RUNS: usize = 50;
const MOST_TIME: Duration = Duration::from_millis(200);
/// How many runs are timed at least.
const FEWEST_RUNS: usize = 3;

fn median_nanos<T>(run: impl Fn() -> Result<T, Failure>) -> Result<u128, Failure> {
    let began = Instant::now();
    let mut times = Vec::new();
    while times.len() < FEWEST_RUNS || (times.len() < MOST_RUNS && began.elapsed() < MOST_TIME) {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed().as_nanos());
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}
