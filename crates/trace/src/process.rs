//! Forks and the exit of the process. The rooms above register what they do at these events.

use std::cell::RefCell;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::TraceError;
use crate::record::thread;
use crate::sync::inside::is_inside;
use crate::sync::{Mutex, MutexGuard};

/// What a room does at forks and at the exit of the process.
///
/// The room that registers last acts first. So a room must register after every room whose locks it takes while it
/// holds its own.
pub(crate) struct Registration {
    room: ForkRoom,
    at_exit: extern "C" fn(),
}

impl Registration {
    /// `lock` takes the room's locks before a fork. `at_exit` is called when the process exits; it must not unwind.
    pub(crate) const fn new(lock: LockRoom, at_exit: extern "C" fn()) -> Self {
        Self { room: ForkRoom::new(lock), at_exit }
    }

    /// Registers, once.
    pub(crate) fn ensure(&self) -> Result<(), TraceError> {
        let registered = self.room.register_with(|| call_at_exit(self.at_exit));
        registered.map_err(|source| TraceError::System { what: "to report forks and the process's exit", source })
    }
}

/// The held locks of one room. They are held during a fork, so that the child gets no half-changed data, and are
/// released when this is dropped.
pub trait HeldLocks {
    /// Resets the data that the locks protect, and releases the locks. It is called in the child.
    fn reset_in_child(self: Box<Self>);
}

/// Takes a room's locks.
pub type LockRoom = fn() -> Box<dyn HeldLocks>;

/// The rooms whose locks a fork holds.
struct Rooms {
    /// Whether the handlers are registered with the C library.
    is_called: bool,
    /// The functions that take the locks of each room, in the order in which they were registered.
    list: Vec<LockRoom>,
}

static ROOMS: Mutex<Rooms> = Mutex::new(Rooms { is_called: false, list: Vec::new() });

/// All locks that a fork holds.
struct AllLocks {
    /// The room that was registered last comes first.
    rooms: Vec<Box<dyn HeldLocks>>,
    _list: MutexGuard<'static, Rooms>,
}

thread_local! {
    /// Set before a fork and taken after it, on the same thread.
    static HELD: RefCell<Option<AllLocks>> = const { RefCell::new(None) };
}

/// A room whose locks every fork holds, once it is registered. It is meant for a `static`. The locks of the room that
/// was registered last are taken first.
pub struct ForkRoom {
    lock: LockRoom,
    /// Changed under the lock of `ROOMS`, which a fork also holds, so the child never sees a half-finished
    /// registration.
    is_registered: AtomicBool,
}

impl ForkRoom {
    /// `lock` takes the room's locks before a fork.
    pub const fn new(lock: LockRoom) -> Self {
        Self { lock, is_registered: AtomicBool::new(false) }
    }

    /// Registers the room. Calls after the first one that succeeded do nothing.
    ///
    /// # Errors
    /// Returns an error if the system has no memory for the registration, or in a signal handler that interrupts a
    /// call.
    pub fn register(&self) -> io::Result<()> {
        self.register_with(|| Ok(()))
    }

    /// Registers the room, after `more` has succeeded.
    fn register_with(&self, more: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        if self.is_registered.load(Ordering::Acquire) {
            return Ok(());
        }
        if is_inside() {
            // This is a signal handler, and the thread that it interrupted may be registering this very room.
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut rooms = rooms();
        if self.is_registered.load(Ordering::Relaxed) {
            return Ok(());
        }
        if !rooms.is_called {
            // SAFETY: an `extern "C" fn` that panics aborts, so nothing unwinds into the C library. This library is
            // never unloaded while functions are registered.
            match unsafe { libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child)) } {
                0 => rooms.is_called = true,
                error => return Err(io::Error::from_raw_os_error(error)),
            }
        }
        more()?;
        rooms.list.push(self.lock);
        self.is_registered.store(true, Ordering::Release);
        Ok(())
    }
}

extern "C" fn before() {
    let list = rooms();
    let rooms = list.list.iter().rev().map(|lock| lock()).collect();
    // A thread that forks while it is being torn down has nowhere to keep the locks. Its child may only exec.
    let _ = HELD.try_with(|held| *held.borrow_mut() = Some(AllLocks { rooms, _list: list }));
}

extern "C" fn after_in_parent() {
    let _ = HELD.try_with(|held| held.borrow_mut().take());
}

extern "C" fn after_in_child() {
    // This comes before the rooms are reset, because some of them store the number of the thread.
    thread::reset_after_fork();
    if let Ok(Some(all)) = HELD.try_with(|held| held.borrow_mut().take()) {
        all.rooms.into_iter().for_each(|room| room.reset_in_child());
    }
}

fn rooms() -> MutexGuard<'static, Rooms> {
    ROOMS.lock()
}

/// Registers a function that is called when the process exits. Functions are called in the reverse order of
/// registration.
fn call_at_exit(function: extern "C" fn()) -> io::Result<()> {
    // SAFETY: an `extern "C" fn` that panics aborts, so nothing unwinds into the C library. This library is never
    // unloaded while functions are registered.
    match unsafe { libc::atexit(function) } {
        0 => Ok(()),
        _ => Err(io::ErrorKind::OutOfMemory.into()),
    }
}
