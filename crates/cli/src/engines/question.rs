//! Questions about a library that has not been tried yet. Another process answers them: if the library crashes, hangs,
//! uses up the memory or ends the process, only the answer is missing.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use opscope_sys::memory;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::again;

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
