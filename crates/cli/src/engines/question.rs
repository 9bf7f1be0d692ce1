//! Questions about a library that has not been tried yet. Another process answers them: if the library crashes, hangs,
//! uses up the memory or ends the process, only the answer is missing.
//!
//! `opscope attempt`: tries whether an engine runs a model. If so, prints the engine's version and, on request, how
//! long a run takes. The command is hidden: another opscope calls it before it recommends an engine.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use opscope::Session;
use opscope::model::{Fidelity, LoadOptions};
use opscope_job::inputs::ShapeSpec;
use opscope_sys::memory;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::again::{self, die_with};
use crate::exit::{Exit, Failure};
use crate::options::{EngineArguments, FeedArguments};
use crate::terminal::print;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// More bytes than any answer has.
const MOST: u64 = 1 << 20;
/// The last line of a complete answer. It is missing if a library ends the process.
pub const END: &str = "opscope has answered";

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    #[error("no process can be started: {0}")]
    Start(#[from] io::Error),
    #[error("it did not answer within {} s", .0.as_secs())]
    TooLate(Duration),
    #[error("the process that looked at it ended with {0}")]
    Ended(ExitStatus),
}

/// Starts another opscope with this command line, and returns what it prints.
///
/// # Errors
/// Returns why there is no answer: how the process ended, or that none could be started.
pub fn ask<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> Result<String, NoAnswer> {
    ask_within(words, PATIENCE)
}

/// As [`ask`], with a time limit for the answer.
///
/// # Errors
/// As [`ask`].
pub fn ask_within<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>, patience: Duration) -> Result<String, NoAnswer> {
    let mut command = again::command()?;
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let most = Some(memory::available());
    let _ = prlimit(Pid::from_child(&child).into(), Resource::As, Rlimit { current: most, maximum: most });
    let (printed, status) = end(&mut child, patience)?;
    let status = status.ok_or(NoAnswer::TooLate(patience))?;
    match printed.strip_suffix(END).filter(|_| status.success()) {
        Some(answer) => Ok(answer.to_owned()),
        None => Err(NoAnswer::Ended(status)),
    }
}

/// Waits for a process. Returns its output and its exit status. A process that takes too long is killed, and its status
/// is `None`.
fn end(child: &mut Child, patience: Duration) -> io::Result<(String, Option<ExitStatus>)> {
    let stdout = child.stdout.take();
    let (done, ended) = mpsc::channel();
    thread::Builder::new().name("answer".to_owned()).spawn(move || {
        let mut printed = Vec::new();
        let _ = stdout.map(|stdout| stdout.take(MOST).read_to_end(&mut printed));
        let _ = done.send(printed);
    })?;
    match ended.recv_timeout(patience) {
        Ok(printed) => Ok((String::from_utf8_lossy(&printed).trim_end().to_owned(), Some(child.wait()?))),
        Err(_) => {
            let _ = child.kill();
            child.wait().map(|_| (String::new(), None))
        }
    }
}

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
    let parent = Pid::from_raw(arguments.parent).ok_or_else(|| Failure::wrong_use("--parent: 0 is not a process"))?;
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
