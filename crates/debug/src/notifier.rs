use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::EventKind;
use crate::debugger::Shared;
use crate::queues::{Generation, News};
use crate::recursion::{Rule, inside};

/// The thread that calls a client's notification callback, and raises timeout events.
pub(crate) struct Notifier {
    thread: JoinHandle<()>,
    callback: Arc<Mutex<Option<Callback>>>,
    stopped: Arc<AtomicBool>,
}

type Callback = Box<dyn FnMut() + Send>;

impl Notifier {
    pub fn start(shared: &Arc<Shared>, generation: Generation, rule: Rule, interval: Option<Duration>) -> Self {
        let callback = Arc::new(Mutex::new(None));
        let stopped = Arc::new(AtomicBool::new(false));
        let thread = {
            let (shared, callback, stopped) = (Arc::clone(shared), Arc::clone(&callback), Arc::clone(&stopped));
            thread::Builder::new()
                .name("opscope-notify".to_owned())
                .spawn(move || notify(&shared, generation, rule, interval, &callback, &stopped))
                .expect("the system has a thread for the notification")
        };
        Self { thread, callback, stopped }
    }

    /// Sets the callback. Waits for a call that is going on.
    pub fn set(&self, callback: Option<Callback>) {
        *self.callback.lock().unwrap_or_else(PoisonError::into_inner) = callback;
    }

    /// Ends the thread.
    pub fn stop(self, shared: &Shared) {
        self.stopped.store(true, Ordering::Relaxed);
        shared.queues.nudge();
        // A callback that owns the last hold on its client cannot wait for itself.
        if self.thread.thread().id() != thread::current().id() {
            let _ = self.thread.join();
        }
    }
}

fn notify(
    shared: &Shared,
    generation: Generation,
    rule: Rule,
    interval: Option<Duration>,
    callback: &Mutex<Option<Callback>>,
    stopped: &AtomicBool,
) {
    let next = |from: Instant| interval.and_then(|interval| from.checked_add(interval));
    let mut due = next(Instant::now());
    loop {
        match shared.queues.wait_for_news(generation, due, || !stopped.load(Ordering::Relaxed)) {
            News::Over => return,
            News::Due => {
                due = due.and_then(next);
                shared.queues.raise(EventKind::Timeout, 0);
            }
            News::Events => {
                let mut callback = callback.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(callback) = callback.as_mut() else { continue };
                let mut outcome = Ok(());
                inside(rule, || outcome = catch_unwind(AssertUnwindSafe(callback)));
                if outcome.is_err() {
                    let message = "the notification callback panicked".to_owned();
                    shared.queues.raise(EventKind::InternalError { message }, 0);
                }
            }
        }
    }
}
