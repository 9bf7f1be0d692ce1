//! A report as text: on one screen, or with all numbers.

mod details;
mod screen;
mod shapes;

use std::fmt::Write;

use opscope::dump::Estimate;
use opscope::text::{BarStyle, counted, shown_size, shown_text};
use opscope_job::benchmark::{InputSummary, Job, Measured, Report};
use opscope_job::verify::Outcome;

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

/// Formats the estimated dumps as JSON, one for each set of shapes.
pub fn estimates_json(estimates: &[Estimate]) -> serde_json::Value {
    let all = estimates.iter().map(|estimate| {
        serde_json::json!({
            "tensors": estimate.tensors, "bytes": estimate.bytes, "unknown": estimate.unknown,
            "missing": estimate.missing, "at_most": estimate.at_most,
        })
    });
    serde_json::json!({ "schema": "opscope.dump-estimate/1", "dumps": all.collect::<Vec<_>>() })
}

/// Formats the estimated dumps as text.
pub fn estimates(estimates: &[Estimate]) -> String {
    let line = |estimate: &Estimate| {
        let at_most = if estimate.at_most { "at most " } else { "" };
        let mut line = format!("{at_most}{}, {}", counted(estimate.tensors, "tensor"), shown_size(estimate.bytes));
        if estimate.unknown > 0 {
            let _ = write!(line, "; the sizes of {} more are not known before they are computed", estimate.unknown);
        }
        if estimate.missing > 0 {
            let _ = write!(line, "; {} cannot be captured", estimate.missing);
        }
        line
    };
    estimates.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Formats the inputs on one line: `ids int64 [1, 8]; mask int64 [1, 8]`.
fn inputs(inputs: &[InputSummary]) -> String {
    inputs.iter().map(input).collect::<Vec<_>>().join("; ")
}

/// Formats one input: `ids int64 [1, 8]`.
fn input(input: &InputSummary) -> String {
    format!("{} {} {:?}", shown_text(&input.name), input.dtype, input.shape)
}

/// Names the dimensions that are 1 only because nothing sets them, and the options that would.
fn made_up(measured: &Measured) -> Option<String> {
    let open = &measured.made_up_dimensions;
    let (names, are) = (open.join(", "), if open.len() == 1 { "is" } else { "are" });
    let is_batch = matches!(&open[..], [one] if one.to_lowercase().contains("batch") || one.ends_with("[0]"));
    let option = if is_batch { "--batch-size" } else { "--dym-shape or --input" };
    let names = shown_text(&names);
    (!open.is_empty()).then(|| format!("{names} {are} open in the file and 1 here; {option} sets more"))
}

/// Names the timed plan: by its fidelity if it is the engine's own, else by its form.
fn timed_plan(report: &Report) -> String {
    let verification = report.measurements.first().and_then(|measured| measured.verification.as_ref());
    match verification.map(|verification| (&verification.outcome, &verification.wrong[..])) {
        Some((Outcome::Right { form, .. }, [_, ..])) => format!("with {}", shown_text(form)),
        _ => report.engine.fidelity.to_string(),
    }
}

/// Formats a number in six characters, if it fits.
fn six(number: f64) -> String {
    let decimals = match number.abs() {
        number if number < 9.99995 => 4,
        number if number < 99.9995 => 3,
        number if number < 999.995 => 2,
        number if number < 9999.95 => 1,
        _ => 0,
    };
    format!("{number:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_six_characters_up_to_a_quarter_of_an_hour() {
        for (number, text) in [
            (0.00004, "0.0000"),
            (9.99994, "9.9999"),
            (9.99996, "10.000"),
            (99.9996, "100.00"),
            (143.0348, "143.03"),
            (999.996, "1000.0"),
            (99999.4, "99999"),
            (999999.0, "999999"),
        ] {
            assert_eq!(six(number), text);
        }
    }
}
