//! The subject of the measurements: a started context with two kinds, as the profiler has it.

// Each bench is a program of its own and uses a part of this.
#![allow(dead_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opscope_trace::{
    Buffer, BufferOptions, Context, DispatchRecord, KernelIndex, Kind, Operations, current_correlation, current_thread,
};

pub struct Subject {
    pub buffer: Buffer,
    pub context: Context,
    /// The records that the callback received and checked.
    pub checked: Arc<AtomicU64>,
}

impl Subject {
    /// Starts a context with a buffer whose callback checks each thread's sequence and the content of each record.
    pub fn start(options: BufferOptions) -> Self {
        Self::start_with(options, || ())
    }

    /// As `start`, but the callback thread calls `prepare` first.
    pub fn start_with(options: BufferOptions, prepare: impl FnOnce() + Send + 'static) -> Self {
        let checked = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&checked);
        let mut next = Vec::new();
        let mut prepare = Some(prepare);
        let buffer = Buffer::create(options, move |batch| {
            if let Some(prepare) = prepare.take() {
                prepare();
            }
            for record in batch.records() {
                let Some(dispatch) = record.get::<DispatchRecord>() else { continue };
                let thread = dispatch.device as usize;
                if next.len() <= thread {
                    next.resize(thread + 1, 0);
                }
                let expected = next[thread];
                assert!(
                    dispatch.run == expected && dispatch.kernel.0 == expected as u32,
                    "a record is missing or torn"
                );
                next[thread] += 1;
            }
            count.fetch_add(batch.len(), Ordering::Relaxed);
        })
        .expect("the options are valid");
        let context = Context::create();
        for kind in [Kind::OperatorDispatch, Kind::Marker] {
            context.configure(kind, Operations::All, &buffer).expect("it is free");
        }
        context.start().expect("it is not destroyed");
        Self { buffer, context, checked }
    }
}

/// Returns the record of one dispatch, numbered per producer.
#[inline(always)]
pub fn record(producer: u32, number: u64) -> DispatchRecord {
    DispatchRecord {
        run: number,
        kernel: KernelIndex(number as u32),
        device: producer,
        thread: current_thread(),
        correlation: current_correlation(),
        ..DispatchRecord::default()
    }
}
