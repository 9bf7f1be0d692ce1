use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use opscope_clock::{Ticks, Timestamp};

use crate::border::{call_tool, say};
use crate::buffers::{Marker, next_record};
use crate::kinds::{PHASE_ENTER, ROCTX, TRACER};
use crate::layout::{Handle, RecordHeader, RoctxData, TracerRecord};
use crate::sessions::{put_slowly, sync, targets};
use crate::threads;

/// Called by a ROCTx runtime for each of its calls.
type Listener = unsafe extern "C" fn(domain: c_int, operation: u32, data: *mut c_void) -> c_int;
/// A runtime's function that takes the one listener; NULL removes it.
type Register = unsafe extern "C" fn(Option<Listener>);

const REGISTER: &CStr = c"roctxRegisterTracerCallback";
const LIBRARY: &CStr = c"libroctx64.so.4";

/// Where this library is registered as the listener.
static REGISTERED: Mutex<Option<Register>> = Mutex::new(None);

pub(super) fn lock() -> MutexGuard<'static, Option<Register>> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Listens to the process's ROCTx runtime while the active session wants its calls.
pub fn follow_targets() {
    let wants = || targets::ROCTX.get().is_some() || sync::is_set();
    // Without the lock: the loader has a lock of its own, and a library that is being loaded may come here with that one.
    let found = (wants() && lock().is_none()).then(find);
    // Under the lock: of two threads, the last one here decides, and it knows what the session wants now.
    let mut registered = lock();
    match (*registered, wants()) {
        (None, true) => match found {
            Some(Some(register)) => {
                // SAFETY: a function of this name takes such a listener, which lives as long as the process.
                unsafe { register(Some(listen)) };
                *registered = Some(register);
            }
            Some(None) => {
                say("there is no ROCTx runtime with roctxRegisterTracerCallback; its calls are not recorded");
            }
            // Since the look at it, other threads ended that session and started one. The last of them comes here, too.
            None => {}
        },
        (Some(register), false) => {
            // SAFETY: as above; NULL removes the listener.
            unsafe { register(None) };
            *registered = None;
        }
        (None, false) | (Some(_), true) => {}
    }
}

/// Finds the runtime: one that the process has loaded, the library beside this one, or the one that the system has.
fn find() -> Option<Register> {
    // SAFETY: the names end with NUL. A ROCTx runtime may be loaded.
    unsafe {
        let loaded = libc::dlsym(libc::RTLD_DEFAULT, REGISTER.as_ptr());
        if !loaded.is_null() {
            return as_register(loaded);
        }
        let mut library = libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if let (true, Some(beside)) = (library.is_null(), beside()) {
            library = libc::dlopen(beside.as_ptr(), libc::RTLD_LAZY | libc::RTLD_GLOBAL);
        }
        if library.is_null() {
            library = libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_LAZY | libc::RTLD_GLOBAL);
        }
        if library.is_null() { None } else { as_register(libc::dlsym(library, REGISTER.as_ptr())) }
    }
}

fn as_register(function: *mut c_void) -> Option<Register> {
    // SAFETY: a function of this name has this type.
    (!function.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, Register>(function) })
}

/// Returns the path of the runtime beside this library, if there is such a file.
fn beside() -> Option<CString> {
    let own = beside as fn() -> Option<CString> as *const c_void;
    // SAFETY: the structure is filled by the call, and its name is a text.
    let name = unsafe {
        let mut object: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(own, &raw mut object) == 0 || object.dli_fname.is_null() {
            return None;
        }
        CStr::from_ptr(object.dli_fname).to_str().ok()?
    };
    let path = Path::new(name).parent()?.join(LIBRARY.to_str().ok()?);
    if path.is_file() { CString::new(path.to_str()?).ok() } else { None }
}

/// Takes a call: for the tool's callback, or into its buffer.
unsafe extern "C" fn listen(domain: c_int, operation: u32, data: *mut c_void) -> c_int {
    if domain != ROCTX || data.is_null() {
        return 0;
    }
    // SAFETY: a runtime passes such data in this domain. A call with an id has no message, and the other way round.
    let data = unsafe { *data.cast::<RoctxData>() };
    let has_message = matches!(operation, 0 | 1 | 3);
    let (message, id) = (if has_message { data.message } else { ptr::null() }, data.id);
    if sync::is_set() {
        let Some(call) = sync::begin() else { return 0 };
        let record = TracerRecord {
            header: RecordHeader { kind: TRACER, padding: 0, id: Handle(next_record()) },
            external_id: id,
            domain,
            operation,
            api_data: ptr::from_ref(&data).cast(),
            correlation_id: 0,
            begin: Timestamp::now().as_nanos(),
            end: 0,
            agent_id: Handle(0),
            queue_id: Handle(0),
            thread_id: threads::current(),
            phase: PHASE_ENTER,
            name: ptr::null::<c_char>(),
        };
        // SAFETY: the tool gave this function for as long as the session is active, whose end waits for it.
        call_tool("a callback for API calls", || unsafe { (call.callback)(record, call.session) });
    } else if let Some(buffer) = targets::ROCTX.get() {
        let marker = Marker {
            check: 0,
            begin: Ticks::now().as_raw(),
            external_id: id,
            thread: threads::current(),
            operation,
            message: 0,
        };
        // SAFETY: a runtime passes a message that ends with NUL, or NULL.
        unsafe { marker.put(message, buffer, |form, bytes| put_slowly(buffer, form, bytes)) };
    }
    0
}
