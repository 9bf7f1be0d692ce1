//! Output to the terminal: results to stdout, messages and progress to stderr.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use opscope::benchmark::{Goal, Stage, remove_unfinished_outputs};
use opscope::onnx::shown_text;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::exit::Failure;

/// Prints a result, with escapes for control characters. A closed stdout is not a failure: the reader has seen enough.
pub fn print(text: impl Display) -> Result<(), Failure> {
    let text = text.to_string();
    let lines: Vec<_> = text.split('\n').map(shown_text).collect();
    write(&lines.join("\n"))
}

/// Prints a result as JSON, with JSON's own escapes for characters that control a terminal.
pub fn print_json(document: impl Display) -> Result<(), Failure> {
    write(&escaped_json(&document.to_string()))
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

/// Escapes characters that control a terminal. JSON has them only in strings; line breaks are only between its tokens.
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
    /// No messages but errors.
    pub quiet: bool,
    /// More messages.
    pub debug: bool,
}

impl Messages {
    /// A detail of what the command does, for `--debug`.
    pub fn debug(self, text: impl Display) {
        if self.debug {
            self.say("debug", text);
        }
    }

    /// Something that is useful to know.
    pub fn note(self, text: impl Display) {
        self.say("note", text);
    }

    /// Something that was asked for does not happen.
    pub fn warning(self, text: impl Display) {
        self.say("warning", text);
    }

    fn say(self, kind: &str, text: impl Display) {
        if !self.quiet {
            // The command continues if stderr is closed.
            let _ = writeln!(io::stderr(), "{kind}: {}", shown_text(&text.to_string()));
        }
    }
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

    /// Shows how many runs are done, and how far the goal is.
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

    /// Shows how much of a time has passed, both in milliseconds.
    fn time_passed(&self, passed: u64, all: u64, message: impl FnOnce() -> String) {
        // Formatting a message takes longer than a short run.
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

/// What Ctrl-C and SIGTERM do to a benchmark.
///
/// Before there are results, they end the process at once. While the model runs, they cancel the job, and what was measured
/// is reported; if a run takes too long for that, the process ends without a report. A second signal always ends the process
/// at once.
pub struct Interrupt {
    cancelled: Arc<AtomicBool>,
    stage: Arc<Mutex<Stage>>,
}

/// How long a run may continue after a signal.
const PATIENCE: Duration = Duration::from_millis(800);

impl Interrupt {
    /// Installs the handlers.
    pub fn listen() -> Result<Self, Failure> {
        let interrupt = Self { cancelled: Arc::default(), stage: Arc::new(Mutex::new(Stage::Loading)) };
        let failed = |error| Failure::failed(format!("no handler for signals can be installed: {error}"));
        // The handler that reads the flag comes before the one that sets it: otherwise the first signal could count as the
        // second.
        for (signal, code) in CODES {
            flag::register_conditional_shutdown(signal, code, Arc::clone(&interrupt.cancelled)).map_err(failed)?;
        }
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
        let (cancelled, stage) = (Arc::clone(&interrupt.cancelled), Arc::clone(&interrupt.stage));
        let wait = move || {
            let Some(signal) = signals.forever().next() else { return };
            cancelled.store(true, Ordering::Relaxed);
            let stage = || *stage.lock().unwrap_or_else(PoisonError::into_inner);
            if stage() == Stage::Running {
                thread::sleep(PATIENCE);
            }
            match stage() {
                // The results are being written.
                Stage::Closing | Stage::Exporting => {}
                stage => end(signal, stage),
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(failed)?;
        Ok(interrupt)
    }

    /// The flag that a signal sets.
    pub fn flag(&self) -> &AtomicBool {
        &self.cancelled
    }

    /// Sets the stage, which decides what a signal does.
    pub fn enter(&self, stage: Stage) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }
}

/// The exit codes of a process that a signal ended, as shells define them.
const CODES: [(i32, i32); 2] = [(SIGINT, 130), (SIGTERM, 143)];

fn end(signal: i32, stage: Stage) -> ! {
    if stage.has_no_results() {
        remove_unfinished_outputs();
    }
    let _ = writeln!(io::stderr(), "interrupted while {stage}");
    let code = CODES.iter().find(|(known, _)| *known == signal).map_or(130, |(_, code)| *code);
    std::process::exit(code)
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
