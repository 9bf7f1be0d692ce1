//! The writers of the calling thread, and shortcuts to them.
//!
//! All pointers from thread-local memory into writers are in this file.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Weak};

use crate::buffer::SharedBuffer;
use crate::buffer::state::{OwnWriter, Writer};
use crate::record::{BufferId, Kind, Operation, ThreadId, current_thread};
use crate::sync::barrier;

/// A thread's writer at one buffer. Its slot is closed when it is dropped: when the thread ends.
#[derive(Debug)]
pub(crate) struct ThreadWriter {
    buffer: Weak<SharedBuffer>,
    /// `None` while it is dropped.
    writer: Option<OwnWriter>,
}

/// From a kind to the writer at the one buffer that it is traced into.
struct KindShortcut {
    /// The version of the contexts' routes that it was found for; 0 for none.
    version: Cell<u64>,
    /// A bit for each operation that is traced.
    operations: Cell<u64>,
    writer: Cell<*const Writer>,
}

/// From a buffer to the writer at it.
struct BufferShortcut {
    /// The buffer's number; 0 for none.
    buffer: Cell<u64>,
    writer: Cell<*const Writer>,
}

/// The writers of a thread.
struct Writers {
    list: Vec<Rc<ThreadWriter>>,
}

const BUFFER_SHORTCUTS: usize = 8;

thread_local! {
    // The shortcuts have no destructor, so reaching them costs an addition. A shortcut that is in use points to a writer in
    // `WRITERS`: `clear_shortcuts` is called before any writer is dropped.
    static BY_KIND: [KindShortcut; Kind::COUNT] = const { [const { KindShortcut::empty() }; Kind::COUNT] };
    static BY_BUFFER: [BufferShortcut; BUFFER_SHORTCUTS] =
        const { [const { BufferShortcut::empty() }; BUFFER_SHORTCUTS] };
    static WRITERS: RefCell<Writers> = const { RefCell::new(Writers { list: Vec::new() }) };
}

/// Appends a record to the one buffer that its kind is traced into, if this thread has a shortcut for it and nothing but
/// writing is to be done. Returns whether the record is dealt with. `version` is that of the contexts' routes.
#[inline(always)]
pub(crate) fn append_by_kind(version: u64, kind: Kind, operation: Operation, header: u64, payload: &[u8]) -> bool {
    let shortcuts = BY_KIND.with(std::ptr::from_ref);
    // SAFETY: thread-local memory without a destructor lives as long as its thread, which does not leave this function
    // meanwhile. (A closure around all of this would not be inlined.)
    let shortcut = unsafe { &(*shortcuts)[kind.index()] };
    if shortcut.version.get() != version {
        return false;
    }
    if shortcut.operations.get() >> (operation.0 & 63) & 1 == 0 {
        return true;
    }
    // SAFETY: a shortcut in use points to a writer in `WRITERS`, which also has its `OwnWriter`. Shortcuts by kind are used
    // only where `barrier::is_one_sided`.
    unsafe { (*shortcut.writer.get()).try_append(header, payload, barrier::none) }
}

/// Appends a record to a buffer, if this thread has a shortcut to it and nothing but writing is to be done. Returns whether
/// it did.
#[inline(always)]
pub(crate) fn append_by_buffer(buffer: BufferId, header: u64, payload: &[u8]) -> bool {
    let shortcuts = BY_BUFFER.with(std::ptr::from_ref);
    // SAFETY: as in `append_by_kind`.
    let shortcut = unsafe { &(*shortcuts)[buffer.0 as usize % BUFFER_SHORTCUTS] };
    // No buffer has the number 0, which stands for no shortcut.
    if buffer.0 == 0 || shortcut.buffer.get() != buffer.0 {
        return false;
    }
    // SAFETY: a shortcut in use points to a writer in `WRITERS`, which also has its `OwnWriter`.
    unsafe { (*shortcut.writer.get()).try_append(header, payload, barrier::light) }
}

/// Returns this thread's writer at a buffer, and opens a slot for it if there is none. Returns `None` while the thread is
/// being torn down.
pub(super) fn own_writer(buffer: &Arc<SharedBuffer>) -> Option<Rc<ThreadWriter>> {
    let own = WRITERS.try_with(|writers| writers.borrow_mut().of(buffer)).ok()?;
    BY_BUFFER.with(|shortcuts| {
        let shortcut = &shortcuts[buffer.id().0 as usize % BUFFER_SHORTCUTS];
        shortcut.writer.set(Arc::as_ptr(own.writer().writer()));
        shortcut.buffer.set(buffer.id().0);
    });
    Some(own)
}

/// Sets the shortcut of a kind that is traced into one buffer.
pub(crate) fn set_kind_shortcut(version: u64, kind: Kind, operations: u64, buffer: &Arc<SharedBuffer>) {
    if !barrier::is_one_sided() {
        return;
    }
    let Some(own) = own_writer(buffer) else { return };
    BY_KIND.with(|shortcuts| {
        let shortcut = &shortcuts[kind.index()];
        shortcut.operations.set(operations);
        shortcut.writer.set(Arc::as_ptr(own.writer().writer()));
        shortcut.version.set(version);
    });
}

/// Drops every writer of this thread, in the child of a fork: they are for the parent's chunks.
pub(in crate::buffer) fn reset_after_fork() {
    clear_shortcuts();
    // A thread that is being torn down has no writers.
    let _ = WRITERS.try_with(|writers| writers.borrow_mut().list.clear());
}

fn clear_shortcuts() {
    BY_KIND.with(|shortcuts| shortcuts.iter().for_each(|shortcut| shortcut.version.set(0)));
    BY_BUFFER.with(|shortcuts| shortcuts.iter().for_each(|shortcut| shortcut.buffer.set(0)));
}

impl Writers {
    fn of(&mut self, buffer: &Arc<SharedBuffer>) -> Rc<ThreadWriter> {
        let known = self.list.iter().find(|own| std::ptr::eq(own.buffer.as_ptr(), Arc::as_ptr(buffer)));
        if let Some(own) = known {
            return Rc::clone(own);
        }
        if self.list.iter().any(|own| own.buffer.strong_count() == 0) {
            clear_shortcuts();
            self.list.retain(|own| own.buffer.strong_count() > 0);
        }
        let writer = Some(buffer.open_slot(current_thread()));
        let own = Rc::new(ThreadWriter { buffer: Arc::downgrade(buffer), writer });
        self.list.push(Rc::clone(&own));
        own
    }
}

impl SharedBuffer {
    /// Opens the slot of a thread that emits into the buffer for the first time.
    fn open_slot(&self, thread: ThreadId) -> OwnWriter {
        let mut locked = self.lock();
        // In the child of a fork the callback thread starts with the first record.
        locked.callback_thread.ensure_running();
        locked.state.open_slot(thread)
    }

    /// Closes the slot of a thread that ends.
    fn close_slot(self: &Arc<Self>, writer: OwnWriter) {
        let mut locked = self.lock();
        locked.state.close_slot(writer);
        locked.announce_room(&self.room);
        self.schedule_if_due(locked);
    }
}

impl ThreadWriter {
    pub(super) fn writer(&self) -> &OwnWriter {
        self.writer.as_ref().expect("the writer is taken when this is dropped")
    }
}

impl Drop for ThreadWriter {
    fn drop(&mut self) {
        if let (Some(buffer), Some(writer)) = (self.buffer.upgrade(), self.writer.take()) {
            buffer.close_slot(writer);
        }
    }
}

impl Drop for Writers {
    fn drop(&mut self) {
        clear_shortcuts();
    }
}

impl KindShortcut {
    const fn empty() -> Self {
        Self { version: Cell::new(0), operations: Cell::new(0), writer: Cell::new(std::ptr::null()) }
    }
}

impl BufferShortcut {
    const fn empty() -> Self {
        Self { buffer: Cell::new(0), writer: Cell::new(std::ptr::null()) }
    }
}
