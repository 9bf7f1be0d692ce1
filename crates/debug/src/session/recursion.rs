//! Which calls are allowed inside of a notification callback, and inside of a function that looks at a stopped run.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::DebugError;

thread_local! {
    static INSIDE: Cell<Option<Rule>> = const { Cell::new(None) };
    static LOOKING: Cell<bool> = const { Cell::new(false) };
}

/// The calls that a notification callback may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// None.
    Strict,
    /// Calls that take and acknowledge events.
    Relaxed,
}

impl Rule {
    /// Returns the rule for the value of [`strict_callbacks`](super::AttachOptions::strict_callbacks).
    pub fn for_callbacks(strict: bool) -> Self {
        if strict { Rule::Strict } else { Rule::Relaxed }
    }
}

/// Calls a callback. The rule applies to the calls that it makes on this thread.
pub(crate) fn inside(rule: Rule, callback: impl FnOnce()) {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            INSIDE.set(None);
        }
    }
    INSIDE.set(Some(rule));
    let _leave = Leave;
    callback();
}

/// Calls a function that looks at a stopped run.
pub(crate) fn looking<R>(look: impl FnOnce() -> R) -> R {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            LOOKING.set(false);
        }
    }
    LOOKING.set(true);
    let _leave = Leave;
    look()
}

/// Checks a call that looks at a stopped run.
pub(crate) fn not_while_looking() -> Result<(), DebugError> {
    if LOOKING.get() { Err(DebugError::RecursiveCall) } else { Ok(()) }
}

/// Checks a call that takes or acknowledges events.
pub(crate) fn allow_events() -> Result<(), DebugError> {
    if INSIDE.get() == Some(Rule::Strict) { Err(DebugError::RecursiveCall) } else { Ok(()) }
}

/// Checks any other call.
pub(crate) fn allow_nothing() -> Result<(), DebugError> {
    if INSIDE.get().is_some() { Err(DebugError::RecursiveCall) } else { Ok(()) }
}

/// The process that has a debugger. In a forked child, the cached numbers of threads are wrong.
static PROCESS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The number of this thread, and the process in which it was cached.
    static KNOWN: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

/// Notes that this process has a debugger.
pub(super) fn note_process() {
    PROCESS.store(std::process::id(), Ordering::Relaxed);
}

/// Returns the system's number of the calling thread. It is cached, because the system call would be the most expensive
/// part of a run without a client.
pub(super) fn thread() -> u32 {
    let process = PROCESS.load(Ordering::Relaxed);
    let (number, known_in) = KNOWN.get();
    if known_in == process && number != 0 {
        return number;
    }
    let number = opscope_sys::thread_id();
    KNOWN.set((number, process));
    number
}
