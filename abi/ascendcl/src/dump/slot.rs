//! The one callback that gets the chunks of all dumps.

use std::ffi::c_int;

use super::chunk::{Chunk, acldumpChunk};
use super::queue;
use crate::border::{Failure, call, call_program, codes, note};
use crate::forks::Shared;

/// A program's callback.
pub type MessageCallback = unsafe extern "C-unwind" fn(*const acldumpChunk, i32) -> i32;

static CALLBACK: Shared<Option<MessageCallback>> = Shared::new(None, || CALLBACK.held(|_| {}));

/// Registers the callback that gets the chunks of all dumps. `flag` has to be 0. A second one is not registered: the first stays, and
/// the call answers 0.
#[unsafe(no_mangle)]
pub extern "C" fn acldumpRegCallback(callback: Option<MessageCallback>, flag: i32) -> c_int {
    call(|| {
        let callback = callback.ok_or_else(|| {
            Failure::new(codes::FAILURE, "EP0007", "argument messageCallback of acldumpRegCallback is NULL")
        })?;
        if flag != 0 {
            let text = format!("argument flag of acldumpRegCallback is {flag}; only 0 is supported");
            return Err(Failure::new(codes::FAILURE, "EP0006", text));
        }
        let mut registered = CALLBACK.lock();
        if registered.is_some() {
            note(
                "EP0008: acldumpRegCallback was called twice; the first callback stays until acldumpUnregCallback"
                    .to_owned(),
            );
        } else {
            *registered = Some(callback);
        }
        Ok(())
    })
}

/// Delivers what is queued, and removes the callback. It is not called afterwards. Inside of the callback it returns at once.
#[unsafe(no_mangle)]
pub extern "C" fn acldumpUnregCallback() {
    call(|| {
        queue::flush();
        // A chunk that was queued meanwhile may be on its way: wait for it, too.
        let was_registered = CALLBACK.lock().take().is_some();
        queue::flush();
        if !was_registered {
            note("EP0008: acldumpUnregCallback was called, and no callback is registered".to_owned());
        }
        Ok(())
    });
}

/// Gives a chunk to the callback. Returns whether there is one.
pub(super) fn call_back(chunk: &Chunk) -> bool {
    let Some(callback) = *CALLBACK.read() else { return false };
    call_program("the dump callback", || {
        // SAFETY: the program gave this function until it unregisters it, and the chunk lives until the call has returned.
        unsafe { callback(chunk.as_ptr(), chunk.length()) }
    });
    true
}
