use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::table::LiveTable;
use crate::border::{Data, Status, call, call_tool};
use crate::kinds::Table;
use crate::phase::check_not_initialized;

/// A tool's function that gets the tables of runtimes.
type InterceptCallback = unsafe extern "C-unwind" fn(
    table: u32,
    version: u64,
    instance: u64,
    tables: *mut *mut c_void,
    count: u64,
    data: *mut c_void,
);

/// Who gets which tables, in the order of registration.
static INTERCEPTS: Mutex<Vec<(InterceptCallback, u32, Data)>> = Mutex::new(Vec::new());

pub(super) fn lock() -> MutexGuard<'static, Vec<(InterceptCallback, u32, Data)>> {
    INTERCEPTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets a tool see and change the tables of runtimes that register themselves later. `tables` is an OR of
/// `rocprofiler_intercept_table_t`; 0 stands for all.
#[unsafe(no_mangle)]
pub extern "C" fn rocprofiler_at_intercept_table_registration(
    callback: Option<InterceptCallback>,
    tables: u32,
    data: *mut c_void,
) -> Status {
    call(|| {
        check_not_initialized()?;
        if let Some(callback) = callback {
            lock().push((callback, if tables == 0 { u32::MAX } else { tables }, Data(data)));
        }
        Ok(())
    })
}

/// Shows a table to the tools that want to see it.
pub fn tell(table: Table, version: u64, instance: u64, live: LiveTable) {
    let wanting: Vec<_> = lock().iter().copied().filter(|(_, tables, _)| tables & table.0 != 0).collect();
    for (callback, _, data) in wanting {
        let mut tables = [live.as_ptr()];
        call_tool("an intercept callback", || {
            // SAFETY: the tool promises that the function takes these arguments as long as the process lives.
            unsafe { callback(table.0, version, instance, tables.as_mut_ptr(), 1, data.0) };
        });
    }
}
