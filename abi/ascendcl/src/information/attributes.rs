//! The features of the device.

use std::ffi::c_int;

use opscope_border::{Out, exported};

use crate::border::Failure;
use crate::last_error::runtime_call;

const INF_NAN: c_int = 0;
const JIT_COMPILE: c_int = 2;

/// The supported features: infinities and NaN are preserved. There is no BF16, and nothing is compiled.
static SUPPORTED: [c_int; 1] = [INF_NAN];

/// Writes the address of the list of supported features, and its length. The list is valid until the process ends.
#[exported(runtime_call)]
pub fn aclGetCannAttributeList(list: Out<'_, *const c_int>, count: Out<'_, usize>) -> Result<(), Failure> {
    let (list, count) = (list.place("cannAttrList")?, count.place("num")?);
    list.write(SUPPORTED.as_ptr());
    count.write(SUPPORTED.len());
    Ok(())
}

/// Writes 1 if the feature is supported, else 0.
#[exported(runtime_call)]
pub fn aclGetCannAttribute(attribute: c_int, value: Out<'_, i32>) -> Result<(), Failure> {
    let value = value.place("value")?;
    if !(INF_NAN..=JIT_COMPILE).contains(&attribute) {
        return Err(Failure::wrong_value("cannAttr", attribute, "it is not one of aclCannAttr"));
    }
    value.write(SUPPORTED.contains(&attribute).into());
    Ok(())
}
