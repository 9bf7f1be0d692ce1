use opscope_border::{InOut, UserData, call_program};
use opscope_sys::Mutex;

use crate::LIBRARY;
use crate::border::{Rule, inside};
use crate::layout::callback::{CallbackData, CallbackData40, CallbackData41};

/// A function of the client that is called when events wait, in the form of its generation.
#[derive(Debug, Clone, Copy)]
pub enum Callback {
    Cuda31(extern "C-unwind" fn(UserData), UserData),
    Cuda40(extern "C-unwind" fn(InOut<'_, CallbackData40>)),
    Cuda41(extern "C-unwind" fn(InOut<'_, CallbackData41>)),
    Cuda130(extern "C-unwind" fn(InOut<'_, CallbackData>), UserData),
}

/// The function that was set last. It may be set before a session is opened.
static CALLBACK: Mutex<Option<Callback>> = Mutex::new(None);

/// The reason why the client is notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// The thread of the program that raised the newest event; 0 for none.
    pub thread: u32,
    /// Whether an event was not acknowledged in time.
    pub timeout: bool,
}

/// Sets the function, or removes it.
pub fn set(callback: Option<Callback>) {
    *CALLBACK.lock() = callback;
}

/// Calls the function, if there is one. No lock is held meanwhile. If it throws a C++ exception, that is reported on
/// stderr.
pub fn call(notice: Notice, rule: Rule) {
    let callback = *CALLBACK.lock();
    let Some(callback) = callback else { return };
    let (tid, timeout) = (notice.thread, u32::from(notice.timeout));
    let function = || match callback {
        Callback::Cuda31(function, data) => function(data),
        Callback::Cuda40(function) => function((&mut CallbackData40 { tid }).into()),
        Callback::Cuda41(function) => function((&mut CallbackData41 { tid, timeout }).into()),
        Callback::Cuda130(function, user_data) => function((&mut CallbackData { user_data, tid }).into()),
    };
    call_program(LIBRARY, "the notification callback", || inside(rule, function));
}
