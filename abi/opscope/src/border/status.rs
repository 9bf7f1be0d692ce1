use std::ffi::{CStr, c_char};

use opscope_border::exported;

/// The result of a call. A call that fails changes nothing, unless its description says otherwise.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum opscope_status_t {
    /// Done.
    OPSCOPE_OK = 0,
    /// There is nothing more: no event is waiting, a batch has no further record. This is not an error.
    OPSCOPE_EMPTY = 1,
    /// A pointer is NULL, a text is not UTF-8, or a number is not one of the constants.
    OPSCOPE_ERROR_INVALID_ARGUMENT = 2,
    /// The `size` of a struct is smaller than that of its first version, or fields that this library does not know are
    /// not zero.
    OPSCOPE_ERROR_INVALID_SIZE = 3,
    /// The handle was freed, or was never returned by this library.
    OPSCOPE_ERROR_INVALID_HANDLE = 4,
    /// The call cannot be made inside a callback, because it would wait for that callback; or another call is using the
    /// object. Or it was made in a signal handler that interrupts another call of its thread: then a record that it
    /// would have emitted is dropped and counted, and `opscope_error_text` has no text for it.
    OPSCOPE_ERROR_BUSY = 5,
    /// The call does not fit the state of the object, such as a context that is not started, or an event that was not
    /// read.
    OPSCOPE_ERROR_INVALID_STATE = 6,
    /// Something that was named does not exist: an operator, a tensor, a breakpoint.
    OPSCOPE_ERROR_NOT_FOUND = 7,
    /// The model cannot be loaded: the file is missing or damaged, or the engine cannot run it.
    OPSCOPE_ERROR_MODEL = 8,
    /// The inputs do not fit the model.
    OPSCOPE_ERROR_INPUT = 9,
    /// The engine failed in a run.
    OPSCOPE_ERROR_RUN_FAILED = 10,
    /// An instrument ended the run.
    OPSCOPE_ERROR_STOPPED = 11,
    /// The time limit of a wait has passed.
    OPSCOPE_ERROR_TIMED_OUT = 12,
    /// The buffer is full, and only the callback that makes this call could free space.
    OPSCOPE_ERROR_FULL = 13,
    /// The call was completed, but requested data is missing. The report says which.
    OPSCOPE_ERROR_INCOMPLETE = 14,
    /// The operating system refused memory, a thread, a file or a socket.
    OPSCOPE_ERROR_SYSTEM = 15,
    /// opscope itself failed. This is a defect of opscope.
    OPSCOPE_ERROR_INTERNAL = 16,
}

/// Returns the meaning of a status in a few words; "unknown status" for any other number. The text is static.
#[exported]
pub fn opscope_status_text(status: i32) -> *const c_char {
    const TEXTS: [&CStr; 17] = [
        c"done",
        c"there is nothing to return",
        c"invalid argument",
        c"invalid size of a struct",
        c"invalid handle",
        c"not allowed inside of a callback",
        c"invalid state",
        c"not found",
        c"the model cannot be loaded",
        c"the inputs do not fit the model",
        c"the run failed",
        c"an instrument ended the run",
        c"timed out",
        c"full",
        c"done, but data is missing",
        c"the operating system refused a resource",
        c"opscope failed",
    ];
    const _: () = assert!(TEXTS.len() == opscope_status_t::OPSCOPE_ERROR_INTERNAL as usize + 1);
    let text = usize::try_from(status).ok().and_then(|status| TEXTS.get(status).copied());
    text.unwrap_or(c"unknown status").as_ptr()
}
