//! The shell of every function of the table: it returns a code, stores the text of a failure, and checks whether it is
//! called from inside a callback. Arguments and panics are handled by `opscope-border`.

use std::cell::{Cell, RefCell};

use opscope_border::{ArgumentError, Room};
use opscope_debug::{DebugError, ErrorCode};

pub use crate::layout::numbers::Status;

/// The failure of a call: the code that it returns, and the text that `getErrorStringEx` returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub code: Status,
    pub text: String,
}

impl Failure {
    pub fn new(code: Status, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    /// Returns the failure for an argument that is NULL.
    pub fn null(argument: &str) -> Self {
        Self::new(Status::InvalidArgs, format!("{argument} is NULL"))
    }

    /// Checks whether this thread can make a call now. `takes_events` is whether the call takes or acknowledges events.
    fn check_call(takes_events: bool) -> Result<(), Self> {
        check(takes_events).map_err(|text| Self::new(Status::RecursiveApiCall, text))
    }

    /// Returns the failure for access to the device's state while the device runs.
    pub fn running() -> Self {
        Self::new(
            Status::RunningDevice,
            "the device runs; suspend it with suspendDevice before its state is read or changed",
        )
    }
}

/// Every function of the table stores the text of its failure, and is refused inside a callback.
impl opscope_border::Failure for Failure {
    type Status = Status;

    fn success() -> Status {
        keep("");
        Status::Success
    }

    fn panicked(text: &str) -> Self {
        Self::new(Status::Internal, format!("opscope failed: {text}"))
    }

    fn report(self) -> Status {
        keep(&self.text);
        self.code
    }

    fn refusal() -> Option<Status> {
        Self::check_call(false).err().map(Self::report)
    }
}

impl From<ArgumentError> for Failure {
    fn from(error: ArgumentError) -> Self {
        match error {
            ArgumentError::Null { name, .. } => Self::null(name),
            ArgumentError::Misaligned(name) => {
                Self::new(Status::InvalidArgs, format!("{name} is not aligned for its type"))
            }
            other => Self::new(Status::InvalidArgs, format!("an argument cannot be used: {other:?}")),
        }
    }
}

impl From<DebugError> for Failure {
    fn from(error: DebugError) -> Self {
        let code = match error.code() {
            ErrorCode::Connection | ErrorCode::NotAttached => Status::CommunicationFailure,
            ErrorCode::NoSuchTensor => Status::AddressNotInDeviceMem,
            ErrorCode::Replacement | ErrorCode::Tensor => Status::InvalidMemoryAccess,
            ErrorCode::NoSuchOperator => Status::InvalidAddress,
            ErrorCode::NoSuchModel => Status::InvalidModule,
            ErrorCode::NotStopped | ErrorCode::AlreadyContinued => Status::InvalidWarp,
            ErrorCode::Resume => Status::WarpResumeNotPossible,
            ErrorCode::System => Status::OsResources,
            _ => Status::Internal,
        };
        Self::new(code, error.to_string())
    }
}

/// Runs the body of a function that takes or acknowledges events. The callbacks of clients since 13.0 may call such a
/// function.
pub fn for_events(body: impl FnOnce() -> Result<(), Failure>) -> Status {
    match Failure::check_call(true) {
        Ok(()) => opscope_border::answer(body),
        Err(refusal) => opscope_border::Failure::report(refusal),
    }
}

/// Runs the body of `getErrorStringEx`, which does not replace the stored text.
pub fn keeping_the_message(body: impl FnOnce() -> Result<(), Failure>) -> Status {
    match Failure::check_call(false).and_then(|()| opscope_border::caught(body)) {
        Ok(()) => Status::Success,
        Err(failure) => failure.code,
    }
}

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
fn check(takes_events: bool) -> Result<(), &'static str> {
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

thread_local! {
    /// The text of the failure of this thread's last call; empty if the call succeeded.
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Stores the text of a call, which is empty if the call succeeded.
fn keep(text: &str) {
    // While the thread is being torn down, the text is not stored.
    let _ = LAST.try_with(|last| *last.borrow_mut() = ascii(text));
}

/// Returns a text in the form of the interface: ASCII, without a NUL. Other characters, which names and paths may have,
/// are escaped.
pub fn ascii(text: &str) -> String {
    let escaped = |sign: char| (!sign.is_ascii() || sign == '\0').then(|| sign.escape_unicode());
    let mut plain = String::with_capacity(text.len());
    for sign in text.chars() {
        match escaped(sign) {
            Some(escape) => plain.extend(escape),
            None => plain.push(sign),
        }
    }
    plain
}

/// Returns the text of the failure of this thread's last call; empty if the call succeeded.
pub fn last_message() -> String {
    LAST.try_with(|last| last.borrow().clone()).unwrap_or_default()
}

/// The name in messages for the memory that a result is written to.
pub const THE_BUFFER: &str = "the buffer";

/// Writes text with a NUL at its end.
///
/// # Errors
/// Returns an error if the place is NULL, or smaller than the text.
pub fn write_text(text: &str, to: Room<'_, u8>) -> Result<(), Failure> {
    const NAME: &str = "the place for the text";
    if to.is_null() {
        return Err(Failure::null(NAME));
    }
    let (needed, size) = (text.len() + 1, to.count());
    if size < needed {
        let reason = format!("the text has {needed} bytes with its NUL, and there is room for {size}");
        return Err(Failure::new(Status::BufferTooSmall, reason));
    }
    Ok(to.write_text(text.as_bytes(), NAME)?)
}
