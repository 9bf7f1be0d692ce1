//! External data, which is stored in files beside the model.
//!
//! A model file may come from an untrusted source, so its data must be in the model's own directory or below. A path
//! that leaves it, by `..`, as an absolute path or through a link, is an error, and the file is not read. If the
//! model's own path is a link, the directory of its target is also allowed: Hugging Face's cache stores a model and its
//! data as links into one directory.

use std::fs;
use std::fs::FileType;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

use crate::ExternalDataError;
use crate::proto::TensorProto;

/// Returns the path of a tensor's external data and the offset in that file. Checks that the file exists, is in an
/// allowed place, and has the bytes that the tensor needs.
pub(crate) fn locate(model: &Path, tensor: &TensorProto, needed: u64) -> Result<(PathBuf, u64), ExternalDataError> {
    let entry =
        |key: &str| tensor.external_data.iter().find(|entry| entry.key == key).map(|entry| entry.value.as_str());
    let number = |key| match entry(key) {
        None | Some("") => Ok(None),
        Some(text) => {
            let number = text.parse::<u64>().map(Some);
            number.map_err(|_| ExternalDataError::NotANumber { key, text: text.to_owned() })
        }
    };
    let location = entry("location").filter(|location| !location.is_empty());
    let location = location.ok_or(ExternalDataError::NoLocation)?;
    let offset = number("offset")?.unwrap_or(0);
    let length = number("length")?;

    let file = data_file(model, location)?;
    let metadata = fs::metadata(&file).map_err(ExternalDataError::io(format!("'{location}'")))?;
    if let Some(kind) = other_than_a_file(&metadata.file_type()) {
        return Err(ExternalDataError::NotAFile { location: location.to_owned(), kind });
    }
    if let Some(given) = length.filter(|&length| length != needed) {
        return Err(ExternalDataError::Length { given, needed });
    }
    match offset.checked_add(needed) {
        Some(end) if end <= metadata.len() => Ok((file, offset)),
        _ => {
            let location = location.to_owned();
            Err(ExternalDataError::TooShort { location, needed, offset, found: metadata.len() })
        }
    }
}

/// Returns the file that a model names for external data. It is in the model's directory or below, even after every
/// link is resolved.
///
/// # Errors
/// Returns what is wrong with the name, or with the file that it leads to.
pub fn data_file(model: &Path, location: &str) -> Result<PathBuf, ExternalDataError> {
    let inside = Path::new(location).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !inside {
        return Err(ExternalDataError::Outside(location.to_owned()));
    }
    let named = model.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let named = fs::canonicalize(named).map_err(ExternalDataError::io("the model's directory"))?;
    let real = fs::canonicalize(model).map_err(ExternalDataError::io("the model"))?;
    let real = real.parent().map_or_else(|| named.clone(), Path::to_path_buf);
    let found = fs::canonicalize(named.join(location));
    let found = match found {
        Err(error) if error.kind() == ErrorKind::NotFound => fs::canonicalize(real.join(location)),
        found => found,
    };
    let file = found.map_err(ExternalDataError::io(format!("'{location}'")))?;
    match file.starts_with(&named) || file.starts_with(&real) {
        true => Ok(file),
        false => Err(ExternalDataError::LinkOutside(location.to_owned())),
    }
}

/// Returns what a file is if it is not a regular file, such as `a directory`.
pub(crate) fn other_than_a_file(found: &FileType) -> Option<&'static str> {
    let kinds = [
        (found.is_file(), None),
        (found.is_dir(), Some("a directory")),
        (found.is_fifo(), Some("a named pipe")),
        (found.is_socket(), Some("a socket")),
        (found.is_char_device() || found.is_block_device(), Some("a device")),
    ];
    kinds.into_iter().find_map(|(is_it, kind)| is_it.then_some(kind)).unwrap_or(Some("something else"))
}
