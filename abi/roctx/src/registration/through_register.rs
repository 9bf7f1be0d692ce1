use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;

use super::loader::{self, Library};
use super::{NAME, Outcome, VERSION, warn};
use crate::tables;

const LIBRARY: &CStr = c"librocprofiler-register.so.0";
const FUNCTION: &CStr = c"rocprofiler_register_library_api_table";

const SUCCESS: c_int = 0;
const NO_TOOLS: c_int = 1;
const REENTERED: c_int = 2;

#[repr(C)]
struct Id {
    handle: u64,
}

type Import = extern "C" fn() -> u32;
type RegisterTables =
    unsafe extern "C" fn(*const c_char, Import, u32, tables: *mut *mut c_void, count: u64, *mut Id) -> c_int;

/// Gives the tables to rocprofiler-register, which passes them on to profilers, now or later. Returns `None` if this process
/// has no such library.
pub fn register() -> Option<Outcome> {
    let function = loader::visible(FUNCTION).or_else(in_its_library)?;
    // SAFETY: rocprofiler-register exports a function of this type under this name.
    let register_tables = unsafe { std::mem::transmute::<NonNull<c_void>, RegisterTables>(function) };
    let tables = tables::ALL.as_ptr().cast_mut().cast();
    let mut id = Id { handle: 0 };
    // SAFETY: the name ends with NUL, the tables live as long as the process, and the id is writable.
    let status = unsafe { register_tables(NAME.as_ptr(), import, VERSION, tables, tables::ALL.len() as u64, &mut id) };
    match status {
        SUCCESS | NO_TOOLS => {}
        REENTERED => return Some(Outcome::Again),
        _ => warn(&format!("rocprofiler-register did not take the tables: status {status}")),
    }
    Some(Outcome::Done)
}

fn in_its_library() -> Option<NonNull<c_void>> {
    let library = Library::loaded(LIBRARY).or_else(|| Library::load(LIBRARY, libc::RTLD_LOCAL))?;
    library.symbol(FUNCTION)
}

/// Shows rocprofiler-register which file registers. The exported function of this purpose might be another library's.
extern "C" fn import() -> u32 {
    VERSION
}
