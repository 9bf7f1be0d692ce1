//! The registration of callbacks. A callback is never called after the call that removes it.

use std::ffi::c_void;

use opscope_border::{Out, exported};

use super::slot::MessageCallback;
use super::subscribers::Callback;
use super::{queue, slot, subscribers};
use crate::border::{Data, Failure, codes, note, required, value};

/// Registers the callback that receives the chunks of all dumps from now on. `flag` must be 0. If a callback is
/// registered already, it stays, the new one is ignored, and the call returns 0.
#[exported]
pub fn acldumpRegCallback(callback: Option<MessageCallback>, flag: i32) -> Result<(), Failure> {
    let callback = callback.ok_or_else(|| {
        Failure::new(codes::FAILURE, "EP0007", "argument messageCallback of acldumpRegCallback is NULL")
    })?;
    if flag != 0 {
        let text = format!("argument flag of acldumpRegCallback is {flag}; only 0 is supported");
        return Err(Failure::new(codes::FAILURE, "EP0006", text));
    }
    // Chunks that were dumped earlier must not go to the new callback.
    queue::flush();
    if !slot::register(callback) {
        let text = "acldumpRegCallback was called twice; the first callback stays until acldumpUnregCallback";
        note(format!("EP0008: {text}"));
    }
    Ok(())
}

/// Delivers what is queued, and removes the callback, which is then never called again. Inside the callback, returns
/// immediately.
#[exported]
pub fn acldumpUnregCallback() {
    value((), || {
        queue::flush();
        // A chunk that was pushed meanwhile may be being delivered to the callback, so this waits again.
        let was_registered = slot::unregister();
        queue::flush();
        if !was_registered {
            note("EP0008: acldumpUnregCallback was called, and no callback is registered".to_owned());
        }
        queue::tell_loss();
        Ok(())
    });
}

/// Adds a callback that receives all chunks from now on. It is called after the callback of `acldumpRegCallback`, on
/// the same thread. While any such callback exists, nothing is written to the disk. The callback returns 0 to continue,
/// 1 to receive no more of this file, and any other value to receive nothing any more.
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

/// Delivers what is queued, and removes a callback, which is then never called again. Inside a callback, returns
/// immediately.
#[exported]
pub fn opscope_acldump_unsubscribe(subscription: u64) -> Result<(), Failure> {
    queue::flush();
    let was_there = subscribers::remove(subscription);
    // A chunk that was pushed meanwhile may be being delivered to the callback.
    queue::flush();
    let reason = "there is no such subscription, or it has ended";
    if was_there { Ok(()) } else { Err(Failure::wrong_value("subscription", subscription, reason)) }
}
