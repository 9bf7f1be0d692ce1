//! What the device can do.

use std::ffi::c_int;

use crate::border::{Failure, out};
use crate::last_error::runtime_call;

const INF_NAN: c_int = 0;
const JIT_COMPILE: c_int = 2;

/// Infinities and NaN are kept. There is no BF16, and nothing is compiled.
static SUPPORTED: [c_int; 1] = [INF_NAN];

/// Writes where the list of what is supported is, which stays, and its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclGetCannAttributeList(list: *mut *const c_int, count: *mut usize) -> c_int {
    runtime_call(|| {
        let (list, count) = (out(list, "cannAttrList")?, out(count, "num")?);
        // SAFETY: they are not NULL, and the program promises that they are writable.
        unsafe {
            list.write(SUPPORTED.as_ptr());
            count.write(SUPPORTED.len());
        }
        Ok(())
    })
}

/// Writes 1 if it is supported, otherwise 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclGetCannAttribute(attribute: c_int, value: *mut i32) -> c_int {
    runtime_call(|| {
        let value = out(value, "value")?;
        if !(INF_NAN..=JIT_COMPILE).contains(&attribute) {
            return Err(Failure::wrong_value("cannAttr", attribute, "it is not one of aclCannAttr"));
        }
        // SAFETY: it is not NULL, and the program promises that it is writable.
        unsafe { value.write(SUPPORTED.contains(&attribute).into()) };
        Ok(())
    })
}
