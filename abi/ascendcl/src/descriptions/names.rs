use std::ffi::c_char;
use std::ptr;

use opscope_border::{Out, Text, exported};

use super::desc::{aclmdlDesc, described};
use super::description::Tensor;
use super::dims::write;
use crate::border::{Failure, value};

/// Returns the name of an input; "" for a wrong argument.
#[exported]
pub fn aclmdlGetInputNameByIndex(desc: *const aclmdlDesc, index: usize) -> *const c_char {
    // The description owns the text, so the address stays valid.
    value(c"".as_ptr(), || Ok(described(desc)?.input(index)?.name.as_ptr()))
}

/// Returns the name of an output; "" for a wrong argument.
#[exported]
pub fn aclmdlGetOutputNameByIndex(desc: *const aclmdlDesc, index: usize) -> *const c_char {
    value(c"".as_ptr(), || Ok(described(desc)?.output(index)?.name.as_ptr()))
}

/// Returns the full name of the input or output with this name, which may be the substitute that structs use. NULL for
/// a wrong argument.
#[exported]
pub fn aclmdlGetTensorRealName(desc: *const aclmdlDesc, name: Text<'_>) -> *const c_char {
    value(ptr::null(), || {
        let described = described(desc)?;
        let name = name.c_str("name")?;
        let mut tensors = described.inputs.iter().chain(&described.outputs);
        let found = tensors.find(|tensor| tensor.is_called(name)).map(|tensor| tensor.name.as_ptr());
        found.ok_or_else(|| unknown(&name.to_string_lossy(), "input or output"))
    })
}

/// Writes the index of the input with this name.
#[exported]
pub fn aclmdlGetInputIndexByName(
    desc: *const aclmdlDesc,
    name: Text<'_>,
    index: Out<'_, usize>,
) -> Result<(), Failure> {
    write(index, || position(&described(desc)?.inputs, name, "input"))
}

/// Writes the index of the output with this name.
#[exported]
pub fn aclmdlGetOutputIndexByName(
    desc: *const aclmdlDesc,
    name: Text<'_>,
    index: Out<'_, usize>,
) -> Result<(), Failure> {
    write(index, || position(&described(desc)?.outputs, name, "output"))
}

fn position(tensors: &[Tensor], name: Text<'_>, side: &str) -> Result<usize, Failure> {
    let name = name.c_str("name")?;
    let found = tensors.iter().position(|tensor| tensor.is_called(name));
    found.ok_or_else(|| unknown(&name.to_string_lossy(), side))
}

fn unknown(name: &str, side: &str) -> Failure {
    Failure::wrong_value("name", format_args!("'{name}'"), &format!("the model has no {side} of this name"))
}
