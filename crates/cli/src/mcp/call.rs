//! A command that runs, and what it has printed.

use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::thread;

use opscope_sys::Mutex;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::again;

/// The most bytes of an answer that a command's stdout, or its stderr, has.
pub const MOST: usize = 24 << 10;

/// A command in a process group of its own.
pub struct Call {
    group: Option<Pid>,
    /// Whether it was waited for.
    is_over: Mutex<bool>,
}

/// What a command has printed, and its exit code; `None` after a signal.
pub struct Answer {
    pub text: String,
    pub exit: Option<i32>,
}

impl Call {
    /// Starts the command with these words, and calls a function once it has ended.
    pub fn start(words: &[String], ended: impl FnOnce(Answer) + Send + 'static) -> io::Result<Arc<Self>> {
        let mut command = again::command()?;
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let child = command.spawn()?;
        let group = Pid::from_raw(child.id() as i32);
        let call = Arc::new(Self { group, is_over: Mutex::new(false) });
        let watched = Arc::clone(&call);
        thread::Builder::new()
            .name("call".into())
            .spawn(move || ended(watched.wait(child)))
            .inspect_err(|_| call.end())?;
        Ok(call)
    }

    /// Ends the command, if it still runs.
    pub fn end(&self) {
        // The number of a group belongs to nobody else before its process was waited for, which takes this lock.
        let is_over = self.is_over.lock();
        if let Some(group) = self.group.filter(|_| !*is_over) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    fn wait(&self, mut child: Child) -> Answer {
        let errors = child.stderr.take().map(|stderr| thread::spawn(move || bounded(stderr)));
        let out = child.stdout.take().map_or_else(String::new, bounded);
        let errors = errors.and_then(|reader| reader.join().ok()).unwrap_or_default();
        if let Some(group) = self.group {
            // The number stays its own until it is waited for below, so that it can be killed meanwhile.
            let _ = waitid(WaitId::Pid(group), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        }
        let status = {
            let mut is_over = self.is_over.lock();
            *is_over = true;
            child.wait()
        };
        let exit = status.as_ref().ok().and_then(|status| status.code());
        let mut text = [out, errors].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
        match (exit, status) {
            (Some(0), _) => {}
            (Some(code), _) => text += &format!("\nexit code {code}: {}", meaning(code)),
            (None, Ok(status)) => text += &format!("\nended by signal {}", status.signal().unwrap_or_default()),
            (None, Err(error)) => text += &format!("\nit cannot be waited for: {error}"),
        }
        Answer { text, exit }
    }
}

fn meaning(code: i32) -> &'static str {
    match code {
        2 => "the arguments or an input are wrong",
        3 => "data is missing, or a search was cut short",
        4 => "the two differ",
        _ => "it failed",
    }
}

/// Reads all that is printed, and returns as much as an answer has.
fn bounded(mut from: impl Read) -> String {
    let mut kept = Vec::new();
    let mut buffer = [0; 8 << 10];
    let mut whole = 0;
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                whole += read;
                let room = (MOST - kept.len()).min(read);
                kept.extend_from_slice(&buffer[..room]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    if whole > kept.len() {
        // Whole lines, if there are any.
        let end = kept.iter().rposition(|&byte| byte == b'\n').map_or(kept.len(), |last| last + 1);
        kept.truncate(end);
        let text = String::from_utf8_lossy(&kept);
        return format!("{text}[{} of {whole} bytes; ask for less]", kept.len());
    }
    String::from_utf8_lossy(&kept).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_longer_than_an_answer_is_cut_after_a_line_and_says_so() {
        let line = "0123456789\n".repeat(4000);
        let text = bounded(line.as_bytes());
        let (lines, end) = text.rsplit_once('\n').unwrap();
        assert!(lines.lines().all(|line| line == "0123456789"));
        assert_eq!(end, format!("[{} of 44000 bytes; ask for less]", lines.len() + 1));
        assert!(text.len() < MOST + 100);
        assert_eq!(bounded("short\n".as_bytes()), "short");
    }
}
