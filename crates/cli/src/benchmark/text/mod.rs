//! A report as text: on one screen, or with all numbers.

mod details;
mod estimates;
mod inputs;
mod screen;
mod shapes;
mod short_number;

use opscope::text::BarStyle;
use opscope_job::benchmark::{Job, Report};

pub use self::estimates::{estimates, estimates_json};
use crate::options::TextForm;

/// Settings for showing a report.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// How much is shown.
    pub form: TextForm,
    /// The most rows of the tables of a profile.
    pub rows: usize,
    /// The columns of the terminal.
    pub width: usize,
    /// How bars are drawn.
    pub bars: BarStyle,
}

/// Formats the report as text. On one screen, it also says how much faster another engine is.
pub fn render(report: &Report, job: &Job, faster: Option<&str>, view: View) -> String {
    match view.form {
        TextForm::Screen => screen::render(report, job, faster, view),
        TextForm::Details | TextForm::OtherTools => details::render(report, view),
    }
}
