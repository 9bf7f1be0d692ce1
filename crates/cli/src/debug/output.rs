//! What the debugger says: text for people, or one JSON object a line.

use std::fmt::Display;
use std::io::{self, Write};

use opscope::debug::DebugError;
use serde_json::{Map, Value, json};

/// Where results and events go.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// JSON instead of text.
    pub json: bool,
    /// No messages but results, events and errors.
    pub quiet: bool,
}

impl Output {
    /// A result or an event: its JSON fields, which are those of an object, and its text.
    pub fn tell(&self, kind: &str, fields: Value, text: impl Display) {
        if !self.json {
            return line(text);
        }
        let mut object = Map::from_iter([("type".to_owned(), kind.into())]);
        if let Value::Object(fields) = fields {
            object.extend(fields);
        }
        line(Value::Object(object));
    }

    /// Something that is good to know.
    pub fn note(&self, text: impl Display) {
        if !self.quiet && !self.json {
            line(text);
        }
    }

    /// A command that failed.
    pub fn error(&self, place: Option<&str>, error: &anyhow::Error) {
        let message = message(error);
        if self.json {
            let code = error.downcast_ref::<DebugError>().map(DebugError::code);
            self.tell("error", json!({ "code": code, "message": message }), "");
        }
        let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
        // A closed stderr is no reason to stop working.
        let _ = writeln!(io::stderr(), "error: {place}{message}");
    }
}

/// An error in one line: what it says, and how the command is written.
fn message(error: &anyhow::Error) -> String {
    let root = error.root_cause().to_string();
    let usage = error.to_string();
    let one_line = root.replace('\n', " ");
    if usage == root { one_line } else { format!("{one_line}; the command is: {usage}") }
}

/// Whoever reads stdout may have seen enough and closed it: that is no failure.
fn line(text: impl Display) {
    let mut stdout = io::stdout().lock();
    let _ = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
}
