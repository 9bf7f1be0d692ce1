//! Commands that show more, as text to copy.

use std::path::Path;

use super::Place;
use super::html::Html;
use crate::ReportError;
use crate::facts::RunFacts;

pub(super) fn section(html: &mut Html, place: &Place<'_>) -> Result<(), ReportError> {
    html.within("dl", &[("class", "commands")], |html| {
        for (why, command) in commands(place.run) {
            html.element("dt", &[], why);
            html.within("dd", &[], |html| {
                html.element("code", &[], &command);
                html.raw("<button type=\"button\" data-copy>Copy</button>");
            });
        }
    });
    Ok(())
}

fn commands(run: &RunFacts) -> Vec<(&'static str, String)> {
    let mut commands = Vec::new();
    if let Some(recording) = run.recording() {
        let recording = quoted_path(recording);
        commands.push(("Every operator and type, as text", format!("opscope inspect {recording} --rows 1000")));
        commands.push((
            "Every run on a timeline, for ui.perfetto.dev",
            format!("opscope export {recording} --format perfetto"),
        ));
        commands.push(("Every dispatch as a row", format!("opscope export {recording} --format csv")));
    }
    if let Some(dump) = &run.dump {
        let path = quoted_path(&dump.path);
        commands.push(("Every tensor with its statistics", format!("opscope inspect {path}")));
        commands.push(("Whether the dump is whole", format!("opscope inspect {path} --check")));
        if let Some(file) = dump.first_bad.as_ref().and_then(|bad| bad.file.as_ref()) {
            commands.push(("The first tensor that is not finite", format!("opscope inspect {}", quoted_path(file))));
        }
    }
    if let Some(model) = run.model.as_deref().filter(|model| !model.is_empty()) {
        let (model, given) = (quoted(model), given(run));
        if run.dump.as_ref().is_some_and(|dump| dump.first_bad.is_some()) {
            commands.push((
                "Stop where the first NaN arises",
                format!("opscope debug {model}{given} -ex 'catch nonfinite' -ex run"),
            ));
        }
        commands.push(("The model's operators", format!("opscope inspect {model}")));
        if run.dump.is_none() {
            commands.push((
                "What every operator computes",
                format!("opscope benchmark {model}{given} --output out --dump"),
            ));
        }
        if run.recording().is_none() {
            commands.push(("Where the time goes", format!("opscope benchmark {model}{given} --output out --profiler")));
        }
    }
    commands
}

/// Returns the options that give a command the run's own inputs and engine, to be added to it.
fn given(run: &RunFacts) -> String {
    let words = run.summary.iter().flat_map(|summary| &summary.again);
    let shown = |word: &String| match word.split_once('=') {
        Some((option, value)) => format!(" {option}={}", quoted(value)),
        None => format!(" {word}"),
    };
    words.map(shown).collect()
}

fn quoted_path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// Returns a word that a shell takes as it is.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+:=@%,".contains(letter);
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(plain) {
        return word.to_owned();
    }
    // A word that begins like an option is none behind a directory.
    let word = if word.starts_with('-') { format!("./{word}") } else { word.to_owned() };
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_shell_whatever_is_in_it() {
        assert_eq!(quoted("out/profiler/20260101"), "out/profiler/20260101");
        assert_eq!(quoted("a b; rm -rf $HOME `x`"), "'a b; rm -rf $HOME `x`'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted("--output"), "'./--output'");
        assert_eq!(quoted(""), "''");
    }
}
