//! Finds the profiler at the first call of any function, and passes it the tables.
//!
//! The thread that makes the first call registers. Other calls meanwhile, whether by other threads or by the profiler
//! itself, use the tables as they are at that moment. No call waits, so a profiler may call these functions, start
//! threads that call them, and wait for those threads. If another thread forks meanwhile, the child never registers.

mod direct;
mod environment;
#[allow(unsafe_code, reason = "it names what other libraries export")]
mod functions;
mod through_register;

use std::ffi::CStr;
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};

/// The name by which this runtime registers.
const NAME: &CStr = c"roctx";

/// The version of the ROCTx runtime that this one replaces: 1.0.0.
pub const VERSION: u32 = 10_000;

/// No call was made yet, or the last attempt has to be repeated.
const NEW: u8 = 0;
/// A thread is registering.
const RUNNING: u8 = 1;
/// Nothing remains to be done.
const DONE: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(NEW);

/// The result of an attempt.
enum Outcome {
    /// The tables were passed on or refused, or there is no profiler.
    Done,
    /// Another runtime is being registered on this thread, and the profiler accepts only one at a time.
    Again,
}

/// Registers the tables, unless that was done already.
#[inline]
pub fn ensure() {
    if STATE.load(Ordering::Acquire) != DONE {
        register();
    }
}

#[cold]
fn register() {
    if STATE.compare_exchange(NEW, RUNNING, Ordering::Acquire, Ordering::Relaxed).is_err() {
        return;
    }
    let outcome = through_register::register().unwrap_or_else(|| {
        direct::register();
        Outcome::Done
    });
    let state = match outcome {
        Outcome::Done => DONE,
        Outcome::Again => NEW,
    };
    STATE.store(state, Ordering::Release);
}

/// Writes a line to stderr. A failure is ignored, because there is nowhere else to report it.
fn warn(message: &str) {
    let _ = std::io::stderr().write_all(format!("roctx: {message}\n").as_bytes());
}
