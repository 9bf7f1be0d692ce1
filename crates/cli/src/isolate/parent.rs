//! The parent of an isolated process: it supervises the process, and passes signals on.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::thread;

use opscope_job::benchmark::UnfinishedOutput;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use signal_hook::consts::{
    SIGABRT, SIGBUS, SIGFPE, SIGHUP, SIGILL, SIGINT, SIGKILL, SIGSEGV, SIGSYS, SIGTERM, SIGTRAP, SIGUSR1, SIGUSR2,
};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::{emulate_default_handler, signal_name};

use super::{CHILD, Journal, LastWords};
use crate::again;
use crate::exit::Failure;

/// Runs the command in a child, and ends as the child ends. Returns only if no child can be started, if it died of a
/// signal, or if it ended with code 0 before it had completed.
pub fn supervise(words: &[OsString], model: &Path) -> Failure {
    let terminal = tcgetattr(io::stdin()).ok();
    let (status, journal) = match run(words) {
        Ok(ended) => ended,
        Err(error) => return Failure::failed(format!("the job cannot be isolated: {error}")),
    };
    let words = journal.last_words();
    match status.code() {
        Some(0) if !words.is_done => {
            return crashed("was ended from within, by a library that it had loaded", words, model);
        }
        Some(code) => std::process::exit(code),
        None => {}
    }
    let signal = status.signal().unwrap_or_default();
    let passed_on = PASSED_ON.iter().find(|(kind, passed)| [*kind, passed.as_raw()].contains(&signal));
    if let Some(kind) = passed_on.map(|(kind, _)| *kind).or((signal == SIGHUP).then_some(SIGHUP)) {
        // The user ended the child before it handled signals, so this process ends in the same way.
        let _ = emulate_default_handler(kind);
    }
    if let Some(terminal) = terminal {
        // The child's line editing had changed the terminal's mode.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &terminal);
    }
    if io::stderr().is_terminal() {
        // The line may show a progress bar.
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
    crashed(&format!("was ended by {}", described(signal)), words, model)
}

fn run(words: &[OsString]) -> io::Result<(ExitStatus, Journal)> {
    let journal = Journal::create()?;
    let mut signals = Signals::new(PASSED_ON.map(|(kind, _)| kind))?;
    let mut command = again::command_named(words.first().map_or("opscope".as_ref(), OsString::as_os_str));
    command.arg(format!("{CHILD}{},{}", std::process::id(), journal.descriptor())).args(words.iter().skip(1));
    // The child dies with the thread that starts it, so this same thread has to wait for it.
    let mut child = command.spawn()?;
    let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    let pass_on = move || {
        for signal in signals.forever() {
            if let Some((_, passed)) = PASSED_ON.iter().find(|(kind, _)| *kind == signal) {
                // If the child is gone, it does not need the signal.
                let _ = pidfd_send_signal(&process, *passed);
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(pass_on)?;
    Ok((child.wait()?, journal))
}

/// Finishes what the child had begun, and returns the error that describes its death.
fn crashed(how: &str, words: LastWords, model: &Path) -> Failure {
    let doing = words.doing.map(|doing| format!(" while {doing}")).unwrap_or_default();
    let reason = format!("the process that ran the model {how}{doing}");
    let model = model.display();
    if !words.has_results {
        UnfinishedOutput::remove_all(&words.outputs);
        return Failure::failed(format!("{model}: {reason}"));
    }
    let (mut kept, mut details) = (Vec::new(), Vec::new());
    for outcome in UnfinishedOutput::finish_all(&words.outputs, &reason) {
        match outcome {
            Ok(capture) => {
                details.extend(capture.last_tensor.map(|last| format!("the last tensor that is whole is {last}")));
                kept.push(format!("; what was captured until then is in {:?}", capture.directory));
            }
            Err(error) => details.push(error.to_string()),
        }
    }
    Failure::failed(format!("{model}: {reason}{}", kept.concat())).with_problems(details)
}

/// Returns a signal's name and meaning.
fn described(signal: i32) -> String {
    let name = signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned);
    let meaning = match signal {
        SIGSEGV | SIGBUS => "invalid memory access",
        SIGABRT => "it aborted itself",
        SIGILL => "an instruction that this processor lacks",
        SIGFPE => "invalid arithmetic",
        SIGKILL => "by a user, or by the system because memory ran out",
        SIGSYS => "a system call that is not allowed",
        SIGTRAP => "a trap",
        _ => return name,
    };
    format!("{name} ({meaning})")
}

/// The signals that a parent passes on, each with the signal that it sends to the child instead.
///
/// Ctrl-C, and many programs that end others, signal a whole process group, which includes the child. By these separate
/// signals the child recognises which ones it received twice.
pub const PASSED_ON: [(i32, Signal); 2] = [(SIGINT, Signal::USR1), (SIGTERM, Signal::USR2)];

/// The signals that the user sends. Each is reported once, even if both an isolated process and its parent receive it.
pub struct UserSignals {
    signals: Signals,
    isolated: bool,
    /// For each signal, how many came directly and how many through the parent.
    came: BTreeMap<i32, (u64, u64)>,
}

impl UserSignals {
    pub(super) fn new(kinds: &[i32], isolated: bool) -> io::Result<Self> {
        let passed_on = [SIGUSR1, SIGUSR2].into_iter().filter(|_| isolated);
        let signals = Signals::new(kinds.iter().copied().chain(passed_on))?;
        Ok(Self { signals, isolated, came: BTreeMap::new() })
    }

    /// Returns a handle that ends [`next`](Self::next) from another thread.
    pub fn handle(&self) -> Handle {
        self.signals.handle()
    }

    /// Waits for the next signal. Returns `None` once the handle is closed.
    pub fn next(&mut self) -> Option<i32> {
        loop {
            let signal = self.signals.forever().next()?;
            let original = PASSED_ON.iter().find(|(_, passed)| self.isolated && passed.as_raw() == signal);
            let kind = original.map_or(signal, |(kind, _)| *kind);
            let (direct, passed) = self.came.entry(kind).or_default();
            let before = *direct.max(passed);
            *(if original.is_some() { &mut *passed } else { &mut *direct }) += 1;
            if *direct.max(passed) > before {
                return Some(kind);
            }
        }
    }
}
