//! Exports for other programs: timelines and tables.

mod api_statistic;
mod chrome;
mod csv;
mod excerpt;
mod labels;
mod msprof_tx;
mod nesting;
mod op_statistic;
mod op_summary;
mod perfetto;

use std::io::{self, BufWriter, Write};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use opscope_files::write_whole;

use crate::recording::{BUFFER, MANIFEST, NAMES, RECORDS};
use crate::{DispatchFact, ProfileError, Recording};
pub use excerpt::{Excerpt, ShownRuns, TimelineRuns};
pub use labels::{KernelLabels, LabelTable};

/// A format to which a recording can be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// `timeline.pftrace`: Perfetto's protocol buffers.
    Perfetto,
    /// `timeline.json`: an array of Chrome's trace events.
    Chrome,
    /// `op_summary.csv`, `op_statistic.csv`, `api_statistic.csv`, and, if the user's code marked something,
    /// `msprof_tx.csv`.
    Csv,
}

/// The only file that is omitted if it would be empty.
const MARKERS: &str = "msprof_tx.csv";

type Writer = fn(&Excerpt<'_>, &mut dyn Write) -> Result<(), ExportError>;

/// Why an export failed.
enum ExportError {
    /// The recording could not be read.
    Recording(ProfileError),
    /// The export could not be written.
    Write(io::Error),
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Perfetto, Self::Chrome, Self::Csv];

    /// Returns `perfetto`, `chrome` or `csv`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Perfetto => "perfetto",
            Self::Chrome => "chrome",
            Self::Csv => "csv",
        }
    }

    /// Returns whether an export writes a file of this name.
    pub(crate) fn is_written(name: &str) -> bool {
        Self::ALL.iter().flat_map(|format| format.files()).any(|(file, _)| *file == name)
    }

    fn files(self) -> &'static [(&'static str, Writer)] {
        match self {
            Self::Perfetto => &[("timeline.pftrace", perfetto::write)],
            Self::Chrome => &[("timeline.json", chrome::write)],
            Self::Csv => &[
                ("op_summary.csv", op_summary::write),
                ("op_statistic.csv", op_statistic::write),
                ("api_statistic.csv", api_statistic::write),
                (MARKERS, msprof_tx::write),
            ],
        }
    }
}

/// The outcome of exporting the files of a format.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exported {
    /// The files that were written.
    pub written: Vec<PathBuf>,
    /// The files that existed before and were not changed.
    pub existed: Vec<PathBuf>,
}

impl Recording {
    /// Returns a table of the labels of its kernels, which is filled on demand.
    pub fn labels(&self) -> LabelTable<'_> {
        LabelTable::new(self.names())
    }

    /// Returns the model's name: that of its file, without the extension.
    pub fn model_name(&self) -> String {
        labels::model_name(self)
    }

    /// Returns the path of a dispatch in the form of the exports, such as `decode[3] > If_7[0]`: the operators whose
    /// bodies it was executed in, outermost first, each with its iteration. Empty for an operator of the main graph.
    pub fn path_text(&self, dispatch: &DispatchFact) -> String {
        labels::path_text(self, dispatch)
    }

    /// Returns a counter's name and unit. If they were lost, the name is its number. The unit may be empty.
    pub fn counter_title(&self, counter: u32) -> (String, &str) {
        labels::counter_title(self, counter)
    }

    /// Writes the files of a format with all runs, as [`Excerpt::export`] does. The memory that it needs does not grow
    /// with the number of runs.
    ///
    /// # Errors
    /// Returns an error if the recording cannot be read, or a file cannot be written.
    pub fn export(&self, format: Format, into: &Path) -> Result<Exported, ProfileError> {
        self.excerpt(TimelineRuns::All)?.export(format, into)
    }
}

impl Excerpt<'_> {
    /// Writes the files of a format into an existing directory, except for those that already exist. Timelines and the
    /// table of dispatches show the runs of the excerpt. The other tables cover all runs. A file appears under its name
    /// when it is complete.
    ///
    /// # Errors
    /// Returns an error if the recording cannot be read, or a file cannot be written.
    pub fn export(&self, format: Format, into: &Path) -> Result<Exported, ProfileError> {
        let mut exported = Exported::default();
        let files = format.files().iter().filter(|(name, _)| *name != MARKERS || self.recording().has_markers());
        let files = files.map(|(name, writer)| (into.join(name), *writer));
        let (existing, missing): (Vec<_>, Vec<_>) = files.partition(|(path, _)| path.symlink_metadata().is_ok());
        exported.existed = existing.into_iter().map(|(path, _)| path).collect();
        // Each table reads all records. They are written in parallel, because the other processors are idle.
        exported.written = thread::scope(|scope| {
            let write = |(path, writer)| scope.spawn(move || write_file(self, path, writer));
            let threads: Vec<_> = missing.into_iter().map(write).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect::<Result<_, _>>()
        })?;
        Ok(exported)
    }
}

fn write_file(excerpt: &Excerpt<'_>, path: PathBuf, writer: Writer) -> Result<PathBuf, ProfileError> {
    let written = write_whole(&path, |file| {
        let mut file = BufWriter::with_capacity(1 << 20, file);
        writer(excerpt, &mut file)?;
        file.flush().map_err(ExportError::Write)
    });
    match written {
        Ok(()) => Ok(path),
        Err(ExportError::Recording(error)) => Err(error),
        Err(ExportError::Write(error)) => Err(ProfileError::io("write", path)(error)),
    }
}

impl From<ProfileError> for ExportError {
    fn from(error: ProfileError) -> Self {
        Self::Recording(error)
    }
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

/// Returns whether opscope writes a file with this name into the directory of a recording: its own files, those of
/// exports, and tables. A program that removes the recording then removes nothing else.
pub fn is_written_name(name: &str) -> bool {
    [RECORDS, BUFFER, NAMES, MANIFEST].contains(&name) || Format::is_written(name) || name.ends_with(".parquet")
}
