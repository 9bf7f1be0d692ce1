//! What was delivered, for programs that want to know whether it is all.

use std::ffi::c_int;

use super::counts::Counts;
use super::queue;
use crate::border::{Failure, call, out};

/// The counts as a program gets them.
#[repr(C)]
pub struct opscope_acldump_report {
    pub size: usize,
    pub files: u64,
    pub incomplete_files: u64,
    pub chunks: u64,
    pub bytes: u64,
    pub lost_chunks: u64,
}

/// Writes what was delivered, when everything that runs have dumped so far is (in a callback: at once). The program sets `size` to that
/// of its struct.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_acldump_get_report(report: *mut opscope_acldump_report) -> c_int {
    call(|| {
        let report = out(report, "report")?;
        // SAFETY: it is not NULL, and the program promises that it is a struct.
        let size = unsafe { (*report).size };
        if size < size_of::<opscope_acldump_report>() {
            return Err(Failure::wrong_value("size", size, "set it to sizeof(opscope_acldump_report)"));
        }
        queue::flush();
        let Counts { files, incomplete_files, chunks, bytes, lost_chunks } = queue::counts();
        // SAFETY: as above, and it is large enough.
        unsafe { report.write(opscope_acldump_report { size, files, incomplete_files, chunks, bytes, lost_chunks }) };
        Ok(())
    })
}
