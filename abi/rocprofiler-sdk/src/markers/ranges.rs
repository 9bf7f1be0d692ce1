//! The service MARKER_CORE_RANGE_API: one event per range, from its push to its pop, or from its start to its stop. Its
//! wrappers are called around those of the core service.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_int, c_void};

use opscope_border::{Out, Text};
use opscope_clock::Ticks;
use opscope_trace::{Inside, Mutex, MutexGuard, interrupts_a_call};

use super::table::{Functions, no_functions, original};
use super::wrappers::words;
use crate::kinds::Domain;
use crate::layout::{MarkerArguments, MarkerData};
use crate::thread::in_call;
use crate::tracing::{ApiCall, Event, Phase, drop_if_interrupting, put, retire, traced};

/// The functions that the runtime's table held before.
pub static INNER: Functions = no_functions();

const MARK: i32 = 0;
const THREAD_RANGE: i32 = 1;
const PROCESS_RANGE: i32 = 2;
const GET_THREAD_ID: i32 = 3;

/// The operation that each function of the core table belongs to.
pub const OPERATIONS: [i32; 6] = [MARK, THREAD_RANGE, THREAD_RANGE, PROCESS_RANGE, PROCESS_RANGE, GET_THREAD_ID];

/// A range that has begun but not ended.
pub(super) struct OpenRange {
    event: Event,
    operation: i32,
    /// The message, kept until the range ends: the program may free its own earlier.
    message: Option<CString>,
    start: Ticks,
    result: u64,
}

thread_local! {
    /// The ranges that this thread has pushed; `None` for each that is not traced.
    static PUSHED: RefCell<Vec<Option<OpenRange>>> = const { RefCell::new(Vec::new()) };
}

/// The ranges that were started, by the ids that the runtime returned for them.
static STARTED: Mutex<Option<HashMap<u64, OpenRange>>> = Mutex::new(None);

pub(super) fn lock() -> MutexGuard<'static, Option<HashMap<u64, OpenRange>>> {
    STARTED.lock()
}

/// Returns the wrappers, by the function's index in the core table.
pub fn range_wrappers() -> Vec<*mut c_void> {
    vec![
        mark as extern "C" fn(Text<'_>) as *mut c_void,
        push as extern "C" fn(Text<'_>) -> c_int as *mut c_void,
        pop as extern "C" fn() -> c_int as *mut c_void,
        start as extern "C" fn(Text<'_>) -> u64 as *mut c_void,
        stop as extern "C" fn(u64) as *mut c_void,
        get_thread_id as extern "C" fn(Out<'_, u64>) -> c_int as *mut c_void,
    ]
}

/// Calls the function that the table held at an index, if it held one.
macro_rules! inner {
    ($index:literal, fn($($type:ty),*) -> $result:ty, $($argument:expr),*) => {{
        // SAFETY: the table held a function of this type there.
        let inner = unsafe { original::<extern "C" fn($($type),*) -> $result>(&INNER[$index]) };
        inner.map_or_else(<$result>::default, |inner| inner($($argument),*))
    }};
}

extern "C" fn mark(message: Text<'_>) {
    let call = ApiCall { domain: Domain::MarkerRange, operation: MARK, arguments: words(message.as_ptr() as u64, 0) };
    traced(call, || inner!(0, fn(Text<'_>) -> (), message));
}

extern "C" fn get_thread_id(id: Out<'_, u64>) -> c_int {
    let call =
        ApiCall { domain: Domain::MarkerRange, operation: GET_THREAD_ID, arguments: words(id.as_ptr() as u64, 0) };
    traced(call, || inner!(5, fn(Out<'_, u64>) -> c_int, id))
}

extern "C" fn push(message: Text<'_>) -> c_int {
    if drop_if_interrupting(Domain::MarkerRange, THREAD_RANGE) {
        return inner!(1, fn(Text<'_>) -> c_int, message);
    }
    let mut range = OpenRange::begin(THREAD_RANGE, message);
    let level = within(&range, || inner!(1, fn(Text<'_>) -> c_int, message));
    if let Some(range) = &mut range {
        range.result = u64::from(level.cast_unsigned());
    }
    // A thread that is being torn down has no ranges left.
    let _inside = Inside::enter();
    let _ = PUSHED.try_with(|pushed| pushed.borrow_mut().push(range));
    level
}

extern "C" fn pop() -> c_int {
    // A signal handler ends only what it began itself, and that was dropped.
    if interrupts_a_call() {
        return inner!(2, fn() -> c_int,);
    }
    let popped = {
        let _inside = Inside::enter();
        PUSHED.try_with(|pushed| pushed.borrow_mut().pop()).ok().flatten().flatten()
    };
    let level = within(&popped, || inner!(2, fn() -> c_int,));
    if let Some(range) = popped {
        range.end();
    }
    level
}

extern "C" fn start(message: Text<'_>) -> u64 {
    if drop_if_interrupting(Domain::MarkerRange, PROCESS_RANGE) {
        return inner!(3, fn(Text<'_>) -> u64, message);
    }
    let range = OpenRange::begin(PROCESS_RANGE, message);
    let id = within(&range, || inner!(3, fn(Text<'_>) -> u64, message));
    if let Some(mut range) = range {
        range.result = id;
        lock().get_or_insert_default().insert(id, range);
    }
    id
}

extern "C" fn stop(id: u64) {
    // The call is not traced, for the same reason as in `pop`.
    if interrupts_a_call() {
        return inner!(4, fn(u64) -> (), id);
    }
    let stopped = lock().get_or_insert_default().remove(&id);
    within(&stopped, || inner!(4, fn(u64) -> (), id));
    if let Some(range) = stopped {
        range.end();
    }
}

/// Calls the runtime's function as part of a range, if that is traced.
fn within<R>(range: &Option<OpenRange>, function: impl FnOnce() -> R) -> R {
    match range {
        Some(range) => in_call(range.event.internal, function),
        None => function(),
    }
}

impl OpenRange {
    fn begin(operation: i32, message: Text<'_>) -> Option<Self> {
        let mut event = Event::begin(Domain::MarkerRange, |route| route.wants(operation))?;
        let kept = Inside::enter();
        let message = message.given().map(CStr::to_owned);
        drop(kept);
        let arguments = arguments(&message);
        let internal = event.internal;
        event.correlate(operation);
        in_call(internal, || event.call(operation, Phase::Enter, || data(arguments, 0)));
        event.correlate_again();
        Some(Self { event, operation, message, start: Ticks::now(), result: 0 })
    }

    fn end(mut self) {
        let end = Ticks::now();
        let arguments = arguments(&self.message);
        let (internal, operation, result) = (self.event.internal, self.operation, self.result);
        in_call(internal, || self.event.call(operation, Phase::Exit, || data(arguments, result)));
        self.event.record(self.operation, |service, ids| {
            put(service, self.operation, ids, self.start, end, self.event.thread);
        });
        retire(self.event.internal);
        let _inside = Inside::enter();
        drop(self);
    }
}

fn arguments(message: &Option<CString>) -> MarkerArguments {
    words(message.as_ref().map_or(0, |message| message.as_ptr() as u64), 0)
}

fn data(arguments: MarkerArguments, result: u64) -> MarkerData {
    MarkerData { size: size_of::<MarkerData>() as u64, arguments, result }
}
