use std::ffi::{CStr, c_char, c_int};

use opscope_border::{Out, exported, system};
use opscope_producer::kernel_name;

use crate::border::{Status, out, write};
use crate::layout::Handle;

const NAME: c_int = 0;

fn kernel_info(kind: c_int, kernel: Handle) -> Result<&'static CStr, Status> {
    let name = kernel_name(kernel.0).ok_or(Status::KernelNotFound)?;
    if kind == NAME { Ok(name) } else { Err(Status::KernelInformationMissing) }
}

/// Writes the length of a kernel's name, without its NUL.
#[exported]
pub fn rocprofiler_query_kernel_info_size(kind: c_int, kernel: Handle, size: Out<'_, usize>) -> Result<(), Status> {
    write(size, kernel_info(kind, kernel)?.count_bytes())
}

/// Writes the name of a kernel by the id in a dispatch: that of its operator. The text belongs to the tool, which frees
/// it.
#[exported]
pub fn rocprofiler_query_kernel_info(kind: c_int, kernel: Handle, text: Out<'_, *const c_char>) -> Result<(), Status> {
    let place = out(text)?;
    let copy = system::duplicate(kernel_info(kind, kernel)?).ok_or(Status::Error)?;
    place.write(copy.as_ptr());
    Ok(())
}
