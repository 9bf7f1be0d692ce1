//! Callbacks come and go. None is called after the call that takes it back.

use std::ffi::c_void;

use opscope_border::{Out, exported};

use super::slot::MessageCallback;
use super::subscribers::Callback;
use super::{queue, slot, subscribers};
use crate::border::{Data, Failure, codes, note, required, value};

/// Registers the callback that gets the chunks of all dumps from now on. `flag` has to be 0. A second one is not registered: the first
/// stays, and the call answers 0.
#[exported]
pub fn acldumpRegCallback(callback: Option<MessageCallback>, flag: i32) -> Result<(), Failure> {
    let callback = callback.ok_or_else(|| {
        Failure::new(codes::FAILURE, "EP0007", "argument messageCallback of acldumpRegCallback is NULL")
    })?;
    if flag != 0 {
        let text = format!("argument flag of acldumpRegCallback is {flag}; only 0 is supported");
        return Err(Failure::new(codes::FAILURE, "EP0006", text));
    }
    // What was dumped before goes where it would have gone.
    queue::flush();
    if !slot::register(callback) {
        let text = "acldumpRegCallback was called twice; the first callback stays until acldumpUnregCallback";
        note(format!("EP0008: {text}"));
    }
    Ok(())
}

/// Delivers what is queued, and removes the callback. It is not called afterwards. Inside of the callback it returns at once.
#[exported]
pub fn acldumpUnregCallback() {
    value((), || {
        queue::flush();
        // A chunk that was queued meanwhile may be on its way: wait for it, too.
        let was_registered = slot::unregister();
        queue::flush();
        if !was_registered {
            note("EP0008: acldumpUnregCallback was called, and no callback is registered".to_owned());
        }
        queue::tell_loss();
        Ok(())
    });
}

/// Adds a callback that gets all chunks from now on, on the thread on which that of `acldumpRegCallback` is called, after it. As long
/// as there is one, nothing goes to the disk. It returns 0 to go on, 1 for no more of this file, anything else for no more at all.
#[exported]
pub fn opscope_acldump_subscribe(
    callback: Option<Callback>,
    user: *mut c_void,
    subscription: Out<'_, u64>,
) -> Result<(), Failure> {
    let callback = required(callback, "callback")?;
    let to = subscription.place("subscription")?;
    to.write(subscribers::add(callback, Data(user)));
    Ok(())
}

/// Delivers what is queued, and removes a callback. It is not called afterwards. Inside of a callback it returns at once.
#[exported]
pub fn opscope_acldump_unsubscribe(subscription: u64) -> Result<(), Failure> {
    queue::flush();
    let was_there = subscribers::remove(subscription);
    // A chunk that was queued meanwhile may be on its way.
    queue::flush();
    let reason = "there is no such subscription, or it has ended";
    if was_there { Ok(()) } else { Err(Failure::wrong_value("subscription", subscription, reason)) }
}
