//! Queries for the names, formats and types of inputs and outputs, and for properties that only converted models have:
//! attributes of fused operators, and AIPP.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use opscope_border::{Out, Text, exported};

use super::desc::{Tensor, aclmdlDesc, described};
use super::dims::write;
use crate::border::{Failure, codes, given, value};
use crate::models::find;
use crate::tensors::{DTYPE_UNDEFINED, FORMAT_UNDEFINED, format_of_rank, number_of};

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

/// Returns the format of an input; -1 for a wrong argument.
#[exported]
pub fn aclmdlGetInputFormat(desc: *const aclmdlDesc, index: usize) -> c_int {
    value(FORMAT_UNDEFINED, || Ok(format_of_rank(described(desc)?.input(index)?.rank)))
}

/// Returns the format of an output; -1 for a wrong argument.
#[exported]
pub fn aclmdlGetOutputFormat(desc: *const aclmdlDesc, index: usize) -> c_int {
    value(FORMAT_UNDEFINED, || Ok(format_of_rank(described(desc)?.output(index)?.rank)))
}

/// Returns the type of an input's elements; -1 for one that AscendCL does not have, and for a wrong argument.
#[exported]
pub fn aclmdlGetInputDataType(desc: *const aclmdlDesc, index: usize) -> c_int {
    value(DTYPE_UNDEFINED, || Ok(dtype(described(desc)?.input(index)?)))
}

/// Returns the type of an output's elements; -1 for one that AscendCL does not have, and for a wrong argument.
#[exported]
pub fn aclmdlGetOutputDataType(desc: *const aclmdlDesc, index: usize) -> c_int {
    value(DTYPE_UNDEFINED, || Ok(dtype(described(desc)?.output(index)?)))
}

fn dtype(tensor: &Tensor) -> c_int {
    tensor.dtype.map_or(DTYPE_UNDEFINED, number_of)
}

/// The only attribute that can be queried: the operators that were fused into one.
const ORIGINAL_NAMES: &CStr = c"_datadump_original_op_names";

/// `ACL_DATA_WITHOUT_AIPP`.
const WITHOUT_AIPP: c_int = 0;
/// `ACL_INVALID_NODE_INDEX`.
const NO_NODE: usize = 0xffff_ffff;

/// Returns the operators that were fused into one. That is always "", because an ONNX file has no fused operators. NULL
/// for a wrong argument.
#[exported]
pub fn aclmdlGetOpAttr(desc: *mut aclmdlDesc, op_name: Text<'_>, attribute: Text<'_>) -> *const c_char {
    value(ptr::null(), || {
        let described = described(desc)?;
        let (_, attribute) = (op_name.c_str("opName")?, attribute.c_str("attr")?);
        if attribute != ORIGINAL_NAMES {
            let name = attribute.to_string_lossy();
            return Err(Failure::wrong_value("attr", name, "only _datadump_original_op_names is known"));
        }
        if described.model.is_none() {
            let text = "a description of a file has no operators; load the model, and use aclmdlGetDesc";
            return Err(Failure::new(codes::INVALID_PARAM, "EH0012", text));
        }
        Ok(c"".as_ptr())
    })
}

/// Writes that an input has no AIPP.
#[exported]
pub fn aclmdlGetAippType(
    model_id: u32,
    index: usize,
    aipp_type: Out<'_, c_int>,
    attached_index: Out<'_, usize>,
) -> Result<(), Failure> {
    let (aipp_type, attached_index) = (aipp_type.place("type")?, attached_index.place("dynamicAttachedDataIndex")?);
    check_input(model_id, index)?;
    aipp_type.write(WITHOUT_AIPP);
    attached_index.write(NO_NODE);
    Ok(())
}

/// Always fails. For an input that the model has, the reason is that it has no AIPP.
#[exported]
pub fn aclmdlGetFirstAippInfo(model_id: u32, index: usize, info: *mut c_void) -> Result<(), Failure> {
    given(info, "aippInfo")?;
    check_input(model_id, index)?;
    Err(Failure::new(codes::GE_AIPP_NOT_EXIST, "EH0012", format!("input {index} has no AIPP")))
}

fn check_input(model_id: u32, index: usize) -> Result<(), Failure> {
    let inputs = find(model_id)?.inputs.len();
    if index < inputs {
        Ok(())
    } else {
        Err(Failure::wrong_value("index", index, &format!("the model has {inputs} inputs")))
    }
}
