//! A benchmark that runs until it is interrupted, and that a debugger can attach to.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Stdio};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::{Ended, Workplace, engine, model};

/// A benchmark that would take days.
pub struct Running {
    pub child: Child,
    stderr: BufReader<ChildStderr>,
    /// The first line that it printed.
    pub said: String,
}

impl Running {
    /// Starts it, and waits until it prints how to attach. ONNX Runtime can be stopped only in exact runs, so its runs
    /// are dumped.
    pub fn start(place: &Workplace, arguments: &[&str]) -> Self {
        let model = model("digits_cnn.onnx");
        let fixed = ["benchmark", &model, "--loop", "10000000000", "--warmup-count", "0", "--json"];
        let dumped = ["--dump", "--dump-run", "0", "--output", "out"];
        let exact: &[&str] = if engine::is_onnxruntime() { &dumped } else { &[] };
        let mut command = place.command(&[&fixed, exact, arguments].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        stderr.read_line(&mut said).unwrap();
        Self { child, stderr, said }
    }

    /// Sends it a signal. If the signal stops the process, it is stopped when this returns. This has to wait, because
    /// the threads run until one of them has seen the signal, which may take a while on a busy machine.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap();
        if signal == Signal::STOP {
            let (_, status) = waitpid(Some(pid), WaitOptions::UNTRACED).unwrap().unwrap();
            assert!(status.stopped());
        }
    }

    /// Interrupts it, and reads everything that it prints until it ends.
    pub fn interrupt(mut self) -> Ended {
        self.signal(Signal::INT);
        let (mut stdout, mut stderr) = (String::new(), std::mem::take(&mut self.said));
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        self.stderr.read_to_string(&mut stderr).unwrap();
        Ended { code: self.child.wait().unwrap().code(), stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
