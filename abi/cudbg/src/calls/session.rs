//! The session: opening, closing, detaching, the callback, capabilities, and the texts of failures.

use opscope_border::{InOut, ItemsOut, Out, UserData, in_table};

use crate::border::{Failure, Status, keeping_the_message, last_message, write_text};
use crate::layout::callback::{CallbackData, CallbackData40, CallbackData41};
use crate::session::{self, Callback, SUPPORTED, current};

#[in_table]
pub fn initialize() -> Result<(), Failure> {
    session::open()
}

#[in_table]
pub fn finalize() -> Result<(), Failure> {
    session::close()
}

/// There is no stub: a session is attached when it is opened.
#[in_table]
pub fn initialize_attach_stub() -> Result<(), Failure> {
    Ok(())
}

#[in_table]
pub fn clear_attach_state() -> Result<(), Failure> {
    current().map(drop)
}

#[in_table]
pub fn request_cleanup_on_detach55() -> Status {
    request_cleanup_on_detach(1)
}

#[in_table]
pub fn request_cleanup_on_detach(_app_resume_flag: u32) -> Result<(), Failure> {
    Ok(current()?.detach()?)
}

#[in_table]
pub fn set_notify_new_event_callback31(
    function: Option<extern "C-unwind" fn(UserData)>,
    data: UserData,
) -> Result<(), Failure> {
    session::set_callback(function.map(|function| Callback::Cuda31(function, data)));
    Ok(())
}

#[in_table]
pub fn set_notify_new_event_callback40(
    function: Option<extern "C-unwind" fn(InOut<'_, CallbackData40>)>,
) -> Result<(), Failure> {
    session::set_callback(function.map(Callback::Cuda40));
    Ok(())
}

#[in_table]
pub fn set_notify_new_event_callback41(
    function: Option<extern "C-unwind" fn(InOut<'_, CallbackData41>)>,
) -> Result<(), Failure> {
    session::set_callback(function.map(Callback::Cuda41));
    Ok(())
}

#[in_table]
pub fn set_notify_new_event_callback(
    function: Option<extern "C-unwind" fn(InOut<'_, CallbackData>)>,
    user_data: UserData,
) -> Result<(), Failure> {
    session::set_callback(function.map(|function| Callback::Cuda130(function, user_data)));
    Ok(())
}

#[in_table]
pub fn get_supported_debugger_capabilities(capabilities: Out<'_, u32>) -> Result<(), Failure> {
    capabilities.place("capabilities")?.write(SUPPORTED);
    Ok(())
}

#[in_table(keeping_the_message)]
pub fn get_error_string_ex(
    #[counted_by(size)] message: ItemsOut<'_, u8>,
    size: u32,
    needed: Out<'_, u32>,
) -> Result<(), Failure> {
    // The text can be read even if `initialize` failed.
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
    write_text(&last, message)
}
