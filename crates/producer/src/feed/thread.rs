use std::cell::Cell;
use std::ffi::c_char;

use super::clock::nanos_now;
use crate::consumers::{self, ConsumerSet};
use crate::layout;

/// What is known about the current thread.
#[derive(Clone, Copy)]
struct Known {
    /// Its id, or 0 before the first query.
    id: u64,
    /// The consumers that know about the thread.
    announced: ConsumerSet,
}

thread_local! {
    static THREAD: Cell<Known> = const { Cell::new(Known { id: 0, announced: 0 }) };
}

/// Returns the id of the current thread, as gettid() gives it.
pub(crate) fn current_thread() -> u64 {
    opscope_sys::thread_id().into()
}

/// Queries the current thread's id, which changes only in the child of a fork. Announces the thread to those of these
/// consumers that do not know about it yet. Returns the id.
pub(super) fn enter(wanting: ConsumerSet) -> u64 {
    let id = current_thread();
    let known = THREAD.get();
    if known.id != id {
        THREAD.set(Known { id, announced: 0 });
    }
    announced(wanting)
}

/// Returns the id of the current thread. Announces the thread to those of these consumers that do not know about it
/// yet. Unlike [`enter`], does not notice a fork.
#[inline]
pub(super) fn announced(wanting: ConsumerSet) -> u64 {
    let known = THREAD.get();
    if wanting & !known.announced == 0 && known.id != 0 { known.id } else { announce(wanting) }
}

#[cold]
fn announce(wanting: ConsumerSet) -> u64 {
    let mut known = THREAD.get();
    if known.id == 0 {
        known.id = current_thread();
    }
    let earlier = known.announced;
    known.announced |= wanting;
    // Stored before the calls, because a consumer's function may come here again.
    THREAD.set(known);
    let name = name();
    let thread =
        layout::Thread { size: size_of::<layout::Thread>(), id: known.id, name: name.as_ptr(), time: nanos_now() };
    for consumer in consumers::of(wanting & !earlier) {
        let entries = consumer.entries();
        entries.call(entries.thread_started, &thread);
    }
    known.id
}

/// Returns the system's name of the current thread, with a NUL at its end.
fn name() -> [c_char; 16] {
    let mut name = [0; 16];
    // SAFETY: PR_GET_NAME writes at most 16 bytes, the last of which is NUL.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name[15] = 0;
    name
}
