//! `opscope mcp`: the Model Context Protocol on stdin and stdout, by which agents use the commands.
//!
//! A tool is a command of opscope, and its answer is what the command prints, up to a bound. Each call runs in a process of
//! its own, so that a call that is cancelled, or whose engine crashes, ends nothing else.
//!
//! | file | what |
//! |---|---|
//! | `tools` | the tools, their arguments, and the words of a command that they become |
//! | `call` | a command that runs, and what it has printed |

mod call;
mod tools;

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::{Arc, mpsc};
use std::thread;

use clap::Args;
use serde_json::{Value, json};

use self::call::{Answer, Call};
use crate::exit::{Exit, Failure};

/// The arguments of `opscope mcp`.
#[derive(Debug, Args)]
pub struct McpArguments {}

/// The versions of the protocol that this server speaks, newest first. What it uses is the same in all of them.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The most bytes of a message that are read.
const LONGEST: u64 = 1 << 20;

/// The most calls that run at the same time.
const MOST_CALLS: usize = 8;

/// Codes of errors in JSON-RPC 2.0.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const INTERNAL_ERROR: i32 = -32603;

/// What the server waits for.
enum Incoming {
    Line(Vec<u8>),
    TooLong,
    Closed,
    /// A call has ended.
    Ended(String, Answer),
}

/// A message is refused, with a code of JSON-RPC and a reason.
struct Refused(i32, String);

/// Runs `opscope mcp`.
pub fn run(_: &McpArguments) -> Result<Exit, Failure> {
    let (to, incoming) = mpsc::channel();
    let lines = to.clone();
    thread::Builder::new()
        .name("client".into())
        .spawn(move || {
            let mut from = BufReader::new(io::stdin());
            loop {
                let line = read(&mut from);
                let is_last = matches!(line, Incoming::Closed);
                if lines.send(line).is_err() || is_last {
                    return;
                }
            }
        })
        .map_err(Failure::failed)?;
    let mut server = Server { calls: BTreeMap::new(), to };
    loop {
        // The server has a sender of its own, so the channel stays open.
        let answer = match incoming.recv().expect("a sender exists") {
            Incoming::Line(line) => server.message(&line),
            Incoming::TooLong => Some(refusal(&Value::Null, INVALID_REQUEST, "the message is longer than 1 MiB")),
            Incoming::Ended(id, answer) => server.ended(&id, answer),
            Incoming::Closed => break,
        };
        let Some(answer) = answer else { continue };
        let mut out = io::stdout().lock();
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    // What still runs is of use to nobody.
    server.calls.values().for_each(|call| call.end());
    Ok(Exit::Done)
}

/// Reads the next line.
fn read(from: &mut impl BufRead) -> Incoming {
    let mut line = Vec::new();
    match from.take(LONGEST).read_until(b'\n', &mut line) {
        Err(_) | Ok(0) => Incoming::Closed,
        Ok(_) if line.last() == Some(&b'\n') => Incoming::Line(line),
        Ok(read) if (read as u64) < LONGEST => Incoming::Line(line),
        Ok(_) => {
            let mut rest = Vec::new();
            while from.take(LONGEST).read_until(b'\n', &mut rest).is_ok_and(|read| read > 0) {
                if rest.last() == Some(&b'\n') {
                    break;
                }
                rest.clear();
            }
            Incoming::TooLong
        }
    }
}

/// The calls that run, by the JSON of their numbers.
struct Server {
    calls: BTreeMap<String, Arc<Call>>,
    to: mpsc::Sender<Incoming>,
}

impl Server {
    /// Answers a message, unless it is a notification or its answer comes later.
    fn message(&mut self, line: &[u8]) -> Option<Value> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(error) => return Some(refusal(&Value::Null, PARSE_ERROR, &format!("the line is not JSON: {error}"))),
        };
        let (method, id) = (message["method"].as_str(), &message["id"]);
        let Some(method) = method.filter(|_| message["jsonrpc"] == "2.0") else {
            // An answer to a request: there was none.
            let is_answer = message.get("result").or(message.get("error")).is_some();
            let reason = "right is an object with \"jsonrpc\": \"2.0\", a method, and an id if it wants an answer";
            return (!is_answer).then(|| refusal(id, INVALID_REQUEST, reason));
        };
        if id.is_null() {
            if method == "notifications/cancelled"
                && let Some(call) = self.calls.remove(&message["params"]["requestId"].to_string())
            {
                call.end();
            }
            return None;
        }
        match self.request(method, id, &message["params"]) {
            Ok(None) => None,
            Ok(Some(result)) => Some(json!({ "jsonrpc": "2.0", "id": id, "result": result })),
            Err(Refused(code, reason)) => Some(refusal(id, code, &reason)),
        }
    }

    /// Returns the result of a request, or `None` if it comes when a call has ended.
    fn request(&mut self, method: &str, id: &Value, given: &Value) -> Result<Option<Value>, Refused> {
        match method {
            "initialize" => Ok(Some(initialized(given))),
            "ping" => Ok(Some(json!({}))),
            "tools/list" => Ok(Some(json!({ "tools": tools::listed() }))),
            "tools/call" => self.call(id, given).map(|()| None),
            _ => Err(Refused(METHOD_NOT_FOUND, format!("there is no method '{method}'; this server has tools only"))),
        }
    }

    fn call(&mut self, id: &Value, given: &Value) -> Result<(), Refused> {
        let wrong = |reason: String| Refused(INVALID_PARAMS, reason);
        let key = id.to_string();
        if self.calls.contains_key(&key) {
            return Err(Refused(INVALID_REQUEST, format!("the call {key} runs already")));
        }
        if self.calls.len() >= MOST_CALLS {
            return Err(Refused(INTERNAL_ERROR, format!("{MOST_CALLS} calls run; wait for one, or cancel it")));
        }
        let name = given["name"].as_str().ok_or_else(|| wrong("the name of a tool is missing".to_owned()))?;
        let words = tools::words(name, &given["arguments"]).map_err(|error| wrong(error.to_string()))?;
        let to = self.to.clone();
        let ended = key.clone();
        let call = Call::start(&words, move |answer| drop(to.send(Incoming::Ended(ended, answer))));
        let call = call.map_err(|error| Refused(INTERNAL_ERROR, format!("the command cannot be started: {error}")))?;
        self.calls.insert(key, call);
        Ok(())
    }

    /// Answers a call that has ended, unless it was cancelled.
    fn ended(&mut self, key: &str, Answer { text, exit }: Answer) -> Option<Value> {
        self.calls.remove(key)?;
        let id: Value = serde_json::from_str(key).expect("it was JSON");
        // That two things differ, or that data is missing, is an answer.
        let is_error = !matches!(exit, Some(0 | 3 | 4));
        let result = json!({ "content": [{ "type": "text", "text": text }], "isError": is_error });
        Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }
}

fn initialized(given: &Value) -> Value {
    let wanted = given["protocolVersion"].as_str().unwrap_or_default();
    let version = VERSIONS.into_iter().find(|version| *version == wanted).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "opscope", "title": "opscope", "version": env!("CARGO_PKG_VERSION") },
        "instructions": tools::INSTRUCTIONS,
    })
}

fn refusal(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
