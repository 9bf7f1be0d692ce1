//! What a producer reports to its consumers: the announcement of what it reports, and its threads.

mod clock;
mod model;
mod run;

use std::cell::Cell;
use std::ffi::{CString, c_char};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::consumers::{Consumer, ConsumerSet};
use crate::turn::Turn;
use crate::{consumers, layout};
pub(crate) use clock::{nanos_now, start as start_clock};
pub use model::{Fidelity, KernelFacts, LoadedModel, LoadedPlan, ModelFacts, OperatorFacts};
pub use run::{Copied, Direction, Interest, MemoryOperation, RunFeed};

/// The announcement of a model or plan, and the consumers that have received it.
#[derive(Default)]
struct Announcement {
    known: AtomicU32,
    /// Taken during an announcement, so that other threads wait until the consumers know about it.
    turn: Turn,
}

thread_local! {
    /// Whether this thread is making an announcement.
    static ANNOUNCING: Cell<bool> = const { Cell::new(false) };
}

impl Announcement {
    /// Calls `tell` for each of these consumers that has not received the announcement yet. Returns whether all of them
    /// have received it now.
    #[inline]
    pub fn to(&self, wanting: ConsumerSet, tell: impl FnMut(&Consumer)) -> bool {
        wanting & !self.known.load(Ordering::Acquire) == 0 || self.to_new_ones(wanting, tell)
    }

    #[cold]
    fn to_new_ones(&self, wanting: ConsumerSet, tell: impl FnMut(&Consumer)) -> bool {
        let was_announcing = ANNOUNCING.replace(true);
        // A consumer that runs a model during an announcement comes here again. If it waited, it could wait for itself,
        // or for a thread that waits for it. So it does not wait, and the next run makes the announcement.
        let turn = if was_announcing { self.turn.try_take() } else { self.turn.take() };
        if turn.is_some() {
            let known = self.known.load(Ordering::Acquire);
            consumers::of(wanting & !known).for_each(tell);
            self.known.store(known | wanting, Ordering::Release);
        }
        ANNOUNCING.set(was_announcing);
        turn.is_some()
    }

    /// Returns the consumers that have received the announcement.
    pub fn known_to(&self) -> impl Iterator<Item = &'static Consumer> + use<> {
        consumers::of(self.known.load(Ordering::Acquire))
    }
}

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
fn enter_thread(wanting: ConsumerSet) -> u64 {
    let id = current_thread();
    let known = THREAD.get();
    if known.id != id {
        THREAD.set(Known { id, announced: 0 });
    }
    announced_thread(wanting)
}

/// Returns the id of the current thread. Announces the thread to those of these consumers that do not know about it
/// yet. Unlike [`enter`], does not notice a fork.
#[inline]
fn announced_thread(wanting: ConsumerSet) -> u64 {
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

/// Texts that C reads. None moves as long as this lives.
#[derive(Default)]
struct Texts(Vec<CString>);

impl Texts {
    /// Keeps a text and returns its address. A NUL inside it, which would end it in C, becomes U+FFFD.
    pub fn keep(&mut self, text: &str) -> *const c_char {
        let text = CString::new(text).or_else(|_| CString::new(text.replace('\0', "\u{fffd}")));
        let text = text.unwrap_or_default();
        // The characters have their own allocation, which does not move with the vector.
        let address = text.as_ptr();
        self.0.push(text);
        address
    }
}
