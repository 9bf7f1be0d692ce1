use std::path::{Path, PathBuf};

use opscope::profile::Recording;
use opscope::text::{counted, shown_size};
use opscope_job::benchmark::StoredRun;
use opscope_tables::{Appended, TableSet};
use serde_json::json;

use super::{ExportArguments, ExportFormat, completeness, shown_progress};
use crate::exit::{Exit, Failure};
use crate::terminal::{Messages, print, print_json, shown_path};

/// Appends recordings to a set. Checks all of them before it adds the first one, so that a wrong path adds nothing.
pub(super) fn append(arguments: &ExportArguments, into: &Path, messages: Messages) -> Result<Exit, Failure> {
    if let Some(format @ ExportFormat::Profile(_)) = arguments.format {
        let message = format!("a set holds Parquet tables, not {}; leave --format out, or --into", format.name());
        return Err(Failure::wrong_use(message));
    }
    let recordings = arguments.sources.iter().map(|source| StoredRun::recording_at(source).map_err(Failure::wrong_use));
    let recordings: Vec<PathBuf> = recordings.collect::<Result<_, _>>()?;
    for source in &recordings {
        Recording::open(source.clone()).map_err(Failure::wrong_use)?;
    }
    let set = TableSet::open(into).map_err(Failure::failed)?;
    let (mut written, mut added, mut exit) = (Vec::<PathBuf>::new(), 0, Exit::Done);
    for source in &recordings {
        let mut recording = Recording::open(source.clone()).map_err(Failure::wrong_use)?;
        let progress = shown_progress(&mut recording, arguments.quiet);
        let appended = set.append(&recording);
        progress.finish();
        match appended.map_err(Failure::failed)? {
            Appended::Added(files) => {
                if !arguments.json && !arguments.quiet {
                    files.iter().try_for_each(|path| print(shown_path(path)))?;
                }
                written.extend(files);
                added += 1;
            }
            Appended::Existed(file) => {
                let (source, file) = (source.display(), file.display());
                messages.note(format!("{source} is in the set already and stays as it is: {file}"));
            }
        }
        if completeness(&recording, messages) == Exit::Incomplete {
            exit = Exit::Incomplete;
        }
    }
    if arguments.json {
        print_json(json!(written.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>()))?;
    }
    messages.note(total(&written, arguments.sources.len(), added, into));
    Ok(exit)
}

/// Describes how much was added to the set.
fn total(written: &[PathBuf], recordings: usize, added: usize, into: &Path) -> String {
    let bytes: u64 = written.iter().filter_map(|path| Some(path.metadata().ok()?.len())).sum();
    let earlier = match recordings - added {
        0 => String::new(),
        earlier => format!("; {earlier} were there already"),
    };
    let (recordings, files) = (counted(recordings, "recording"), counted(written.len(), "file"));
    format!("{added} of {recordings} added to {}: {files}, {}{earlier}", shown_path(into), shown_size(bytes))
}
