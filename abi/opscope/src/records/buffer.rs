use std::sync::{Arc, OnceLock};
use std::time::Duration;

use opscope::trace::{
    Buffer, BufferId, BufferOptions, Bytes, CallbackThread, Category, Policy, drop_if_interrupting, emit_by_id,
};
use opscope_border::{Answer, Counted, Out, SizedIn, Text, UserData, exported, required, sized};

use super::batch::{LiveBatch, opscope_batch_callback_t};
use super::buffer_handle::{opscope_buffer_t, opscope_callback_thread_t};
use crate::border::{Failure, constant, get, insert_numbered, opscope_status_t, own_number, remove};

/// What happens when a buffer is full.
#[repr(C)]
pub enum opscope_policy_t {
    /// The emitting thread waits until the callback has freed space.
    OPSCOPE_LOSSLESS = 0,
    /// The record is dropped and counted, as is every later one until the buffer is flushed.
    OPSCOPE_DISCARD = 1,
    /// The oldest records are dropped and counted.
    OPSCOPE_OVERWRITE = 2,
}

/// The options of a buffer. All fields zero, or NULL in place of the struct, selects the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_buffer_options_t<'a> {
    /// `sizeof(opscope_buffer_options_t)`.
    pub size: usize,
    /// The payload bytes that it holds. 0 stands for 8 MiB.
    pub bytes: u64,
    /// The payload bytes after which a callback becomes due; 1 makes every record due. 0 stands for an eighth of
    /// `bytes`.
    pub watermark: u64,
    /// The nanoseconds after which records below the watermark are also delivered. 0: they wait.
    pub interval: u64,
    /// A file that holds the records, so that they survive the process: `opscope recover` reads it. It must not exist
    /// yet. NULL selects memory.
    pub file: Text<'a>,
    /// The thread that calls the callback. 0: the shared one.
    pub thread: opscope_callback_thread_t,
    /// An `opscope_policy_t`.
    pub policy: u32,
    /// 0.
    pub reserved: u32,
}
sized!(opscope_buffer_options_t<'a>, 56);

/// Creates a buffer. `callback` is called with its records, by one thread at a time.
#[exported]
pub fn opscope_buffer_create(
    options: SizedIn<'_, opscope_buffer_options_t<'_>>,
    callback: opscope_batch_callback_t,
    user: UserData,
    buffer: Out<'_, opscope_buffer_t>,
) -> Result<(), Failure> {
    let buffer = buffer.place("buffer")?;
    let options = buffer_options(options)?;
    let callback = required(callback, "callback")?;
    let own_handle = Arc::new(OnceLock::new());
    let handle_in_callback = Arc::clone(&own_handle);
    let created = Buffer::create(options, move |batch| {
        // No record is emitted before the handle exists.
        let buffer = handle_in_callback.get().copied().unwrap_or(opscope_buffer_t { id: 0 });
        LiveBatch::new(buffer, batch).during(|batch| callback(batch, user));
    })?;
    let handle: opscope_buffer_t = insert_numbered(created.id().as_raw(), created);
    let _ = own_handle.set(handle);
    buffer.write(handle);
    Ok(())
}

/// Emits a record of any category and kind: copies `length` bytes from `payload`. A record has at least 1 byte, and at
/// most a sixteenth of the buffer, but no less than 512 and no more than 31,744 bytes.
///
/// A signal handler may call this. If it interrupts another call of this library on its thread, the record may be
/// dropped: it is counted, and the call returns `OPSCOPE_ERROR_BUSY`. It never waits for the interrupted call. Only a
/// thread's first record in a buffer uses the heap, so let each thread emit one before its handlers do. A full buffer
/// with `OPSCOPE_LOSSLESS` waits for its callback, which then must not need anything that the interrupted code holds.
#[exported]
pub fn opscope_buffer_emit(
    buffer: opscope_buffer_t,
    category: u8,
    kind: u16,
    #[counted_by(length)] payload: opscope_border::Bytes<'_>,
    length: usize,
) -> opscope_status_t {
    // Nothing here can panic: the number of a buffer is that of its handle, and the thread knows its slot in the
    // buffer.
    if (1..=LONGEST).contains(&payload.count())
        && let Ok(payload) = payload.get("payload")
        && emit_by_id(BufferId::from_raw(own_number(buffer)), Category(category), kind, payload)
    {
        return opscope_status_t::OPSCOPE_OK;
    }
    if drop_if_interrupting(BufferId::from_raw(own_number(buffer)), Category(category), kind) {
        return opscope_status_t::OPSCOPE_ERROR_BUSY;
    }
    emit_by_handle(buffer, category, kind, payload)
}

#[cold]
#[inline(never)]
fn emit_by_handle(buffer: opscope_buffer_t, category: u8, kind: u16, payload: Counted<'_, u8>) -> opscope_status_t {
    Answer::answer(|| -> Result<(), Failure> {
        let payload = payload.get("payload")?;
        Ok(get(buffer)?.emit_bytes(Category(category), kind, payload)?)
    })
}

/// The largest size of a record in bytes.
const LONGEST: usize = u16::MAX as usize;

/// Delivers every record that any thread has emitted before this call, and then returns. Inside the buffer's callback
/// it returns `OPSCOPE_ERROR_BUSY`.
#[exported]
pub fn opscope_buffer_flush(buffer: opscope_buffer_t) -> Result<(), Failure> {
    Ok(get(buffer)?.flush()?)
}

/// Does the same as `opscope_buffer_flush`, but waits for at most this many nanoseconds, and then returns
/// `OPSCOPE_ERROR_TIMED_OUT`. The delivery continues.
#[exported]
pub fn opscope_buffer_flush_within(buffer: opscope_buffer_t, nanoseconds: u64) -> Result<(), Failure> {
    Ok(get(buffer)?.flush_within(Duration::from_nanos(nanoseconds))?)
}

/// Moves a buffer to another callback thread, from the next batch on.
#[exported]
pub fn opscope_buffer_assign(buffer: opscope_buffer_t, thread: opscope_callback_thread_t) -> Result<(), Failure> {
    Ok(get(buffer)?.assign(&callback_thread(thread)?)?)
}

/// Destroys a buffer, and returns once everything in it is delivered. Inside its callback it returns immediately, and
/// the rest is delivered after that callback. The callback is not called afterwards.
#[exported]
pub fn opscope_buffer_destroy(buffer: opscope_buffer_t) -> Result<(), Failure> {
    Ok(remove(buffer)?.destroy()?)
}

fn buffer_options(options: SizedIn<'_, opscope_buffer_options_t<'_>>) -> Result<BufferOptions, Failure> {
    let given = options.get_or_default()?;
    let default = BufferOptions::default();
    let size = if given.bytes == 0 { default.size } else { Bytes::new(given.bytes) };
    Ok(BufferOptions {
        size,
        watermark: Bytes::new(if given.watermark == 0 { size.get() / 8 } else { given.watermark }),
        policy: constant(given.policy, "opscope_policy_t", &Policy::ALL)?,
        interval: (given.interval > 0).then(|| Duration::from_nanos(given.interval)),
        reports_drops: false,
        thread: callback_thread(given.thread)?,
        file: given.file.given_path(),
    })
}

fn callback_thread(thread: opscope_callback_thread_t) -> Result<CallbackThread, Failure> {
    if thread.id == 0 { Ok(CallbackThread::shared()) } else { Ok(CallbackThread::clone(&*get(thread)?)) }
}
