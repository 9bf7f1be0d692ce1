//! The debugger's output: text for users, or one JSON object a line.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};

use opscope::debug::DebugError;
use opscope::text::shown_text;
use serde_json::{Map, Value, json};

use super::command::Usage;
use super::show::first_line;
use crate::isolate;

/// How results and events are printed.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// Whether they are printed as JSON instead of text.
    pub json: bool,
    /// Whether only results, stops and errors are printed.
    pub quiet: bool,
    /// The process that it tells of, if there are several.
    pub rank: Option<u32>,
}

impl Output {
    /// Prints a result or an event: its type, its JSON fields (an object), and its text.
    pub fn result(&self, kind: &str, fields: Value, text: impl Display) {
        if !self.json {
            return line(&each_line(&self.of_rank(text)));
        }
        let mut object = Map::from_iter([("type".to_owned(), kind.into())]);
        object.extend(self.rank.map(|rank| ("rank".to_owned(), rank.into())));
        if let Value::Object(fields) = fields {
            object.extend(fields);
        }
        line(&escaped(&Value::Object(object).to_string()));
    }

    /// Prints a hint for users.
    pub fn note(&self, text: impl Display) {
        if !self.quiet && !self.json {
            line(&each_line(&self.of_rank(text)));
        }
    }

    /// Returns a text with the process that it tells of.
    fn of_rank(&self, text: impl Display) -> String {
        self.rank.map_or_else(|| text.to_string(), |rank| format!("rank {rank}: {text}"))
    }

    /// Reports that the program is gone.
    pub fn gone(&self, reason: &str) {
        let text = format!("Nothing is left to debug: {}", first_line(reason));
        self.result("gone", json!({ "reason": reason }), text);
    }

    /// Begins a new line after the `^C` or the prompt that the terminal shows.
    pub fn interrupted(&self) {
        if !self.json && io::stdin().is_terminal() && io::stdout().is_terminal() {
            line("");
        }
    }

    /// Reports that a command failed.
    pub fn error(&self, place: Option<&str>, error: &anyhow::Error) {
        let message = message(error);
        if self.json {
            let code = error.downcast_ref::<DebugError>().map(DebugError::code);
            self.result("error", json!({ "code": code, "message": message }), "");
        }
        let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
        let message = self.of_rank(message);
        // A closed stderr is no reason to stop working.
        let _ = writeln!(io::stderr(), "error: {place}{}", shown_text(&message));
    }
}

/// Returns an error in one line, with the command's usage. The further lines of an error only point at the place that
/// the first line names.
fn message(error: &anyhow::Error) -> String {
    let usage = error.downcast_ref::<Usage>();
    let causes = error.chain().skip(usize::from(usage.is_some()));
    let sentences: Vec<String> =
        causes.filter_map(|cause| Some(cause.to_string().lines().next()?.to_owned())).collect();
    let message = sentences.join(": ");
    match usage {
        Some(usage) => format!("{message}; usage: {usage}"),
        None => message,
    }
}

/// Makes each line of a text printable. Names are made printable before they are put into a line, so they cannot begin
/// one.
fn each_line(text: &str) -> String {
    text.split('\n').map(shown_text).collect::<Vec<_>>().join("\n")
}

/// Replaces invisible characters of JSON text, which occur in its strings only, by JSON's escapes.
fn escaped(json: &str) -> Cow<'_, str> {
    if let Cow::Borrowed(_) = shown_text(json) {
        return json.into();
    }
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        let is_seen = matches!(shown_text(letter.encode_utf8(&mut [0; 4])), Cow::Borrowed(_));
        match is_seen {
            true => text.push(letter),
            false => {
                let units =
                    letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
                text.push_str(&units);
            }
        }
    }
    text.into()
}

/// Prints a line. A reader that closes stdout ends the session, which is no failure.
fn line(text: &str) {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => end(0),
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: the result cannot be printed: {error}");
            end(1);
        }
    }
}

/// Ends the process immediately. The model may be running on another thread, and ONNX Runtime crashes if it is taken
/// down while it works, as `process::exit` would do.
pub fn end(code: i32) -> ! {
    isolate::done();
    signal_hook::low_level::exit(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_escaped_in_json_so_that_it_reads_the_same() {
        let value = json!({ "name": "two\nlines, \u{9b}1m, \u{202e}, \u{e0041}, ünïcode" });
        let text = escaped(&value.to_string()).into_owned();
        assert_eq!(text, r#"{"name":"two\nlines, \u009b1m, \u202e, \udb40\udc41, ünïcode"}"#);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
