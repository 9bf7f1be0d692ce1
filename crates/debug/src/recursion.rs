//! What may be called from inside of a notification callback, and of a function that looks at a stopped run.

use std::cell::Cell;

use crate::DebugError;

thread_local! {
    static INSIDE: Cell<Option<Rule>> = const { Cell::new(None) };
    static LOOKING: Cell<bool> = const { Cell::new(false) };
}

/// What a callback may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Nothing.
    Strict,
    /// What takes and acknowledges events.
    Relaxed,
}

/// Calls a callback; what it calls on this thread is under the rule.
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

/// For calls that look at a stopped run.
pub(crate) fn not_while_looking() -> Result<(), DebugError> {
    if LOOKING.get() { Err(DebugError::RecursiveCall) } else { Ok(()) }
}

/// For calls that take or acknowledge events.
pub(crate) fn allow_events() -> Result<(), DebugError> {
    if INSIDE.get() == Some(Rule::Strict) { Err(DebugError::RecursiveCall) } else { Ok(()) }
}

/// For all other calls.
pub(crate) fn allow_nothing() -> Result<(), DebugError> {
    if INSIDE.get().is_some() { Err(DebugError::RecursiveCall) } else { Ok(()) }
}
