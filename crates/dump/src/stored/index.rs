//! Reading the index of a dump, and the order of execution that the dump states.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use opscope_files::open_regular;
use opscope_onnx::{CodeOrigin, Module};
use opscope_tensor::npy;

use super::{DumpKind, Location, StoredDump, StoredOrigin, StoredTensor, manifest};
use crate::{DumpError, INDEX, IndexLine, IndexStatistics, Io, MANIFEST, State};

/// The longest line of an index that is read.
pub(crate) const LONGEST_LINE: u64 = 1 << 20;

/// The maximum number of unusable lines in an index. With more, the file is not an index.
const MOST_PROBLEMS: usize = 1000;

/// Opens our own dump. An unusable line is a problem of the dump and not an error, because the process that wrote it
/// may have been killed in the middle of a line.
pub(super) fn open(root: &Path) -> Result<StoredDump, DumpError> {
    const CANNOT_BE_READ: &str = "it cannot be read";
    let mut dump = StoredDump { path: root.to_path_buf(), kind: DumpKind::Opscope, ..StoredDump::default() };
    match manifest::read(root) {
        Ok(Some(manifest)) => dump.manifest = Some(manifest),
        Ok(None) => {
            dump.problems.push(format!("{MANIFEST}: there is none, so nothing says whether the dump is complete"))
        }
        Err(error) => dump.problems.push(format!("{MANIFEST}: {error}")),
    }
    let root = root.canonicalize().map_err(DumpError::io(root, CANNOT_BE_READ))?;
    let index = root.join(INDEX);
    let file = open_regular(&index).map_err(DumpError::io(&index, CANNOT_BE_READ))?;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    let (mut tensors, mut bytes) = (0, 0u64);
    for number in 1.. {
        line.clear();
        let read = reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
        let read = read.map_err(DumpError::io(&index, CANNOT_BE_READ))?;
        let rest_is_unread = |reason: String| format!("{INDEX}, line {number}: {reason}; the rest is not read");
        if read == 0 {
            break;
        }
        if read as u64 == LONGEST_LINE && !line.ends_with(b"\n") {
            dump.problems.push(rest_is_unread(format!("it has more than {LONGEST_LINE} bytes")));
            break;
        }
        let parsed = serde_json::from_slice(&line).map_err(|error| error.to_string());
        if let Ok(IndexLine { bytes: more, state, .. }) = &parsed
            && *state != State::Partial
        {
            tensors += 1;
            bytes = bytes.saturating_add(*more);
        }
        match parsed.and_then(|line| tensor(&root, line)) {
            Ok(tensor) => dump.tensors.push(tensor),
            Err(_) if dump.problems.len() >= MOST_PROBLEMS => {
                dump.problems.push(rest_is_unread(format!("more than {MOST_PROBLEMS} lines cannot be used")));
                break;
            }
            Err(reason) => dump.problems.push(format!("{INDEX}, line {number}: {reason}")),
        }
    }
    manifest::check(&mut dump, &format!("{INDEX} has"), tensors, bytes);
    Ok(dump)
}

fn tensor(root: &Path, line: IndexLine) -> Result<StoredTensor, String> {
    let io = match line.io.as_str() {
        "input" => Io::Input,
        "output" => Io::Output,
        other => return Err(format!("'{}' is neither input nor output", other.escape_default())),
    };
    let dtype = line.dtype;
    let elements = line.shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim));
    let expected = elements.and_then(|elements| dtype.bytes_of(elements)).map(|bytes| bytes as u64);
    if expected != Some(line.bytes) {
        return Err(format!("{} bytes are not those of {dtype} {:?}", line.bytes, line.shape));
    }
    let location = match (&line.file, line.state) {
        (Some(file), State::Complete) => {
            let path = inside(root, file)?;
            let (header, _) = npy::open(&path).map_err(|error| format!("'{file}': {error}"))?;
            if (header.dtype, &header.shape) != (dtype, &line.shape) {
                return Err(format!(
                    "'{file}' holds {} {:?}, not {dtype} {:?}",
                    header.dtype, header.shape, line.shape
                ));
            }
            if header.is_native() { Location::File(path, header.data_offset) } else { Location::Foreign(path) }
        }
        (Some(file), State::Raw) => {
            let path = inside(root, file)?;
            let length = open_regular(&path).and_then(|file| Ok(file.metadata()?.len()));
            let length = length.map_err(|error| format!("'{file}': {error}"))?;
            if length != line.bytes {
                return Err(format!("'{file}' has {length} bytes, which do not fit {dtype} {:?}", line.shape));
            }
            Location::File(path, 0)
        }
        (_, State::Partial) => Location::Nowhere("the dump has only its beginning"),
        (_, State::Statistics) => Location::Nowhere("the dump has only its statistics"),
        (None, State::Complete | State::Raw) => return Err("it names no file".into()),
    };
    let code = code_origin(&line).map(Arc::new);
    // A device that computes statistics gives no hash.
    let is_noted = line.xxh3.is_some() || (line.state == State::Statistics && line.nan.is_some());
    let noted = is_noted.then(|| IndexStatistics {
        xxh3: line.xxh3,
        min: line.min,
        max: line.max,
        mean: line.mean,
        nan: line.nan.unwrap_or(0),
        inf: line.inf.unwrap_or(0),
    });
    let place = StoredOrigin {
        run: line.run,
        operator: Some(line.operator),
        op_type: Some(line.op_type),
        io: Some(io),
        slot: Some(line.slot),
        value: Some(line.value),
        position: line.position,
        iterations: line.iterations,
        phase: line.phase,
        inputs: line.inputs,
        code,
    };
    Ok(StoredTensor { place, dtype: Some(dtype), shape: line.shape, bytes: line.bytes, noted, location })
}

/// Returns the position of a line's operator in the program that the model was exported from.
fn code_origin(line: &IndexLine) -> Option<CodeOrigin> {
    let module =
        line.module.as_ref().map(|path| Module { path: path.clone(), class: line.class.clone().unwrap_or_default() });
    if module.is_none() && line.source.is_none() {
        return None;
    }
    let display_name = line.display_name.clone().unwrap_or_else(|| match &module {
        Some(module) => format!("{} ({})", module.path, line.op_type),
        None => line.operator.clone(),
    });
    Some(CodeOrigin { display_name, modules: module.into_iter().collect(), source: line.source.clone(), traced: None })
}

/// Returns the path of a file in an index. It must be in the dump's directory, even after every link is followed.
pub(super) fn inside(root: &Path, file: &str) -> Result<PathBuf, String> {
    let leads_out = || format!("'{}' leads out of the dump's directory", file.escape_default());
    if !Path::new(file).components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(leads_out());
    }
    let path = root.join(file).canonicalize().map_err(|error| format!("'{}': {error}", file.escape_default()))?;
    if path.starts_with(root) { Ok(path) } else { Err(leads_out()) }
}

/// The positions of operators in the order of the graph. Files are written by several threads, so an index is in
/// another order.
#[derive(Debug, Clone, Default)]
pub struct Positions {
    of_operators: HashMap<String, usize>,
}

/// The moment at which a tensor was computed: the position of the operator in the main graph, whether the tensor is
/// that operator's own, the iterations of the bodies that it is in, and its position there.
pub type ExecutionPosition = (usize, bool, Vec<u32>, usize);

impl Positions {
    /// Collects the positions from tensors.
    pub fn of<'p>(places: impl Iterator<Item = &'p StoredOrigin>) -> Self {
        let position = |place: &StoredOrigin| Some((place.operator.clone()?, place.position?));
        Self { of_operators: places.filter_map(position).collect() }
    }

    /// Returns when a tensor was computed in its run. Tensors in a body come before the outputs of the operator around
    /// it. Returns `None` if the dump does not have this information.
    pub fn place(&self, tensor: &StoredOrigin) -> Option<ExecutionPosition> {
        let own = tensor.position?;
        let outermost = tensor.iterations.first();
        let outer = outermost.and_then(|iteration| self.of_operators.get(&iteration.operator)).copied().unwrap_or(own);
        let indices = tensor.iterations.iter().map(|iteration| iteration.index).collect();
        Some((outer, outermost.is_none(), indices, own))
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::LoopIteration;

    use super::*;

    #[test]
    fn what_is_in_a_body_stands_before_what_its_owner_gives() {
        let place = |operator: &str, position: usize, iterations: &[u32]| StoredOrigin {
            operator: Some(operator.to_owned()),
            position: Some(position),
            iterations: iterations
                .iter()
                .map(|index| LoopIteration { operator: "loop".to_owned(), index: *index })
                .collect(),
            ..StoredOrigin::default()
        };
        let mut places = [
            place("after", 2, &[]),
            place("loop", 1, &[]),
            place("body", 3, &[1]),
            place("body", 3, &[0]),
            place("first", 0, &[]),
        ];
        let positions = Positions::of(places.iter());
        places.sort_by_key(|tensor| positions.place(tensor));
        let names = places.map(|tensor| (tensor.operator.unwrap_or_default(), tensor.iterations.len()));
        assert_eq!(names.map(|(name, _)| name), ["first", "body", "body", "loop", "after"]);
        assert_eq!(positions.place(&StoredOrigin::default()), None);
    }
}
