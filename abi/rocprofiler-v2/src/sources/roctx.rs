use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope_border::loader::{self, Export, Library, Object, Scope};
use opscope_border::{In, Text};
use opscope_clock::{Ticks, Timestamp};
use opscope_producer::Turn;
use opscope_sys::{Mutex, MutexGuard};

use crate::border::{call_tool, say};
use crate::buffers::{Marker, next_record};
use crate::kinds::{PHASE_ENTER, ROCTX, TRACER};
use crate::layout::{Handle, RecordHeader, RoctxData, TracerRecord};
use crate::sessions::{put_slowly, sync, targets};
use crate::threads;

/// Called by a ROCTx runtime for each of its calls.
type Listener = extern "C" fn(domain: c_int, operation: u32, data: In<'_, RoctxData<'_>>) -> c_int;
/// A runtime's function that sets its only listener; NULL removes it.
type Register = extern "C" fn(Option<Listener>);

#[allow(unsafe_code, reason = "it names what other libraries export")]
const REGISTER: Export<Register> =
    // SAFETY: the function with this name has this type in the interface of ROCTx runtimes.
    unsafe { Export::new(c"roctxRegisterTracerCallback") };
const LIBRARY: &CStr = c"libroctx64.so.4";

/// The turn of the thread that registers or removes this library. Meanwhile a runtime may call the tool, or wait for
/// one of its calls.
static TURN: Turn = Turn::new();
/// Whether another thread needed the turn meanwhile, and did not get it.
static LOOK_AGAIN: AtomicBool = AtomicBool::new(false);

/// The runtime's function by which this library is registered as the listener.
static REGISTERED: Mutex<Option<Register>> = Mutex::new(None);

pub(super) fn lock() -> MutexGuard<'static, Option<Register>> {
    REGISTERED.lock()
}

/// Listens to the process's ROCTx runtime while the active session wants its calls.
pub fn follow_targets() {
    // The runtime is searched before the turn is taken, because the loader has its own lock, which a thread that loads
    // a library may hold when it comes here.
    let mut found = (wants_calls() && lock().is_none()).then(find);
    loop {
        let Some(turn) = TURN.take() else {
            // The thread that has the turn checks again, unless it has finished.
            LOOK_AGAIN.store(true, Ordering::SeqCst);
            match TURN.try_take() {
                Some(turn) => drop(turn),
                None => return,
            }
            continue;
        };
        LOOK_AGAIN.store(false, Ordering::SeqCst);
        // If two threads come here, the last one decides, and it sees what the session wants now.
        register(found.take());
        drop(turn);
        if !LOOK_AGAIN.load(Ordering::SeqCst) {
            return;
        }
        found = (wants_calls() && lock().is_none()).then(find);
    }
}

fn wants_calls() -> bool {
    targets::ROCTX.get().is_some() || sync::is_set()
}

/// Registers this library with the runtime that was found, or removes it. Holds no lock while it calls the runtime.
fn register(found: Option<Option<Register>>) {
    let registered = *lock();
    match (registered, wants_calls()) {
        (None, true) => match found {
            Some(Some(register)) => {
                *lock() = Some(register);
                register(Some(listen));
            }
            Some(None) => {
                say("there is no ROCTx runtime with roctxRegisterTracerCallback; its calls are not recorded");
            }
            // Since the check, other threads have ended that session and started another one. The last of them also
            // comes here.
            None => {}
        },
        (Some(register), false) => {
            *lock() = None;
            // NULL removes the listener.
            register(None);
        }
        (None, false) | (Some(_), true) => {}
    }
}

/// Finds the runtime: the one that the process has loaded, the library beside this one, or the system's.
fn find() -> Option<Register> {
    loader::visible(&REGISTER, Scope::Process).or_else(|| {
        let library = Library::loaded(LIBRARY)
            .or_else(|| Library::load(&beside()?, true))
            .or_else(|| Library::load(LIBRARY, true))?;
        library.function(&REGISTER)
    })
}

/// Returns the path of the runtime beside this library, if that file exists.
fn beside() -> Option<CString> {
    let path = Object::own()?.directory()?.join(LIBRARY.to_str().ok()?);
    if path.is_file() { CString::new(path.as_os_str().as_bytes()).ok() } else { None }
}

/// Receives a call from the runtime, and passes it to the tool's callback or emits it into the tool's buffer.
extern "C" fn listen(domain: c_int, operation: u32, data: In<'_, RoctxData<'_>>) -> c_int {
    // Other domains have other data.
    let Some(data) = Some(data).filter(|_| domain == ROCTX).and_then(In::given) else { return 0 };
    // A call with an id has no message, and vice versa.
    let has_message = matches!(operation, 0 | 1 | 3);
    let (message, id) = (if has_message { data.message } else { Text::NULL }, data.id);
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
        call_tool("a callback for API calls", || (call.callback)(record, call.session));
    } else if let Some(buffer) = targets::ROCTX.get() {
        let marker = Marker {
            check: 0,
            begin: Ticks::now().as_raw(),
            external_id: id,
            thread: threads::current(),
            operation,
            message: 0,
        };
        marker.put(message, buffer, |form, bytes| put_slowly(buffer, form, bytes));
    }
    0
}
