//! A model's inputs, and what ran it.

use opscope::text::shown_text;
use opscope_job::benchmark::{InputSummary, Measured, Report};
use opscope_job::verify::Outcome;

/// Formats the inputs on one line: `ids int64 [1, 8]; mask int64 [1, 8]`.
pub fn inputs(inputs: &[InputSummary]) -> String {
    inputs.iter().map(input).collect::<Vec<_>>().join("; ")
}

/// Formats one input: `ids int64 [1, 8]`.
pub fn input(input: &InputSummary) -> String {
    format!("{} {} {:?}", shown_text(&input.name), input.dtype, input.shape)
}

/// Names the dimensions that are 1 only because nothing sets them, and the options that would.
pub fn made_up(measured: &Measured) -> Option<String> {
    let open = &measured.made_up_dimensions;
    let (names, are) = (open.join(", "), if open.len() == 1 { "is" } else { "are" });
    let is_batch = matches!(&open[..], [one] if one.to_lowercase().contains("batch") || one.ends_with("[0]"));
    let option = if is_batch { "--batch-size" } else { "--dym-shape or --input" };
    let names = shown_text(&names);
    (!open.is_empty()).then(|| format!("{names} {are} open in the file and 1 here; {option} sets more"))
}

/// Names the timed plan: by its fidelity if it is the engine's own, else by its form.
pub fn timed_plan(report: &Report) -> String {
    let verification = report.measurements.first().and_then(|measured| measured.verification.as_ref());
    match verification.map(|verification| (&verification.outcome, &verification.wrong[..])) {
        Some((Outcome::Right { form, .. }, [_, ..])) => format!("with {}", shown_text(form)),
        _ => report.engine.fidelity.to_string(),
    }
}
