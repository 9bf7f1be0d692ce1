//! External data, which is stored in files beside the model.
//!
//! A model file may come from an untrusted source, so its data must be in the model's own directory or below. A path
//! that leaves it, by `..`, as an absolute path or through a link, is an error, and the file is not read. If the
//! model's own path is a link, the directory of its target is also allowed: Hugging Face's cache stores a model and its
//! data as links into one directory.

use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use super::file_kind::other_than_a_file;
use super::proto::TensorProto;

/// Returns the path of a tensor's external data and the offset in that file. Checks that the file exists, is in an
/// allowed place, and has the bytes that the tensor needs.
pub(crate) fn locate(model: &Path, tensor: &TensorProto, needed: u64) -> Result<(PathBuf, u64), String> {
    let entry =
        |key: &str| tensor.external_data.iter().find(|entry| entry.key == key).map(|entry| entry.value.as_str());
    let number = |key: &str| match entry(key) {
        None | Some("") => Ok(None),
        Some(text) => text.parse::<u64>().map(Some).map_err(|_| format!("its {key} '{text}' is not a number of bytes")),
    };
    let location = entry("location").filter(|location| !location.is_empty());
    let location = location.ok_or_else(|| "it is external, but no location is given".to_owned())?;
    let offset = number("offset")?.unwrap_or(0);
    let length = number("length")?;

    let file = data_file(model, location)?;
    let metadata = fs::metadata(&file).map_err(|error| format!("'{location}': {error}"))?;
    if let Some(kind) = other_than_a_file(&metadata.file_type()) {
        return Err(format!("'{location}' is not a regular file but {kind}"));
    }
    if let Some(length) = length.filter(|&length| length != needed) {
        return Err(format!("its length is given as {length} bytes, its shape needs {needed}"));
    }
    match offset.checked_add(needed) {
        Some(end) if end <= metadata.len() => Ok((file, offset)),
        _ => Err(format!("it needs {needed} bytes from {offset} on, '{location}' has {} bytes", metadata.len())),
    }
}

/// Returns the file that a model names for external data. It is in the model's directory or below, even after every
/// link is resolved.
///
/// # Errors
/// Returns what is wrong with the name, or with the file that it leads to.
pub fn data_file(model: &Path, location: &str) -> Result<PathBuf, String> {
    let inside = Path::new(location).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !inside {
        return Err(format!("it lies at '{location}', which is outside of the model's directory"));
    }
    let named = model.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let named = fs::canonicalize(named).map_err(|error| format!("the model's directory: {error}"))?;
    let real = fs::canonicalize(model).map_err(|error| format!("the model: {error}"))?;
    let real = real.parent().map_or_else(|| named.clone(), Path::to_path_buf);
    let found = fs::canonicalize(named.join(location));
    let found = match found {
        Err(error) if error.kind() == ErrorKind::NotFound => fs::canonicalize(real.join(location)),
        found => found,
    };
    let file = found.map_err(|error| format!("'{location}': {error}"))?;
    match file.starts_with(&named) || file.starts_with(&real) {
        true => Ok(file),
        false => Err(format!("'{location}' is a link that leads out of the model's directory")),
    }
}
