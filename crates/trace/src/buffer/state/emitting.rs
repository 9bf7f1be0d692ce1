//! The state of an emitting thread: whether it is writing at the moment, and shortcuts to its writers.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::compiler_fence;

#[cfg(all(test, loom))]
use super::writer::OwnWriter;
use super::writer::Writer;
use crate::record::{BufferId, Kind, Operation};
use crate::sync::{AtomicU32, Ordering, yield_now};

/// The thread is not writing.
const IDLE: u32 = 0;
/// The thread is writing without a lock, or is about to.
const WRITING: u32 = 1;
/// The state of [`EmittingThread::nobody`].
#[cfg(not(loom))]
const NOBODY: u32 = 2;

const BUFFER_SHORTCUTS: usize = 8;

/// A thread that emits.
///
/// Only the thread itself and its signal handlers use the shortcuts. A handler sees each change either complete or not
/// begun. A thread that has revoked a writer's limit waits until this one is not writing, see
/// [`wait_until_idle`](Self::wait_until_idle).
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct EmittingThread {
    state: AtomicU32,
    by_kind: [KindShortcut; Kind::COUNT],
    by_buffer: [BufferShortcut; BUFFER_SHORTCUTS],
}

/// A shortcut from a kind to the writer for the only buffer that it is traced into.
#[derive(Debug)]
pub(crate) struct KindShortcut {
    /// The version of the contexts' routes that it was found for; 0 for none.
    version: Cell<u64>,
    /// A bit for each operation that is traced.
    operations: Cell<u64>,
    writer: Cell<*const Writer>,
}

/// A shortcut from a buffer to the writer for it.
#[derive(Debug)]
pub(crate) struct BufferShortcut {
    /// The buffer's number; 0 for none.
    buffer: Cell<u64>,
    writer: Cell<*const Writer>,
}

// SAFETY: only the thread itself accesses the cells. Other threads reach it through a slot, which calls only
// `wait_until_idle`.
unsafe impl Sync for EmittingThread {}
// SAFETY: as above. Its memory may be freed on any thread.
unsafe impl Send for EmittingThread {}

impl EmittingThread {
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicU32::new(IDLE),
            by_kind: [const { KindShortcut::empty() }; Kind::COUNT],
            by_buffer: [const { BufferShortcut::empty() }; BUFFER_SHORTCUTS],
        }
    }

    /// Stands for a thread that has not emitted yet, or is being torn down: it can never begin to write.
    #[cfg(not(loom))]
    pub(crate) const fn nobody() -> Self {
        Self {
            state: AtomicU32::new(NOBODY),
            by_kind: [const { KindShortcut::empty() }; Kind::COUNT],
            by_buffer: [const { BufferShortcut::empty() }; BUFFER_SHORTCUTS],
        }
    }

    /// Returns whether it is writing. In a signal handler, it is the interrupted call that writes.
    pub(crate) fn is_writing(&self) -> bool {
        self.state.load(Ordering::Relaxed) == WRITING
    }

    /// Begins to write. Returns false in a signal handler that interrupted the thread while it was writing.
    #[inline(always)]
    pub(crate) fn begin_writing(&self) -> bool {
        if self.own_state() != IDLE {
            return false;
        }
        self.state.store(WRITING, Ordering::Relaxed);
        // Handlers that run later see the state.
        compiler_fence(Ordering::SeqCst);
        true
    }

    /// Reads the state on the thread itself, the only one that writes it. The compiler could not fold an atomic load
    /// into the comparison.
    #[inline(always)]
    fn own_state(&self) -> u32 {
        #[cfg(not(loom))]
        // SAFETY: no other thread writes the state.
        unsafe {
            self.state.as_ptr().read()
        }
        #[cfg(loom)]
        self.state.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn end_writing(&self) {
        self.state.store(IDLE, Ordering::Release);
    }

    /// Writes through a writer, as threads do through their shortcuts.
    #[cfg(all(test, loom))]
    pub(crate) fn try_append(&self, own: &OwnWriter, header: u64, payload: &[u8]) -> bool {
        if !self.begin_writing() {
            return false;
        }
        // SAFETY: this thread has the writer's `OwnWriter`, and is writing.
        let done = unsafe { own.writer().try_append(header, payload, crate::sync::barrier::light) };
        self.end_writing();
        done
    }

    /// Waits until the thread is not writing without the lock. The caller has revoked the limits of the thread's
    /// writers and called `barrier::heavy`, so a thread that does not appear to be writing will see these limits.
    pub(super) fn wait_until_idle(&self) {
        while self.state.load(Ordering::Acquire) == WRITING {
            yield_now();
        }
    }

    #[inline(always)]
    pub(crate) fn by_kind(&self, kind: Kind) -> &KindShortcut {
        &self.by_kind[kind.index()]
    }

    #[inline(always)]
    pub(crate) fn by_buffer(&self, buffer: BufferId) -> &BufferShortcut {
        &self.by_buffer[buffer.as_raw() as usize % BUFFER_SHORTCUTS]
    }

    /// Clears all shortcuts. Called before any writer is dropped.
    pub(crate) fn clear_shortcuts(&self) {
        self.by_kind.iter().for_each(|shortcut| shortcut.version.set(0));
        self.by_buffer.iter().for_each(|shortcut| shortcut.buffer.set(0));
        compiler_fence(Ordering::SeqCst);
    }
}

impl KindShortcut {
    const fn empty() -> Self {
        Self { version: Cell::new(0), operations: Cell::new(0), writer: Cell::new(ptr::null()) }
    }

    /// Returns whether it was found for the routes of this version, which is above 0.
    #[inline(always)]
    pub(crate) fn is_for(&self, version: u64) -> bool {
        self.version.get() == version
    }

    #[inline(always)]
    pub(crate) fn traces(&self, operation: Operation) -> bool {
        self.operations.get() >> (operation.0 & 63) & 1 != 0
    }

    #[inline(always)]
    pub(crate) fn writer(&self) -> *const Writer {
        self.writer.get()
    }

    pub(crate) fn set(&self, version: u64, operations: u64, writer: *const Writer) {
        // Cleared first, so that a handler that runs in between finds no shortcut.
        self.version.set(0);
        compiler_fence(Ordering::SeqCst);
        self.operations.set(operations);
        self.writer.set(writer);
        compiler_fence(Ordering::SeqCst);
        self.version.set(version);
    }
}

impl BufferShortcut {
    const fn empty() -> Self {
        Self { buffer: Cell::new(0), writer: Cell::new(ptr::null()) }
    }

    #[inline(always)]
    pub(crate) fn is_for(&self, buffer: BufferId) -> bool {
        // The number 0 stands for no shortcut, and no buffer has it.
        buffer.as_raw() != 0 && self.buffer.get() == buffer.as_raw()
    }

    #[inline(always)]
    pub(crate) fn writer(&self) -> *const Writer {
        self.writer.get()
    }

    pub(crate) fn set(&self, buffer: BufferId, writer: *const Writer) {
        // As for a kind.
        self.buffer.set(0);
        compiler_fence(Ordering::SeqCst);
        self.writer.set(writer);
        compiler_fence(Ordering::SeqCst);
        self.buffer.set(buffer.as_raw());
    }
}
