//! The shell of every exported function: it returns a code, stores the text of a failure, stops panics, and checks
//! pointers.

pub mod codes;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::{CString, c_char, c_int};
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope_border::{ArgumentError, exported};
use opscope_sys::{Mutex, MutexGuard};

use codes::INTERNAL_ERROR;
pub use opscope_border::UserData as Data;

/// The failure of a call: the code that it returns, and the text that `aclGetRecentErrMsg` returns.
#[derive(Debug, Clone)]
pub struct Failure {
    pub code: i32,
    /// Begins with the code of the message, such as "EH0002".
    pub text: String,
}

impl Failure {
    /// Makes a failure from its code, the code of its message, such as "EH0001", and a text: what is wrong, and what
    /// would be right.
    pub fn new(code: i32, message_code: &str, text: impl AsRef<str>) -> Self {
        Self { code, text: format!("{message_code}: {}", text.as_ref()) }
    }

    /// Reports a pointer that is NULL.
    pub fn null(parameter: &str) -> Self {
        Self::new(codes::INVALID_PARAM, "EH0002", format!("argument {parameter} is NULL"))
    }

    /// Reports a value that is out of range.
    pub fn wrong_value(parameter: &str, value: impl std::fmt::Display, reason: &str) -> Self {
        Self::wrong_value_of(codes::INVALID_PARAM, parameter, value, reason)
    }

    /// Reports a value that is out of range, with its own code.
    pub fn wrong_value_of(code: i32, parameter: &str, value: impl std::fmt::Display, reason: &str) -> Self {
        Self::new(code, "EH0001", format!("value {value} of argument {parameter} is wrong: {reason}"))
    }

    /// Reports a path that cannot be used.
    pub fn bad_path(code: i32, path: impl std::fmt::Display, reason: impl std::fmt::Display) -> Self {
        Self::new(code, "EH0003", format!("path {path} cannot be used: {reason}"))
    }

    /// Reports a function or feature that is not supported here.
    pub fn unsupported(what: &str) -> Self {
        Self::new(codes::FEATURE_UNSUPPORTED, "EH0006", format!("{what} is not supported by opscope"))
    }
}

/// The text of a failure is kept for `aclGetRecentErrMsg`.
impl opscope_border::Failure for Failure {
    type Status = c_int;

    fn success() -> c_int {
        0
    }

    fn panicked(text: &str) -> Self {
        Self::new(INTERNAL_ERROR, "EE9999", format!("opscope failed: {text}"))
    }

    fn report(self) -> c_int {
        keep(self)
    }
}

impl From<ArgumentError> for Failure {
    fn from(error: ArgumentError) -> Self {
        match error {
            ArgumentError::Null { name, .. } => Self::null(name),
            ArgumentError::Misaligned(name) => {
                Self::wrong_value(name, "of a pointer", "it is not aligned for its type")
            }
            ArgumentError::TooLong(name)
            | ArgumentError::WrongSize { name, .. }
            | ArgumentError::UnequalSize { name, .. }
            | ArgumentError::UnknownFields(name) => Self::wrong_value(name, "of a size", "it does not fit"),
            ArgumentError::TooMany { name, count, most } | ArgumentError::TooManyStructs { name, count, most } => {
                Self::wrong_value(name, count, &format!("there are at most {most}"))
            }
            ArgumentError::NotUtf8 { name, text } => {
                Self::wrong_value(name, format_args!("{text:?}"), "it is not UTF-8")
            }
        }
    }
}

/// Runs the body of an exported function that returns a value. If it fails, returns `otherwise`.
pub fn value<T>(otherwise: T, body: impl FnOnce() -> Result<T, Failure>) -> T {
    opscope_border::value(otherwise, body)
}

/// How many failures are kept: as many as a person would read.
const MOST: usize = 64;

thread_local! {
    /// The failures of this thread, the newest first.
    static OF_THREAD: RefCell<VecDeque<String>> = const { RefCell::new(VecDeque::new()) };
    /// The text that `aclGetRecentErrMsg` returned last on this thread.
    static GIVEN: RefCell<CString> = RefCell::new(CString::default());
}

/// The failures of all threads, if the configuration selects that.
static OF_PROCESS: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());
static IS_PER_PROCESS: AtomicBool = AtomicBool::new(false);

fn of_process() -> MutexGuard<'static, VecDeque<String>> {
    OF_PROCESS.lock()
}

/// Sets whether a thread receives the failures of all threads.
pub fn keep_per_process(per_process: bool) {
    IS_PER_PROCESS.store(per_process, Ordering::Release);
}

/// Keeps the text of a failure, and returns its code.
fn keep(failure: Failure) -> i32 {
    note(failure.text);
    failure.code
}

/// Keeps a text for `aclGetRecentErrMsg`: of a failure, or of a success that may surprise the program.
pub fn note(text: String) {
    let add = |texts: &mut VecDeque<String>| {
        texts.push_front(text);
        texts.truncate(MOST);
    };
    if IS_PER_PROCESS.load(Ordering::Acquire) {
        add(&mut of_process());
    } else {
        // While the thread is being torn down, the text is not stored.
        let _ = OF_THREAD.try_with(|texts| add(&mut texts.borrow_mut()));
    }
}

/// Returns the texts of the failures since the last call, the newest first; NULL if there were none. The text is valid
/// until the next call on this thread.
#[exported]
pub fn aclGetRecentErrMsg() -> *const c_char {
    let texts = if IS_PER_PROCESS.load(Ordering::Acquire) {
        std::mem::take(&mut *of_process())
    } else {
        OF_THREAD.try_with(|texts| std::mem::take(&mut *texts.borrow_mut())).unwrap_or_default()
    };
    if texts.is_empty() {
        return std::ptr::null();
    }
    let lines: Vec<String> = texts.into();
    let text = CString::new(lines.join("\n").replace('\0', "\u{fffd}")).unwrap_or_default();
    GIVEN
        .try_with(|given| {
            *given.borrow_mut() = text;
            given.borrow().as_ptr()
        })
        .unwrap_or(std::ptr::null())
}

/// Returns a callback that the program must pass.
pub fn required<F>(callback: Option<F>, name: &'static str) -> Result<F, Failure> {
    Ok(opscope_border::required(callback, name)?)
}

/// Checks that a handle or an address is not NULL. It is not dereferenced.
pub fn given<T>(pointer: *mut T, name: &str) -> Result<*mut T, Failure> {
    if pointer.is_null() { Err(Failure::null(name)) } else { Ok(pointer) }
}

/// This library's name in messages.
const LIBRARY: &str = "libascendcl";

/// Calls a program's function. If it throws a C++ exception, reports that on stderr and returns `None`.
pub fn call_program<R>(what: &str, function: impl FnOnce() -> R) -> Option<R> {
    opscope_border::call_program(LIBRARY, what, function)
}

/// Writes a line to stderr.
pub fn say(text: impl Display) {
    opscope_border::report(LIBRARY, text);
}
