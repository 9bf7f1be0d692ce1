use std::ffi::CStr;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::border::call_tool;
use crate::contexts;
use crate::layout::{ClientId, Configure, ConfigureResult, Finalize};
use crate::version::VERSION;

/// A tool that wants to be called.
#[derive(Clone, Copy)]
pub struct Client {
    pub number: usize,
    /// The number that tells it from others.
    pub handle: u32,
    pub configured: ConfigureResult,
    pub is_finalized: bool,
}

// SAFETY: the tool's pointers are only handed back to it.
unsafe impl Send for Client {}

static CLIENTS: Mutex<Vec<Client>> = Mutex::new(Vec::new());

/// Returns the tools, locked.
pub fn lock() -> MutexGuard<'static, Vec<Client>> {
    CLIENTS.lock().unwrap_or_else(PoisonError::into_inner)
}

const VERSION_TEXT: &CStr = c"1.0.0";
const VERSION_NUMBER: u32 = 10_000 * VERSION.major + 100 * VERSION.minor + VERSION.patch;

/// Configures a tool, and keeps it if it wants to be called. `number` is its place among all tools.
pub fn configure(configure: Configure, number: usize) {
    // A tool keeps the pointer to its id, and may write to it. It is leaked.
    let handle = handle(number);
    let id = Box::into_raw(Box::new(ClientId { size: size_of::<ClientId>(), name: ptr::null(), handle }));
    contexts::set_client(number);
    let configured = call_tool("rocprofiler_configure", || {
        // SAFETY: the tool promises that its function has this type.
        unsafe { configure(VERSION_NUMBER, VERSION_TEXT.as_ptr(), number as u32, id) }
    });
    let Some(configured) = configured.filter(|configured| !configured.is_null()) else { return };
    // SAFETY: the tool returns its structure, which has at least these fields in this version.
    let client = unsafe { Client { number, handle, configured: configured.read(), is_finalized: false } };
    lock().push(client);
}

/// Initializes the tools, in the order in which they were configured.
pub fn initialize_all(finalize: Finalize) {
    let clients: Vec<_> = lock().clone();
    for Client { number, configured, .. } in clients {
        contexts::set_client(number);
        if let Some(initialize) = configured.initialize {
            // SAFETY: the tool gave this function and its data.
            call_tool("the initialization", || unsafe { initialize(finalize, configured.tool_data) });
        }
    }
}

/// Returns a number that tells a tool from others: above 0.
fn handle(number: usize) -> u32 {
    // The same for all tools of a process, and another one in another process.
    let process = std::process::id().wrapping_mul(2_654_435_761) & 0x3fff_ffff;
    process + 1 + number as u32
}
