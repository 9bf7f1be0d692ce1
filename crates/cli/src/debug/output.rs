//! What the debugger says: text for people, or one JSON object a line.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process;

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
            return line(&tame(&text.to_string()));
        }
        let mut object = Map::from_iter([("type".to_owned(), kind.into())]);
        if let Value::Object(fields) = fields {
            object.extend(fields);
        }
        line(&Value::Object(object).to_string());
    }

    /// Something that is good to know.
    pub fn note(&self, text: impl Display) {
        if !self.quiet && !self.json {
            line(&tame(&text.to_string()));
        }
    }

    /// The program is gone.
    pub fn gone(&self, reason: &str) {
        self.tell("gone", json!({ "reason": reason }), format!("Nothing is left to debug: {reason}"));
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
        let _ = writeln!(io::stderr(), "error: {place}{}", tame(&message));
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

/// Names of a model may hold anything: what would move a terminal's cursor, or do worse, is shown as an escape.
fn tame(text: &str) -> Cow<'_, str> {
    let is_wild = |c: char| c.is_control() && c != '\n';
    if !text.contains(is_wild) {
        return text.into();
    }
    let letter = |c: char| if is_wild(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(letter).collect()
}

/// Whoever reads stdout may have seen enough and closed it: that is no failure, but there is nobody left to debug for.
fn line(text: &str) {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => process::exit(0),
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: the result cannot be printed: {error}");
            process::exit(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_a_name_do_not_reach_the_terminal() {
        assert_eq!(tame("two\nlines, \u{1b}[2J, \u{9b}1m, \0"), "two\nlines, \\u{1b}[2J, \\u{9b}1m, \\u{0}");
        assert!(matches!(tame("plain, ünïcode"), Cow::Borrowed(_)));
    }
}
