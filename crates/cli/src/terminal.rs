//! What goes to the terminal: results to stdout, messages and progress to stderr.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::Failure;

/// Prints a result. Whoever reads stdout may have seen enough and closed it: that is no failure.
pub fn print(text: impl Display) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("the result cannot be printed: {error}")))
        }
        _ => Ok(()),
    }
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
    /// Something for whoever wants to know what is going on.
    pub fn debug(self, text: impl Display) {
        if self.debug {
            self.say("debug", text);
        }
    }

    /// Something that is good to know.
    pub fn note(self, text: impl Display) {
        self.say("note", text);
    }

    /// Something that was asked for does not happen.
    pub fn warning(self, text: impl Display) {
        self.say("warning", text);
    }

    fn say(self, kind: &str, text: impl Display) {
        if !self.quiet {
            // A closed stderr is no reason to stop working.
            let _ = writeln!(io::stderr(), "{kind}: {text}");
        }
    }
}

/// The progress of a long work, shown while stderr is a terminal.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar, unless `quiet`.
    pub fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(stage_style());
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// Something else is being done now.
    pub fn stage(&self, stage: &str) {
        self.0.set_message(stage.to_owned());
    }

    /// So many of so many runs are over.
    pub fn advanced(&self, done: u64, planned: u64) {
        if self.0.length() != Some(planned) {
            self.0.set_length(planned);
            self.0.set_style(bar_style());
        }
        self.0.set_position(done);
    }

    /// Takes the bar away.
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

/// A flag that Ctrl-C or SIGTERM sets. The second one ends the process at once.
pub fn interrupt_flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for (signal, code) in [(SIGINT, 130), (SIGTERM, 143)] {
        flag::register_conditional_shutdown(signal, code, Arc::clone(&flag))
            .and_then(|_| flag::register(signal, Arc::clone(&flag)))
            .map_err(|error| Failure::failed(format!("no handler for signals can be set: {error}")))?;
    }
    Ok(flag)
}
