//! The writers of the calling thread, and shortcuts to them.
//!
//! All pointers from thread-local memory into writers are made and cleared in this file.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Weak};

use crate::buffer::SharedBuffer;
use crate::buffer::state::{EmittingThread, OwnWriter};
use crate::record::{BufferId, Kind, Operation, ThreadId, current_thread};
use crate::sync::barrier;

/// A thread's writer for one buffer. It is dropped when the thread ends, which closes its slot.
#[derive(Debug)]
pub(crate) struct ThreadWriter {
    buffer: Weak<SharedBuffer>,
    /// `None` while it is dropped.
    writer: Option<OwnWriter>,
}

/// The writers of a thread.
struct Writers {
    list: Vec<Rc<ThreadWriter>>,
    /// `None` before the first one.
    thread: Option<Arc<EmittingThread>>,
}

thread_local! {
    // It has no destructor, so access to it costs one addition. It points to the thread in `WRITERS`, or to `nobody`. A
    // shortcut in use points to a writer in `WRITERS`, because all shortcuts are cleared before any writer is dropped.
    static THIS: Cell<*const EmittingThread> = const { Cell::new(nobody()) };
    static WRITERS: RefCell<Writers> = const { RefCell::new(Writers { list: Vec::new(), thread: None }) };
}

#[cfg(not(loom))]
const fn nobody() -> *const EmittingThread {
    static NOBODY: EmittingThread = EmittingThread::nobody();
    &raw const NOBODY
}

/// Returns a pointer to no thread. Under loom it is null, because loom's atomics are not constant and its tests use no
/// thread-local data.
#[cfg(loom)]
const fn nobody() -> *const EmittingThread {
    std::ptr::null()
}

/// Returns the calling thread, if it has emitted before.
#[inline(always)]
fn this<'a>() -> &'a EmittingThread {
    let this = THIS.get();
    assert!(cfg!(not(loom)) || !this.is_null(), "loom's tests use no thread-local data");
    // SAFETY: it points to `nobody`, or to the thread in `WRITERS`, which lives until the pointer is set to `nobody`
    // again at the end of the thread. Callers use the reference at once, and on this thread.
    unsafe { &*this }
}

/// Returns whether the thread is writing without a lock. In a signal handler, it is the interrupted call that writes.
pub(super) fn is_writing() -> bool {
    this().is_writing()
}

/// Appends a record to the one buffer that its kind is traced into, if this thread has a shortcut for it and the record
/// only has to be written. Returns whether the record needs no more work. `version` is that of the contexts' routes.
#[inline(always)]
pub(crate) fn append_by_kind(version: u64, kind: Kind, operation: Operation, header: u64, payload: &[u8]) -> bool {
    let this = this();
    // This comes before the shortcut is read, because a handler that finds the thread writing drops no writer.
    if !this.begin_writing() {
        return false;
    }
    let shortcut = this.by_kind(kind);
    let done = shortcut.is_for(version)
        && (!shortcut.traces(operation)
            // SAFETY: a shortcut in use points to a writer in `WRITERS`, which also has its `OwnWriter`. The thread is
            // writing. Shortcuts by kind are used only where `barrier::is_one_sided`.
            || unsafe { (*shortcut.writer()).try_append(header, payload, barrier::none) });
    this.end_writing();
    done
}

/// Appends a record to a buffer, if this thread has a shortcut to it and the record only has to be written. Returns
/// whether it was appended.
#[inline(always)]
pub(crate) fn append_by_buffer(buffer: BufferId, header: u64, payload: &[u8]) -> bool {
    let this = this();
    // As in `append_by_kind`.
    if !this.begin_writing() {
        return false;
    }
    let shortcut = this.by_buffer(buffer);
    // SAFETY: as in `append_by_kind`.
    let done = shortcut.is_for(buffer) && unsafe { (*shortcut.writer()).try_append(header, payload, barrier::light) };
    this.end_writing();
    done
}

/// Returns this thread's writer for a buffer, and opens a slot for it if there is none. Returns `None` while the thread
/// is being torn down. The caller must be inside of a call.
pub(super) fn own_writer(buffer: &Arc<SharedBuffer>) -> Option<Rc<ThreadWriter>> {
    let (own, is_new) = WRITERS.try_with(|writers| writers.borrow_mut().of(buffer)).ok()?;
    if is_new {
        // In the child of a fork the callback thread starts with the first record. Its hooks may emit, so no lock is
        // held here.
        let thread = buffer.lock().callback_thread.clone();
        thread.ensure_running();
    }
    this().by_buffer(buffer.id()).set(buffer.id(), Arc::as_ptr(own.writer().writer()));
    Some(own)
}

/// Sets the shortcut of a kind that is traced into one buffer. The caller must be inside of a call.
pub(crate) fn set_kind_shortcut(version: u64, kind: Kind, operations: u64, buffer: &Arc<SharedBuffer>) {
    if !barrier::is_one_sided() {
        return;
    }
    let Some(own) = own_writer(buffer) else { return };
    this().by_kind(kind).set(version, operations, Arc::as_ptr(own.writer().writer()));
}

/// Drops every writer of this thread in the child of a fork, because they write into the parent's chunks.
pub(in crate::buffer) fn reset_after_fork() {
    // A thread that is being torn down has no writers.
    let _ = WRITERS.try_with(|writers| {
        let mut writers = writers.borrow_mut();
        writers.clear_shortcuts();
        writers.list.clear();
    });
}

impl Writers {
    /// Returns the writer for a buffer, and whether its slot was opened just now.
    fn of(&mut self, buffer: &Arc<SharedBuffer>) -> (Rc<ThreadWriter>, bool) {
        let known = self.list.iter().find(|own| std::ptr::eq(own.buffer.as_ptr(), Arc::as_ptr(buffer)));
        if let Some(own) = known {
            return (Rc::clone(own), false);
        }
        if self.list.iter().any(|own| own.buffer.strong_count() == 0) {
            self.clear_shortcuts();
            self.list.retain(|own| own.buffer.strong_count() > 0);
        }
        let thread = self.thread.get_or_insert_with(|| {
            let thread = Arc::new(EmittingThread::new());
            THIS.set(Arc::as_ptr(&thread));
            thread
        });
        let writer = Some(buffer.open_slot(current_thread(), thread));
        let own = Rc::new(ThreadWriter { buffer: Arc::downgrade(buffer), writer });
        self.list.push(Rc::clone(&own));
        (own, true)
    }

    fn clear_shortcuts(&self) {
        if let Some(thread) = &self.thread {
            thread.clear_shortcuts();
        }
    }
}

impl SharedBuffer {
    /// Opens the slot of a thread that emits into the buffer for the first time.
    fn open_slot(&self, number: ThreadId, thread: &Arc<EmittingThread>) -> OwnWriter {
        self.lock().state.open_slot(number, thread)
    }

    /// Closes the slot of a thread that ends.
    fn close_slot(self: &Arc<Self>, writer: OwnWriter) {
        let mut locked = self.lock();
        locked.state.close_slot(writer);
        locked.notify_of_space(&self.space);
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
        self.clear_shortcuts();
        THIS.set(nobody());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::buffer::{Buffer, BufferOptions};
    use crate::chunk::header_word;
    use crate::record::Category;

    #[test]
    fn the_child_of_a_fork_has_no_writer_and_no_shortcut_of_its_parents() {
        let buffer = Buffer::create(BufferOptions::default(), |_| ()).expect("there is memory");
        let emit = |number: u64| buffer.emit_bytes(Category(4), 1, &number.to_le_bytes()).expect("there is room");
        let header = header_word(Category(4), 1, 8);
        let append = |number: u64| append_by_buffer(buffer.id(), header, &number.to_le_bytes());
        let writers = || WRITERS.with(|writers| writers.borrow().list.len());
        assert_eq!((append(0), writers()), (false, 0));
        emit(1);
        assert_eq!((append(2), writers()), (true, 1));
        reset_after_fork();
        assert_eq!((append(3), writers()), (false, 0));
        emit(4);
        assert_eq!((append(5), writers()), (true, 1));
        assert_eq!(buffer.statistics().total().emitted, 4);
    }

    /// Emits a number into a buffer by the thread's shortcut. Returns whether it had one.
    fn append_to(buffer: &Buffer) -> bool {
        append_by_buffer(buffer.id(), header_word(Category(4), 1, 8), &[7; 8])
    }

    #[test]
    fn a_thread_loses_its_chunk_when_two_flushes_in_a_row_find_nothing_new_of_it() {
        let buffer = Buffer::create(BufferOptions::default(), |_| ()).expect("there is memory");
        let flush = |times: usize| (0..times).for_each(|_| buffer.flush().expect("it is not destroyed"));
        buffer.emit_bytes(Category(4), 1, &[7; 8]).expect("there is room");
        // The first flush after a record finds that record.
        for flushes in [1, 1, 1, 2, 2, 1] {
            flush(flushes);
            assert!(append_to(&buffer), "after {flushes} flushes");
        }
        flush(3);
        assert!(!append_to(&buffer));
    }

    #[test]
    fn the_writers_of_buffers_that_are_gone_are_dropped_and_the_others_stay() {
        let [stays, goes, next] =
            [(); 3].map(|()| Buffer::create(BufferOptions::default(), |_| ()).expect("there is memory"));
        let emit = |buffer: &Buffer| buffer.emit_bytes(Category(4), 1, &[7; 8]).expect("there is room");
        emit(&stays);
        emit(&goes);
        let gone = Arc::downgrade(goes.shared());
        drop(goes);
        // The callback thread may still have it.
        while gone.strong_count() > 0 {
            std::thread::yield_now();
        }
        emit(&next);
        let writers = WRITERS.with(|writers| {
            let id = |own: &Rc<ThreadWriter>| own.buffer.upgrade().map(|buffer| buffer.id());
            writers.borrow().list.iter().map(id).collect::<Vec<_>>()
        });
        assert_eq!(writers, [Some(stays.id()), Some(next.id())]);
    }
}
