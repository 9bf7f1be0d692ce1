//! The one thread that delivers chunks, and the bounded queue before it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use opscope::trace::{ForkRoom, HeldLocks};
use opscope_border::{exported, system};

use super::chunk::Chunk;
use super::counts::Counts;
use super::delivery::Delivery;
use super::{slot, subscribers};
use crate::border::{note, say};
use crate::forks::{count_forks, forks};
use crate::streams::as_callback;

/// How long a run waits for room while nothing is delivered. A callback that hangs must not hang the run.
const PATIENCE: Duration = Duration::from_secs(60);

/// What waits for the thread.
enum Waiting {
    Chunk {
        chunk: Chunk,
        /// Its file.
        path: PathBuf,
        /// Whether it goes to that file if there is no callback.
        to_disk: bool,
    },
    /// No more chunks of a file come, and it has no last one.
    Broken(PathBuf),
}

struct Queue {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// What was ever put in, and delivered.
    put: u64,
    delivered: u64,
    thread: Option<ThreadId>,
    /// How many calls of the thread itself wait for runs at the moment.
    thread_waits: usize,
    counts: Counts,
    /// Why the first chunk was lost of those that the program was not told of.
    loss: Option<String>,
}

impl Queue {
    const fn new() -> Self {
        let counts = Counts::new();
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
            put: 0,
            delivered: 0,
            thread: None,
            thread_waits: 0,
            counts,
            loss: None,
        }
    }

    fn push(&mut self, waiting: Waiting) {
        self.waiting.push_back(waiting);
        self.put += 1;
        CHANGED.notify_all();
    }
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue::new());
/// Notified when something was put into the queue, or delivered.
static CHANGED: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, Queue> {
    static ROOM: ForkRoom = ForkRoom::new(|| Box::new(Held(take_lock())));
    let _ = ROOM.register();
    take_lock()
}

fn take_lock() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait(queue: MutexGuard<'static, Queue>) -> MutexGuard<'static, Queue> {
    CHANGED.wait(queue).unwrap_or_else(PoisonError::into_inner)
}

/// The lock during a fork. The child has no thread that delivers; what waits is delivered in the parent.
struct Held(MutexGuard<'static, Queue>);

impl HeldLocks for Held {
    fn reset_in_child(mut self: Box<Self>) {
        *self.0 = Queue::new();
    }
}

/// The most bytes of tensors in a chunk.
static PIECE_SIZE: AtomicUsize = AtomicUsize::new(128 << 20);

/// Returns the most bytes of tensors in a chunk.
pub fn piece_size() -> usize {
    PIECE_SIZE.load(Ordering::Relaxed)
}

/// Sets the most bytes of tensors in a chunk, for models that are loaded afterwards: 1 to 128 MiB. The first chunk of a file also has
/// the header, whole.
#[exported]
pub fn opscope_acldump_set_piece_size(bytes: usize) {
    PIECE_SIZE.store(bytes.clamp(1, 128 << 20), Ordering::Relaxed);
}

/// The bytes that wait, at most. A chunk that is larger waits alone.
static SIZE: AtomicUsize = AtomicUsize::new(256 << 20);

/// Sets how many bytes of chunks wait for callbacks or the disk, at most. A run waits while there is no room.
#[exported]
pub fn opscope_acldump_set_queue_size(bytes: usize) {
    SIZE.store(bytes, Ordering::Relaxed);
    CHANGED.notify_all();
}

/// Puts a chunk into the queue. It waits for room, but not for ever.
pub fn put(chunk: Chunk, path: PathBuf, to_disk: bool) -> Result<(), String> {
    let mut queue = lock();
    start(&mut queue)?;
    let (mut delivered, mut deadline) = (queue.delivered, Instant::now() + PATIENCE);
    let is_full = |queue: &Queue| queue.bytes > 0 && queue.bytes + chunk.bytes() > SIZE.load(Ordering::Relaxed);
    // On its own thread, where a callback runs a model, nobody would make room. Nor while a callback waits for runs.
    while is_full(&queue) && !is_own_thread(&queue) && queue.thread_waits == 0 {
        if queue.delivered != delivered {
            (delivered, deadline) = (queue.delivered, Instant::now() + PATIENCE);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            queue.counts.lost_chunks += 1;
            queue.push(Waiting::Broken(path));
            return Err(format!("the callback took nothing for {} s", PATIENCE.as_secs()));
        }
        queue = CHANGED.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    queue.bytes += chunk.bytes();
    queue.push(Waiting::Chunk { chunk, path, to_disk });
    Ok(())
}

/// Waits for runs. Where a callback does, runs need no room, which nobody makes meanwhile.
pub fn wait_for_runs<R>(wait: impl FnOnce() -> R) -> R {
    struct Waits;
    impl Drop for Waits {
        fn drop(&mut self) {
            let mut queue = lock();
            // The child of a fork counts anew.
            queue.thread_waits = queue.thread_waits.saturating_sub(1);
        }
    }
    let mut queue = lock();
    if !is_own_thread(&queue) {
        drop(queue);
        return wait();
    }
    queue.thread_waits += 1;
    CHANGED.notify_all();
    drop(queue);
    let _waits = Waits;
    wait()
}

/// Says that no more chunks of a file come.
pub fn put_broken(path: PathBuf) {
    lock().push(Waiting::Broken(path));
}

fn is_own_thread(queue: &Queue) -> bool {
    queue.thread == Some(thread::current().id())
}

/// Waits until everything that was put in before is delivered. On the delivering thread itself it returns at once.
pub fn flush() {
    let mut queue = lock();
    let put = queue.put;
    while queue.delivered < put && queue.thread.is_some() && !is_own_thread(&queue) {
        queue = wait(queue);
    }
}

/// Keeps a message for the program if chunks were lost since the last time.
pub fn tell_loss() {
    let loss = lock().loss.take();
    if let Some(reason) = loss {
        note(format!("EE1001: the dump is not complete: {reason}"));
    }
}

/// Returns what was delivered so far.
pub fn counts() -> Counts {
    lock().counts
}

fn start(queue: &mut Queue) -> Result<(), String> {
    static AT_EXIT: Once = Once::new();
    if queue.thread.is_none() {
        // Without memory for it, what waits at the exit is lost.
        AT_EXIT.call_once(|| _ = system::at_exit(write_at_exit));
        // A run may wait for what it does: it must not wait for a stream.
        let work = || as_callback(deliver_all);
        let spawned = thread::Builder::new().name("acl-dump".to_owned()).spawn(work);
        queue.thread = Some(spawned.map_err(|error| format!("no thread for the dump: {error}"))?.thread().id());
    }
    Ok(())
}

/// Writes what waits for the disk when the program exits without an end. Its callbacks may not be there any more: they are not waited for.
extern "C" fn write_at_exit() {
    if slot::registration().is_none() && subscribers::newest().is_none() {
        flush();
    }
}

fn deliver_all() {
    count_forks();
    let before = forks();
    let mut delivery = Delivery::default();
    let mut queue = lock();
    loop {
        let Some(next) = queue.waiting.pop_front() else {
            queue = wait(queue);
            continue;
        };
        drop(queue);
        let (bytes, (counts, loss)) = match &next {
            Waiting::Chunk { chunk, path, to_disk } => (chunk.bytes(), delivery.deliver(chunk, path, *to_disk)),
            Waiting::Broken(path) => (0, (delivery.give_up(path), None)),
        };
        if forks() != before {
            // A callback forked, and this is the child: the files and the queue are the parent's. This thread is its only one.
            std::mem::forget(delivery);
            return;
        }
        // Its memory is given back before anyone is told that there is room.
        drop(next);
        queue = lock();
        queue.bytes -= bytes;
        queue.delivered += 1;
        queue.counts.add(counts);
        if let (Some(reason), None) = (loss, &queue.loss) {
            say(&reason);
            queue.loss = Some(reason);
        }
        CHANGED.notify_all();
    }
}
