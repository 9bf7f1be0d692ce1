use std::ffi::{CStr, c_char, c_int};

use opscope_producer::kernel_name;

use crate::border::{Status, call, out, write};
use crate::layout::Handle;

const NAME: c_int = 0;

fn kernel_info(kind: c_int, kernel: Handle) -> Result<&'static CStr, Status> {
    let name = kernel_name(kernel.0).ok_or(Status::KernelNotFound)?;
    if kind == NAME { Ok(name) } else { Err(Status::KernelInformationMissing) }
}

/// Writes the length of a kernel's name, without its NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_query_kernel_info_size(kind: c_int, kernel: Handle, size: *mut usize) -> Status {
    // SAFETY: it is checked, and the tool promises that it is writable.
    call(|| unsafe { write(size, kernel_info(kind, kernel)?.count_bytes()) })
}

/// Writes the name of the kernel with the id that dispatches have: that of its operator. The text belongs to the tool, which frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_query_kernel_info(
    kind: c_int,
    kernel: Handle,
    text: *mut *const c_char,
) -> Status {
    call(|| {
        let place = out(text)?;
        // SAFETY: the name ends with NUL.
        let copy = unsafe { libc::strdup(kernel_info(kind, kernel)?.as_ptr()) };
        if copy.is_null() {
            return Err(Status::Error);
        }
        // SAFETY: it is checked, and the tool promises that it is writable.
        unsafe { place.write(copy) };
        Ok(())
    })
}
