//! The dump of an operator's data after an exception of the device. This device has no exceptions, but a file can
//! switch the dump on, and programs can query its directory.

use std::env;
use std::ffi::{CStr, c_void};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use opscope_border::{Items, ItemsOut, Text, exported};

use super::settings::SETTINGS;
use crate::border::{Failure, codes};
use crate::contexts;

/// A tensor, as a program describes it.
#[repr(C)]
pub struct acldumpTensorInfo {
    kind: i32,
    size: usize,
    format: i32,
    data_type: i32,
    address: *mut c_void,
    address_type: i32,
    placement: i32,
    argument_offset: u32,
    shape_count: u32,
    origin_shape_count: u32,
    shape: [u64; MOST_DIMENSIONS],
    origin_shape: [u64; MOST_DIMENSIONS],
}

const MOST_DIMENSIONS: usize = 25;
const MOST_TENSORS: usize = 4096;

const _: () = assert!(
    size_of::<acldumpTensorInfo>() == 456
        && std::mem::offset_of!(acldumpTensorInfo, address) == 24
        && std::mem::offset_of!(acldumpTensorInfo, shape_count) == 44
        && std::mem::offset_of!(acldumpTensorInfo, origin_shape) == 256
);

/// The kind of an address that is the address of the data itself.
const RAW: i32 = 2;
/// The placement of data in the device's memory.
const DEVICE: i32 = 0;

/// Checks the arguments. Always fails: the dump of exceptions is off, or saving is not supported.
#[exported]
pub fn acldumpSaveExceptionInfo(
    file_name: Text<'_>,
    _user_tag: Text<'_>,
    #[counted_by(tensor_count)] tensors: Items<'_, acldumpTensorInfo>,
    tensor_count: usize,
) -> Result<(), Failure> {
    check_name(file_name.c_str("fileName")?)?;
    if tensors.is_null() {
        return Err(Failure::null("tensors"));
    }
    if tensor_count == 0 {
        return Err(Failure::wrong_value("tensorNum", 0, "there has to be a tensor"));
    }
    if tensor_count > MOST_TENSORS {
        return Err(Failure::wrong_value("tensorNum", tensor_count, "an operator has at most 4096 tensors"));
    }
    tensors.get("tensors")?.iter().try_for_each(check_tensor)?;
    if SETTINGS.read().exceptions.is_none() {
        return Err(not_on());
    }
    Err(Failure::unsupported("acldumpSaveExceptionInfo"))
}

/// Creates the device's directory for the data of exceptions, and writes its path.
#[exported]
pub fn acldumpGetExceptionInfoPath(
    #[counted_by(max_len)] path: ItemsOut<'_, u8>,
    max_len: usize,
) -> Result<(), Failure> {
    if path.is_null() {
        return Err(Failure::null("path"));
    }
    if max_len <= 1 {
        return Err(Failure::wrong_value("maxLen", max_len, "a path does not fit into it"));
    }
    let configured = SETTINGS.read().exceptions.clone().ok_or_else(not_on)?;
    // The path ends with "/", because programs append a name to it.
    let directory = below(&configured).join(format!("{}/", contexts::DEVICE));
    let text = directory.as_os_str().as_bytes();
    if text.len() >= max_len {
        let reason = format!("the path has {} bytes with its NUL", text.len() + 1);
        return Err(Failure::wrong_value("maxLen", max_len, &reason));
    }
    fs::create_dir_all(&directory).map_err(|error| {
        Failure::new(codes::FAILURE, "EP0004", format!("{} cannot be made: {error}", directory.display()))
    })?;
    Ok(path.write_text(text, "path")?)
}

/// Creates the directory for the data of exceptions, and returns it; `None` if it cannot be created.
pub(super) fn directory() -> Option<PathBuf> {
    let configured = SETTINGS.read().exceptions.clone();
    let directory = below(configured.as_deref().unwrap_or(Path::new("./")));
    fs::create_dir_all(&directory).is_ok().then_some(directory)
}

/// Returns the directory for the data of exceptions, below the configured one. Environment variables take precedence
/// over the configured directory.
fn below(configured: &Path) -> PathBuf {
    let set = ["ASCEND_DUMP_PATH", "ASCEND_WORK_PATH"]
        .iter()
        .find_map(|name| env::var_os(name).filter(|path| !path.is_empty()));
    set.map_or_else(|| configured.to_owned(), PathBuf::from).join("extra-info/data-dump/")
}

fn not_on() -> Failure {
    let text = "the dump of exceptions is not on: a dump_scene of exceptions in the file switches it on";
    Failure::new(codes::FAILURE, "EP0008", text)
}

fn check_name(name: &CStr) -> Result<(), Failure> {
    let leaves = name.to_bytes().split(|&byte| byte == b'/').any(|segment| segment == b"..");
    if name.is_empty() || leaves {
        let shown = name.to_string_lossy();
        return Err(Failure::wrong_value("fileName", shown, "it is empty, or leads out of the directory"));
    }
    Ok(())
}

fn check_tensor(tensor: &acldumpTensorInfo) -> Result<(), Failure> {
    let most = MOST_DIMENSIONS as u32;
    let wrong = |field: &str, value: &dyn std::fmt::Display, reason: &str| {
        Err(Failure::wrong_value(&format!("tensors.{field}"), value, reason))
    };
    match tensor {
        _ if tensor.shape_count > most => wrong("shapeNum", &tensor.shape_count, "a tensor has at most 25 dimensions"),
        _ if tensor.origin_shape_count > most => {
            wrong("originShapeNum", &tensor.origin_shape_count, "a tensor has at most 25 dimensions")
        }
        _ if tensor.address_type != RAW => wrong("addrType", &tensor.address_type, "only 2 (raw) is supported"),
        _ if tensor.placement != DEVICE => wrong("placement", &tensor.placement, "only 0 (device) is supported"),
        _ if tensor.address.is_null() => Err(Failure::null("tensors.tensorAddr")),
        _ if tensor.size == 0 => wrong("tensorSize", &tensor.size, "there has to be data"),
        _ => Ok(()),
    }
}
