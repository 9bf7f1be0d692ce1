//! The directories of msprobe (`mindstudio-probe`): `dump.json` in `stepN/rankN/`, and a file for each tensor beside it
//! if tensors were taken.

mod entry;
mod name;
mod stack;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use opscope_files::open_regular;

use super::walk;
use crate::ImportError;
use crate::dump::files::json::{Shortened, entries};
use crate::dump::found::Rank;
use entry::Reader;

/// The name of the file that has the statistics.
pub(super) const FILE: &str = "dump.json";

/// The folder beside it with the tensors.
const TENSORS: &str = "dump_tensor_data";

/// The most bytes of JSON. A step of a large model has 100 MB.
const MOST_JSON: u64 = 4 << 30;

/// The most bytes of the files beside it.
const MOST_BESIDE: u64 = 512 << 20;

/// Returns whether a file begins as `dump.json` does.
pub(super) fn begins(start: &[u8]) -> bool {
    let has = |text: &[u8]| memchr::memmem::find(start, text).is_some();
    start.starts_with(b"{") && has(b"\"task\"") && has(b"\"level\"") && has(b"\"data\"")
}

/// The steps of a process, and the file of each.
type Steps = Vec<(Option<u64>, PathBuf)>;

/// Returns what the dump has, for each rank.
pub(super) fn read(source: &Path) -> Result<Vec<Rank>, ImportError> {
    if !source.is_dir() {
        let mut rank = Rank::default();
        step(source, None, &mut rank)?;
        return Ok(vec![rank]);
    }
    // A process without a rank is a rank of its own.
    let mut files: BTreeMap<(Option<u64>, Option<String>), Steps> = BTreeMap::new();
    for (path, way) in walk::files(source).into_iter().filter(|(_, way)| way.last().is_some_and(|name| name == FILE)) {
        let process = way.iter().find(|part| part.starts_with("proc")).cloned();
        let steps = files.entry((walk::rank(&way), process)).or_default();
        steps.push((walk::step(&way), path));
    }
    let mut ranks = Vec::new();
    for ((number, _), mut steps) in files {
        steps.sort_unstable();
        let mut rank = Rank { number, ..Rank::default() };
        for (run, path) in steps {
            if let Err(error) = step(&path, run, &mut rank) {
                rank.problems.push(error.to_string());
            }
        }
        ranks.push(rank);
    }
    Ok(ranks)
}

/// Adds what a step of a rank has.
fn step(path: &Path, run: Option<u64>, rank: &mut Rank) -> Result<(), ImportError> {
    let file = open_regular(path).map_err(ImportError::io("read", path))?;
    let directory = path.parent().unwrap_or(Path::new("."));
    let modules = modules(&directory.join("construct.json"));
    let lines = stack::lines(&directory.join("stack.json"), MOST_BESIDE);
    let tensors = directory.join(TENSORS);
    let run = run.unwrap_or(0);
    let mut reader = Reader { run, directory: tensors, modules, lines, found: &mut rank.tensors };
    let read = entries(Shortened::new(file, MOST_JSON), Some("data"), |name, value| reader.entry(&name, &value));
    if let Err(error) = read {
        rank.problems.push(format!("{}: it is read up to its damage: {error}", path.display()));
    }
    Ok(())
}

/// Returns the module around each function, from `construct.json`. Dumps without modules have none.
fn modules(path: &Path) -> HashMap<String, String> {
    let mut modules = HashMap::new();
    if let Ok(file) = open_regular(path) {
        // It only adds to what is known, so a damaged one is used as far as it goes.
        let _ = entries(Shortened::new(file, MOST_BESIDE), None, |name, value| {
            let around = value.as_str().or_else(|| value.get(0)?.as_str());
            modules.extend(around.map(|around| (name, around.to_owned())));
        });
    }
    modules
}
