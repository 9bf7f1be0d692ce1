//! The dump of the arguments of single operators. None is executed here, so it is switched on and off, and writes nothing.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::border::{Failure, call, codes};
use crate::forks::Shared;

/// The only kind of arguments that there is.
const AI_CORE: u32 = 1;

static IS_ON: Shared<bool> = Shared::new(false, || IS_ON.held(|_| {}));

/// Switches the dump on. The directory is made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclopStartDumpArgs(dump_type: u32, path: *const c_char) -> c_int {
    let refused = |code: &str, text: &str| Err(Failure::new(codes::FAILURE, code, text));
    call(|| {
        if path.is_null() {
            return refused("EP0007", "argument path of aclopStartDumpArgs is NULL");
        }
        if dump_type & AI_CORE == 0 {
            return refused("EP0006", "argument dumpType of aclopStartDumpArgs has to be ACL_OP_DUMP_OP_AICORE_ARGS");
        }
        // SAFETY: it is not NULL, and the program promises that it is a text.
        let directory = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
        if directory.as_os_str().is_empty() {
            return refused("EP0006", "argument path of aclopStartDumpArgs is empty");
        }
        if let Err(error) = fs::create_dir_all(directory) {
            let text = format!("the directory {} cannot be made: {error}", directory.display());
            return refused("EP0006", &text);
        }
        if std::mem::replace(&mut *IS_ON.lock(), true) {
            return refused("EP0008", "aclopStartDumpArgs was called already; call aclopStopDumpArgs first");
        }
        Ok(())
    })
}

/// Switches the dump off.
#[unsafe(no_mangle)]
pub extern "C" fn aclopStopDumpArgs(dump_type: u32) -> c_int {
    if dump_type & AI_CORE != 0 {
        *IS_ON.lock() = false;
    }
    0
}
