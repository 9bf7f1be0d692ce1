//! The important parts of a benchmark, on one screen.

mod head;
mod next_steps;
mod operators;
mod times;

use opscope::profile::Account;
use opscope::text::{display_width, shortened, wrapped_within};
use opscope_job::benchmark::{Job, Measured, Report};

use super::View;
use super::shapes::{shapes_of_files, table_of_shapes};

/// The maximum number of lines on a screen.
const LINES: usize = 15;

/// The column in which the text of a line begins, after its label.
const LABEL: usize = 11;

/// How many lines each part of a screen may take.
#[derive(Debug, Clone, Copy)]
struct LineLimits {
    /// The engine, and the result of its check.
    engine: usize,
    /// Any other sentence.
    sentence: usize,
    /// The paths of written files.
    paths: usize,
    /// The lines that are kept free for the parts of the time: the longest bars, and the slowest operators.
    operators: usize,
}

/// The limits to try until everything fits, the most generous first.
const LIMITS: [LineLimits; 5] = [
    LineLimits { engine: 2, sentence: 2, paths: 3, operators: 7 },
    LineLimits { engine: 2, sentence: 2, paths: 1, operators: 7 },
    LineLimits { engine: 2, sentence: 1, paths: 1, operators: 7 },
    LineLimits { engine: 2, sentence: 1, paths: 1, operators: 5 },
    LineLimits { engine: 1, sentence: 1, paths: 1, operators: 5 },
];

/// Formats the report as text of at most 15 lines.
pub fn render(report: &Report, job: &Job, faster: Option<&str>, view: View) -> String {
    let one = match &report.measurements[..] {
        [one] if report.dym_shape_range.is_none() => Some(one),
        _ => None,
    };
    let has_operators = account(report).is_some();
    let mut lines = Vec::new();
    let (mut times, mut end) = (Vec::new(), Vec::new());
    for most in LIMITS {
        lines = head::lines(report, view, most);
        lines.extend(faster.into_iter().flat_map(|text| sentence("faster", text, view, most.sentence)));
        lines.push(String::new());
        times = one.map(|one| times::lines(one, report, job, view, most)).unwrap_or_default();
        end = next_steps::lines(report, job, view, most);
        let operators = if has_operators { most.operators } else { 0 };
        if lines.len() + times.len() + operators + end.len() <= LINES {
            break;
        }
    }
    let room = LINES.saturating_sub(lines.len() + end.len());
    match one {
        Some(one) => lines.extend(one_measurement(one, times, report, view, room)),
        None => {
            let count = report.measurements.len() + report.failed_shapes.len();
            let table = table_of_shapes(report, view, fitting(count, room));
            lines.extend(cut_table(&table.text(), count, room, "sets of shapes"));
        }
    }
    // Paths and next steps, in `end`, are there to be copied, so they are not shortened.
    lines.iter_mut().for_each(|line| *line = shortened(line.trim_end(), view.width));
    lines.extend(end);
    lines.join("\n")
}

/// Adds the lines of one measurement. `lines` are those of the times.
fn one_measurement(
    measured: &Measured,
    mut lines: Vec<String>,
    report: &Report,
    view: View,
    room: usize,
) -> Vec<String> {
    let room = room.saturating_sub(lines.len());
    let shapes = measured.by_shape.len();
    if shapes > 1 {
        let table = shapes_of_files(measured, view, fitting(shapes, room));
        lines.extend(cut_table(&table.text(), shapes, room, "shapes"));
    } else if let Some(account) = account(report) {
        let unprofiled = report.profile.is_none().then_some(measured.compute.median * 1e6);
        lines.extend(operators::lines(account, unprofiled, view, room));
    }
    lines
}

/// Returns where the time of a run goes: in the measured runs if they were recorded, else in extra runs.
fn account(report: &Report) -> Option<&Account> {
    let recorded = report.profile.as_ref().and_then(|profile| profile.account.as_ref());
    recorded.or(report.beside.as_ref())
}

/// Returns how many rows of a table fit, beside its title and rule, and beside the line that counts the missing rows.
fn fitting(rows: usize, room: usize) -> usize {
    let room = room.saturating_sub(2);
    if rows > room { room.saturating_sub(1) } else { rows }
}

/// Returns the lines of a table, and how many rows are missing.
fn cut_table(table: &str, rows: usize, room: usize, what: &str) -> Vec<String> {
    let mut lines: Vec<String> = table.lines().map(str::to_owned).collect();
    let shown = fitting(rows, room);
    if shown < rows {
        lines.push(format!("... and {} more {what}; --details shows all", rows - shown));
    }
    lines
}

/// Formats a line: its label, and the text.
fn labelled(label: &str, text: &str) -> String {
    format!("{label}{}{text}", " ".repeat(LABEL.saturating_sub(display_width(label)).max(1)))
}

/// Formats a sentence after its label, on `most` lines at most.
fn sentence(label: &str, text: &str, view: View, most: usize) -> Vec<String> {
    let lines = wrapped_within(text, view.width.saturating_sub(LABEL), most);
    lines.iter().enumerate().map(|(at, line)| labelled(if at == 0 { label } else { "" }, line)).collect()
}
