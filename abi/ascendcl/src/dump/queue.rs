//! The one thread that delivers chunks, and the bounded queue before it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use super::chunk::Chunk;
use super::files::Files;
use super::slot;
use crate::border::say;

/// The bytes that wait, at most. A chunk that is larger waits alone.
const MOST_BYTES: usize = 256 << 20;
/// How long a run waits for room. A callback that hangs must not hang the run.
const PATIENCE: Duration = Duration::from_secs(60);

/// A chunk on its way.
struct Waiting {
    chunk: Chunk,
    /// Its file.
    path: PathBuf,
    /// Whether it goes to that file if there is no callback.
    to_disk: bool,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// A chunk is being delivered.
    is_delivering: bool,
    thread: Option<ThreadId>,
    /// Chunks that could not be delivered.
    lost: u64,
}

static QUEUE: Mutex<Queue> =
    Mutex::new(Queue { waiting: VecDeque::new(), bytes: 0, is_delivering: false, thread: None, lost: 0 });
/// Notified when something was put into the queue, or delivered.
static CHANGED: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait(queue: MutexGuard<'static, Queue>) -> MutexGuard<'static, Queue> {
    CHANGED.wait(queue).unwrap_or_else(PoisonError::into_inner)
}

/// The most bytes of tensors in a chunk.
static PIECE_SIZE: AtomicUsize = AtomicUsize::new(128 << 20);

/// Returns the most bytes of tensors in a chunk.
pub fn piece_size() -> usize {
    PIECE_SIZE.load(Ordering::Relaxed)
}

/// Sets the most bytes of tensors in a chunk, for models that are loaded afterwards: 64 bytes to 128 MiB. An addition of opscope.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_acldump_set_piece_size(bytes: usize) {
    PIECE_SIZE.store(bytes.clamp(1, 128 << 20), Ordering::Relaxed);
}

/// Puts a chunk into the queue. It waits for room, but not for ever.
pub fn put(chunk: Chunk, path: PathBuf, to_disk: bool) -> Result<(), String> {
    let mut queue = lock();
    start(&mut queue)?;
    let deadline = Instant::now() + PATIENCE;
    while queue.bytes > 0 && queue.bytes + chunk.bytes() > MOST_BYTES {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(format!("the callback took nothing for {} s", PATIENCE.as_secs()));
        }
        queue = CHANGED.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    queue.bytes += chunk.bytes();
    queue.waiting.push_back(Waiting { chunk, path, to_disk });
    drop(queue);
    CHANGED.notify_all();
    Ok(())
}

/// Returns whether the calling thread is the one that delivers.
pub fn is_own_thread() -> bool {
    lock().thread == Some(thread::current().id())
}

/// Waits until everything that was put in before is delivered. On the delivering thread itself it returns at once.
pub fn flush() {
    if is_own_thread() {
        return;
    }
    let mut queue = lock();
    while !queue.waiting.is_empty() || queue.is_delivering {
        queue = wait(queue);
    }
}

/// Returns how many chunks were lost.
pub fn lost() -> u64 {
    lock().lost
}

fn start(queue: &mut Queue) -> Result<(), String> {
    if queue.thread.is_none() {
        let spawned = thread::Builder::new().name("acl-dump".to_owned()).spawn(deliver_all);
        queue.thread = Some(spawned.map_err(|error| format!("no thread for the dump: {error}"))?.thread().id());
    }
    Ok(())
}

fn deliver_all() {
    let mut files = Files::default();
    let mut queue = lock();
    loop {
        let Some(next) = queue.waiting.pop_front() else {
            queue = wait(queue);
            continue;
        };
        queue.is_delivering = true;
        drop(queue);
        let delivered = deliver(&next, &mut files);
        queue = lock();
        queue.bytes -= next.chunk.bytes();
        queue.is_delivering = false;
        queue.lost += u64::from(!delivered);
        CHANGED.notify_all();
    }
}

/// Gives a chunk to the callback, or writes it to its file. Returns whether someone has it.
fn deliver(next: &Waiting, files: &mut Files) -> bool {
    if slot::call_back(&next.chunk) {
        return true;
    }
    if !next.to_disk {
        // Nobody asked for it any more.
        return true;
    }
    let written = files.write(&next.path, next.chunk.data(), next.chunk.is_last());
    written.inspect_err(|error| say(format_args!("{} cannot be written: {error}", next.path.display()))).is_ok()
}
