use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::compute::dtypes;
use crate::limits::{Roofline, processor_identity};
use crate::{RooflineError, measure};

/// What this version writes and reads.
const SCHEMA: &str = "opscope.machine/1";

/// The version of the method of measurement. Results of another method are not comparable.
const METHOD: u32 = 2;

/// A longer file was not written by this crate.
const LONGEST: u64 = 64 << 10;

#[derive(Serialize, Deserialize)]
struct File {
    schema: String,
    /// The whole key; the file's name has only a hash of it.
    key: String,
    machine: Roofline,
}

/// Returns the stored measurement of this machine with this many threads, or `None` if there is none. A file that is
/// damaged, or that belongs to another processor or version, counts as none.
pub fn kept(directory: &Path, threads: NonZeroUsize) -> Option<Roofline> {
    let path = path(directory, &key(threads));
    let file: File = serde_json::from_slice(&opscope_files::read(&path, LONGEST).ok()?).ok()?;
    let is_ours = file.schema == SCHEMA && file.key == key(threads) && file.machine.is_plausible(threads);
    is_ours.then_some(file.machine)
}

/// Stores a measurement for [`kept`]. If the file cannot be written, the machine is measured again next time.
pub fn keep(directory: &Path, machine: &Roofline) {
    let Some(threads) = NonZeroUsize::new(machine.threads) else { return };
    let file = File { schema: SCHEMA.to_owned(), key: key(threads), machine: machine.clone() };
    let write = || -> std::io::Result<()> {
        // Only the owner may write there, whatever the umask is.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let mut part = tempfile::NamedTempFile::new_in(directory)?;
        part.write_all(&serde_json::to_vec_pretty(&file)?)?;
        part.persist(path(directory, &file.key))?;
        Ok(())
    };
    let _ = write();
}

/// Returns what this machine reaches with this many threads. It reads the measurement that is stored in the directory.
/// If there is none, it measures now, and stores the result there. Without a directory it always measures.
///
/// # Errors
/// Returns an error if a thread for the measurement cannot be started.
pub fn kept_or_measured(directory: Option<&Path>, threads: NonZeroUsize) -> Result<Roofline, RooflineError> {
    if let Some(machine) = directory.and_then(|directory| kept(directory, threads)) {
        return Ok(machine);
    }
    let machine = measure(threads)?;
    if let Some(directory) = directory {
        keep(directory, &machine);
    }
    Ok(machine)
}

/// Returns everything that a measurement depends on, as a text.
fn key(threads: NonZeroUsize) -> String {
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    let dtypes = dtypes().join(", ");
    let version = env!("CARGO_PKG_VERSION");
    format!("{}; opscope {version} {build}; method {METHOD}; {dtypes}; {threads} threads", processor_identity())
}

fn path(directory: &Path, key: &str) -> PathBuf {
    directory.join(format!("machine-{:016x}.json", xxh3_64(key.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bandwidth, ComputePeak};

    fn machine(threads: usize) -> Roofline {
        Roofline {
            processor: "paper".to_owned(),
            threads,
            peaks: vec![ComputePeak { dtype: "float32".to_owned(), gflops_per_s: 12.5 }],
            bandwidths: vec![Bandwidth { bytes: 4096, gbytes_per_s: 1.5 }],
        }
    }

    #[test]
    fn a_measurement_is_kept_for_its_number_of_threads() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("not yet there");
        let [one, two] = [1, 2].map(|threads| NonZeroUsize::new(threads).unwrap());
        keep(&directory, &machine(2));
        assert_eq!((kept(&directory, one), kept(&directory, two)), (None, Some(machine(2))));
        assert_eq!(kept_or_measured(Some(&directory), two).unwrap(), machine(2));
    }

    #[test]
    fn a_file_that_is_damaged_or_foreign_counts_as_none() {
        let root = tempfile::tempdir().unwrap();
        let one = NonZeroUsize::MIN;
        keep(root.path(), &machine(1));
        let file = path(root.path(), &key(one));
        let text = fs::read_to_string(&file).unwrap();
        assert!(kept(root.path(), one).is_some());
        let damaged = [
            text[..text.len() / 2].to_owned(),
            text.replace(SCHEMA, "opscope.machine/9"),
            text.replace("; opscope ", "; another "),
            text.replace("12.5", "-12.5"),
            text.replace("12.5", "1e999"),
            text.replace("\"threads\": 1", "\"threads\": 7"),
            text.replace("12.5", "0.0"),
            String::new(),
            "x".repeat(LONGEST as usize + 1),
        ];
        for damaged in damaged {
            assert_ne!(damaged, text);
            fs::write(&file, &damaged).unwrap();
            assert_eq!(kept(root.path(), one), None, "{damaged:.200}");
        }
    }
}
