use std::cell::Cell;

/// Which functions a client may call inside its callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// No function: clients before 13.0.
    Strict,
    /// Functions that take and acknowledge events: clients since 13.0.
    Relaxed,
}

thread_local! {
    /// The rule for the calls that this thread makes, while it is inside the client's function.
    static INSIDE: Cell<Option<Rule>> = const { Cell::new(None) };
}

/// Calls the client's function. The rule applies to the calls that it makes on this thread.
pub fn inside(rule: Rule, callback: impl FnOnce()) {
    /// Ends the rule, even if the function throws an exception.
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

/// Checks a call. `takes_events` is whether it takes or acknowledges events.
///
/// # Errors
/// Returns the reason if the call is refused.
pub(super) fn check(takes_events: bool) -> Result<(), &'static str> {
    Err(match INSIDE.try_with(Cell::get).unwrap_or(None) {
        None => return Ok(()),
        Some(Rule::Relaxed) if takes_events => return Ok(()),
        Some(Rule::Relaxed) => {
            "inside of the notification callback only events can be taken and acknowledged; call this from another thread"
        }
        Some(Rule::Strict) => {
            "before version 13.0 nothing can be called inside of the notification callback; call this from another thread"
        }
    })
}
