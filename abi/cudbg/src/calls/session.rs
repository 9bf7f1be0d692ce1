//! The session: opening, closing, detaching, the callback, capabilities, and the texts of failures. Also its events:
//! taking them out of the queues, and acknowledging them.

use opscope_border::{In, InOut, ItemsOut, Out, UserData, in_table};

use super::encode::Structure;
use crate::border::{Failure, Status, for_events, keeping_the_message, last_message, write_text};
use crate::layout::device::{CallbackData, CallbackData40, CallbackData41};
use crate::layout::event::Event as Event60;
use crate::layout::event30::Event30;
use crate::layout::event32::Event32;
use crate::layout::event42::Event42;
use crate::layout::event50::Event50;
use crate::layout::event55::Event55;
use crate::layout::numbers::{Kind, LaunchNotifyMode, QueueType};
use crate::session;
use crate::session::{Callback, SUPPORTED, current};

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

/// Defines functions that take the next event out of a queue.
macro_rules! next_event {
    ($($function:ident: $queue:ident, $structure:ty;)*) => {
        $(
            #[in_table(for_events)]
            pub fn $function(event: Out<'_, $structure>) -> Result<(), Failure> {
                next(QueueType::$queue as u32, event)
                        }
        )*
    };
}

next_event! {
    get_next_event30: Sync, Event30;
    get_next_event32: Sync, Event32;
    get_next_event42: Sync, Event42;
    get_next_sync_event50: Sync, Event50;
    get_next_async_event50: Async, Event50;
    get_next_sync_event55: Sync, Event55;
    get_next_async_event55: Async, Event55;
}

#[in_table(for_events)]
pub fn get_next_event(queue: u32, event: Out<'_, Event60>) -> Result<(), Failure> {
    next(queue, event)
}

/// The argument is not read, and may be NULL.
#[in_table]
pub fn acknowledge_event30(_event: In<'_, Event30>) -> Status {
    acknowledge_sync_events()
}

#[in_table]
pub fn acknowledge_events42() -> Status {
    acknowledge_sync_events()
}

#[in_table(for_events)]
pub fn acknowledge_sync_events() -> Result<(), Failure> {
    current()?.acknowledge();
    Ok(())
}

#[in_table]
pub fn set_kernel_launch_notification_mode(mode: u32) -> Result<(), Failure> {
    let session = current()?;
    let mode = match mode {
        0 => LaunchNotifyMode::Event,
        1 => LaunchNotifyMode::Defer,
        other => {
            let text = format!("{other} is not a mode of launch notifications; there are 0 (events) and 1 (none)");
            return Err(Failure::new(Status::InvalidArgs, text));
        }
    };
    Ok(session.set_launch_notification(mode)?)
}

fn next<S: Structure>(queue: u32, event: Out<'_, S>) -> Result<(), Failure> {
    let session = current()?;
    let queue = match queue {
        0 => QueueType::Sync,
        1 => QueueType::Async,
        other => {
            let text = format!("{other} is not a queue; there are 0 (synchronous) and 1 (asynchronous)");
            return Err(Failure::new(Status::InvalidArgs, text));
        }
    };
    let place = event.place("event")?;
    let next = session.next(queue, S::GENERATION);
    match next {
        Some(next) => {
            place.write(S::of(&next));
            Ok(())
        }
        None => {
            // Some clients read only the kind. It is the first field in all generations.
            place.write_head(Kind::Invalid as u32);
            Err(Failure::new(Status::NoEventAvailable, "no event waits in this queue"))
        }
    }
}
