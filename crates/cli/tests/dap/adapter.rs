//! A scripted editor: it talks to `opscope dap` as editors do.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// How long an answer or an event may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running adapter, and what it has sent.
pub struct Adapter {
    child: Child,
    to: Option<ChildStdin>,
    from: Receiver<Value>,
    seq: i64,
    /// The events that were received, and for which no call has waited yet.
    events: Vec<Value>,
}

impl Adapter {
    pub fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_opscope"));
        command.arg("dap").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (mut out, (sender, from)) = (BufReader::new(child.stdout.take().unwrap()), channel());
        std::thread::spawn(move || {
            while let Some(message) = message(&mut out) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self { to: child.stdin.take(), child, from, seq: 0, events: Vec::new() }
    }

    /// Sends a request and returns the answer.
    pub fn ask(&mut self, command: &str, arguments: Value) -> Value {
        self.seq += 1;
        let request = json!({ "seq": self.seq, "type": "request", "command": command, "arguments": arguments });
        self.send_raw(&framed(&request.to_string()));
        loop {
            let message = self.next(command);
            if message["type"] == "response" && message["request_seq"] == self.seq {
                return message;
            }
            self.events.push(message);
        }
    }

    /// Sends a request that must succeed, and returns the body of its answer.
    pub fn done(&mut self, command: &str, arguments: Value) -> Value {
        let answer = self.ask(command, arguments);
        assert_eq!(answer["success"], true, "{command}: {answer}");
        answer["body"].clone()
    }

    /// Sends a request that must be refused, and returns the message.
    pub fn refused(&mut self, command: &str, arguments: Value) -> String {
        let answer = self.ask(command, arguments);
        assert_eq!(answer["success"], false, "{command}: {answer}");
        answer["message"].as_str().unwrap().to_owned()
    }

    /// Returns the body of the next event with this name.
    pub fn event(&mut self, name: &str) -> Value {
        loop {
            if let Some(at) = self.events.iter().position(|event| event["event"] == name) {
                return self.events.remove(at)["body"].clone();
            }
            let message = self.next(name);
            self.events.push(message);
        }
    }

    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.to.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Closes the input, and returns the exit code.
    pub fn close(mut self) -> Option<i32> {
        drop(self.to.take());
        self.child.wait().unwrap().code()
    }

    fn next(&self, what: &str) -> Value {
        self.from.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("nothing came while the test waited for {what}"))
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn framed(json: &str) -> Vec<u8> {
    format!("Content-Length: {}\r\n\r\n{json}", json.len()).into_bytes()
}

fn message(from: &mut impl BufRead) -> Option<Value> {
    let mut header = String::new();
    from.read_line(&mut header).ok()?;
    let length: usize = header.trim().strip_prefix("Content-Length: ")?.parse().ok()?;
    let mut rest = vec![0; 2 + length];
    from.read_exact(&mut rest).ok()?;
    serde_json::from_slice(rest.strip_prefix(b"\r\n")?).ok()
}
