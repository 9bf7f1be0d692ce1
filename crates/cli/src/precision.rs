//! `opscope precision`: which operators must stay in float32 when the others compute in fp16, bf16 or int8.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use opscope::engine::{EngineName, EngineSpec, Library};
use opscope::model::{Fidelity, LoadBudget, LoadOptions};
use opscope::onnx::Graph;
use opscope::{Session, SessionError};
use opscope_job::inputs::{Data, InputFiles, Inputs, ShapeSpec, concrete_shapes, generate};
use opscope_job::precision::{
    Criterion, LowType, PrecisionError, PrecisionHooks, PrecisionJob, PrecisionReport, Progress as Step, Target,
};

use crate::engines::{runs, with_hint};
use crate::exit::{Exit, Failure};
use crate::options::{EngineArguments, Environment, given_files, one_of, shape_set};
use crate::terminal::{Messages, Progress, cancelled, print, print_json};

/// Sets of generated inputs, of which the search sees a half.
const GENERATED: u64 = 8;

/// The arguments of `opscope precision`.
#[derive(Debug, Args)]
pub struct PrecisionArguments {
    /// The ONNX file, in float32
    model: PathBuf,
    /// The type that operators shall compute in
    #[arg(long, value_name = "TYPE", value_parser = one_of(LowType::ALL, |low| low.name()))]
    to: LowType,
    /// What the model's outputs must keep of the original's, in the mean over all sets of inputs: cosine >= X,
    /// relative_error <= X, argmax >= X, top5 >= X (or another number), sqnr >= DECIBELS
    #[arg(long, value_name = "TARGET", default_value = "cosine >= 0.999")]
    keep_within: Target,
    /// Instead of a target: a command, run by sh, that ends with 0 if a model is good enough; {model} in it stands for the
    /// model's file
    #[arg(long, value_name = "COMMAND", conflicts_with = "keep_within")]
    check: Option<String>,
    /// What chooses the scales of int8, and writes the model; it is run by --python
    #[arg(long, value_name = "NAME", value_parser = ["onnxruntime"], default_value = "onnxruntime")]
    quantizer: String,
    /// A Python with the packages onnx and onnxruntime, for int8
    #[arg(long, value_name = "PATH", default_value = "python3")]
    python: PathBuf,
    /// The inputs, as `opscope benchmark` takes them; several sets make the result worth more [default: 8 sets of random
    /// data]
    #[arg(long, value_name = "FILES")]
    input: Vec<OsString>,
    /// How many sets of inputs the search sees; the others are held out [default: half of them, at most 8]
    #[arg(long, value_name = "N")]
    search: Option<NonZeroUsize>,
    /// The directory for the model, the list of operators and the report. A search that was cut short goes on there
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// How long the search may take, such as 90s, 30m or 2h; it then ends with the best so far [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,
    /// Threads within an operator
    #[arg(long, value_name = "N", default_value = "1")]
    engine_threads: NonZeroUsize,
    #[command(flatten)]
    engine: EngineArguments,
    /// Let loading take N times the time and memory that a model of its size may take [default: 1]
    #[arg(long, value_name = "N")]
    load_budget: Option<LoadBudget>,
    /// The seed of random data
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Shapes of random data, such as "data:1,600;info:1,600"
    #[arg(long, value_name = "SHAPES")]
    dym_shape: Option<String>,
    /// One JSON document
    #[arg(long)]
    json: bool,
    /// Print no messages but errors; the result is printed
    #[arg(long)]
    quiet: bool,
}

/// The error for a text that is not a time.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("'{0}' is no time; write 90s, 30m or 2h")]
struct InvalidDuration(String);

/// Reads a number of seconds, or of minutes or hours with the unit behind it.
fn duration(text: &str) -> Result<Duration, InvalidDuration> {
    let wrong = || InvalidDuration(text.to_owned());
    let (number, unit) = match text.char_indices().next_back().ok_or_else(wrong)? {
        (end, 's') => (&text[..end], 1),
        (end, 'm') => (&text[..end], 60),
        (end, 'h') => (&text[..end], 3600),
        _ => (text, 1),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)).map(Duration::from_secs).ok_or_else(wrong)
}

/// Runs the command.
pub fn run(arguments: &PrecisionArguments) -> Result<Exit, Failure> {
    let messages = Messages { quiet: arguments.quiet, debug: false };
    let environment: Environment = std::env::vars_os().collect();
    let engine = arguments.engine.spec(&environment).map_err(Failure::wrong_use)?;
    let graph = Arc::new(Graph::load(&arguments.model).map_err(Failure::wrong_use)?);
    let inputs = inputs(arguments, &graph)?;
    messages.fed(&inputs, &graph);
    let job = PrecisionJob {
        other_engine: other_engine(&engine, &graph, arguments),
        engine,
        graph,
        threads: arguments.engine_threads,
        budget: arguments.load_budget.unwrap_or_default(),
        to: arguments.to,
        inputs,
        search_inputs: arguments.search,
        python: arguments.python.clone(),
        criterion: match &arguments.check {
            Some(command) => Criterion::Check(command.clone()),
            None => Criterion::Target(arguments.keep_within),
        },
        output: arguments.output.clone(),
        time: arguments.budget,
    };
    let (cancelled, signal) = cancelled()?;
    let progress = Progress::new(arguments.quiet);
    let tell = |step| progress.message(described(step));
    let report = job.run(&PrecisionHooks { cancelled: Some(&cancelled), progress: Some(&tell) });
    progress.finish();
    if let Err(error @ PrecisionError::Cancelled) = &report {
        eprintln!("{error}");
        process::exit(128 + signal.load(Ordering::Relaxed) as i32);
    }
    let report = report.map_err(|error| failure(error, &job, arguments))?;
    match arguments.json {
        true => print_json(report.json())?,
        false => print(report.text().trim_end())?,
    }
    Ok(exit(&report))
}

fn exit(report: &PrecisionReport) -> Exit {
    match report.is_complete() {
        true => Exit::Done,
        false => Exit::Incomplete,
    }
}

fn described(step: Step) -> String {
    match step {
        Step::Operators(set, sets) => format!("looking at every operator alone, inputs {set} of {sets}"),
        Step::Noise => "measuring the noise of float32".to_owned(),
        Step::Trial(size, best) => format!("trying {size} operators in float32; the best so far keeps {best}"),
        Step::HeldOut => "measuring the written model".to_owned(),
    }
}

/// Returns the inputs: files, or several sets of random data.
fn inputs(arguments: &PrecisionArguments, graph: &Graph) -> Result<Inputs, Failure> {
    let shapes = match &arguments.dym_shape {
        None => ShapeSpec::Smallest,
        Some(text) => ShapeSpec::Fixed(shape_set("--dym-shape", text).map_err(Failure::wrong_use)?),
    };
    if arguments.input.is_empty() {
        let shapes = concrete_shapes(graph, &shapes).map_err(Failure::wrong_use)?;
        let sets = (0..GENERATED).map(|set| generate(graph, &shapes, Data::Random(arguments.seed.wrapping_add(set))));
        return sets.collect::<Result<_, _>>().map(Inputs::Each).map_err(Failure::wrong_use);
    }
    let given = given_files(&arguments.input).map_err(Failure::wrong_use)?;
    InputFiles::find(graph, &given, &shapes, true).map(Inputs::Files).map_err(Failure::wrong_use)
}

/// Returns the engine that is not chosen, if it is there and runs the model.
fn other_engine(engine: &EngineSpec, graph: &Arc<Graph>, arguments: &PrecisionArguments) -> Option<EngineSpec> {
    match engine.name {
        EngineName::OnnxRuntime => Some(EngineSpec::default()).filter(|tract| is_loaded(tract, graph, arguments)),
        EngineName::Tract => {
            Library::locate(None).ok()?;
            runs(&arguments.model, &input_words(arguments))?;
            Some(EngineSpec { name: EngineName::OnnxRuntime, ..EngineSpec::default() })
        }
    }
}

/// Returns whether an engine loads the model.
fn is_loaded(engine: &EngineSpec, graph: &Arc<Graph>, arguments: &PrecisionArguments) -> bool {
    let options = LoadOptions {
        budget: arguments.load_budget.unwrap_or_default(),
        ..LoadOptions::new(Fidelity::Exact, arguments.engine_threads)
    };
    engine.open().is_ok_and(|engine| Session::with_engine(engine, Arc::clone(graph), &options).is_ok())
}

/// Returns the options that would give another command these inputs.
fn input_words(arguments: &PrecisionArguments) -> Vec<String> {
    let mut words = match &arguments.input[..] {
        [] => vec!["--pure-data-type=random".to_owned(), format!("--seed={}", arguments.seed)],
        lists => lists.iter().map(|list| format!("--input={}", list.display())).collect(),
    };
    words.extend(arguments.dym_shape.as_ref().map(|shapes| format!("--dym-shape={shapes}")));
    words
}

fn failure(error: PrecisionError, job: &PrecisionJob, arguments: &PrecisionArguments) -> Failure {
    let hinted = |failure, refused| with_hint(failure, refused, &job.engine, &arguments.model, &input_words(arguments));
    match &error {
        PrecisionError::Session(SessionError::Library(error)) => Failure::engine(error),
        PrecisionError::Session(SessionError::Engine(refused)) => hinted(Failure::wrong_use(&error), Some(refused)),
        PrecisionError::Engine(refused) => hinted(Failure::failed(&error), Some(refused)),
        PrecisionError::Session(_)
        | PrecisionError::Input(_)
        | PrecisionError::TooFewInputs { .. }
        | PrecisionError::NothingToLower { .. }
        | PrecisionError::NoMetric { .. }
        | PrecisionError::OriginalFails(_)
        | PrecisionError::Quantizer { .. }
        | PrecisionError::OtherSearch(_) => Failure::wrong_use(error),
        _ => Failure::failed(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_and_a_bare_number_is_seconds() {
        let seconds = |text| duration(text).map(|time| time.as_secs());
        assert_eq!(["90s", "30m", "2h", "7"].map(seconds), [Ok(90), Ok(1800), Ok(7200), Ok(7)]);
        for text in ["", "m", "1d", "-1s", "99999999999999999999s", "1.5h"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
