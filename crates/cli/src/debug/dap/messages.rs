//! Requests of an editor, with the fields that the adapter reads, and its answers. Names and meanings are those of the
//! Debug Adapter Protocol, <https://microsoft.github.io/debug-adapter-protocol/specification>.
//!
//! The messages of the Debug Adapter Protocol as they are sent: a header with the length, an empty line, and JSON.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

/// A request.
#[derive(Debug, Deserialize)]
pub struct Request {
    /// Its number, which the answer repeats.
    pub seq: i64,
    /// Its name, such as `launch`.
    pub command: String,
    /// The details.
    #[serde(default)]
    pub arguments: Value,
}

/// The arguments of `initialize`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Client {
    lines_start_at1: Option<bool>,
}

/// The arguments of `launch`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Launch {
    /// The ONNX file, or the file of a Python program.
    pub program: PathBuf,
    /// Options of `opscope debug`: inputs, shapes, the engine. Of a Python program, its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// The interpreter of a Python program; `python3` if it is not given.
    pub python: Option<PathBuf>,
    /// The directory in which a Python program runs.
    pub cwd: Option<PathBuf>,
    /// Variables of its environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// How many runs are started; 1 if it is not given.
    pub runs: Option<u64>,
    /// Whether the first run stops at its first operator.
    #[serde(default)]
    pub stop_on_entry: bool,
    /// Whether breakpoints are ignored.
    #[serde(default)]
    pub no_debug: bool,
}

/// The arguments of `attach`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attach {
    /// The number of the process.
    pub process_id: Option<u32>,
    /// The path of its socket.
    pub socket: Option<PathBuf>,
}

/// A source, as the adapter named it or as the editor knows it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// The file.
    pub path: Option<PathBuf>,
    /// The number of a listing; 0 for a file.
    #[serde(default)]
    pub source_reference: i64,
}

/// The arguments of `setBreakpoints`.
#[derive(Debug, Deserialize)]
pub struct SetBreakpoints {
    pub source: Source,
    #[serde(default)]
    pub breakpoints: Vec<SourceBreakpoint>,
}

/// A breakpoint on a line.
#[derive(Debug, Deserialize)]
pub struct SourceBreakpoint {
    pub line: u32,
    #[serde(flatten)]
    pub filter: Filter,
}

/// The arguments of `setFunctionBreakpoints`.
#[derive(Debug, Deserialize)]
pub struct SetFunctionBreakpoints {
    #[serde(default)]
    pub breakpoints: Vec<FunctionBreakpoint>,
}

/// A breakpoint on operators, by a target of `break`.
#[derive(Debug, Deserialize)]
pub struct FunctionBreakpoint {
    pub name: String,
    #[serde(flatten)]
    pub filter: Filter,
}

/// The arguments of `setDataBreakpoints`.
#[derive(Debug, Deserialize)]
pub struct SetDataBreakpoints {
    #[serde(default)]
    pub breakpoints: Vec<DataBreakpoint>,
}

/// A breakpoint on an output of an operator.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DataBreakpoint {
    pub data_id: String,
    #[serde(flatten)]
    pub filter: Filter,
}

/// The conditions under which a breakpoint stops.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Filter {
    /// A condition on tensors.
    pub condition: Option<String>,
    /// How often it has to be hit before it stops, as a number.
    pub hit_condition: Option<String>,
}

/// The arguments of `setExceptionBreakpoints`.
#[derive(Debug, Deserialize)]
pub struct SetExceptionBreakpoints {
    #[serde(default)]
    pub filters: Vec<String>,
}

/// The arguments of requests about a run: `continue`, `next`, `stackTrace`, ...
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OfThread {
    pub thread_id: u64,
    #[serde(default)]
    pub start_frame: usize,
    #[serde(default)]
    pub levels: usize,
}

/// The arguments of `scopes`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OfFrame {
    pub frame_id: u64,
}

/// The arguments of `variables`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Variables {
    pub variables_reference: usize,
    pub filter: Option<String>,
    #[serde(default)]
    pub start: u64,
    #[serde(default)]
    pub count: u64,
}

/// The arguments of `setVariable` and `dataBreakpointInfo`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OfVariable {
    #[serde(default)]
    pub variables_reference: usize,
    pub name: String,
    #[serde(default)]
    pub value: String,
}

/// The arguments of `evaluate` and `opscope/tensor`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evaluate {
    pub expression: String,
    #[serde(default)]
    pub frame_id: u64,
}

/// The arguments of `readMemory`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadMemory {
    pub memory_reference: String,
    /// The first byte, counted from the beginning of the tensor.
    #[serde(default)]
    pub offset: i64,
    pub count: u64,
}

/// The arguments of `source`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OfSource {
    #[serde(default)]
    pub source_reference: i64,
    #[serde(default)]
    pub source: Source,
}

/// The editor's end of the connection.
pub struct Editor<W> {
    to: W,
    seq: i64,
    first_line: u32,
}

impl Client {
    /// Returns the number that the editor gives to the first line.
    pub fn first_line(self) -> u32 {
        u32::from(self.lines_start_at1.unwrap_or(true))
    }
}

impl<W: Write> Editor<W> {
    pub fn new(to: W) -> Self {
        Self { to, seq: 0, first_line: 1 }
    }

    /// Sets the number of the first line.
    pub fn lines_from(&mut self, first: u32) {
        self.first_line = first;
    }

    /// Returns the editor's number of a line that is counted from 1.
    pub fn line(&self, line: u32) -> u32 {
        line - 1 + self.first_line
    }

    /// Returns the number, from 1, of a line that the editor named.
    pub fn counted_from_1(&self, line: u32) -> u32 {
        (line + 1).saturating_sub(self.first_line)
    }

    /// Answers a request.
    pub fn answer(&mut self, request: &Request, outcome: anyhow::Result<Value>) -> io::Result<()> {
        let answer = json!({ "request_seq": request.seq, "command": request.command });
        let more = match outcome {
            Ok(body) => json!({ "success": true, "body": body }),
            Err(error) => {
                let text = format!("{error:#}");
                json!({
                    "success": false, "message": text,
                    // Braces in a format would name variables.
                    "body": { "error": { "id": 1, "format": "{text}", "variables": { "text": text }, "showUser": true } },
                })
            }
        };
        self.send("response", answer, more)
    }

    /// Reports an event.
    pub fn tell(&mut self, event: &str, body: Value) -> io::Result<()> {
        self.send("event", json!({ "event": event }), json!({ "body": body }))
    }

    /// Shows a text in the editor's console.
    pub fn print(&mut self, category: &str, text: &str) -> io::Result<()> {
        self.tell("output", json!({ "category": category, "output": format!("{text}\n") }))
    }

    fn send(&mut self, kind: &str, head: Value, rest: Value) -> io::Result<()> {
        self.seq += 1;
        let mut message = json!({ "seq": self.seq, "type": kind });
        for part in [head, rest] {
            if let (Value::Object(message), Value::Object(part)) = (&mut message, part) {
                message.extend(part);
            }
        }
        write(&mut self.to, &message)
    }
}

/// The longest message that is read, and the longest line of a header. An editor's longest messages are lists of
/// breakpoints.
const LONGEST: usize = 16 << 20;
const LONGEST_LINE: usize = 1 << 12;

/// Reads the next message. Returns `None` at the end of the input.
///
/// # Errors
/// Returns an error if the input is not a message of the protocol. Nothing that follows can be understood then.
pub fn read(from: &mut impl BufRead) -> Result<Option<Value>> {
    let mut length = None;
    loop {
        let line = match line(from)? {
            None if length.is_none() => return Ok(None),
            None => bail!("the input ended inside of a message"),
            Some(line) => line,
        };
        match line.split_once(':') {
            _ if line.is_empty() => break,
            Some((name, number)) if name.eq_ignore_ascii_case("content-length") => {
                let number = number.trim().parse().ok().filter(|length| *length <= LONGEST);
                length = Some(number.with_context(|| format!("'{line}' is not a length of at most {LONGEST} bytes"))?);
            }
            // Other fields of a header are allowed.
            Some(_) => {}
            None => bail!("'{line}' is not a header; right is, for example, Content-Length: 119"),
        }
    }
    let length = length.context("a message has no Content-Length")?;
    let mut json = vec![0; length];
    from.read_exact(&mut json).context("the input ended inside of a message")?;
    serde_json::from_slice(&json).map(Some).context("a message is not JSON")
}

/// Writes a message.
pub fn write(to: &mut impl Write, message: &Value) -> io::Result<()> {
    let json = message.to_string();
    write!(to, "Content-Length: {}\r\n\r\n{json}", json.len())?;
    to.flush()
}

/// Reads a line of a header, without its end. Returns `None` at the end of the input.
fn line(from: &mut impl BufRead) -> Result<Option<String>> {
    let mut line = Vec::new();
    io::Read::take(&mut *from, LONGEST_LINE as u64).read_until(b'\n', &mut line)?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned())),
        Some(_) => bail!("a line of a header has no end, or more than {LONGEST_LINE} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_are_read_one_after_the_other_as_they_were_written() {
        let messages = [json!({"seq": 1, "text": "ü\n"}), json!({"seq": 2})];
        let mut bytes = Vec::new();
        messages.iter().for_each(|message| write(&mut bytes, message).unwrap());
        let mut from = &bytes[..];
        assert_eq!(messages.map(Some), [(); 2].map(|()| read(&mut from).unwrap()));
        assert_eq!(read(&mut from).unwrap(), None);
    }

    #[test]
    fn what_is_no_message_is_an_error_that_says_what_is_wrong() {
        for (bytes, says) in [
            ("Content-Length: 5\r\n\r\n{}", "ended inside"),
            ("Content-Length: -1\r\n\r\n", "not a length"),
            ("Content-Length: 99999999999\r\n\r\n", "not a length"),
            ("Content-Type: json\r\n\r\n{}", "no Content-Length"),
            ("hello\r\n\r\n", "not a header"),
            ("Content-Length: 2", "no end"),
            ("Content-Length: 2\r\n", "ended inside"),
            ("content-length: 2\r\n\r\n{]", "not JSON"),
        ] {
            let error = format!("{:#}", read(&mut bytes.as_bytes()).unwrap_err());
            assert!(error.contains(says), "{bytes:?}: {error}");
        }
        let endless = vec![b'x'; 1 << 20];
        assert!(read(&mut &endless[..]).is_err());
    }
}
