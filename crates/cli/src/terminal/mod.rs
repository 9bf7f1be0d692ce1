//! Output to the terminal: results to stdout, messages and progress to stderr.

mod messages;
mod progress;
mod screen;

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use opscope::text::shown_text;

pub use self::messages::Messages;
pub use self::progress::Progress;
pub use self::screen::{bars, table_width, width};
use crate::exit::Failure;

/// Prints a result, with escapes for control characters. A closed stdout is not a failure: the reader wants no more.
pub fn print(text: impl Display) -> Result<(), Failure> {
    let text = text.to_string();
    let lines: Vec<_> = text.split('\n').map(shown_text).collect();
    write(&lines.join("\n"))
}

/// Prints a result as JSON, with JSON's own escapes for characters that control a terminal.
pub fn print_json(document: impl Display) -> Result<(), Failure> {
    write(&escaped_json(&document.to_string()))
}

/// Prints a text of opscope's own, including its control characters.
pub fn print_as_is(text: &str) -> Result<(), Failure> {
    write(text)
}

/// Returns a path in a form that can be shown in one line.
pub fn shown_path(path: &Path) -> String {
    shown_text(&path.to_string_lossy()).into_owned()
}

fn write(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("the result cannot be printed: {error}")))
        }
        _ => Ok(()),
    }
}

/// Escapes characters that control a terminal. In JSON they occur only inside strings; line breaks occur only between
/// tokens.
fn escaped_json(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| c != '\n' && matches!(shown_text(c.encode_utf8(&mut [0; 4])), Cow::Owned(_));
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hidden(c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}")));
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stays_the_same_document_without_a_character_that_a_terminal_obeys() {
        let document = serde_json::json!({ "a\u{1b}\u{9b}": "\u{202e}\n\u{7f}\u{e0041}", "b": ["größe", "\u{200b}"] });
        for text in [document.to_string(), serde_json::to_string_pretty(&document).unwrap()] {
            let escaped = escaped_json(&text);
            assert!(escaped.split('\n').all(|line| matches!(shown_text(line), Cow::Borrowed(_))), "{escaped}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), document);
        }
    }
}
