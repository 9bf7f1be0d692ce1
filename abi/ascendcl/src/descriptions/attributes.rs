//! Queries for properties that only converted models have: attributes of fused operators, and AIPP.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use opscope_border::{Out, Text, exported};

use super::desc::{aclmdlDesc, described};
use crate::border::{Failure, codes, given, value};
use crate::models::find;

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
