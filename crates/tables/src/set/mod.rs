//! A set: the tables of many recordings in one directory, partitioned by date, model and host.
//!
//! ```text
//! DIR/dispatches/date=2026-11-23/model=resnet50/host=rack4/0a1b2c...parquet
//! ```
//!
//! A recording adds at most one file to each table, under the recording's id. Existing files are never changed, so any
//! number of processes may append at the same time, and readers need no lock.

mod part;
mod partition;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use opscope_files::open_directory;
use opscope_profile::Recording;

use self::part::Part;
use self::partition::Partition;
use crate::TablesError;
use crate::recording::{Finished, RecordingTables, TABLES, recording_id};

/// The directory of files that are not complete yet, which readers of tables ignore.
const PARTS: &str = ".parts";
/// The table that is published last. A recording belongs to the set once it has its row there.
const LAST: &str = TABLES[0];

/// A directory with the tables of many recordings.
#[derive(Debug, Clone)]
pub struct TableSet {
    directory: PathBuf,
}

/// The result of appending a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Appended {
    /// Its rows are in these files.
    Added(Vec<PathBuf>),
    /// The recording is already in the set, and nothing was written. This is one of its files.
    Existed(PathBuf),
}

impl TableSet {
    /// Opens the set in a directory, which is created if it does not exist. Removes files that killed processes left
    /// there.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created or written.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, TablesError> {
        let directory = directory.into();
        let parts = directory.join(PARTS);
        fs::create_dir_all(&parts).map_err(TablesError::io("create", &parts))?;
        part::remove_abandoned(&parts).map_err(TablesError::io("clear", &parts))?;
        Ok(Self { directory })
    }

    /// Returns its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Adds the rows of a recording, unless it is already in the set. Tables for which it has no rows get no file. All
    /// files are on the disk when they get their names, and `recordings` gets its file last. If this is interrupted,
    /// appending the same recording again adds the missing files.
    ///
    /// # Errors
    /// Returns an error if the recording cannot be read, or a file cannot be written.
    pub fn append(&self, recording: &Recording) -> Result<Appended, TablesError> {
        let place =
            RecordingPlace { set: self, partition: Partition::of(recording), id: recording_id(recording.manifest()) };
        let last = place.file(LAST);
        if last.symlink_metadata().is_ok() {
            return Ok(Appended::Existed(last));
        }
        let parts = self.directory.join(PARTS);
        let mut tables = RecordingTables::begin(recording, |table| {
            // An interrupted call may already have published some files.
            let wanted = table == LAST || place.file(table).symlink_metadata().is_err();
            wanted.then(|| Part::create(&parts).map_err(TablesError::io("create a file in", &parts))).transpose()
        })?;
        tables.write(recording)?;
        let (mut last_part, mut complete) = (None, Vec::new());
        for Finished { name, rows, into } in tables.finish()? {
            if rows > 0 {
                let part = into.complete().map_err(TablesError::io("write a file in", &parts))?;
                if name == LAST { last_part = Some((name, part)) } else { complete.push((name, part)) }
            }
        }
        let mut added = Vec::new();
        for (table, part) in complete.into_iter().chain(last_part) {
            let path = place.file(table);
            let directory = place.create_directory(table).map_err(TablesError::io("create the directory of", &path))?;
            let published = part::publish(part, &path).map_err(TablesError::io("write", &path))?;
            sync(&directory).map_err(TablesError::io("write", &directory))?;
            if published {
                added.push(path);
            } else if table == LAST {
                // Another process added the same recording at the same time.
                return Ok(Appended::Existed(path));
            }
        }
        Ok(Appended::Added(added))
    }
}

/// The place of a recording's rows in the set.
struct RecordingPlace<'a> {
    set: &'a TableSet,
    partition: Partition,
    id: String,
}

impl RecordingPlace<'_> {
    fn file(&self, table: &str) -> PathBuf {
        let directory = self.set.directory.join(table).join(self.partition.directory());
        directory.join(format!("{}.parquet", self.id))
    }

    /// Creates the directory of the recording's file, and syncs the new directories to the disk.
    fn create_directory(&self, table: &str) -> io::Result<PathBuf> {
        let directory = self.set.directory.join(table).join(self.partition.directory());
        if !directory.is_dir() {
            fs::create_dir_all(&directory)?;
            for above in directory.ancestors().skip(1).take_while(|above| above.starts_with(&self.set.directory)) {
                sync(above)?;
            }
        }
        Ok(directory)
    }
}

fn sync(directory: &Path) -> io::Result<()> {
    open_directory(directory)?.sync_all()
}
