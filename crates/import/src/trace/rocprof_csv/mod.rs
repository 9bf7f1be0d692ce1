//! rocprofv3's CSV files: one per kind of event, with a prefix of their own for each process. What a file has is told
//! by the columns of its first line.

mod table;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::assemble::Assembler;
use crate::ImportError;
use table::{Kind, Table};

/// What stands behind the prefix of a process in the name of a file with events.
const ENDS: [&str; 9] = [
    "kernel_trace.csv",
    "hip_api_trace.csv",
    "hsa_api_trace.csv",
    "rccl_api_trace.csv",
    "marker_api_trace.csv",
    "memory_copy_trace.csv",
    "memory_allocation_trace.csv",
    "scratch_memory_trace.csv",
    "counter_collection.csv",
];
/// The file that describes the devices.
const AGENTS: &str = "agent_info.csv";

/// The longest line that is read. A demangled name of a template has a few kilobytes.
const LONGEST_LINE: u64 = 1 << 20;

/// Returns whether a file that begins so is one of rocprofv3's.
pub(super) fn is_rocprof(head: &[u8]) -> bool {
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or(head);
    let columns = csv::ReaderBuilder::new().has_headers(false).from_reader(line).byte_records().next();
    columns.and_then(Result::ok).is_some_and(|columns| Table::new(&columns).is_some())
}

/// Reads a file, and those of the same process that lie beside it.
pub(crate) fn read(path: &Path, into: &mut Assembler) -> Result<(), ImportError> {
    "rocprofv3".clone_into(&mut into.about.producer);
    let mut files = beside(path);
    // A name of its own kind has nothing beside it.
    if !files.iter().any(|file| file.file_name() == path.file_name()) {
        files.push(path.to_owned());
    }
    if files.len() > 1 {
        let names: Vec<_> = files.iter().filter_map(|file| file.file_name()).map(OsStr::to_string_lossy).collect();
        into.about.notes.push(format!("Read together: {}.", names.join(", ")));
    }
    for file in files {
        let open = opscope_files::open_regular(&file).map_err(ImportError::io("read", &file))?;
        read_from(open, &file, into)?;
    }
    Ok(())
}

/// Returns the files of the same process, the one that describes the devices first.
fn beside(path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name().map(OsStr::as_bytes) else { return Vec::new() };
    let Some(prefix) = ENDS.into_iter().find_map(|end| name.strip_suffix(end.as_bytes())) else { return Vec::new() };
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    [AGENTS]
        .into_iter()
        .chain(ENDS)
        .map(|end| directory.join(OsStr::from_bytes(&[prefix, end.as_bytes()].concat())))
        .filter(|file| fs::metadata(file).is_ok_and(|found| found.is_file()))
        .collect()
}

/// Reads a file by its columns. Lines that cannot be read are counted, and the first of them is named.
pub(super) fn read_from(reader: impl Read, path: &Path, into: &mut Assembler) -> Result<(), ImportError> {
    let mut csv = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(Bounded { reader, left: LONGEST_LINE + BUFFER });
    let mut record = csv::ByteRecord::new();
    let mut table = None;
    let mut bad = Bad::default();
    loop {
        let line = csv.position().line();
        // Bytes that are in the reader's buffer already belong to the next lines.
        csv.get_mut().next_line();
        match csv.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                into.damaged(format!("{}: it can be read up to its line {line} only: {error}", path.display()));
                break;
            }
        }
        match &mut table {
            None => {
                table = Table::new(&record);
                if table.is_none() {
                    into.damaged(format!("{}: its first line has no columns that are known", path.display()));
                    return Ok(());
                }
            }
            Some(Table { kind: Kind::Unread(kind), .. }) => into.not_imported("rocprofv3 event", kind),
            Some(table) => {
                if !table.take(&record, into)? {
                    bad.add(line);
                    into.not_imported("damaged line", table.kind.name());
                }
            }
        }
    }
    if let Some(sentence) = bad.sentence(path) {
        into.damaged(sentence);
    }
    Ok(())
}

/// The lines that could not be read.
#[derive(Default)]
struct Bad {
    lines: u64,
    first: u64,
}

impl Bad {
    fn add(&mut self, line: u64) {
        if self.lines == 0 {
            self.first = line;
        }
        self.lines += 1;
    }

    fn sentence(&self, path: &Path) -> Option<String> {
        let (path, first) = (path.display(), self.first);
        match self.lines {
            0 => None,
            1 => Some(format!("{path}: line {first} lacks a name or a begin and end in order, and is left out")),
            lines => Some(format!(
                "{path}: {lines} lines lack a name or a begin and end in order, and are left out; the first is line \
                 {first}"
            )),
        }
    }
}

/// More than the buffer of a reader of CSV.
const BUFFER: u64 = 64 << 10;

/// Ends a file in which a line is too long: a quote that is never closed would make the rest of it one field.
struct Bounded<R> {
    reader: R,
    left: u64,
}

impl<R> Bounded<R> {
    fn next_line(&mut self) {
        self.left = LONGEST_LINE + BUFFER;
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let text = format!("a line has more than {LONGEST_LINE} bytes; is a quote not closed?");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let bytes = into.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.reader.read(&mut into[..bytes])?;
        self.left -= read as u64;
        Ok(read)
    }
}
