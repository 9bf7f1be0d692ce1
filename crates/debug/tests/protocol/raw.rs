//! A debugger that uses the protocol without this crate's client.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use crate::LONG;

pub struct Raw(pub UnixStream);

impl Raw {
    pub fn over(stream: UnixStream) -> Self {
        stream.set_read_timeout(Some(LONG)).unwrap();
        Self(stream)
    }

    /// Returns one that has sent `hello` and is attached.
    pub fn attached(stream: UnixStream) -> Self {
        let mut raw = Self::over(stream);
        raw.hello();
        let answer = raw.ask(json!({"id": 2, "request": "attach", "name": "raw"}));
        assert_eq!(answer, json!({"id": 2, "ok": {}}));
        raw
    }

    pub fn hello(&mut self) -> Value {
        self.ask(json!({"id": 1, "request": "hello", "protocol": "opscope-debug", "version": 1}))
    }

    pub fn send(&mut self, json: &[u8], attachment: &[u8]) -> io::Result<()> {
        self.0.write_all(&frame(json, attachment))
    }

    /// Returns the next message and its attachment.
    pub fn receive(&mut self) -> io::Result<(Value, Vec<u8>)> {
        let mut head = [0; 8];
        self.0.read_exact(&mut head)?;
        let length = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap()) as usize;
        let (mut json, mut attachment) = (vec![0; length(0)], vec![0; length(4)]);
        self.0.read_exact(&mut json)?;
        self.0.read_exact(&mut attachment)?;
        Ok((serde_json::from_slice(&json).unwrap(), attachment))
    }

    /// Returns the next answer, and skips other messages.
    pub fn answer(&mut self) -> Value {
        loop {
            let (message, _) = self.receive().unwrap();
            if message.get("id").is_some() {
                return message;
            }
        }
    }

    pub fn ask(&mut self, request: Value) -> Value {
        self.send(request.to_string().as_bytes(), &[]).unwrap();
        self.answer()
    }

    /// Returns whether the other side has closed the connection, after its last messages.
    pub fn is_closed(&mut self) -> bool {
        loop {
            match self.receive() {
                Ok(_) => continue,
                Err(error) => {
                    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
                    return matches!(error.kind(), UnexpectedEof | ConnectionReset | BrokenPipe);
                }
            }
        }
    }
}

pub fn frame(json: &[u8], attachment: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    frame.extend_from_slice(&(json.len() as u32).to_le_bytes());
    frame.extend_from_slice(&(attachment.len() as u32).to_le_bytes());
    frame.extend_from_slice(json);
    frame.extend_from_slice(attachment);
    frame
}
