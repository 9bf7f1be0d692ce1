use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr;

use opscope::clock::{Calibration, Ticks};
use opscope::trace::{Batch, Records};
use opscope_border::{Answer, SizedOut, UserData, exported, sized, value};

use super::buffer_handle::opscope_buffer_t;
use crate::border::Failure;
use crate::border::opscope_status_t::{self, OPSCOPE_EMPTY, OPSCOPE_ERROR_INVALID_HANDLE};

/// The records that one callback receives. It is valid until the callback returns, on the thread of the callback.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_batch_t {
    /// `sizeof(opscope_batch_t)` in the library.
    pub size: usize,
    /// The buffer.
    pub buffer: opscope_buffer_t,
    /// The number of records: at least 1.
    pub records: u64,
    /// The payload bytes of all records, each rounded up to 8.
    pub bytes: u64,
    /// The number of records that the buffer delivered before these.
    pub first: u64,
    /// The number of records that the buffer has dropped since it was created.
    pub dropped: u64,
}

/// A record in the buffer.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_record_t {
    /// `sizeof(opscope_record_t)`.
    pub size: usize,
    /// The payload: for opscope's own kinds a struct such as `opscope_dispatch_record_t`. It is aligned to 8 bytes, and
    /// valid until the callback returns.
    pub payload: *const c_void,
    /// The bytes of the payload.
    pub length: u32,
    /// The kind; in the category `OPSCOPE_CATEGORY` an `opscope_kind_t`.
    pub kind: u16,
    /// The category.
    pub category: u8,
    /// 0.
    pub reserved: u8,
}
sized!(opscope_record_t, 24);

/// Called with the records of a buffer, on its callback thread. It must not throw. It may emit records, even into the
/// buffer that it serves.
pub type opscope_batch_callback_t = Option<extern "C" fn(batch: &opscope_batch_t, user: UserData)>;

/// A batch during its callback. C sees its first field.
#[repr(C)]
pub(super) struct LiveBatch<'a> {
    shown: opscope_batch_t,
    records: RefCell<Records<'a>>,
    batch: &'a Batch<'a>,
    calibration: Cell<Option<Calibration>>,
}

thread_local! {
    /// The batch whose callback this thread is in.
    static CURRENT: Cell<*const LiveBatch<'static>> = const { Cell::new(ptr::null()) };
}

impl<'a> LiveBatch<'a> {
    pub fn new(buffer: opscope_buffer_t, batch: &'a Batch<'a>) -> Self {
        let shown = opscope_batch_t {
            size: size_of::<opscope_batch_t>(),
            buffer,
            records: batch.len(),
            bytes: batch.bytes().get(),
            first: batch.first(),
            dropped: batch.dropped(),
        };
        Self { shown, records: RefCell::new(batch.records()), batch, calibration: Cell::new(None) }
    }

    /// Calls back with the pointer for C. The other functions of this file accept it until `callback` returns.
    pub fn during(&self, callback: impl FnOnce(&opscope_batch_t)) {
        let own: *const LiveBatch<'a> = self;
        let before = CURRENT.replace(own.cast());
        callback(&self.shown);
        CURRENT.set(before);
    }
}

/// Calls `then` with the batch of the callback in progress, if that is the batch that C passes.
#[allow(unsafe_code, reason = "a thread-local value cannot borrow what lives as long as a callback")]
fn current<R>(batch: *const opscope_batch_t, then: impl FnOnce(&LiveBatch<'_>) -> R) -> Result<R, Failure> {
    let current = CURRENT.get();
    if batch.is_null() || !ptr::eq(batch, current.cast()) {
        let text =
            "this is not the batch of the callback that makes the call; a batch is valid until its callback returns";
        return Err(Failure::new(OPSCOPE_ERROR_INVALID_HANDLE, text));
    }
    // SAFETY: `during` has set the pointer to a value that lives until `during` resets it.
    Ok(then(unsafe { &*current }))
}

/// Writes the next record of a batch to `record`, whose `size` must be set. Returns `OPSCOPE_EMPTY` after the last one.
/// The records of each thread come in the order in which it emitted them.
#[exported]
pub fn opscope_batch_next(batch: *const opscope_batch_t, record: SizedOut<'_, opscope_record_t>) -> opscope_status_t {
    let mut status = opscope_status_t::OPSCOPE_OK;
    let called = Answer::answer(|| -> Result<(), Failure> {
        // A record that could not be written would be lost.
        let record = record.place()?;
        let next = current(batch, |batch| {
            let next = batch.records.borrow_mut().next();
            next.map(|next| (next.header(), next.payload().as_ptr(), next.payload().len()))
        })?;
        let Some((header, payload, length)) = next else {
            status = OPSCOPE_EMPTY;
            return Ok(());
        };
        let found = opscope_record_t {
            size: size_of::<opscope_record_t>(),
            payload: payload.cast(),
            length: length as u32,
            kind: header.kind,
            category: header.category.0,
            reserved: 0,
        };
        record.write(&found);
        Ok(())
    });
    if called == opscope_status_t::OPSCOPE_OK { status } else { called }
}

/// Converts the ticks of a record into nanoseconds of CLOCK_BOOTTIME. Returns 0 outside the batch's callback.
#[exported]
pub fn opscope_batch_nanoseconds(batch: *const opscope_batch_t, ticks: u64) -> u64 {
    value(0, || {
        current(batch, |batch| {
            let calibration = batch.calibration.get().unwrap_or_else(|| batch.batch.calibration());
            batch.calibration.set(Some(calibration));
            calibration.timestamp(Ticks::from_raw(ticks)).as_nanos()
        })
    })
}
