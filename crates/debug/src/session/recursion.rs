//! Which calls are allowed inside of a notification callback, and inside of a function that looks at a stopped run.

use std::cell::Cell;

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
