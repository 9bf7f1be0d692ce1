//! Output to the terminal: results to stdout, messages and progress to stderr.

use std::borrow::Cow;
use std::env::var;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use opscope::onnx::Graph;
use opscope::text::{BarStyle, shown_text};
use opscope_job::benchmark::{Goal, Stage};
use opscope_job::inputs::Inputs;
use rustix::termios::tcgetwinsize;
use signal_hook::consts::{SIGINT, SIGTERM};

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

/// Messages for the person at the terminal.
#[derive(Debug, Clone, Copy)]
pub struct Messages {
    /// Whether only errors are printed.
    pub quiet: bool,
    /// Whether details are printed, too.
    pub debug: bool,
}

impl Messages {
    /// Prints a detail of what the command does, for `--debug`.
    pub fn debug(self, text: impl Display) {
        if self.debug {
            self.say("debug", text);
        }
    }

    /// Prints something that is useful to know.
    pub fn note(self, text: impl Display) {
        self.say("note", text);
    }

    /// Prints that a request is not fulfilled.
    pub fn warning(self, text: impl Display) {
        self.say("warning", text);
    }

    /// Prints which files are fed to which inputs, if there is a choice, and what may be unintended about it.
    pub fn fed(self, inputs: &Inputs, graph: &Graph) {
        let Some(files) = inputs.files() else { return };
        if !files.is_evident() {
            self.note(format!("inputs: {}", files.described(graph)));
        }
        files.warnings().iter().for_each(|warning| self.warning(warning));
    }

    fn say(self, kind: &str, text: impl Display) {
        if !self.quiet {
            // The line is written in one piece, so that a killed process leaves no partial line. The command continues
            // if stderr is closed.
            let line = format!("{kind}: {}\n", shown_text(&text.to_string()));
            let _ = io::stderr().write_all(line.as_bytes());
        }
    }
}

/// A smaller width is ignored, because no result fits into it.
const LEAST: usize = 40;

/// Returns how many columns a line of stdout may take: the environment variable `COLUMNS`, or the terminal's width.
/// Without either, as in a pipe or a file, a line may have any length, and nothing has to be cut.
pub fn width() -> usize {
    let said = var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok()).filter(|columns| *columns > 0);
    let of_terminal =
        || tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col)).filter(|width| *width > 0);
    said.or_else(of_terminal).map_or(usize::MAX, |columns: usize| columns.max(LEAST))
}

/// Returns how many columns a table may take: as many as a line of stdout, or 80 in a pipe or a file.
pub fn table_width() -> usize {
    match width() {
        usize::MAX => 80,
        width => width,
    }
}

/// Returns how bars are drawn: with block characters if the locale uses UTF-8.
pub fn bars() -> BarStyle {
    // The first variable that is set decides, as in POSIX.
    let set = |name: &&&str| var(name).is_ok_and(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find(set).and_then(|name| var(name).ok()).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    if locale.contains("utf-8") || locale.contains("utf8") { BarStyle::Blocks } else { BarStyle::Ascii }
}

/// Returns a flag that the first Ctrl-C or SIGTERM sets, and the number of the signal. The second one ends the process.
///
/// # Errors
/// Returns an error if no handler for signals can be installed.
pub fn cancelled() -> Result<(Arc<AtomicBool>, Arc<AtomicUsize>), Failure> {
    let (cancelled, number) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&cancelled))
            .and_then(|_| signal_hook::flag::register_usize(signal, Arc::clone(&number), signal as usize))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&cancelled)))
            .map_err(|error| Failure::failed(format!("no handler for signals can be installed: {error}")))?;
    }
    Ok((cancelled, number))
}

/// The progress of long work, shown if stderr is a terminal.
pub struct Progress(ProgressBar);

impl Progress {
    /// Shows a bar, unless `quiet`.
    pub fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(stage_style());
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// Shows the current stage.
    pub fn stage(&self, stage: Stage) {
        self.0.set_message(stage.to_string());
    }

    /// Shows what the command is doing.
    pub fn message(&self, text: String) {
        self.0.set_message(text);
    }

    /// Shows how many runs are done, and how close the goal is.
    pub fn ran(&self, done: u64, goal: Goal) {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        match goal {
            Goal::Runs(planned) => self.advanced(done, planned),
            Goal::Time { passed, all } => self.time_passed(millis(passed), millis(all), || format!("{done} runs")),
            Goal::Stable { width, wanted, passed, most } => self.time_passed(millis(passed), millis(most), || {
                let known = width.map_or("not known yet".to_owned(), |width| format!("known within {width:.2} %"));
                format!("{done} runs, the median is {known}, wanted {wanted} %")
            }),
        }
    }

    /// Shows how much of a period has passed, both in milliseconds.
    fn time_passed(&self, passed: u64, all: u64, message: impl FnOnce() -> String) {
        // Formatting the message takes longer than a short run.
        if self.0.is_hidden() || (self.0.length() == Some(all) && passed.saturating_sub(self.0.position()) < 50) {
            return;
        }
        self.0.set_style(time_style());
        self.0.set_length(all);
        self.0.set_position(passed);
        self.0.set_message(message());
    }

    /// Shows how many of the planned steps are done.
    pub fn advanced(&self, done: u64, planned: u64) {
        if self.0.length() != Some(planned) {
            self.0.set_length(planned);
            self.0.set_style(bar_style());
        }
        self.0.set_position(done);
    }

    /// Prints something beside the bar.
    pub fn aside(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

fn stage_style() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner())
}

fn bar_style() -> ProgressStyle {
    let template = "{msg} [{bar:40}] {pos}/{len} ({per_sec}, {eta} left)";
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ")
}

fn time_style() -> ProgressStyle {
    let template = "{msg} [{bar:20}] {elapsed}";
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ")
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
