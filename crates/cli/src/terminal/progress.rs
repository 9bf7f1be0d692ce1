use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use opscope_job::benchmark::{Goal, Stage};

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
