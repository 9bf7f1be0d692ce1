//! What the debugger says: text for people, or one JSON object a line.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use opscope::debug::DebugError;
use serde_json::{Map, Value, json};

use super::command::Usage;

/// Where results and events go.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// JSON instead of text.
    pub json: bool,
    /// No messages but results, stops and errors.
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

    /// The terminal has shown `^C`, and what comes now begins on a line of its own.
    pub fn interrupted(&self) {
        if !self.json && io::stdin().is_terminal() && io::stdout().is_terminal() {
            line("");
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

/// An error in one line: what it says, and how the command is written. Where a condition is wrong, the lines below show the
/// place that the first one names.
fn message(error: &anyhow::Error) -> String {
    let usage = error.downcast_ref::<Usage>();
    let causes = error.chain().skip(usize::from(usage.is_some()));
    let sentences: Vec<String> =
        causes.filter_map(|cause| Some(cause.to_string().lines().next()?.to_owned())).collect();
    let message = sentences.join(": ");
    match usage {
        Some(usage) => format!("{message}; the command is: {usage}"),
        None => message,
    }
}

/// Whoever reads stdout may have seen enough and closed it: that is no failure.
fn line(text: impl Display) {
    let mut stdout = io::stdout().lock();
    let _ = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
}
