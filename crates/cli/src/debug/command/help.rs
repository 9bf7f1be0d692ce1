//! The text of `help`.

use std::fmt::Write;

use anyhow::Result;

use super::table::{COMMANDS, find};

/// Returns the help of one command, or an overview of all if none is named.
pub fn help(word: &str) -> Result<String> {
    if !word.is_empty() {
        let row = find(word)?;
        let mut text = format!("{} {}", row.name, row.arguments).trim_end().to_owned();
        if !row.aliases.is_empty() {
            let _ = write!(text, "    (also: {})", row.aliases.join(", "));
        }
        let _ = write!(text, "\n{}.", row.summary);
        if !row.details.is_empty() {
            let _ = write!(text, "\n{}", row.details);
        }
        return Ok(text);
    }
    let calls = COMMANDS.iter().map(|row| {
        let names: Vec<&str> = std::iter::once(row.name).chain(row.aliases.first().copied()).collect();
        (format!("{} {}", names.join(", "), row.arguments), row.summary)
    });
    let calls: Vec<_> = calls.collect();
    let width = calls.iter().map(|(call, _)| call.len()).filter(|length| *length <= 36).max().unwrap_or(0);
    let mut text = String::new();
    for (call, summary) in calls {
        let call = call.trim_end();
        // A long one has its explanation on the next line.
        let gap = if call.len() > width { format!("\n{:width$}", "") } else { " ".repeat(width - call.len()) };
        let _ = writeln!(text, "{call}{gap}  {summary}");
    }
    text.push_str("An empty line repeats step, continue or list. `help COMMAND` says more.");
    Ok(text)
}
