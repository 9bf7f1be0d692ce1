use std::ffi::c_int;

/// `ACL_FORMAT_UNDEFINED`.
pub const UNDEFINED: c_int = -1;
/// `ACL_FORMAT_NCHW`.
const NCHW: c_int = 0;
/// `ACL_FORMAT_ND`.
const ND: c_int = 2;

/// Returns the format of a model's tensor. An ONNX file has only these two formats.
pub fn of_rank(rank: Option<usize>) -> c_int {
    if rank == Some(4) { NCHW } else { ND }
}
