//! What matters of a benchmark, on one screen.

mod head;
mod next;
mod operators;
mod times;

use opscope::benchmark::{Job, Measured, Report};
use opscope::profile::Account;
use opscope::text::{display_width, shortened};

use super::View;
use super::shapes::{shapes_of_files, table_of_shapes};

/// The most lines of a screen.
const LINES: usize = 15;

/// Where the text of a line begins, behind what it is about.
const LABEL: usize = 11;

/// The report as text of at most 15 lines.
pub fn render(report: &Report, job: &Job, view: View) -> String {
    let mut lines = head::lines(report, view);
    lines.push(String::new());
    let end = next::lines(report, job, view);
    let room = LINES - lines.len() - end.len();
    match &report.measurements[..] {
        [one] if report.dym_shape_range.is_none() => lines.extend(one_measurement(one, report, job, view, room)),
        all => {
            let count = all.len() + report.failed_shapes.len();
            let table = table_of_shapes(report, view, fitting(count, room));
            lines.extend(cut_table(&table.text(), count, room, "sets of shapes"));
        }
    }
    lines.extend(end);
    let lines: Vec<String> = lines.iter().map(|line| shortened(line.trim_end(), view.width)).collect();
    lines.join("\n")
}

fn one_measurement(measured: &Measured, report: &Report, job: &Job, view: View, room: usize) -> Vec<String> {
    let mut lines = times::lines(measured, report, job, view);
    let room = room - lines.len();
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

/// Where the time of a run goes: in the measured runs if they were recorded, otherwise in those beside them.
fn account(report: &Report) -> Option<&Account> {
    let recorded = report.profile.as_ref().and_then(|profile| profile.account.as_ref());
    recorded.or(report.beside.as_ref())
}

/// How many rows of a table have room, beside its title and its rule, and beside a line that names those that have not.
fn fitting(rows: usize, room: usize) -> usize {
    let room = room.saturating_sub(2);
    if rows > room { room.saturating_sub(1) } else { rows }
}

/// The lines of a table, and how many rows it lacks.
fn cut_table(table: &str, rows: usize, room: usize, what: &str) -> Vec<String> {
    let mut lines: Vec<String> = table.lines().map(str::to_owned).collect();
    let shown = fitting(rows, room);
    if shown < rows {
        lines.push(format!("... and {} more {what}; --details shows all", rows - shown));
    }
    lines
}

/// A line: what it is about, and the text.
fn labelled(label: &str, text: &str) -> String {
    format!("{label}{}{text}", " ".repeat(LABEL.saturating_sub(display_width(label)).max(1)))
}
