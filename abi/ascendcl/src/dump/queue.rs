//! The only thread that delivers chunks, and the bounded queue in front of it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use opscope::trace::{ForkRoom, HeldLocks};
use opscope_border::{exported, system};
use opscope_sys::{Condvar, Mutex, MutexGuard};

use super::chunk::Chunk;
use super::delivery::{Counts, Delivery, Loss};
use super::{slot, subscribers};
use crate::border::{note, say};
use crate::forks::{count_forks, forks};
use crate::streams::as_callback;

/// How long a run waits for space in the queue if nothing is delivered. A callback that hangs must not hang the run.
const PATIENCE: Duration = Duration::from_secs(60);

/// An item in the queue.
enum QueuedItem {
    Chunk {
        chunk: Chunk,
        /// Its file.
        path: PathBuf,
        /// Whether the chunk goes to that file if there is no callback.
        to_disk: bool,
    },
    /// A file gets no more chunks, although its last chunk is missing.
    Broken(PathBuf),
}

struct Queue {
    waiting: VecDeque<QueuedItem>,
    bytes: usize,
    /// How many items were ever pushed, and how many of them were delivered.
    put: u64,
    delivered: u64,
    thread: Option<ThreadId>,
    /// How many calls on the delivering thread itself are waiting for runs.
    thread_waits: usize,
    counts: Counts,
    /// The reason for the first loss that was not reported to the program yet.
    loss: Option<Loss>,
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

    fn push(&mut self, waiting: QueuedItem) {
        self.waiting.push_back(waiting);
        self.put += 1;
        CHANGED.notify_all();
    }
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue::new());
/// Notified when an item was pushed or delivered.
static CHANGED: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, Queue> {
    static ROOM: ForkRoom = ForkRoom::new(|| Box::new(HeldQueue(take_lock())));
    let _ = ROOM.register();
    take_lock()
}

fn take_lock() -> MutexGuard<'static, Queue> {
    QUEUE.lock()
}

fn wait(queue: MutexGuard<'static, Queue>) -> MutexGuard<'static, Queue> {
    CHANGED.wait(queue)
}

/// The locked queue during a fork. The child has no delivering thread; the parent delivers what waits.
struct HeldQueue(MutexGuard<'static, Queue>);

impl HeldLocks for HeldQueue {
    fn reset_in_child(mut self: Box<Self>) {
        *self.0 = Queue::new();
    }
}

/// The largest number of tensor bytes in a chunk.
static PIECE_SIZE: AtomicUsize = AtomicUsize::new(128 << 20);

/// Returns the largest number of tensor bytes in a chunk.
pub fn piece_size() -> usize {
    PIECE_SIZE.load(Ordering::Relaxed)
}

/// Sets the largest number of tensor bytes in a chunk, from 1 byte to 128 MiB, for models that are loaded afterwards.
/// The first chunk of a file also contains the whole header.
#[exported]
pub fn opscope_acldump_set_piece_size(bytes: usize) {
    PIECE_SIZE.store(bytes.clamp(1, 128 << 20), Ordering::Relaxed);
}

/// The largest number of bytes that may wait. A larger chunk waits alone.
static SIZE: AtomicUsize = AtomicUsize::new(256 << 20);

/// Sets how many bytes of chunks may wait for callbacks or the disk. A run waits while the queue is full.
#[exported]
pub fn opscope_acldump_set_queue_size(bytes: usize) {
    SIZE.store(bytes, Ordering::Relaxed);
    CHANGED.notify_all();
}

/// Pushes a chunk. Waits while the queue is full.
///
/// # Errors
/// Returns the reason if the queue stays full for a minute without a delivery, or if there is no delivering thread.
pub fn put(chunk: Chunk, path: PathBuf, to_disk: bool) -> Result<(), Loss> {
    let mut queue = lock();
    start(&mut queue)?;
    let (mut delivered, mut deadline) = (queue.delivered, Instant::now() + PATIENCE);
    let is_full = |queue: &Queue| queue.bytes > 0 && queue.bytes + chunk.bytes() > SIZE.load(Ordering::Relaxed);
    // Does not wait on the delivering thread, where a callback may run a model, nor while a callback waits for runs: in
    // both cases nothing is delivered meanwhile.
    while is_full(&queue) && !is_own_thread(&queue) && queue.thread_waits == 0 {
        if queue.delivered != delivered {
            (delivered, deadline) = (queue.delivered, Instant::now() + PATIENCE);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            queue.counts.lost_chunks += 1;
            queue.push(QueuedItem::Broken(path));
            return Err(Loss::Patience(PATIENCE));
        }
        queue = CHANGED.wait_timeout(queue, left);
    }
    queue.bytes += chunk.bytes();
    queue.push(QueuedItem::Chunk { chunk, path, to_disk });
    Ok(())
}

/// Waits for runs. If a callback waits, nothing is delivered meanwhile, so the runs may push into a full queue.
pub fn wait_for_runs<R>(wait: impl FnOnce() -> R) -> R {
    struct Waits;
    impl Drop for Waits {
        fn drop(&mut self) {
            let mut queue = lock();
            // The child of a fork starts again at 0.
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

/// Pushes a note that a file gets no more chunks.
pub fn put_broken(path: PathBuf) {
    lock().push(QueuedItem::Broken(path));
}

fn is_own_thread(queue: &Queue) -> bool {
    queue.thread == Some(thread::current().id())
}

/// Waits until everything that was pushed before is delivered. Returns immediately on the delivering thread itself.
pub fn flush() {
    let mut queue = lock();
    let put = queue.put;
    while queue.delivered < put && queue.thread.is_some() && !is_own_thread(&queue) {
        queue = wait(queue);
    }
}

/// Keeps a message for the program if chunks were lost since the last call.
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

fn start(queue: &mut Queue) -> Result<(), Loss> {
    static AT_EXIT: Once = Once::new();
    if queue.thread.is_none() {
        // Without memory for this, the chunks that wait at the exit are lost.
        AT_EXIT.call_once(|| _ = system::at_exit(write_at_exit));
        // A run may wait for this work, so the work must not wait for a stream.
        let work = || as_callback(deliver_all);
        let spawned = thread::Builder::new().name("acl-dump".to_owned()).spawn(work);
        queue.thread = Some(spawned.map_err(Loss::Thread)?.thread().id());
    }
    Ok(())
}

/// Writes what still waits for the disk when the program exits without aclFinalize. Does not wait for callbacks, which
/// may not exist any more.
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
            QueuedItem::Chunk { chunk, path, to_disk } => (chunk.bytes(), delivery.deliver(chunk, path, *to_disk)),
            QueuedItem::Broken(path) => (0, (delivery.give_up(path), None)),
        };
        if forks() != before {
            // A callback forked, and this is the child. The files and the queue belong to the parent, and this is the
            // child's only thread.
            std::mem::forget(delivery);
            return;
        }
        // Its memory is freed before waiting threads are notified.
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
