//! The tables of one recording or one dump, as files of a directory.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use opscope_dump::{Details, DumpKind, IndexStatistics, StoredDump, StoredTensor};
use opscope_files::part_of;
use opscope_profile::{Exported, Recording};
use tempfile::NamedTempFile;

use crate::TablesError;
use crate::recording::RecordingTables;
use crate::rows::tensors::Tensor;
use crate::table::{Row, Table};

/// The number of bytes that are collected before a system call.
const BUFFER: usize = 1 << 20;

/// A file that gets its name when it is complete.
struct UnfinishedFile {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
}

/// Writes the tables of a recording into an existing directory: `recordings.parquet`, `runs.parquet`,
/// `dispatches.parquet`, `operators.parquet`, `counters.parquet` and `marks.parquet`, except for those that already
/// exist. The memory that it needs does not grow with the number of runs. Files appear under their names when all of
/// them are complete.
///
/// # Errors
/// Returns an error if the recording cannot be read, or a file cannot be written.
pub fn export_recording(recording: &Recording, into: &Path) -> Result<Exported, TablesError> {
    let mut exported = Exported::default();
    let mut tables = RecordingTables::begin(recording, |table| UnfinishedFile::create(into, table, &mut exported))?;
    tables.write(recording)?;
    for table in tables.finish()? {
        exported.written.push(table.into.keep()?);
    }
    Ok(exported)
}

/// Writes `tensors.parquet` into an existing directory, unless it already exists: a row per tensor of a dump, with the
/// statistics in the dump or, if there are none, those of its data.
///
/// # Errors
/// Returns an error if the file cannot be written. Data that cannot be read is missing in the table, and is reported in
/// the returned problems, one sentence each.
pub fn export_dump(dump: &StoredDump, into: &Path) -> Result<(Exported, Vec<String>), TablesError> {
    let (mut exported, mut problems) = (Exported::default(), Vec::new());
    let Some(part) = UnfinishedFile::create(into, Tensor::TABLE, &mut exported)? else {
        return Ok((exported, problems));
    };
    let model = dump.manifest.as_ref().map(|manifest| model_name(&manifest.model.path, &manifest.model.name));
    let mut table = Table::new::<Tensor<'_>>(part, &[])?;
    for tensor in &dump.tensors {
        let statistics = statistics(dump, tensor)
            .map_err(|error| problems.push(format!("{} has no statistics: {error}", tensor.place)))
            .ok();
        table.push(&Tensor { model: model.as_deref(), tensor, statistics: statistics.as_ref() })?;
    }
    exported.written.push(table.finish()?.keep()?);
    Ok((exported, problems))
}

fn statistics(dump: &StoredDump, tensor: &StoredTensor) -> std::io::Result<IndexStatistics> {
    match (&tensor.noted, dump.kind) {
        (Some(noted), _) => Ok(noted.clone()),
        (None, DumpKind::Opscope) => Err(std::io::Error::other("only its beginning was dumped")),
        (None, _) => Ok(IndexStatistics::from(&Details::of(tensor)?.statistics)),
    }
}

/// Returns a model's name: that of its file, without the extension.
fn model_name(path: &str, graph: &str) -> String {
    Path::new(path).file_stem().map_or_else(|| graph.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

impl UnfinishedFile {
    fn create(into: &Path, table: &str, exported: &mut Exported) -> Result<Option<Self>, TablesError> {
        let path = into.join(format!("{table}.parquet"));
        if path.symlink_metadata().is_ok() {
            exported.existed.push(path);
            return Ok(None);
        }
        let file = part_of(&path).map_err(TablesError::io("create", &path))?;
        Ok(Some(Self { path, file: BufWriter::with_capacity(BUFFER, file) }))
    }

    fn keep(self) -> Result<PathBuf, TablesError> {
        let written = self.file.into_inner().map_err(std::io::IntoInnerError::into_error);
        let file = written.map_err(TablesError::io("write", &self.path))?;
        file.persist_noclobber(&self.path).map_err(|error| TablesError::io("write", &self.path)(error.error))?;
        Ok(self.path)
    }
}

impl Write for UnfinishedFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
