use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{DumpKind, Location, StoredDump, StoredOrigin, StoredTensor, manifest};
use crate::MANIFEST;
use crate::csv;
use crate::sinks::ascend::{AscendFile, FileName, MAPPING};

/// The largest table of names that is read.
const LARGEST_MAPPING: u64 = 256 << 20;

/// Opens those of the files that are AscendCL's. The tensors are in the order of their runs and tasks.
pub(super) fn open(root: &Path, files: &[PathBuf]) -> StoredDump {
    let mut dump = StoredDump { path: root.to_path_buf(), kind: DumpKind::AscendCl, ..StoredDump::default() };
    let mut mappings = HashMap::new();
    let mut found = Vec::new();
    for path in files {
        let mapping = mappings.entry(path.parent()).or_insert_with(|| mapping(path, &mut dump.problems));
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let Some(name) = FileName::parse(mapping.get(name).map_or(name, String::as_str)) else { continue };
        match AscendFile::open(path) {
            Ok(file) => found.push((run_of(path), name, file)),
            Err(error) => dump.problems.push(error.to_string()),
        }
    }
    found.sort_by_key(|(run, name, file)| (*run, name.task, file.time));
    dump.tensors = found.into_iter().flat_map(|(run, name, file)| tensors(run, &name, file)).collect();
    match manifest::read(root) {
        Ok(manifest) => dump.manifest = manifest.filter(|_| !dump.tensors.is_empty()),
        // A single file has no manifest.
        Err(_) if dump.tensors.is_empty() || !root.is_dir() => {}
        Err(error) => dump.problems.push(format!("{MANIFEST}: {error}")),
    }
    let bytes = dump.tensors.iter().fold(0u64, |bytes, tensor| bytes.saturating_add(tensor.bytes));
    let count = dump.tensors.len() as u64;
    manifest::check(&mut dump, "the files hold", count, bytes);
    dump
}

/// Returns the number of a file's run, which is the name of the file's directory.
fn run_of(path: &Path) -> Option<u64> {
    path.parent()?.file_name()?.to_str()?.parse().ok()
}

fn mapping(path: &Path, problems: &mut Vec<String>) -> HashMap<String, String> {
    let table = path.with_file_name(MAPPING);
    let read = opscope_files::read_text(&table, LARGEST_MAPPING);
    if read.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return HashMap::new();
    }
    let rows = read.map_err(|error| error.to_string());
    let rows = rows.and_then(|text| csv::read(&text).map_err(|error| error.to_string())).unwrap_or_else(|error| {
        problems.push(format!("{}: {error}", table.display()));
        Vec::new()
    });
    let pair = |row: Vec<String>| <[String; 2]>::try_from(row).ok().map(|[mapped, original]| (mapped, original));
    rows.into_iter().filter_map(pair).collect()
}

fn tensors(run: Option<u64>, name: &FileName, file: AscendFile) -> Vec<StoredTensor> {
    let op_type = file.op_type.unwrap_or_else(|| name.op_type.clone());
    let tensor = |tensor: crate::sinks::ascend::AscendTensor| {
        let place = StoredOrigin {
            run,
            operator: Some(file.op_name.clone()),
            op_type: Some(op_type.clone()),
            io: Some(tensor.io),
            slot: Some(tensor.slot),
            value: tensor.value,
            // Operators are counted from 1.
            position: name.task.checked_sub(1).and_then(|task| usize::try_from(task).ok()),
            iterations: file.iterations.clone(),
            code: None,
            ..StoredOrigin::default()
        };
        let elements = tensor.shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim));
        let fits = tensor.dtype.zip(elements).and_then(|(dtype, elements)| dtype.bytes_of(elements));
        let location = match fits.map(|bytes| bytes as u64) == Some(tensor.bytes) {
            true => Location::File(file.path.clone(), tensor.offset),
            false => Location::Nowhere("its size does not fit its type and shape"),
        };
        StoredTensor { place, dtype: tensor.dtype, shape: tensor.shape, bytes: tensor.bytes, noted: None, location }
    };
    file.tensors.into_iter().map(tensor).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_mapping_has_256_mib_at_most() {
        // A table of this size is too large for a test.
        assert_eq!(super::LARGEST_MAPPING, 268_435_456);
    }
}
