//! The session: opened, closed, attached, detached; what it can do; and what went wrong.

use std::ffi::{c_char, c_void};

use opscope_border::UserData;

use opscope_border::Out;

use crate::border::{Failure, Status, call, call_keeping_the_message, last_message, out, text};
use crate::layout::callback::{CallbackData, CallbackData40, CallbackData41};
use crate::session::{self, Callback, SUPPORTED, current};

pub extern "C" fn initialize() -> Status {
    call(session::open)
}

pub extern "C" fn finalize() -> Status {
    call(session::close)
}

/// There is no stub: a session is attached when it is opened.
pub extern "C" fn initialize_attach_stub() -> Status {
    call(|| Ok(()))
}

pub extern "C" fn clear_attach_state() -> Status {
    call(|| current().map(drop))
}

pub extern "C" fn request_cleanup_on_detach55() -> Status {
    request_cleanup_on_detach(1)
}

pub extern "C" fn request_cleanup_on_detach(_app_resume_flag: u32) -> Status {
    call(|| Ok(current()?.detach()?))
}

pub extern "C" fn set_notify_new_event_callback31(
    function: Option<extern "C-unwind" fn(*mut c_void)>,
    data: *mut c_void,
) -> Status {
    call(|| {
        session::set_callback(function.map(|function| Callback::Cuda31(function, UserData(data))));
        Ok(())
    })
}

pub extern "C" fn set_notify_new_event_callback40(
    function: Option<extern "C-unwind" fn(*mut CallbackData40)>,
) -> Status {
    call(|| {
        session::set_callback(function.map(Callback::Cuda40));
        Ok(())
    })
}

pub extern "C" fn set_notify_new_event_callback41(
    function: Option<extern "C-unwind" fn(*mut CallbackData41)>,
) -> Status {
    call(|| {
        session::set_callback(function.map(Callback::Cuda41));
        Ok(())
    })
}

pub extern "C" fn set_notify_new_event_callback(
    function: Option<extern "C-unwind" fn(*mut CallbackData)>,
    user_data: *mut c_void,
) -> Status {
    call(|| {
        session::set_callback(function.map(|function| Callback::Cuda130(function, UserData(user_data))));
        Ok(())
    })
}

/// # Safety
/// `capabilities` is NULL, or valid for writes.
pub unsafe extern "C" fn get_supported_debugger_capabilities(capabilities: Out<'_, u32>) -> Status {
    call(|| {
        out(capabilities, "capabilities")?.set(SUPPORTED);
        Ok(())
    })
}

/// # Safety
/// `message` is NULL, or valid for writes of `size` bytes; `needed` is NULL, or valid for writes.
pub unsafe extern "C" fn get_error_string_ex(message: *mut c_char, size: u32, needed: Out<'_, u32>) -> Status {
    call_keeping_the_message(|| {
        // Why `initialize` fails can be read, too.
        if !session::was_tried() {
            current()?;
        }
        let last = last_message();
        let is_query = message.is_null() && size == 0;
        if is_query && needed.is_null() {
            return Err(Failure::null("the place for the size"));
        }
        needed.write_if_given(last.len() as u32 + 1);
        if is_query {
            return Ok(());
        }
        // SAFETY: the caller promises it.
        unsafe { text(&last, message, size) }
    })
}
