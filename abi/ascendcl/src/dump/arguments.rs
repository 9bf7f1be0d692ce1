//! The dump of the arguments of single operators. No single operator is executed here, so the dump can be switched on
//! and off, but writes nothing.

use std::ffi::{OsStr, c_int};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use opscope_border::{Text, exported};

use crate::border::{Failure, codes};
use crate::forks::Shared;

/// The only kind of arguments.
const AI_CORE: u32 = 1;

static IS_ON: Shared<bool> = Shared::new(false, || IS_ON.held(|_| {}));

/// Creates the directory for the dump, and switches the dump on.
#[exported]
pub fn aclopStartDumpArgs(dump_type: u32, path: Text<'_>) -> Result<(), Failure> {
    let refused = |code: &str, text: &str| Err(Failure::new(codes::FAILURE, code, text));
    {
        let Some(path) = path.given() else {
            return refused("EP0007", "argument path of aclopStartDumpArgs is NULL");
        };
        if dump_type & AI_CORE == 0 {
            return refused("EP0006", "argument dumpType of aclopStartDumpArgs has to be ACL_OP_DUMP_OP_AICORE_ARGS");
        }
        let directory = Path::new(OsStr::from_bytes(path.to_bytes()));
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
    }
}

/// Switches the dump off.
#[exported]
pub fn aclopStopDumpArgs(dump_type: u32) -> c_int {
    if dump_type & AI_CORE != 0 {
        *IS_ON.lock() = false;
    }
    0
}
