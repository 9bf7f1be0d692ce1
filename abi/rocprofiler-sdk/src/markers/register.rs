use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use opscope_sys::{Mutex, MutexGuard};

use super::intercept;
use super::ranges::{INNER, OPERATIONS, range_wrappers};
use super::table::{CountedTables, LiveTable, keep_first};
use super::wrappers::{CONTROL, CORE, NAME, control_wrappers, core_wrappers, name_wrappers};
use crate::border::{Status, say};
use crate::exit;
use crate::kinds::{Domain, RUNTIME_MARKER, Table};
use crate::phase::{DONE, initialization};
use crate::services::routes;
use crate::tracing::announce_runtime;

/// How many tables a ROCTx runtime registers: core, control, name.
const TABLES: usize = 3;

/// The tables that a ROCTx runtime registers.
pub struct Tables {
    version: u64,
    instance: u64,
    core: LiveTable,
    control: LiveTable,
    name: LiveTable,
}

/// The tables that were registered while tools were being initialized, by a tool that used ROCTx.
static WAITING: Mutex<Vec<Tables>> = Mutex::new(Vec::new());

pub(super) fn lock() -> MutexGuard<'static, Vec<Tables>> {
    WAITING.lock()
}

impl Tables {
    /// Takes the tables of a runtime.
    pub fn new(version: u64, instance: u64, tables: &CountedTables<'_>) -> Result<Self, Status> {
        let count = tables.count();
        if count < TABLES as u64 {
            return Err(Status::InvalidArgument);
        }
        if count > TABLES as u64 {
            say(format_args!("roctx registers {count} tables; the first {TABLES} are used"));
        }
        match tables.markers::<TABLES>() {
            [Some(core), Some(control), Some(name)] => Ok(Self { version, instance, core, control, name }),
            _ => Err(Status::InvalidArgument),
        }
    }

    /// Replaces the functions that any context wants to trace, whether it is started or not. If several runtimes
    /// register their tables, the wrappers in all of them call the functions of the first runtime, because a wrapper
    /// does not know through which table it was called.
    pub fn register(self) {
        let Self { version, instance, core, control, name } = self;
        wrap(core, &CORE, &core_wrappers(), |operation| is_configured(Domain::MarkerCore, operation));
        wrap(control, &CONTROL, &control_wrappers(), |operation| is_configured(Domain::MarkerControl, operation));
        wrap(name, &NAME, &name_wrappers(), |operation| is_configured(Domain::MarkerName, operation));
        let range = |function: i32| is_configured(Domain::MarkerRange, OPERATIONS[function as usize]);
        wrap(core, &INNER, &range_wrappers(), range);

        announce_runtime(RUNTIME_MARKER, version, instance);
        intercept::tell(Table::MARKER_CORE, version, instance, core);
        intercept::tell(Table::MARKER_CONTROL, version, instance, control);
        intercept::tell(Table::MARKER_NAME, version, instance, name);
        exit::finalize_earlier();
    }

    /// Registers the tables once tools are initialized.
    pub fn register_later(self) {
        lock().push(self);
        // The initialization may have ended since the caller checked.
        if initialization() == DONE {
            register_waiting();
        }
    }
}

/// Registers the tables that were waiting for the tools.
pub fn register_waiting() {
    let waiting = std::mem::take(&mut *lock());
    waiting.into_iter().for_each(Tables::register);
}

/// Keeps the functions of a table, and puts wrappers in place of those that are wanted.
fn wrap(table: LiveTable, originals: &[AtomicPtr<c_void>], wrappers: &[*mut c_void], is_wanted: impl Fn(i32) -> bool) {
    for (index, &wrapper) in wrappers.iter().enumerate() {
        let Some(place) = table.function(index) else { return };
        let function = place.load(Ordering::Acquire);
        // A table that is registered a second time holds the wrappers already.
        if function != wrapper && is_wanted(index as i32) {
            keep_first(&originals[index], function);
            place.store(wrapper, Ordering::Release);
        }
    }
}

/// Returns whether any context, started or not, traces an operation.
fn is_configured(domain: Domain, operation: i32) -> bool {
    let wants = |route: &crate::services::Route| route.buffers(operation).is_some() || route.calls(operation).is_some();
    routes(domain).iter().any(wants)
}
