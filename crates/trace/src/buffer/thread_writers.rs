//! What each thread knows of the buffers that it emits into.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Weak};

use crate::buffer::Inner;
use crate::buffer::writer::Writer;
use crate::context::{Routes, Service};
use crate::sync::barrier;
use crate::{BufferId, Kind, Operation, current_thread};

/// A kind's way into the one buffer that wants it.
struct Slot {
    /// The state of all contexts that this was true for.
    word: Cell<u64>,
    operations: Cell<u64>,
    writer: Cell<*const Writer>,
}

/// A writer that was used lately.
struct Recent {
    buffer: Cell<u64>,
    writer: Cell<*const Writer>,
}

/// The writers of this thread. Its end hands the chunks over.
struct Writers {
    list: Vec<(Weak<Inner>, Arc<Writer>)>,
}

const RECENT: usize = 8;

thread_local! {
    // These have no destructor, so reaching them costs an addition. The pointers are of writers in `WRITERS`, which
    // clears them before it lets a writer go.
    static SLOTS: [Slot; Kind::COUNT] = const { [const { Slot::empty() }; Kind::COUNT] };
    static RECENTLY: [Recent; RECENT] = const { [const { Recent::empty() }; RECENT] };
    static WRITERS: RefCell<Writers> = const { RefCell::new(Writers { list: Vec::new() }) };
    static ROUTES: RefCell<(u64, Option<Arc<Routes>>)> = const { RefCell::new((0, None)) };
}

/// Emits a record of a kind into the one buffer that wants it, where that is known and nothing but writing is to be done.
/// Says whether the record is dealt with. `word` is the state of all contexts.
#[inline(always)]
pub(crate) fn append(word: u64, kind: Kind, operation: Operation, header: u64, payload: &[u8]) -> bool {
    let slots = SLOTS.with(std::ptr::from_ref);
    // SAFETY: thread-local memory without a destructor lives as long as its thread, which does not leave this function
    // meanwhile. (A closure around all of this would not be inlined.)
    let slot = unsafe { &(*slots)[kind.index()] };
    if slot.word.get() != word {
        return false;
    }
    if slot.operations.get() >> (operation.0 & 63) & 1 == 0 {
        return true;
    }
    // SAFETY: a slot with a word above 0 points to a writer that `WRITERS` keeps alive; the thread is its owner.
    unsafe { &*slot.writer.get() }.try_append(header, payload, barrier::none)
}

/// Emits a record into a buffer where the way is known and nothing but writing is to be done. Says whether it did.
#[inline(always)]
pub(crate) fn append_to(buffer: BufferId, header: u64, payload: &[u8]) -> bool {
    let recently = RECENTLY.with(std::ptr::from_ref);
    // SAFETY: as for the slots.
    let recent = unsafe { &(*recently)[buffer.0 as usize % RECENT] };
    // SAFETY: an entry with a number above 0 points to a writer that `WRITERS` keeps alive; the thread is its owner.
    recent.buffer.get() == buffer.0 && unsafe { &*recent.writer.get() }.try_append(header, payload, barrier::light)
}

/// This thread's desk at a buffer, which is opened where there is none. None for a thread that is ending.
pub(crate) fn desk(buffer: &Arc<Inner>) -> Option<usize> {
    writer(buffer).map(|writer| writer.desk())
}

/// Remembers that a kind goes into one buffer, and how.
pub(crate) fn remember(word: u64, service: &Service) {
    if !barrier::is_one_sided() {
        return;
    }
    let Some(writer) = writer(service.buffer()) else { return };
    SLOTS.with(|slots| {
        let slot = &slots[service.kind().index()];
        slot.operations.set(service.operations());
        slot.writer.set(Arc::as_ptr(&writer));
        slot.word.set(word);
    });
}

/// Calls `act` with the routes that belong to this state of all contexts, or a newer one.
pub(crate) fn with_routes<T>(word: u64, act: impl Fn(&Routes) -> T) -> T {
    let cached = ROUTES.try_with(|routes| {
        let fresh = routes.try_borrow().is_ok_and(|routes| routes.0 == word && routes.1.is_some());
        if !fresh && let Ok(mut routes) = routes.try_borrow_mut() {
            let now = Routes::current();
            *routes = (now.word(), Some(now));
        }
        routes.try_borrow().ok().and_then(|routes| routes.1.as_deref().map(&act))
    });
    match cached {
        Ok(Some(result)) => result,
        _ => act(&Routes::current()),
    }
}

/// Forgets every writer, in the child of a fork: they are for the parent's chunks.
pub(crate) fn begin_anew() {
    forget_pointers();
    // A thread that is ending has none.
    let _ = WRITERS.try_with(|writers| writers.borrow_mut().list.clear());
}

fn writer(buffer: &Arc<Inner>) -> Option<Arc<Writer>> {
    let writer = WRITERS.try_with(|writers| writers.borrow_mut().of(buffer)).ok()?;
    RECENTLY.with(|recently| {
        let recent = &recently[buffer.id().0 as usize % RECENT];
        recent.writer.set(Arc::as_ptr(&writer));
        recent.buffer.set(buffer.id().0);
    });
    Some(writer)
}

fn forget_pointers() {
    SLOTS.with(|slots| slots.iter().for_each(|slot| slot.word.set(0)));
    RECENTLY.with(|recently| recently.iter().for_each(|recent| recent.buffer.set(0)));
}

impl Writers {
    fn of(&mut self, buffer: &Arc<Inner>) -> Arc<Writer> {
        let known = self.list.iter().find(|(other, _)| std::ptr::eq(other.as_ptr(), Arc::as_ptr(buffer)));
        if let Some((_, writer)) = known {
            return Arc::clone(writer);
        }
        if self.list.iter().any(|(buffer, _)| buffer.strong_count() == 0) {
            forget_pointers();
            self.list.retain(|(buffer, _)| buffer.strong_count() > 0);
        }
        let writer = buffer.open_desk(current_thread());
        self.list.push((Arc::downgrade(buffer), Arc::clone(&writer)));
        writer
    }
}

impl Drop for Writers {
    fn drop(&mut self) {
        forget_pointers();
        for (buffer, writer) in &self.list {
            if let Some(buffer) = buffer.upgrade() {
                buffer.close_desk(writer);
            }
        }
    }
}

impl Slot {
    const fn empty() -> Self {
        Self { word: Cell::new(0), operations: Cell::new(0), writer: Cell::new(std::ptr::null()) }
    }
}

impl Recent {
    const fn empty() -> Self {
        Self { buffer: Cell::new(0), writer: Cell::new(std::ptr::null()) }
    }
}
