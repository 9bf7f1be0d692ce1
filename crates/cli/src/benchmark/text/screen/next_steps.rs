//! The written files, and the next steps.

use opscope::text::{counted, display_width, shell_path, shown_size};
use opscope_job::benchmark::{CaptureSpec, Job, Report};

use super::{LABEL, LineLimits, labelled, sentence};
use crate::benchmark::text::View;
use crate::terminal::shown_path;

pub fn lines(report: &Report, job: &Job, view: View, most: LineLimits) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(dump) = &report.dump {
        let (directory, size) = (shown_path(&dump.directory), shown_size(dump.bytes));
        let numbers = format!(" ({}, {size}, {} missing)", counted(dump.tensors, "tensor"), dump.missing);
        let has_room = LABEL + display_width(&directory) + display_width(&numbers) <= view.width;
        lines.push(labelled("dump", &(directory + if has_room { &numbers } else { "" })));
    }
    if let Some(debugger) = report.debugger.as_ref().filter(|debugger| debugger.stopped_runs > 0) {
        let runs = counted(debugger.stopped_runs, "run");
        let text = format!("stopped {runs}; the times above include their waiting");
        lines.extend(sentence("debugger", &text, view, most.sentence));
    }
    let written = written(report, job, view, most);
    lines.extend(written.iter().enumerate().map(|(at, path)| labelled(if at == 0 { "written" } else { "" }, path)));
    lines.push(next(report, job, view));
    lines
}

/// Returns the outputs, the summary and the recording on one line; if that is too long, one line for each, or their
/// common directory.
fn written(report: &Report, job: &Job, view: View, most: LineLimits) -> Vec<String> {
    let profile = report.profile.as_ref().map(|profile| &profile.directory);
    let all = [report.outputs.as_ref(), report.summary.as_ref(), profile].into_iter().flatten();
    let all: Vec<String> = all.map(|path| shown_path(path)).collect();
    let line = all.join(", ");
    match &job.output {
        _ if all.is_empty() => all,
        _ if LABEL + display_width(&line) <= view.width => vec![line],
        Some(output) if all.len() > most.paths => vec![shown_path(&output.directory)],
        _ => all,
    }
}

/// Returns those commands and options for the next steps that fit on the line.
fn next(report: &Report, job: &Job, view: View) -> String {
    let mut offers = Vec::new();
    let exports = report.profile.as_ref().filter(|profile| profile.exports.is_empty());
    offers.extend(exports.map(|profile| format!("opscope export {}", shell_path(&profile.directory))));
    offers.extend(report.dump.as_ref().map(|dump| format!("opscope inspect {}", shell_path(&dump.directory))));
    offers.extend(job.output.as_ref().map(|output| format!("opscope report {}", shell_path(&output.directory))));
    offers.push("--details for all numbers".to_owned());
    if matches!(job.capture, CaptureSpec::Nothing) {
        let output = if job.output.is_none() { " --output out" } else { "" };
        offers.push(format!("--profiler{output} for a timeline"));
    }
    let mut text = offers.remove(0);
    for offer in offers {
        let longer = format!("{text}; {offer}");
        if display_width(&labelled("next", &longer)) <= view.width {
            text = longer;
        }
    }
    labelled("next", &text)
}
