use std::ffi::c_int;

use opscope_border::exported;

use super::desc::{aclmdlDesc, described};
use super::description::Tensor;
use crate::border::value;
use crate::tensors::{DTYPE_UNDEFINED, FORMAT_UNDEFINED, format_of_rank, number_of};

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
