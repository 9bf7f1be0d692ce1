//! Checks that run in a process of their own, so that a crash or an endless run of an engine's library does not end the
//! search.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use opscope_sys::memory;
use opscope_text::shell_word;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};
use serde::{Deserialize, Serialize};

use super::{CheckSpec, Outcome, ReduceHooks};
use crate::reduce::fails::{Fails, Failure, INPUTS, MODEL, Symptom};
use crate::reduce::written::WrittenCase;

/// The schema of what a process of a check prints.
pub(in crate::reduce) const CHECK_SCHEMA: &str = "opscope.reduce-check/1";

/// How long a process may run, and what ends it before.
pub type Limit<'a> = (Duration, Option<&'a AtomicBool>);

/// What a process of a check prints.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::reduce) struct Answer {
    pub schema: String,
    /// How the model fails, or `null`.
    pub failure: Option<Failure>,
    /// What happens instead, if it does not.
    pub instead: Option<String>,
}

/// Runs the files of a model in a process of its own.
///
/// # Errors
/// Returns the system's error if no process can be started.
pub fn outcome(
    written: &WrittenCase,
    spec: &CheckSpec,
    hooks: &ReduceHooks<'_>,
    limit: Limit<'_>,
) -> io::Result<Outcome> {
    match &spec.fails {
        Fails::Crash => crash(written, spec, hooks, limit),
        Fails::Command(command) => of_command(command, written, limit),
        Fails::FirstNonfinite | Fails::EnginesDiffer | Fails::PlanDiffers | Fails::Error(_) => {
            asked(written, spec, hooks, limit)
        }
    }
}

/// Lets another process of this program check the model.
fn asked(written: &WrittenCase, spec: &CheckSpec, hooks: &ReduceHooks<'_>, limit: Limit<'_>) -> io::Result<Outcome> {
    let mut command = (hooks.command)()?;
    command.args(["reduce", "--check", "--json"]).arg(format!("--asked-by={}", std::process::id()));
    command.arg(format!("--fails={}", spec.fails)).args(&spec.words).args(input_word(written)).arg("--");
    command.arg(&written.model);
    let Ended { status, printed } = run(command, limit, true)?;
    let Some(status) = status else { return Ok(too_late(limit.0)) };
    let answer = serde_json::from_slice::<Answer>(&printed).ok().filter(|answer| answer.schema == CHECK_SCHEMA);
    Ok(match answer {
        Some(Answer { failure: Some(failure), .. }) => Outcome::Fails(failure),
        Some(Answer { instead, .. }) => Outcome::Otherwise(instead.unwrap_or_default()),
        None => Outcome::Otherwise(format!("the process that ran it ended with {status}")),
    })
}

/// Runs the model once in another process, as a benchmark does that verifies its plan, so that both plans
/// run. The process has to die by a signal.
fn crash(written: &WrittenCase, spec: &CheckSpec, hooks: &ReduceHooks<'_>, limit: Limit<'_>) -> io::Result<Outcome> {
    let mut command = (hooks.command)()?;
    command.args(["benchmark", "--loop=1", "--verify=on", "--quiet"]).args(&spec.words);
    command.args(input_word(written)).arg("--").arg(&written.model);
    let Ended { status, .. } = run(command, limit, true)?;
    let Some(status) = status else { return Ok(too_late(limit.0)) };
    Ok(match status.signal() {
        Some(signal) => Outcome::Fails(Failure {
            symptom: Symptom::Crash { signal },
            text: format!("the process that runs the model ends with {status}"),
            operator: None,
        }),
        None if status.success() => Outcome::Otherwise("it runs to its end".to_owned()),
        None => Outcome::Otherwise(format!("the process that runs it ends with {status}, and not by a signal")),
    })
}

/// Runs the user's command, which has to end with code 0.
fn of_command(command: &str, written: &WrittenCase, limit: Limit<'_>) -> io::Result<Outcome> {
    let line = quoted_command(command, &written.model, written.inputs.as_deref());
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(&line);
    let Ended { status, .. } = run(shell, limit, false)?;
    let Some(status) = status else { return Ok(too_late(limit.0)) };
    Ok(match status.success() {
        true => Outcome::Fails(Failure {
            symptom: Symptom::Command,
            text: "the command ends with code 0".to_owned(),
            operator: None,
        }),
        false => Outcome::Otherwise(format!("the command ends with {status}, and not with code 0")),
    })
}

/// Returns a command line with the paths in place of `{model}` and `{inputs}`.
pub(in crate::reduce) fn quoted_command(command: &str, model: &Path, inputs: Option<&Path>) -> OsString {
    let inputs = inputs.map(shell_word).unwrap_or_default();
    command.replace(MODEL, &shell_word(model)).replace(INPUTS, &inputs).into()
}

fn input_word(written: &WrittenCase) -> Option<OsString> {
    let mut word = OsString::from("--input=");
    word.push(written.inputs.as_ref()?);
    Some(word)
}

fn too_late(patience: Duration) -> Outcome {
    Outcome::Otherwise(format!("it does not end within {} s", patience.as_secs()))
}

/// How a process ended.
struct Ended {
    /// `None` if it was ended because it took too long, or because the user ended the search.
    status: Option<ExitStatus>,
    printed: Vec<u8>,
}

/// More bytes than any answer has.
const MOST_PRINTED: u64 = 1 << 20;

/// Runs a command in a group of processes of its own, and ends the group after a time.
fn run(mut command: Command, limit: Limit<'_>, is_own: bool) -> io::Result<Ended> {
    let mut output: File = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.stdout(output.try_clone()?);
    let mut child = command.spawn()?;
    let group = Pid::from_child(&child);
    let allow = |resource, most| {
        let _ = prlimit(group.into(), resource, Rlimit { current: Some(most), maximum: Some(most) });
    };
    // Each crash would leave a file of the size of the process.
    allow(Resource::Core, 0);
    if is_own {
        allow(Resource::As, memory::available());
    }
    let status = wait(&mut child, limit)?;
    if status.is_none() {
        let _ = kill_process_group(group, Signal::KILL);
        child.wait()?;
    }
    output.rewind()?;
    let mut printed = Vec::new();
    output.take(MOST_PRINTED).read_to_end(&mut printed)?;
    Ok(Ended { status, printed })
}

/// Waits for a process. Returns `None` if it takes too long, or if the user ends the search.
fn wait(child: &mut Child, (patience, cancel): Limit<'_>) -> io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() >= patience || cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_of_a_command_are_words_of_the_shell() {
        let line = |inputs: Option<&str>| {
            quoted_command("fails {model} --with {inputs}", Path::new("a b.onnx"), inputs.map(Path::new))
        };
        assert_eq!(line(Some("in.npz")), "fails 'a b.onnx' --with in.npz");
        assert_eq!(line(None), "fails 'a b.onnx' --with ");
    }
}
