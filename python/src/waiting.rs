//! Work that takes long, on a thread of its own: the interpreter continues meanwhile, and Ctrl-C ends the wait.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded, unbounded};
use pyo3::prelude::*;

use crate::failure::Failure;

/// The longest time until a Python signal is noticed.
const SIGNALS: Duration = Duration::from_millis(50);

/// Waits for a message without the interpreter. Returns `None` if no sender is left.
///
/// # Errors
/// Returns the exception of a signal, such as `KeyboardInterrupt`.
pub fn receive<T: Send>(py: Python<'_>, messages: &Receiver<T>) -> PyResult<Option<T>> {
    loop {
        match py.detach(|| messages.recv_timeout(SIGNALS)) {
            Ok(message) => return Ok(Some(message)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
        }
    }
}

/// Does work on a thread of its own and waits for it. On a signal the work is cancelled where it can be, and waited for; other work is left
/// behind, and its result is dropped.
///
/// # Errors
/// Returns what the work returns, or the exception of a signal.
pub fn in_background<T: Send + 'static>(
    py: Python<'_>,
    cancel: Option<Arc<AtomicBool>>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let (done, results) = bounded(1);
    let work = move || {
        // After a signal, the receiver is gone.
        let _ = done.send(work());
    };
    let thread = thread::Builder::new().name("opscope-work".to_owned()).spawn(work);
    let thread = thread.map_err(|error| Failure::any(format!("no thread can be started: {error}")))?;
    match receive(py, &results) {
        Ok(Some(result)) => Ok(result?),
        Ok(None) => match py.detach(|| thread.join()) {
            Err(panic) => resume_unwind(panic),
            Ok(()) => Err(Failure::any("the work ended without a result").into()),
        },
        Err(signal) => {
            if let Some(cancel) = cancel {
                cancel.store(true, Ordering::Relaxed);
                let _ = py.detach(|| thread.join());
            }
            Err(signal)
        }
    }
}

/// Something that work tells before it ends, or what it returns.
enum Message<N, T> {
    News(N),
    Done(Result<T, Failure>),
}

/// Does work on a thread of its own and waits for it, and calls `told` on this thread with what the work tells meanwhile. On a signal, or
/// if `told` raises, the work is cancelled and waited for.
///
/// # Errors
/// Returns what the work returns, the exception of a signal, or that of `told`.
pub fn in_background_with_news<N: Send + 'static, T: Send + 'static>(
    py: Python<'_>,
    cancel: &Arc<AtomicBool>,
    work: impl FnOnce(&dyn Fn(N)) -> Result<T, Failure> + Send + 'static,
    told: impl Fn(N) -> PyResult<()>,
) -> PyResult<T> {
    let (sender, messages) = unbounded();
    let work = move || {
        // After a signal, the receiver is gone.
        let result = work(&|news| drop(sender.send(Message::News(news))));
        let _ = sender.send(Message::Done(result));
    };
    let thread = thread::Builder::new().name("opscope-work".to_owned()).spawn(work);
    let thread = thread.map_err(|error| Failure::any(format!("no thread can be started: {error}")))?;
    let wait = || loop {
        match receive(py, &messages)? {
            Some(Message::News(news)) => {
                // News that follow each other leave no time in which a signal would be noticed.
                py.check_signals()?;
                told(news)?;
            }
            Some(Message::Done(result)) => return Ok(Some(result?)),
            None => return Ok(None),
        }
    };
    match wait() {
        Ok(Some(result)) => Ok(result),
        Ok(None) => match py.detach(|| thread.join()) {
            Err(panic) => resume_unwind(panic),
            Ok(()) => Err(Failure::any("the work ended without a result").into()),
        },
        Err(error) => {
            cancel.store(true, Ordering::Relaxed);
            let _ = py.detach(|| thread.join());
            Err(error)
        }
    }
}
