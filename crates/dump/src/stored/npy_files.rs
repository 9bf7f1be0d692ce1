use std::path::{Path, PathBuf};

use opscope_tensor::npy::{self, NpyError};

use super::{DumpKind, Location, StoredDump, StoredOrigin, StoredTensor};
use crate::Io;
use crate::sinks::ascend::FileName;

/// Opens the `.npy` files among these. A file's path below the directory is used as the name of its value.
pub(super) fn open(root: &Path, files: &[PathBuf]) -> StoredDump {
    let mut dump = StoredDump { path: root.to_path_buf(), kind: DumpKind::Npy, ..StoredDump::default() };
    for path in files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "npy")) {
        match tensor(root, path) {
            Ok(tensor) => dump.tensors.push(tensor),
            Err(error) => dump.problems.push(format!("{}: {error}", path.display())),
        }
    }
    dump
}

fn tensor(root: &Path, path: &Path) -> Result<StoredTensor, NpyError> {
    let (header, _) = npy::open(path)?;
    let bytes = header.data_bytes as u64;
    let location = match header.is_native() {
        true => Location::File(path.to_path_buf(), header.data_offset),
        false => Location::Foreign(path.to_path_buf()),
    };
    let name = path.strip_prefix(root).ok().filter(|name| !name.as_os_str().is_empty());
    let name = name.or_else(|| path.file_name().map(Path::new)).unwrap_or(path).with_extension("");
    let place = place(&name.to_string_lossy());
    Ok(StoredTensor { place, dtype: Some(header.dtype), shape: header.shape, bytes, noted: None, location })
}

/// Returns the origin that a file's name describes, in the schemes of the vendors' tools.
fn place(name: &str) -> StoredOrigin {
    let value = StoredOrigin { value: Some(name.into()), ..StoredOrigin::default() };
    let last = name.rsplit('/').next().unwrap_or(name);
    // `<dump file>.<input|output>.<slot>.<format>`, from the converter of dump files.
    let mut parts = last.rsplitn(4, '.').skip(1);
    if let (Some(slot), Some(io), Some(file)) = (parts.next(), parts.next(), parts.next()) {
        let io = [Io::Input, Io::Output].into_iter().find(|known| known.name() == io);
        if let (Ok(slot), Some(io), Some(file)) = (slot.parse(), io, FileName::parse(file)) {
            let (operator, op_type) = (Some(file.op_name), Some(file.op_type));
            return StoredOrigin { operator, op_type, io: Some(io), slot: Some(slot), ..value };
        }
    }
    // `<operator>.<output>.<time>`, from the dumper of ONNX models.
    let mut parts = last.rsplitn(3, '.');
    if let (Some(time), Some(slot), Some(operator)) = (parts.next(), parts.next(), parts.next())
        && time.parse::<u64>().is_ok()
        && let Ok(slot) = slot.parse()
    {
        return StoredOrigin { operator: Some(operator.into()), io: Some(Io::Output), slot: Some(slot), ..value };
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_vendors_tools_say_operator_and_slot() {
        let converted = place("sub/Conv2D.conv1.3.7.1700000000000000.input.1.NCHW");
        let converted = (converted.operator.as_deref(), converted.io, converted.slot);
        assert_eq!(converted, (Some("conv1"), Some(Io::Input), Some(1)));
        let golden = place("/model/Relu.0.1700000000");
        assert_eq!((golden.operator.as_deref(), golden.io, golden.slot), (Some("Relu"), Some(Io::Output), Some(0)));
        assert_eq!(place("conv1.weight").operator, None);
    }
}
