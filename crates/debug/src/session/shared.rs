use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use opscope_clock::{Clock, Sleeper};
use opscope_sys::{Condvar, Mutex, MutexGuard};
use opscope_text::shown_text;

use super::announcer::Announcer;
use super::host::Host;
use super::registry::Registry;
use crate::event::{EventKind, Sequence};
use crate::queues::{Answer, Generation, Queues, Release, ReleaseReason, Resume};
use crate::run::{ActiveRun, Job};

/// A function of the program's, around calls that wait for the client.
type Around = dyn Fn(&mut dyn FnMut()) + Send + Sync;

/// The state of a debugger, which its handles, its client and the observers of its runs share.
pub(crate) struct Shared {
    pub announcer: Announcer,
    registry: Mutex<Registry>,
    /// Signalled when a client has attached.
    attached: Condvar,
    /// How many runs have been stopped so far.
    stopped_runs: AtomicU64,
    /// Calls what waits, in the way of the program.
    around: OnceLock<Box<Around>>,
    host: OnceLock<Arc<dyn Host>>,
    log: Box<dyn Fn(&str) + Send + Sync>,
}

impl Shared {
    pub fn new(queues: Queues<Job>, log: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            announcer: Announcer::new(queues),
            registry: Mutex::default(),
            attached: Condvar::new(),
            stopped_runs: AtomicU64::new(0),
            around: OnceLock::new(),
            host: OnceLock::new(),
            log: Box::new(log),
        }
    }

    /// Returns the clock of leases, timeouts and patience.
    pub fn clock(&self) -> &Clock {
        self.queues().clock()
    }

    pub fn queues(&self) -> &Queues<Job> {
        &self.announcer.queues
    }

    /// Locks the registry. A thread that waits must not hold this lock. It must be taken before the lock of the queues.
    pub fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock()
    }

    /// Notes that a client has attached.
    pub fn note_attached(&self) {
        self.attached.notify_all();
        self.tell_host(|host| host.attached(true));
    }

    /// Tells the program if the client wants something of its runs.
    pub fn note_interest(&self) {
        if self.host.get().is_some() && self.registry().is_interested() {
            self.tell_host(|host| host.interested());
        }
    }

    /// Sets the program. Only the first one counts.
    pub fn set_host(&self, host: Arc<dyn Host>) {
        let _ = self.host.set(host);
    }

    pub fn host(&self) -> Option<&Arc<dyn Host>> {
        self.host.get()
    }

    /// A panic of the program's ends neither a run nor the thread that serves debuggers.
    fn tell_host(&self, tell: impl FnOnce(&dyn Host)) {
        if let Some(host) = self.host.get() {
            let _ = catch_unwind(AssertUnwindSafe(|| tell(&**host)));
        }
    }

    /// Waits until a client is attached. Returns `false` if that does not happen within this time.
    pub fn wait_until_attached(&self, patience: Duration) -> bool {
        let waiting = self.attached.wait_timeout_while(self.registry(), patience, |known| known.attached.is_none());
        waiting.attached.is_some()
    }

    /// Counts a run at its first stop.
    pub fn count_stopped(&self, run: &ActiveRun) {
        if run.is_first_stop() {
            self.stopped_runs.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn stopped_runs(&self) -> u64 {
        self.stopped_runs.load(Ordering::Relaxed)
    }

    /// Sets the function that is called around what waits. Only the first one counts.
    pub fn set_around(&self, around: Box<Around>) {
        let _ = self.around.set(around);
    }

    /// Calls a function that waits for the client, in the way of the program.
    pub fn waiting<R>(&self, wait: impl FnOnce() -> R) -> R {
        let Some(around) = self.around.get() else { return wait() };
        let (mut wait, mut result) = (Some(wait), None);
        around(&mut || {
            if let Some(wait) = wait.take() {
                result = Some(wait());
            }
        });
        // A program that has not called it is called for.
        result.or_else(|| wait.take().map(|wait| wait())).expect("it was called once")
    }

    /// Waits at an event without tensors, so the client has no jobs for the thread meanwhile.
    pub fn wait_at(&self, event: Option<Sequence>) -> Resume {
        let wait = |event| self.settle(self.waiting(|| self.queues().wait(event, drop)));
        event.map_or(Resume::Continue, wait)
    }

    /// Returns how the client wants the run to continue. Logs an event that was not acknowledged.
    pub fn settle(&self, answer: Answer) -> Resume {
        match answer {
            Answer::Resume(resume) => resume,
            Answer::Expired { release, silent } => {
                self.log(&release.to_string());
                if let Some(generation) = silent {
                    self.detach(generation, Some("it did not read its events, and asked for nothing"));
                }
                Resume::Continue
            }
        }
    }

    /// Detaches the client: every thread that waits continues, and no more events are raised. `gone` is the reason if
    /// the client did not detach by itself. Returns whether it was attached.
    pub fn detach(&self, generation: Generation, gone: Option<&str>) -> bool {
        let mut registry = self.registry();
        let Some((_, options)) = registry.attached.take_if(|(attached, _)| *attached == generation) else {
            return false;
        };
        self.announcer.subscribe(None);
        registry.clear_client();
        registry.update_runs();
        let last = gone.is_none().then_some(EventKind::DetachComplete);
        let (released, cancelled) = self.queues().detach(generation, last);
        drop(registry);
        drop(cancelled);
        if let Some(reason) = gone {
            let name = if options.name.is_empty() { "the debugger" } else { &options.name };
            self.log(&format!("{name} is detached: {reason}"));
        }
        self.log_released(&released);
        self.tell_host(|host| host.attached(false));
        true
    }

    fn log_released(&self, released: &[Release]) {
        for release in released.iter().filter(|release| release.because == ReleaseReason::DebuggerGone) {
            self.log(&release.to_string());
        }
    }

    /// Logs a message. A panic of the program's log ends neither a run nor the thread that serves debuggers.
    pub fn log(&self, message: &str) {
        let _ = catch_unwind(AssertUnwindSafe(|| (self.log)(&shown_text(message))));
    }
}

impl Sleeper for Shared {
    fn wake_up(&self) {
        self.queues().wake_up();
    }
}
