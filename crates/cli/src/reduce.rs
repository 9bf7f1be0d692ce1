//! `opscope reduce`: the smallest model that still fails.

use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use clap::Args;
use opscope::engine::EngineName;
use opscope::text::{shell_path, shell_word, shown_text};
use opscope_job::inputs::ShapeSpec;
use opscope_job::reduce::{
    Best, CheckSpec, Fails, Outcome, ReduceError, ReduceHooks, ReduceSpec, Reduced, answer, check, reduce, write_best,
};
use rustix::process::Pid;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;

use crate::again::{self, die_with};
use crate::exit::{Exit, Failure};
use crate::options::{EngineArguments, Environment, FeedArguments};
use crate::terminal::{Messages, Progress, print, print_json, shown_path};

/// The arguments of `opscope reduce`.
#[derive(Debug, Args)]
pub struct ReduceArguments {
    /// The ONNX file
    model: PathBuf,
    /// How it fails: "first nonfinite" (an operator makes a NaN or an infinity of finite inputs), "engines differ"
    /// (tract and ONNX Runtime), "plan differs" (the optimised from the exact one), "error 'TEXT'" (loading or running ends
    /// with an error that contains TEXT), "crash" (its process dies by a signal), or "command 'CMD {model} {inputs}'" (a
    /// command that ends with code 0 if the model still fails)
    #[arg(long, value_name = "HOW")]
    fails: String,
    /// The file of the smaller model; its inputs are written beside it, as NAME.inputs.npz
    #[arg(long, short = 'o', value_name = "FILE", required_unless_present = "check")]
    output: Option<PathBuf>,
    /// Replace the names, and the numbers of weights and inputs, by others
    #[arg(long)]
    anonymise: bool,
    /// Replace files that exist
    #[arg(long)]
    overwrite: bool,
    /// How long to search, such as 90s, 10m or 1h; the smallest model so far is written then [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,
    /// Only say whether the model fails in this way: code 0 if it does, 4 if not
    #[arg(long, conflicts_with_all = ["output", "anonymise", "overwrite", "budget"])]
    check: bool,
    #[command(flatten)]
    fed: FeedArguments,
    #[command(flatten)]
    engine: EngineArguments,
    /// Threads within an operator
    #[arg(long, value_name = "N", default_value = "1")]
    engine_threads: NonZeroUsize,
    /// One JSON document
    #[arg(long)]
    json: bool,
    /// Print no messages but errors; the result is printed
    #[arg(long)]
    quiet: bool,
    /// Check for the process of this number, and die with it
    #[arg(long, hide = true, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    asked_by: Option<i32>,
}

/// Runs the command.
pub fn run(arguments: &ReduceArguments) -> Result<Exit, Failure> {
    if let Some(parent) = arguments.asked_by.and_then(Pid::from_raw) {
        die_with(parent).map_err(Failure::failed)?;
    }
    let spec = spec(arguments)?;
    let cancel = Arc::new(AtomicBool::new(false));
    let best = Arc::new(Best::default());
    let progress = Progress::new(arguments.quiet || arguments.asked_by.is_some());
    let hooks = ReduceHooks {
        command: &again::command,
        cancel: &cancel,
        progress: &|now| {
            progress.message(format!("{}: {} operators left after {} checks", now.doing, now.operators, now.checks));
        },
        best: &best,
    };
    if arguments.check {
        let outcome = check(&spec, &hooks).map_err(failure)?;
        progress.finish();
        return show_outcome(&outcome, &spec, arguments);
    }
    listen(&spec, &cancel, &best)?;
    let outcome = reduce(&spec, &hooks);
    progress.finish();
    let reduced = outcome.map_err(failure)?;
    show(&reduced, arguments)?;
    let messages = Messages { quiet: arguments.quiet, debug: false };
    if reduced.is_complete() {
        return Ok(Exit::Done);
    }
    if reduced.is_cancelled {
        let names = if arguments.anonymise { "; names and data may be the original ones" } else { "" };
        messages.warning(format!("interrupted: this is the smallest model so far{names}"));
    } else if !reduced.is_minimal {
        messages.warning("the time was over: this is the smallest model so far; --budget gives more");
    }
    if reduced.kept.iter().any(|kept| !kept.is_structure) {
        messages.warning("not everything of the original could be replaced: see what stays as it was");
    }
    Ok(Exit::Incomplete)
}

fn spec(arguments: &ReduceArguments) -> Result<ReduceSpec, Failure> {
    let environment: Environment = std::env::vars_os().collect();
    let fails: Fails = arguments.fails.parse().map_err(|error| Failure::wrong_use(format!("--fails: {error}")))?;
    let name = arguments.engine.name(&environment).map_err(Failure::wrong_use)?;
    let engines = match fails {
        // The other engine's options count for its side.
        Fails::EnginesDiffer => arguments.engine.specs([EngineName::OnnxRuntime]),
        _ => arguments.engine.specs([name]),
    };
    let [engine] = engines.map_err(Failure::wrong_use)?;
    let mut words = arguments.engine.words(name);
    if arguments.engine_threads > NonZeroUsize::MIN {
        words.push(format!("--engine-threads={}", arguments.engine_threads));
    }
    let shapes = arguments.fed.shapes().map_err(Failure::wrong_use)?;
    if shapes.len() > 1 {
        return Err(Failure::wrong_use(
            "--dym-shape-range: a model is reduced with one set of shapes; write --dym-shape",
        ));
    }
    let inputs = arguments.fed.inputs().map_err(Failure::wrong_use)?;
    Ok(ReduceSpec {
        model: arguments.model.clone(),
        inputs,
        shapes: shapes.into_iter().next().unwrap_or(ShapeSpec::Smallest),
        check: CheckSpec { fails, engine, threads: arguments.engine_threads, words },
        output: arguments.output.clone().unwrap_or_default(),
        overwrite: arguments.overwrite,
        anonymise: arguments.anonymise,
        budget: arguments.budget,
    })
}

/// How long a check may last after a signal, until the process ends without waiting for it.
const PATIENCE: Duration = Duration::from_secs(2);

/// Ends the search on Ctrl-C or SIGTERM. If a check lasts too long, another thread writes the smallest model so far and
/// ends the process. A second signal ends it immediately.
fn listen(spec: &ReduceSpec, cancel: &Arc<AtomicBool>, best: &Arc<Best>) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::failed(format!("no handler for signals can be installed: {error}"));
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let (cancel, best, spec) = (Arc::clone(cancel), Arc::clone(best), spec.clone());
    let work = move || {
        let Some(signal) = signals.forever().next() else { return };
        cancel.store(true, Ordering::Relaxed);
        let code = if signal == SIGTERM { 143 } else { 130 };
        thread::spawn(move || {
            thread::sleep(PATIENCE);
            while best.is_settled() {
                // The result is being written. A second signal ends the process.
                thread::sleep(PATIENCE);
            }
            match write_best(&spec, &best) {
                Some(Ok(written)) => eprintln!(
                    "interrupted while a model was checked; the smallest one so far is {}",
                    shown_path(&written.model)
                ),
                Some(Err(error)) => eprintln!("error: {}", shown_text(&error.to_string())),
                None => eprintln!("interrupted before the model was seen to fail; nothing was written"),
            }
            low_level::exit(code);
        });
        if signals.forever().next().is_some() {
            low_level::exit(code);
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(work).map_err(failed)?;
    Ok(())
}

fn show(reduced: &Reduced, arguments: &ReduceArguments) -> Result<(), Failure> {
    match arguments.json {
        true => print_json(serde_json::to_string_pretty(&reduced.json()).map_err(Failure::failed)?),
        false => print(reduced.text()),
    }
}

/// Prints whether a model fails.
fn show_outcome(outcome: &Outcome, spec: &ReduceSpec, arguments: &ReduceArguments) -> Result<Exit, Failure> {
    let (exit, text) = match outcome {
        Outcome::Fails(failure) => (Exit::Done, format!("it fails: {}", failure.text)),
        Outcome::Otherwise(instead) => {
            (Exit::Different, format!("it does not fail ('{}'): {instead}", spec.check.fails))
        }
    };
    if arguments.json {
        print_json(answer(outcome))?
    } else {
        print(text)?
    }
    Ok(exit)
}

fn failure(error: ReduceError) -> Failure {
    match &error {
        ReduceError::DoesNotFail { .. }
        | ReduceError::Model(_)
        | ReduceError::Input(_)
        | ReduceError::Exists(_)
        | ReduceError::IsTheModel(_) => Failure::wrong_use(error),
        _ => Failure::failed(error),
    }
}

/// The error for a text that is not a time.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a time; write 90s, 10m or 1h")]
struct WrongTime(String);

/// Reads a time such as `90s`, `10m` or `1h`.
fn duration(text: &str) -> Result<Duration, WrongTime> {
    let wrong = || WrongTime(text.to_owned());
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())
}

/// Returns the line that offers to reduce a model, for a command that found a difference. `options` are those that run
/// the model in the same way.
pub fn offer(model: &Path, options: &[String], fails: &Fails) -> String {
    let options: String = options.iter().map(|word| format!(" {}", shell_word(word))).collect();
    let fails = shell_word(fails.to_string());
    format!("smallest model: opscope reduce {}{options} --fails {fails} --output small.onnx", shell_path(model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(duration("1.5h"), Ok(Duration::from_secs(5400)));
        for wrong in ["", "10", "m", "-1s", "1d", "1..2s"] {
            assert!(duration(wrong).unwrap_err().to_string().contains("write 90s, 10m or 1h"), "{wrong}");
        }
    }
}
