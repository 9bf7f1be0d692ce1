pub(crate) mod deadlock;
pub(crate) mod hooks;

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::TraceError;
use crate::buffer::Inner;
use crate::buffer::state::Cut;
use crate::process as life;
use deadlock as waits;
use hooks as thread_hooks;

/// A thread that calls buffers' callbacks. A slow callback delays the other buffers of its thread, and no others.
#[derive(Clone)]
pub struct CallbackThread {
    handle: Arc<Handle>,
}

/// The last one of these ends the thread.
struct Handle(Arc<Worker>);

pub(crate) struct Worker {
    number: u64,
    name: String,
    work: Mutex<Work>,
    wake: Condvar,
}

#[derive(Default)]
pub(crate) struct Work {
    running: bool,
    sleeping: bool,
    closing: bool,
    /// Buffers to look at.
    ready: VecDeque<Arc<Inner>>,
    /// Buffers to flush from time to time: when next, and how often.
    intervals: Vec<(Instant, Duration, Weak<Inner>)>,
}

impl CallbackThread {
    /// The thread of all buffers that name no other.
    pub fn shared() -> Self {
        static SHARED: OnceLock<CallbackThread> = OnceLock::new();
        SHARED.get_or_init(|| Self::create("opscope-callbacks")).clone()
    }

    /// A thread of one's own. It starts with the first buffer that it serves, and ends with the last.
    pub fn create(name: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let worker = Worker {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            name: name.to_owned(),
            work: Mutex::default(),
            wake: Condvar::new(),
        };
        let worker = Arc::new(worker);
        life::register_worker(&worker);
        Self { handle: Arc::new(Handle(worker)) }
    }

    /// Its number within the process.
    pub fn number(&self) -> u64 {
        self.handle.0.number
    }

    /// From here on the thread may be given this buffer.
    pub(crate) fn serve(&self, buffer: &Arc<Inner>) -> Result<(), TraceError> {
        let worker = &self.handle.0;
        let mut work = worker.lock();
        worker.start(&mut work)?;
        if let Some(interval) = buffer.interval()
            && let Some(next) = Instant::now().checked_add(interval)
        {
            work.intervals.push((next, interval, Arc::downgrade(buffer)));
            worker.wake.notify_one();
        }
        Ok(())
    }

    /// Starts the thread where it does not run: in the child of a fork. Where that fails, the next attempt may not.
    pub(crate) fn ensure_running(&self) {
        let worker = &self.handle.0;
        let _ = worker.start(&mut worker.lock());
    }

    /// The thread has nothing to do with this buffer any more.
    pub(crate) fn leave(&self, buffer: &Arc<Inner>) {
        let mut work = self.handle.0.lock();
        work.intervals.retain(|(_, _, other)| !std::ptr::eq(other.as_ptr(), Arc::as_ptr(buffer)));
        work.ready.retain(|other| !Arc::ptr_eq(other, buffer));
    }

    /// Lets the thread look at a buffer.
    pub(crate) fn push(&self, buffer: Arc<Inner>) {
        let worker = &self.handle.0;
        let mut work = worker.lock();
        let _ = worker.start(&mut work);
        work.ready.push_back(buffer);
        let sleeping = work.sleeping;
        drop(work);
        if sleeping {
            worker.wake.notify_one();
        }
    }
}

impl Worker {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(self: &Arc<Self>, work: &mut Work) -> Result<(), TraceError> {
        if !work.running {
            let worker = Arc::clone(self);
            thread_hooks::around_creation(|| {
                thread::Builder::new().name(self.name.clone()).spawn(move || worker.run())
            })
            .map_err(|source| TraceError::System { what: "a callback thread", source })?;
            work.running = true;
        }
        Ok(())
    }

    /// After a fork: the thread is the parent's, unless it is the one that forked.
    pub(crate) fn begin_anew(&self, work: &mut Work) {
        work.running &= waits::is_this(self.number);
        work.sleeping = false;
        work.ready.clear();
        work.intervals.retain(|(_, _, buffer)| buffer.strong_count() > 0);
    }

    fn run(&self) {
        waits::this_is(self.number);
        let mut cut = Cut::default();
        while let Some(buffer) = self.next() {
            buffer.deliver(&mut cut);
        }
    }

    /// The next buffer to look at; none when the thread is to end.
    fn next(&self) -> Option<Arc<Inner>> {
        let mut work = self.lock();
        loop {
            let due = work.due_by_interval();
            if !due.is_empty() {
                drop(work);
                due.iter().for_each(Inner::flush_later);
                work = self.lock();
            }
            if let Some(buffer) = work.ready.pop_front() {
                return Some(buffer);
            }
            if work.closing {
                return None;
            }
            work.sleeping = true;
            work = match work.intervals.iter().map(|interval| interval.0).min() {
                None => self.wake.wait(work).unwrap_or_else(PoisonError::into_inner),
                Some(next) => {
                    let left = next.saturating_duration_since(Instant::now());
                    self.wake.wait_timeout(work, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
            work.sleeping = false;
        }
    }
}

impl Work {
    /// The buffers whose interval is over.
    fn due_by_interval(&mut self) -> Vec<Arc<Inner>> {
        if self.intervals.is_empty() {
            return Vec::new();
        }
        let now = Instant::now();
        let over = self.intervals.iter_mut().filter(|interval| interval.0 <= now);
        over.filter_map(|(next, interval, buffer)| {
            *next = now + *interval;
            buffer.upgrade()
        })
        .collect()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.lock().closing = true;
        self.0.wake.notify_one();
    }
}

impl fmt::Debug for CallbackThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallbackThread").field("number", &self.number()).field("name", &self.handle.0.name).finish()
    }
}
