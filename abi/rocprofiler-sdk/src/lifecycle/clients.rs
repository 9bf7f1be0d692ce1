use std::ffi::CStr;
use std::ptr;

use opscope_border::{In, Text};
use opscope_sys::{Mutex, MutexGuard};

use crate::border::{call_tool, say};
use crate::contexts;
use crate::layout::{ClientId, Configure, ConfigureResult, Finalize};
use crate::version::VERSION;

/// A tool that asked to be initialized.
#[derive(Clone, Copy)]
pub struct Client {
    pub number: usize,
    /// Its number, as tools see it.
    pub handle: u32,
    pub configured: ConfigureResult,
    /// Whether its initialization is over.
    pub is_initialized: bool,
    pub is_finalized: bool,
}

static CLIENTS: Mutex<Vec<Client>> = Mutex::new(Vec::new());

/// Locks the list of tools, and returns it.
pub fn lock() -> MutexGuard<'static, Vec<Client>> {
    CLIENTS.lock()
}

const VERSION_TEXT: &CStr = c"1.0.0";
const VERSION_NUMBER: u32 = 10_000 * VERSION.major + 100 * VERSION.minor + VERSION.patch;

/// Configures a tool, and keeps it if it asks to be initialized. `number` is its position among all tools.
pub fn configure(configure: Configure, number: usize) {
    // A tool may keep the pointer to its id and write to it, so the id is leaked.
    let handle = handle(number);
    let id = Box::leak(Box::new(ClientId { size: size_of::<ClientId>(), name: ptr::null(), handle }));
    contexts::set_client(number);
    let configured =
        call_tool("rocprofiler_configure", || configure(VERSION_NUMBER, Text::from(VERSION_TEXT), number as u32, id));
    let Some(configured) = configured.and_then(In::given) else { return };
    let is_initialized = configured.initialize.is_none();
    let client = Client { number, handle, configured, is_initialized, is_finalized: false };
    lock().push(client);
}

/// Initializes the tools, in the order in which they were configured. A tool whose function throws is passed to
/// `leave_out`.
pub fn initialize_all(finalize: Finalize, leave_out: impl Fn(&Client)) {
    let clients: Vec<_> = lock().clone();
    for client in clients {
        let ConfigureResult { initialize, tool_data, .. } = client.configured;
        contexts::set_client(client.number);
        let Some(initialize) = initialize else { continue };
        let initialized = call_tool("the initialization", || initialize(finalize, tool_data));
        if initialized.is_none() {
            say("that tool is left out: none of its functions is called any more");
            leave_out(&client);
        }
        with_known(&client, |known| known.is_initialized = true);
    }
}

/// Marks a tool as finalized. Returns whether this call did it.
pub fn end(client: &Client) -> bool {
    with_known(client, |known| !std::mem::replace(&mut known.is_finalized, true)).unwrap_or(false)
}

fn with_known<R>(client: &Client, change: impl FnOnce(&mut Client) -> R) -> Option<R> {
    lock().iter_mut().find(|known| known.number == client.number).map(change)
}

/// Returns a tool's handle: above 0.
fn handle(number: usize) -> u32 {
    // This number is the same for all tools of a process, and differs between processes.
    let process = std::process::id().wrapping_mul(2_654_435_761) & 0x3fff_ffff;
    process + 1 + number as u32
}
