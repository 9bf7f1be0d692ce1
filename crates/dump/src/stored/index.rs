use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use opscope_tensor::npy;

use super::{DumpKind, Location, Noted, Place, StoredDump, StoredTensor};
use crate::{DumpError, INDEX, IndexLine, Io, MANIFEST, Manifest, State};

/// The longest line of an index and the largest manifest that are read.
const LONGEST_LINE: u64 = 1 << 20;
const LARGEST_MANIFEST: u64 = 256 << 20;

/// Opens our own dump. A line that cannot be used is a problem of the dump and not an error: the process that wrote
/// it may have been killed in the middle of one.
pub(super) fn open(root: &Path) -> Result<StoredDump, DumpError> {
    let wrong = |path: &Path, reason: String| DumpError::File { path: path.to_path_buf(), reason };
    let mut dump = StoredDump { path: root.to_path_buf(), kind: DumpKind::Opscope, ..StoredDump::default() };
    match manifest(root) {
        Ok(manifest) => dump.manifest = Some(manifest),
        Err(reason) => dump.problems.push(format!("{MANIFEST}: {reason}")),
    }
    let root = root.canonicalize().map_err(|error| wrong(root, format!("it cannot be read: {error}")))?;
    let index = root.join(INDEX);
    let file = File::open(&index).map_err(|error| wrong(&index, format!("it cannot be read: {error}")))?;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
        match read.map_err(|error| wrong(&index, format!("it cannot be read: {error}")))? {
            0 => break,
            _ => match tensor(&root, &line) {
                Ok(tensor) => dump.tensors.push(tensor),
                Err(reason) => dump.problems.push(format!("{INDEX}, line {number}: {reason}")),
            },
        }
    }
    Ok(dump)
}

fn manifest(root: &Path) -> Result<Manifest, String> {
    let file = File::open(root.join(MANIFEST)).map_err(|error| error.to_string())?;
    serde_json::from_reader(BufReader::new(file.take(LARGEST_MANIFEST))).map_err(|error| error.to_string())
}

fn tensor(root: &Path, line: &[u8]) -> Result<StoredTensor, String> {
    let line: IndexLine = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let io = match line.io.as_str() {
        "input" => Io::Input,
        "output" => Io::Output,
        other => return Err(format!("'{}' is neither input nor output", other.escape_default())),
    };
    let dtype = line.dtype.parse().map_err(|()| format!("the type '{}' is not known", line.dtype.escape_default()))?;
    let location = match (&line.file, line.state) {
        (Some(file), State::Complete) => {
            let path = inside(root, file)?;
            let mut reader = File::open(&path).map_err(|error| format!("'{file}': {error}"))?;
            let header = npy::Header::read(&mut reader).map_err(|error| format!("'{file}': {error}"))?;
            let length = reader.metadata().map_err(|error| format!("'{file}': {error}"))?.len();
            if (header.dtype, &header.shape) != (dtype, &line.shape) {
                return Err(format!(
                    "'{file}' holds {} {:?}, not {dtype} {:?}",
                    header.dtype, header.shape, line.shape
                ));
            }
            if header.data_bytes as u64 != line.bytes || length != header.data_offset + line.bytes {
                return Err(format!("'{file}' has {length} bytes, which is not what its header asks for"));
            }
            if header.is_native() { Location::File(path, header.data_offset) } else { Location::Foreign(path) }
        }
        (Some(file), State::Raw) => {
            let path = inside(root, file)?;
            let elements = line.shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim));
            let expected = elements.and_then(|elements| dtype.bytes_of(elements)).map(|bytes| bytes as u64);
            let length = fs::metadata(&path).map_err(|error| format!("'{file}': {error}"))?.len();
            if expected != Some(length) || length != line.bytes {
                return Err(format!("'{file}' has {length} bytes, which do not fit {dtype} {:?}", line.shape));
            }
            Location::File(path, 0)
        }
        (_, State::Partial) => Location::Nowhere("the dump has only its beginning"),
        (_, State::Statistics) => Location::Nowhere("the dump has only its statistics"),
        (None, State::Complete | State::Raw) => return Err("it names no file".into()),
    };
    let noted = line.xxh3.map(|xxh3| Noted {
        xxh3,
        min: line.min,
        max: line.max,
        mean: line.mean,
        nan: line.nan.unwrap_or(0),
        inf: line.inf.unwrap_or(0),
    });
    let place = Place {
        run: line.run,
        operator: Some(line.operator),
        op_type: Some(line.op_type),
        io: Some(io),
        slot: Some(line.slot),
        value: Some(line.value),
    };
    Ok(StoredTensor { place, dtype: Some(dtype), shape: line.shape, bytes: line.bytes, noted, location })
}

/// A file that an index names: it must be in the dump's directory, also after every link is followed.
fn inside(root: &Path, file: &str) -> Result<PathBuf, String> {
    let leads_out = || format!("'{}' leads out of the dump's directory", file.escape_default());
    if !Path::new(file).components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(leads_out());
    }
    let path = root.join(file).canonicalize().map_err(|error| format!("'{}': {error}", file.escape_default()))?;
    match path.starts_with(root) && path.is_file() {
        true => Ok(path),
        false => Err(leads_out()),
    }
}
