//! Commands that show more, as text to copy.

use std::path::{Component, Path, PathBuf};

use opscope_text::{shell_path, shell_word};

use super::RunOnPage;
use super::html::Html;
use crate::ReportError;
use crate::facts::{RunFacts, ValuesComparison};

pub(super) fn section(html: &mut Html, place: &RunOnPage<'_>) -> Result<(), ReportError> {
    let run = place.run;
    let is_missing = run.model.as_ref().is_some_and(|model| !model.is_empty()) && run.started_in.is_none();
    let text = match is_missing {
        false => "Run them in the directory that this page was written to.",
        true => {
            "Run them in the directory that this page was written to. The model's file was not found from there, so there are none that run it."
        }
    };
    html.element("p", &[("class", "description")], text);
    list(html, commands(run, place.directory));
    Ok(())
}

fn list(html: &mut Html, commands: Vec<(&'static str, String)>) {
    html.within("dl", &[("class", "commands")], |html| {
        for (why, command) in commands {
            html.element("dt", &[], why);
            html.within("dd", &[], |html| {
                html.element("code", &[], &command);
                html.raw("<button type=\"button\" data-copy>Copy</button>");
            });
        }
    });
}

/// Writes the command that compares two dumps.
pub(super) fn of_values(html: &mut Html, values: &ValuesComparison, directory: &Path) {
    let [run, reference] = [&values.run.1, &values.reference.1].map(|path| shown(directory, path));
    let command = format!("opscope compare {run} {reference}");
    list(html, vec![("Every tensor with its differences, in the directory that this page was written to", command)]);
}

fn commands(run: &RunFacts, directory: &Path) -> Vec<(&'static str, String)> {
    let mut commands = Vec::new();
    let path = |path: &Path| shown(directory, path);
    if let Some(recording) = run.recording() {
        let recording = path(recording);
        commands.push(("Every operator and type, as text", format!("opscope inspect {recording} --rows 1000")));
        commands.push((
            "The first runs, the slowest and those nearest to the median on a timeline, for ui.perfetto.dev (--timeline-runs all shows all)",
            format!("opscope export {recording} --format perfetto"),
        ));
        commands.push((
            "Every dispatch of every run as a row",
            format!("opscope export {recording} --format csv --timeline-runs all"),
        ));
    }
    if let Some(dump) = &run.dump {
        let of_dump = path(&dump.path);
        commands.push(("Every tensor with its statistics", format!("opscope inspect {of_dump}")));
        commands.push(("Whether the dump is whole", format!("opscope inspect {of_dump} --check")));
        if let Some(file) = dump.first_bad.as_ref().and_then(|bad| bad.file.as_ref()) {
            commands.push(("The first tensor that is not finite", format!("opscope inspect {}", path(file))));
        }
    }
    if let (Some(model), Some(home)) = (run.model.as_deref().filter(|model| !model.is_empty()), &run.started_in) {
        let relative = relative(directory, home);
        // The inputs of the run are named relative to the directory in which it was started.
        let there = |command: String| match relative.as_os_str().is_empty() {
            true => command,
            false => format!("(cd {} && {command})", shell_path(&relative)),
        };
        let (model, given) = (shell_path(model), given(run));
        if run.dump.as_ref().is_some_and(|dump| dump.first_bad.is_some()) {
            commands.push((
                "Stop where the first NaN arises",
                there(format!("opscope debug {model}{given} -ex 'catch nonfinite' -ex run")),
            ));
        }
        commands.push(("The model's operators", there(format!("opscope inspect {model}"))));
        if run.dump.is_none() {
            commands.push((
                "What every operator computes",
                there(format!("opscope benchmark {model}{given} --output out --dump")),
            ));
        }
        if run.recording().is_none() {
            let command = format!("opscope benchmark {model}{given} --output out --profiler");
            commands.push(("Where the time goes", there(command)));
        }
    }
    commands
}

/// Returns the options that give a command the inputs and the engine of the run.
fn given(run: &RunFacts) -> String {
    let words = run.summary.iter().flat_map(|summary| &summary.again);
    words.map(|word| format!(" {}", shell_word(word))).collect()
}

/// Returns a path as a word for a shell that runs in a directory.
fn shown(directory: &Path, path: &Path) -> String {
    shell_path(relative(directory, path))
}

/// Returns the path from a directory to an existing file or directory; empty for the directory itself. A path that does
/// not exist stays unchanged.
fn relative(directory: &Path, path: &Path) -> PathBuf {
    let (Ok(from), Ok(to)) = (directory.canonicalize(), path.canonicalize()) else { return path.to_owned() };
    let (mut from, mut to) = (from.components().peekable(), to.components().peekable());
    while from.peek().is_some() && from.peek() == to.peek() {
        from.next();
        to.next();
    }
    from.map(|_| Component::ParentDir).chain(to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::DumpFacts;

    #[test]
    fn commands_are_those_for_what_is_missing_and_go_to_where_the_run_was_started() {
        let root = tempfile::tempdir().expect("a directory");
        let at = |name: &str| root.path().join(name);
        ["pages", "work/r", "work/d"].iter().for_each(|name| std::fs::create_dir_all(at(name)).expect("a directory"));
        let of = |recording: bool, dump: bool, directory: &str| -> Vec<String> {
            let mut run =
                RunFacts { model: Some("m.onnx".to_owned()), started_in: Some(at("work")), ..RunFacts::default() };
            run.paths.recording = recording.then(|| at("work/r"));
            run.dump = dump.then(|| DumpFacts { path: at("work/d"), ..DumpFacts::default() });
            commands(&run, &at(directory)).into_iter().map(|(_, command)| command).collect()
        };
        let expected = [
            "opscope inspect r --rows 1000",
            "opscope export r --format perfetto",
            "opscope export r --format csv --timeline-runs all",
            "opscope inspect m.onnx",
            "opscope benchmark m.onnx --output out --dump",
        ];
        assert_eq!(of(true, false, "work"), expected);
        let expected = [
            "opscope inspect ../work/d",
            "opscope inspect ../work/d --check",
            "(cd ../work && opscope inspect m.onnx)",
            "(cd ../work && opscope benchmark m.onnx --output out --profiler)",
        ];
        assert_eq!(of(false, true, "pages"), expected);
        assert_eq!(of(true, true, "pages").len(), 6);
        let mut alone = RunFacts { model: Some(String::new()), started_in: Some(at("work")), ..RunFacts::default() };
        assert!(commands(&alone, &at("work")).is_empty());
        alone.model = None;
        assert!(commands(&alone, &at("work")).is_empty());
    }

    #[test]
    fn a_path_is_the_way_from_the_directory_of_the_page() {
        let root = tempfile::tempdir().expect("a directory");
        let at = |name: &str| root.path().join(name);
        std::fs::create_dir_all(at("pages/new")).expect("a directory");
        std::fs::create_dir_all(at("out/dump")).expect("a directory");
        assert_eq!(relative(&at("pages/new"), &at("out/dump")), Path::new("../../out/dump"));
        assert_eq!(relative(&at("."), &at("out/dump")), Path::new("out/dump"));
        assert_eq!(relative(&at("out"), &at("out")), Path::new(""));
        assert_eq!(relative(&at("out"), Path::new("not/there")), Path::new("not/there"));
    }
}
