use std::ffi::{c_char, c_int};
use std::ptr;

use super::desc::{aclmdlDesc, described};
use super::described::Tensor;
use super::dims::write;
use crate::border::{Failure, call, text, value};

/// Returns the name of an input; "" for a wrong argument.
#[unsafe(no_mangle)]
pub extern "C" fn aclmdlGetInputNameByIndex(desc: *const aclmdlDesc, index: usize) -> *const c_char {
    // The description keeps the text.
    value(c"".as_ptr(), || Ok(described(desc)?.input(index)?.name.as_ptr()))
}

/// Returns the name of an output; "" for a wrong argument.
#[unsafe(no_mangle)]
pub extern "C" fn aclmdlGetOutputNameByIndex(desc: *const aclmdlDesc, index: usize) -> *const c_char {
    value(c"".as_ptr(), || Ok(described(desc)?.output(index)?.name.as_ptr()))
}

/// Returns the name behind one that stands for it in structs, or the name itself; NULL for a wrong argument.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlGetTensorRealName(desc: *const aclmdlDesc, name: *const c_char) -> *const c_char {
    value(ptr::null(), || {
        let described = described(desc)?;
        // SAFETY: as the caller promises.
        let name = unsafe { text(name, "name")? };
        let mut tensors = described.inputs.iter().chain(&described.outputs);
        let found = tensors.find(|tensor| tensor.is_called(name)).map(|tensor| tensor.name.as_ptr());
        found.ok_or_else(|| unknown(&name.to_string_lossy(), "input or output"))
    })
}

/// Writes the index of the input of a name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlGetInputIndexByName(
    desc: *const aclmdlDesc,
    name: *const c_char,
    index: *mut usize,
) -> c_int {
    // SAFETY: as the caller promises.
    call(|| unsafe { write(index, || position(&described(desc)?.inputs, name, "input")) })
}

/// Writes the index of the output of a name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlGetOutputIndexByName(
    desc: *const aclmdlDesc,
    name: *const c_char,
    index: *mut usize,
) -> c_int {
    // SAFETY: as the caller promises.
    call(|| unsafe { write(index, || position(&described(desc)?.outputs, name, "output")) })
}

/// # Safety
/// `name` is NULL or a text.
unsafe fn position(tensors: &[Tensor], name: *const c_char, side: &str) -> Result<usize, Failure> {
    // SAFETY: as the caller promises.
    let name = unsafe { text(name, "name")? };
    let found = tensors.iter().position(|tensor| tensor.is_called(name));
    found.ok_or_else(|| unknown(&name.to_string_lossy(), side))
}

fn unknown(name: &str, side: &str) -> Failure {
    Failure::wrong_value("name", format_args!("'{name}'"), &format!("the model has no {side} of this name"))
}
