use std::cell::RefCell;
use std::io;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::record::thread;

/// The locks of one room. They are held during a fork, so that the child gets no copy of something in the middle of a
/// change, and are released when this is dropped.
pub trait HeldLocks {
    /// Resets what the room protects, and releases the locks. It is called in the child.
    fn reset_in_child(self: Box<Self>);
}

/// Takes a room's locks.
pub type LockRoom = fn() -> Box<dyn HeldLocks>;

/// The functions that take the locks of each room, in the order in which they were registered.
static ROOMS: Mutex<Vec<LockRoom>> = Mutex::new(Vec::new());

/// All locks that a fork holds.
struct AllLocks {
    /// The room that was registered last comes first.
    rooms: Vec<Box<dyn HeldLocks>>,
    _list: MutexGuard<'static, Vec<LockRoom>>,
}

thread_local! {
    /// Filled before a fork and emptied after it, on the same thread.
    static HELD: RefCell<Option<AllLocks>> = const { RefCell::new(None) };
}

/// Registers a room whose locks every fork holds: a library's own that calls this one. The locks of the room that was registered
/// last are taken first.
///
/// # Errors
/// Returns an error if the system has no memory for the registration.
pub fn hold_across_forks(lock: LockRoom) -> io::Result<()> {
    static REGISTERED: OnceLock<i32> = OnceLock::new();
    // SAFETY: an `extern "C" fn` that panics aborts, so nothing unwinds into the C library. This library is never unloaded
    // while functions are registered.
    let register = || unsafe { libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child)) };
    match *REGISTERED.get_or_init(register) {
        0 => rooms().push(lock),
        error => return Err(io::Error::from_raw_os_error(error)),
    }
    Ok(())
}

extern "C" fn before() {
    let list = rooms();
    let rooms = list.iter().rev().map(|lock| lock()).collect();
    // A thread that forks while it is torn down has nowhere to keep the locks. Its child may only exec.
    let _ = HELD.try_with(|held| *held.borrow_mut() = Some(AllLocks { rooms, _list: list }));
}

extern "C" fn after_in_parent() {
    let _ = HELD.try_with(|held| held.borrow_mut().take());
}

extern "C" fn after_in_child() {
    // Before the rooms: some of them keep the number of the thread.
    thread::reset_after_fork();
    if let Ok(Some(all)) = HELD.try_with(|held| held.borrow_mut().take()) {
        all.rooms.into_iter().for_each(|room| room.reset_in_child());
    }
}

fn rooms() -> MutexGuard<'static, Vec<LockRoom>> {
    // No code panics in the middle of a change.
    ROOMS.lock().unwrap_or_else(PoisonError::into_inner)
}
