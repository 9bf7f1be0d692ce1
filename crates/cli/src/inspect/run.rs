//! The files of one run, which is given by its name: `OUT/RUN`.

use std::fmt::Write;
use std::path::Path;

use opscope_job::benchmark::StoredRun;
use serde_json::json;

use crate::artifact::{described, read};
use crate::exit::{Exit, Failure};
use crate::terminal::{print, print_json, shown_path};

/// Shows where all files of a run are, and the time of an inference.
pub fn show(run: &StoredRun) -> Result<(), Failure> {
    let mut text = format!("{}: a run", shown_path(&run.path));
    if let Some(summary) = run.summary.as_deref().and_then(read) {
        let (of, inference) = described(&summary);
        let _ = write!(text, " of {of}");
        inference.iter().for_each(|inference| text += &format!("\n{inference}"));
    }
    for (what, path) in parts(run) {
        let _ = write!(text, "\n{what:<9}  {}", shown_path(path));
    }
    print(text)
}

/// Prints the same as JSON, with the summary's own document. Returns whether everything is complete.
pub fn show_json(run: &StoredRun) -> Result<Exit, Failure> {
    let mut document = json!({ "schema": "opscope.run/1", "path": run.path.to_string_lossy() });
    for (what, path) in parts(run) {
        document[what] = json!(path.to_string_lossy());
    }
    if let Some(summary) = run.summary.as_deref().and_then(read) {
        document["summary_content"] = summary;
    }
    print_json(document)?;
    let manifests = [&run.recording, &run.dump].into_iter().flatten().map(|path| path.join("manifest.json"));
    let are_complete =
        manifests.into_iter().all(|manifest| read(&manifest).is_some_and(|read| read["complete"] == true));
    Ok(if are_complete { Exit::Done } else { Exit::Incomplete })
}

fn parts(run: &StoredRun) -> impl Iterator<Item = (&'static str, &Path)> {
    let parts =
        [("summary", &run.summary), ("outputs", &run.outputs), ("recording", &run.recording), ("dump", &run.dump)];
    parts.into_iter().filter_map(|(what, path)| Some((what, path.as_deref()?)))
}
