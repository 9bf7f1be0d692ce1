//! Runs the built command at a pseudo terminal. The test types, and reads what is shown.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// Longer than any step takes. Only a test that fails waits this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A command at a terminal.
pub struct Terminal {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    /// What was shown and not yet searched.
    shown: String,
}

impl Terminal {
    /// Starts a command whose standard streams, and controlling terminal, are a terminal of 160 columns.
    pub fn start(command: &Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        tcsetwinsize(&master, Winsize { ws_row: 50, ws_col: 160, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = || File::options().read(true).write(true).open(&path).unwrap();
        // Ctrl-C needs a controlling terminal, which a process gets by `setsid`.
        let mut session = Command::new("setsid");
        session.arg("--ctty").arg(command.get_program()).args(command.get_args());
        session.stdin(slave()).stdout(slave()).stderr(slave()).env("TERM", "xterm");
        session.current_dir(command.get_current_dir().unwrap());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => session.env(name, value),
                None => session.env_remove(name),
            };
        }
        let child = session.spawn().expect("util-linux has setsid");
        drop(session);
        let keyboard = File::from(master);
        let mut screen = keyboard.try_clone().unwrap();
        let (send, receive) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // When the last process leaves the terminal, reading fails.
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                if send.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, keyboard, screen: receive, shown: String::new() }
    }

    /// Types.
    pub fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads until a text is shown, and returns what was shown before it, without colours and movements of the cursor.
    pub fn until(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.shown.find(text) {
                let before = self.shown[..at].to_owned();
                self.shown.drain(..at + text.len());
                return before;
            }
            match self.screen.recv_timeout(PATIENCE) {
                Ok(bytes) => self.shown.push_str(&plain(&String::from_utf8_lossy(&bytes))),
                Err(_) => panic!("{text:?} is not shown; this is:\n{}", self.shown),
            }
        }
    }

    /// Types the same keys repeatedly until the command ends. Before each repetition, waits until the terminal shows
    /// the text `shown`.
    pub fn types_until_it_ends(mut self, keys: &str, shown: &str) -> ExitStatus {
        loop {
            // The terminal of a command that has ended takes no input.
            let _ = self.keyboard.write_all(keys.as_bytes());
            while !self.shown.contains(shown) {
                match self.screen.recv_timeout(PATIENCE) {
                    Ok(bytes) => self.shown.push_str(&plain(&String::from_utf8_lossy(&bytes))),
                    Err(RecvTimeoutError::Disconnected) => return self.child.wait().unwrap(),
                    Err(RecvTimeoutError::Timeout) => panic!("it does not end; this is shown:\n{}", self.shown),
                }
            }
            self.shown.clear();
        }
    }

    /// Returns whether the terminal itself shows what is typed.
    pub fn echoes(&self) -> bool {
        tcgetattr(&self.keyboard).unwrap().local_modes.contains(LocalModes::ECHO)
    }

    /// Ends the command by a signal. Returns its exit code, and whether the terminal shows what is typed afterwards.
    pub fn end_by(mut self, signal: Signal) -> (Option<i32>, bool) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        let code = self.child.wait().unwrap().code();
        (code, self.echoes())
    }

    /// Reads what is shown until the command ends.
    pub fn end(mut self) -> (ExitStatus, String) {
        loop {
            match self.screen.recv_timeout(PATIENCE) {
                Ok(bytes) => self.shown.push_str(&plain(&String::from_utf8_lossy(&bytes))),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end; this is shown:\n{}", self.shown),
            }
        }
        (self.child.wait().unwrap(), std::mem::take(&mut self.shown))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a text without its escape sequences.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            plain.push(letter);
        } else if letters.next() == Some('[') {
            letters.by_ref().find(|letter| letter.is_ascii_alphabetic());
        }
    }
    plain
}
