//! The head of a screen: the model, the engine, and whether the outputs were checked.

use opscope::model::Fidelity;
use opscope::text::{display_width, shortened, shown_text};
use opscope_job::benchmark::{Measured, Report};
use opscope_job::verify::{Outcome, Verification};

use super::{LineLimits, labelled, sentence};
use crate::benchmark::text::{View, input, made_up, timed_plan};
use crate::terminal::shown_path;

/// A model's path keeps at least this many columns, as long as inputs can be left out instead.
const COMFORTABLE_PATH: usize = 14;

pub fn lines(report: &Report, view: View, most: LineLimits) -> Vec<String> {
    let first = report.measurements.first();
    let mut lines = vec![model(report, first, view)];
    let (checked, because) = first.and_then(|measured| measured.verification.as_ref()).map(checked).unzip();
    let because = because.flatten().map(|because| ("checked", because, most.engine));
    let note = first.and_then(|measured| note(report, measured)).map(|note| ("note", note, most.sentence));
    let engine = ("engine", engine(report, first, checked), most.engine);
    for (label, text, most) in [engine].into_iter().chain(because).chain(note) {
        lines.extend(sentence(label, &text, view, most));
    }
    lines
}

/// `models/digits_cnn.onnx, 16 operators, image float32 [1, 1, 8, 8]`
fn model(report: &Report, first: Option<&Measured>, view: View) -> String {
    let path = shown_path(&report.model.path);
    let operators = match report.model.operators {
        1 => "1 operator".to_owned(),
        count => format!("{count} operators"),
    };
    // With several sets of shapes, a table lists the inputs.
    let one = first.filter(|one| report.dym_shape_range.is_none() && one.by_shape.len() <= 1);
    let inputs = one.map(|one| &one.inputs[..]).unwrap_or_default();
    let with = |shown: usize| {
        let mut rest = format!(", {operators}");
        let list: Vec<String> = inputs[..shown].iter().map(input).collect();
        match (list.is_empty(), inputs.len() - shown) {
            (true, 0) => {}
            (true, 1) => rest += ", 1 input",
            (true, more) => rest += &format!(", {more} inputs"),
            (false, 0) => rest += &format!(", {}", list.join("; ")),
            (false, more) => rest += &format!(", {}; and {more} more", list.join("; ")),
        }
        let room = view.width.saturating_sub(display_width(&labelled("model", &rest)));
        (shortened(&path, room) + &rest, room >= COMFORTABLE_PATH.min(display_width(&path)))
    };
    let texts = (0..=inputs.len()).rev().map(with).collect::<Vec<_>>();
    let fits = texts.iter().find(|(_, has_room)| *has_room).or(texts.last());
    labelled("model", fits.map_or(&path, |(text, _)| text))
}

/// `tract 0.23.9, optimised, 1 thread, batch 1; outputs checked`
fn engine(report: &Report, first: Option<&Measured>, checked: Option<&str>) -> String {
    let engine = &report.engine;
    let plan = timed_plan(report);
    let mut text = format!("{} {}, {plan}", shown_text(&engine.name), shown_text(&engine.version));
    if engine.fidelity == Fidelity::Exact {
        text += " (these are not the model's times)";
    }
    text += &if engine.threads == 1 { ", 1 thread".to_owned() } else { format!(", {} threads", engine.threads) };
    let is_timed = engine.fidelity == Fidelity::Optimised && report.dym_shape_range.is_none();
    if let Some(measured) = first.filter(|one| is_timed && one.by_shape.len() <= 1) {
        text += &format!(", batch {}", measured.batchsize);
    }
    if let Some(checked) = checked {
        text += &format!("; {checked}");
    }
    text
}

/// Says whether the outputs were compared with the exact plan's, and returns a note if there is more to say.
fn checked(verification: &Verification) -> (&'static str, Option<String>) {
    let sentence = || Some(shown_text(&verification.sentence()).into_owned());
    match &verification.outcome {
        Outcome::Right { .. } if verification.wrong.is_empty() => ("outputs checked", None),
        Outcome::Right { .. } => ("outputs checked", sentence()),
        Outcome::Wrong => ("outputs WRONG", sentence()),
        Outcome::Skipped { because } => ("outputs not checked", Some(format!("no: {}", shown_text(because)))),
    }
}

/// Returns the most important other note.
fn note(report: &Report, measured: &Measured) -> Option<String> {
    let left_out = report.left_out_shapes;
    let left_out =
        (left_out > 0).then(|| format!("{left_out} sets of shapes left out: one name of a dimension with two sizes"));
    let of_plan = measured.notes.iter().map(|note| shown_text(note).into_owned());
    let open = made_up(measured).filter(|_| report.dym_shape_range.is_none());
    let notes: Vec<String> = left_out.into_iter().chain(open).chain(of_plan).collect();
    match &notes[..] {
        [] => None,
        [only] => Some(only.clone()),
        [first, others @ ..] => Some(format!("{first}; {} more with --details", others.len())),
    }
}
