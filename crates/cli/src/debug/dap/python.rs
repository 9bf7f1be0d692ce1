//! A Python program that an editor launches. It runs under `opscope torch debug`, and its debugger is attached to when it
//! calls its first module.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use opscope::debug::client::Client;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::Incoming;
use super::messages::Launch;

/// The process of the program.
pub struct PythonProgram {
    pid: Pid,
    is_over: Arc<AtomicBool>,
    /// The directory of its debugger's socket, which is removed when this is dropped.
    _place: TempDir,
}

/// Returns whether a launch is one of a Python program.
pub fn is_python(program: &Path) -> bool {
    program.extension().is_some_and(|extension| extension == "py")
}

impl PythonProgram {
    /// Starts a program. What it prints, the connection to it, and its end are sent as they come.
    ///
    /// # Errors
    /// Returns an error if it cannot be started.
    pub fn start(launch: &Launch, to: &Sender<Incoming>) -> Result<Self> {
        let place = tempfile::Builder::new().prefix("opscope-dap-").tempdir()?;
        let socket = place.path().join("debug.sock");
        let python = launch.python.clone().unwrap_or_else(|| PathBuf::from("python3"));
        let mut command = Command::new(&python);
        command.args(["-m", "opscope", "torch", "debug", "--eval", "--wait-for-client", "--debug-server"]);
        command.arg(&socket).arg("--").arg(&python).arg(&launch.program).args(&launch.args).envs(&launch.env);
        if let Some(directory) = &launch.cwd {
            command.current_dir(directory);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("{} cannot be started", python.display()))?;
        let pid = Pid::from_child(&child);
        let outputs = [
            ("stdout", child.stdout.take().map(|from| Box::new(from) as Box<dyn Read + Send>)),
            ("stderr", child.stderr.take().map(|from| Box::new(from) as Box<dyn Read + Send>)),
        ];
        for (category, from) in outputs {
            if let Some(from) = from {
                let to = to.clone();
                thread::Builder::new().name(category.into()).spawn(move || pass_on(category, from, &to))?;
            }
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let (to, over, directory) = (to.clone(), Arc::clone(&is_over), place.path().to_owned());
        let watch = move || {
            connect(&mut child, &socket, &to);
            let code = child.wait().ok().and_then(|status| status.code()).unwrap_or(1);
            over.store(true, Ordering::Relaxed);
            // The editor may kill the adapter when it hears of the end.
            let _ = fs::remove_dir_all(directory);
            let _ = to.send(Incoming::PythonEnded(code));
        };
        thread::Builder::new().name("python".into()).spawn(watch)?;
        Ok(Self { pid, is_over, _place: place })
    }

    /// Asks the program to end, unless it has, and removes its socket.
    pub fn terminate(self) {
        if !self.is_over.load(Ordering::Relaxed) {
            // An error means that it has just ended.
            let _ = kill_process(self.pid, Signal::TERM);
        }
    }
}

/// Connects to the program as soon as it has a debug server. Nothing is sent if it ends before.
fn connect(child: &mut Child, socket: &Path, to: &Sender<Incoming>) {
    const PAUSE: Duration = Duration::from_millis(20);
    while matches!(child.try_wait(), Ok(None)) {
        // Between the making of the socket and listening at it, it refuses.
        if socket.exists()
            && let Ok(client) = Client::connect(socket)
        {
            let _ = to.send(Incoming::Connected(Box::new(client)));
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// Passes on what a program prints, line by line.
fn pass_on(category: &'static str, from: impl Read, to: &Sender<Incoming>) {
    const LONGEST: u64 = 1 << 16;
    let mut from = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        match from.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if to.send(Incoming::Printed(category, String::from_utf8_lossy(&line).into_owned())).is_err() {
            return;
        }
    }
}
