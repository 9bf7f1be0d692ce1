//! The one callback that gets the chunks of all dumps.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

use super::chunk::{Chunk, acldumpChunk};
use super::queue;
use crate::border::{Failure, call, call_program, codes, note};
use crate::forks::Shared;

/// A program's callback.
pub type MessageCallback = unsafe extern "C-unwind" fn(*const acldumpChunk, i32) -> i32;

/// The callback, with the number of its registration.
static CALLBACK: Shared<Option<(u64, MessageCallback)>> = Shared::new(None, || CALLBACK.held(|_| {}));

/// Registers the callback that gets the chunks of all dumps from now on. `flag` has to be 0. A second one is not registered: the first stays, and
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
        // What was dumped before goes where it would have gone.
        queue::flush();
        let mut registered = CALLBACK.lock();
        if registered.is_some() {
            note(
                "EP0008: acldumpRegCallback was called twice; the first callback stays until acldumpUnregCallback"
                    .to_owned(),
            );
        } else {
            static NEXT: AtomicU64 = AtomicU64::new(1);
            *registered = Some((NEXT.fetch_add(1, Ordering::Relaxed), callback));
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
        queue::tell_loss();
        Ok(())
    });
}

/// Returns the number of the registration; `None` if there is no callback.
pub(super) fn registration() -> Option<u64> {
    CALLBACK.read().map(|(registration, _)| registration)
}

/// Gives a chunk to the callback, unless its registration is another one by now. Returns whether it got it.
pub(super) fn call_back(registration: u64, chunk: &Chunk) -> bool {
    let registered = *CALLBACK.read();
    let Some((_, callback)) = registered.filter(|(now, _)| *now == registration) else { return false };
    call_program("the dump callback", || {
        // SAFETY: the program gave this function until it unregisters it, and the chunk lives until the call has returned.
        unsafe { callback(chunk.as_ptr(), chunk.length()) }
    });
    true
}
