//! The state of a thread, all in one place: in a shared library, each access to a thread-local variable costs a call.

use std::cell::Cell;
use std::ptr;

use opscope_border::system;
use opscope_trace::{ForkRoom, HeldLocks};

use crate::ids::Ids;

/// The state of a thread. It has no destructor, so it exists even while the thread is being torn down.
pub struct Thread {
    /// Its number in the operating system; 0 until that is first needed.
    id: Cell<u64>,
    /// The internal correlation ids of its calls.
    pub ids: Ids,
    /// The internal id of the call that the thread is in; 0 outside of any.
    pub call: Cell<u64>,
    /// How many callbacks of tools the thread is in.
    callbacks: Cell<u32>,
    /// Whether the thread is in a buffer's callback.
    pub is_delivering: Cell<bool>,
}

thread_local! {
    static THREAD: Thread = const {
        Thread {
            id: Cell::new(0),
            ids: Ids::new(),
            call: Cell::new(0),
            callbacks: Cell::new(0),
            is_delivering: Cell::new(false),
        }
    };
}

/// Calls a function with the state of the calling thread.
#[inline(always)]
#[allow(unsafe_code, reason = "a closure inside of `with` would not be inlined")]
pub fn with_current<R>(function: impl FnOnce(&Thread) -> R) -> R {
    let thread = THREAD.with(ptr::from_ref);
    // SAFETY: thread-local memory without a destructor lives as long as its thread, which is inside this function until
    // the borrow ends.
    function(unsafe { &*thread })
}

/// How deep callbacks may be nested on one thread. Without this limit, a tool whose callback calls the traced function
/// again would never return.
const DEEPEST_CALLBACK: u32 = 8;

/// Makes callbacks of a tool, unless the thread is in too many of them already.
pub fn in_callback(callbacks: impl FnOnce()) {
    let depth = with_current(|thread| thread.callbacks.get());
    if depth < DEEPEST_CALLBACK {
        with_current(|thread| thread.callbacks.set(depth + 1));
        callbacks();
        with_current(|thread| thread.callbacks.set(depth));
    }
}

/// Calls a function as part of the call with an internal id. Calls that it makes have this id as their ancestor.
#[inline]
pub fn in_call<R>(internal: u64, function: impl FnOnce() -> R) -> R {
    let above = with_current(|thread| thread.call.replace(internal));
    let result = function();
    with_current(|thread| thread.call.set(above));
    result
}

/// Returns the number of the calling thread in the operating system.
#[inline]
pub fn current_id() -> u64 {
    with_current(Thread::id)
}

impl Thread {
    /// Returns its number in the operating system.
    #[inline(always)]
    pub fn id(&self) -> u64 {
        match self.id.get() {
            0 => self.ask_id(),
            id => id,
        }
    }

    #[cold]
    fn ask_id(&self) -> u64 {
        forget_after_fork();
        let id = system::thread_id();
        self.id.set(id);
        id
    }
}

/// Makes the child of a fork look up its number again: its thread has a different one.
fn forget_after_fork() {
    struct Forget;
    impl HeldLocks for Forget {
        fn reset_in_child(self: Box<Self>) {
            with_current(|thread| thread.id.set(0));
        }
    }
    static ROOM: ForkRoom = ForkRoom::new(|| Box::new(Forget));
    // Without memory for the registration, only the thread of a child has a wrong number.
    let _ = ROOM.register();
}
