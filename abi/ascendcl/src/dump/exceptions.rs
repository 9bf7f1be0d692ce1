//! The dump of what an operator used when the device had an exception. This device has none, so the dump is never on.

use std::env;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs;
use std::path::PathBuf;

use crate::border::{Failure, call, codes, text};

/// A tensor that a program describes.
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

const _: () = assert!(
    size_of::<acldumpTensorInfo>() == 456
        && std::mem::offset_of!(acldumpTensorInfo, address) == 24
        && std::mem::offset_of!(acldumpTensorInfo, shape_count) == 44
        && std::mem::offset_of!(acldumpTensorInfo, origin_shape) == 256
);

/// An address that is that of the data.
const RAW: i32 = 2;
/// Memory of the device.
const DEVICE: i32 = 0;

/// Checks what is to be saved, and answers that no dump of exceptions is on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acldumpSaveExceptionInfo(
    file_name: *const c_char,
    _user_tag: *const c_char,
    tensors: *const acldumpTensorInfo,
    tensor_count: usize,
) -> c_int {
    call(|| {
        // SAFETY: as the program promises.
        check_name(unsafe { text(file_name, "fileName")? })?;
        if tensors.is_null() {
            return Err(Failure::null("tensors"));
        }
        if tensor_count == 0 {
            return Err(Failure::wrong_value("tensorNum", 0, "there has to be a tensor"));
        }
        // SAFETY: it is not NULL, and the program promises that there are so many.
        unsafe { std::slice::from_raw_parts(tensors, tensor_count) }.iter().try_for_each(check_tensor)?;
        Err(not_on())
    })
}

/// Answers that no dump of exceptions is on.
#[unsafe(no_mangle)]
pub extern "C" fn acldumpGetExceptionInfoPath(path: *mut c_char, max_len: usize) -> c_int {
    call(|| {
        if path.is_null() {
            return Err(Failure::null("path"));
        }
        if max_len <= 1 {
            return Err(Failure::wrong_value("maxLen", max_len, "a path does not fit into it"));
        }
        Err(not_on())
    })
}

/// Returns the directory for what exceptions leave, which is made; `None` if it cannot be made.
pub(super) fn directory() -> Option<PathBuf> {
    let set = ["ASCEND_DUMP_PATH", "ASCEND_WORK_PATH"]
        .iter()
        .find_map(|name| env::var_os(name).filter(|path| !path.is_empty()));
    // With a "/" at its end, as programs that append a name expect it.
    let directory = PathBuf::from(set.unwrap_or_else(|| "./".into())).join("extra-info/data-dump/");
    fs::create_dir_all(&directory).is_ok().then_some(directory)
}

fn not_on() -> Failure {
    let text = "the dump of exceptions is not on: this device has no exceptions, so no dump_scene switches it on";
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
