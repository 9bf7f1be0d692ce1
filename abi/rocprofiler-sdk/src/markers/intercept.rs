use std::ffi::c_void;

use opscope_border::exported;
use opscope_sys::{Mutex, MutexGuard};

use super::table::LiveTable;
use crate::border::{Data, Status, call_tool};
use crate::contexts;
use crate::kinds::Table;
use crate::phase::check_not_initialized;

/// A tool's function that receives the tables of runtimes.
type InterceptCallback =
    extern "C-unwind" fn(table: u32, version: u64, instance: u64, tables: *mut *mut c_void, count: u64, data: Data);

/// A function that receives some of the tables.
#[derive(Clone, Copy)]
pub(super) struct Intercept {
    callback: InterceptCallback,
    tables: u32,
    data: Data,
    /// The number of the tool that registered it.
    client: usize,
}

/// The functions in the order of registration, without those of finalized tools.
static INTERCEPTS: Mutex<Vec<Intercept>> = Mutex::new(Vec::new());

pub(super) fn lock() -> MutexGuard<'static, Vec<Intercept>> {
    INTERCEPTS.lock()
}

/// Lets a tool see and change the tables of runtimes that register themselves later. `tables` is an OR of
/// `rocprofiler_intercept_table_t`; 0 selects all.
#[exported]
pub fn rocprofiler_at_intercept_table_registration(
    callback: Option<InterceptCallback>,
    tables: u32,
    data: Data,
) -> Result<(), Status> {
    check_not_initialized()?;
    if let Some(callback) = callback {
        let tables = if tables == 0 { u32::MAX } else { tables };
        lock().push(Intercept { callback, tables, data, client: contexts::client() });
    }
    Ok(())
}

/// Shows a table to the tools that asked for it.
pub fn tell(table: Table, version: u64, instance: u64, live: LiveTable) {
    let wanting: Vec<_> = lock().iter().copied().filter(|intercept| intercept.tables & table.0 != 0).collect();
    for Intercept { callback, data, client, .. } in wanting {
        // A tool may have finalized itself in the previous callback.
        if !lock().iter().any(|intercept| intercept.client == client) {
            continue;
        }
        let mut tables = [live.as_ptr()];
        call_tool("an intercept callback", || {
            callback(table.0, version, instance, tables.as_mut_ptr(), 1, data);
        });
    }
}

/// Removes the functions of a finalized tool.
pub fn forget_intercepts_of(client: usize) {
    lock().retain(|intercept| intercept.client != client);
}
