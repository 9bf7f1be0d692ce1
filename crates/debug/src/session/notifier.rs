use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use opscope_sys::Mutex;

use super::recursion::{Rule, inside};
use super::shared::Shared;
use crate::event::EventKind;
use crate::queues::{Generation, Notice};

/// The thread that calls a client's notification callback and raises timeout events.
pub(super) struct Notifier {
    thread: JoinHandle<()>,
    callback: Arc<Mutex<Option<Callback>>>,
    stopped: Arc<AtomicBool>,
    /// The process that runs the thread. A forked child does not have it.
    process: u32,
}

type Callback = Box<dyn FnMut() + Send>;

/// The shortest interval of timeout events.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

impl Notifier {
    pub fn start(
        shared: &Arc<Shared>,
        generation: Generation,
        rule: Rule,
        interval: Option<Duration>,
    ) -> io::Result<Self> {
        let callback = Arc::new(Mutex::new(None));
        let stopped = Arc::new(AtomicBool::new(false));
        let thread = {
            let (shared, callback, stopped) = (Arc::clone(shared), Arc::clone(&callback), Arc::clone(&stopped));
            thread::Builder::new()
                .name("opscope-notify".to_owned())
                .spawn(move || notify(&shared, generation, rule, interval, &callback, &stopped))?
        };
        Ok(Self { thread, callback, stopped, process: std::process::id() })
    }

    /// Sets the callback. Waits until a call in progress returns.
    pub fn set(&self, callback: Option<Callback>) {
        let earlier = std::mem::replace(&mut *self.callback.lock(), callback);
        // Dropped outside of the lock, because its destructor may call back into the debugger.
        drop(earlier);
    }

    /// Ends the thread.
    pub fn stop(self, shared: &Shared) {
        self.stopped.store(true, Ordering::Relaxed);
        shared.queues().wake_notifier();
        // If a callback owned the last reference to its client, it would wait for itself.
        if self.process == std::process::id() && self.thread.thread().id() != thread::current().id() {
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
    let clock = shared.queues().clock();
    let next = || interval.and_then(|interval| clock.after(interval.max(SHORTEST_INTERVAL)));
    let mut due = next();
    loop {
        match shared.queues().wait_for_notice(generation, due, || !stopped.load(Ordering::Relaxed)) {
            Notice::Over => return,
            Notice::Due => {
                due = next();
                shared.queues().raise_without_waiting(generation, EventKind::Timeout);
            }
            Notice::Events => {
                let mut current = callback.lock();
                let Some(callback) = current.as_mut() else { continue };
                let mut outcome = Ok(());
                inside(rule, || outcome = catch_unwind(AssertUnwindSafe(callback)));
                if outcome.is_err() {
                    // The callback is removed first, because the event that reports the panic would call it again.
                    let failed = current.take();
                    drop(current);
                    drop(failed);
                    let message = "the notification callback panicked, and is not called any more".to_owned();
                    shared.queues().raise_without_waiting(generation, EventKind::InternalError { message });
                }
            }
        }
    }
}
