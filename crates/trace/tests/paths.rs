//! Dispatches in the bodies of operators: their paths follow their records.

use std::sync::Arc;

use opscope_sys::{Mutex, MutexGuard};
use opscope_trace::{
    Buffer, BufferOptions, Bytes, Category, Context, DispatchRecord, Kind, Operations, PathLevel, RecordRef, RunRecord,
    TraceError, emit, emit_with_path,
};
use proptest::prelude::*;
use zerocopy::IntoBytes;

/// The result of reading a record: the run, if it is a dispatch, and its path.
type Found = (Option<u64>, Vec<PathLevel>);

/// Contexts are process-wide, so these tests take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock()
}

fn found(record: &RecordRef<'_>) -> Found {
    (record.get::<DispatchRecord>().map(|dispatch| dispatch.run), record.path().to_vec())
}

fn keeper(size: u64) -> (Buffer, Arc<Mutex<Vec<Found>>>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&kept);
    let options = BufferOptions { size: Bytes::new(size), ..BufferOptions::default() };
    let options = BufferOptions { watermark: options.size, ..options };
    let buffer = Buffer::create(options, move |batch| {
        keep.lock().extend(batch.records().map(|record| found(&record)));
    });
    (buffer.expect("the options are valid"), kept)
}

fn taken(buffer: &Buffer, kept: &Mutex<Vec<Found>>) -> Vec<Found> {
    buffer.flush().expect("it is not destroyed");
    std::mem::take(&mut kept.lock())
}

fn dispatch(run: u64) -> DispatchRecord {
    DispatchRecord { run, ..DispatchRecord::default() }
}

fn levels(path: &[(u32, u32)]) -> Vec<PathLevel> {
    path.iter().map(|&(operator, iteration)| PathLevel { operator, iteration }).collect()
}

fn paths() -> impl Strategy<Value = Vec<Vec<PathLevel>>> {
    let path = prop::collection::vec(any::<(u32, u32)>(), 0..20).prop_map(|path| levels(&path));
    prop::collection::vec(path, 1..40)
}

proptest! {
    #[test]
    fn every_path_comes_back_through_buffers_and_contexts(paths in paths()) {
        let _turn = turn();
        let (own, kept_by_own) = keeper(1 << 20);
        // Two buffers for the kind, so that there is no shortcut, then one.
        for buffers in [2, 1] {
            let all: Vec<_> = (0..buffers).map(|_| (keeper(1 << 20), Context::create())).collect();
            for ((buffer, _), context) in &all {
                context.configure(Kind::OperatorDispatch, Operations::All, buffer).expect("it is free");
                context.start().expect("it is not destroyed");
            }
            let mut expected = Vec::new();
            for (run, path) in (0..).zip(&paths) {
                // Records without a path lie between them, with a header of their own.
                emit(&dispatch(run)).expect("there is room");
                emit_with_path(&dispatch(run), path.iter().copied()).expect("there is room");
                own.emit_with_path(&dispatch(run), path.iter().copied()).expect("there is room");
                expected.extend([(Some(run), Vec::new()), (Some(run), path.clone())]);
            }
            for ((buffer, kept), _) in &all {
                prop_assert_eq!(taken(buffer, kept), expected.clone());
            }
            let of_own: Vec<_> = expected.into_iter().skip(1).step_by(2).collect();
            prop_assert_eq!(taken(&own, &kept_by_own), of_own);
        }
    }

    #[test]
    fn a_payload_of_any_length_is_read_without_harm(length in 1usize..200, byte: u8) {
        let (buffer, kept) = keeper(1 << 16);
        let payload = vec![byte; length];
        let other = RunRecord::default();
        for kind in [Kind::OperatorDispatch, Kind::Run] {
            buffer.emit_bytes(Category::TRACING, kind.as_raw(), &payload).expect("there is room");
        }
        buffer.emit(&other).expect("there is room");
        let is_dispatch = length >= 64 && length % 8 == 0;
        let run = is_dispatch.then(|| u64::from_le_bytes([byte; 8]));
        let level = PathLevel { operator: u32::from_le_bytes([byte; 4]), iteration: u32::from_le_bytes([byte; 4]) };
        let path = vec![level; if is_dispatch { (length - 64) / 8 } else { 0 }];
        prop_assert_eq!(taken(&buffer, &kept), [(run, path), (None, Vec::new()), (None, Vec::new())]);
    }
}

#[test]
fn a_path_is_written_behind_the_record_outermost_level_first() {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&bytes);
    let buffer = Buffer::create(BufferOptions::default(), move |batch| {
        let mut bytes = keep.lock();
        batch.records().for_each(|record| bytes.extend_from_slice(record.payload()));
    });
    let buffer = buffer.expect("the options are valid");
    let path = levels(&[(0x0403_0201, 5), (7, 0x0605_0403)]);
    buffer.emit_with_path(&dispatch(9), path.into_iter()).expect("there is room");
    buffer.flush().expect("it is not destroyed");
    let mut expected = dispatch(9).as_bytes().to_vec();
    expected.extend([1, 2, 3, 4, 5, 0, 0, 0, 7, 0, 0, 0, 3, 4, 5, 6]);
    assert_eq!(*bytes.lock(), expected);
}

#[test]
fn a_path_that_is_longer_than_a_share_is_refused_as_any_record() {
    let _turn = turn();
    let (buffer, kept) = keeper(4096);
    let context = Context::create();
    context.configure(Kind::OperatorDispatch, Operations::All, &buffer).expect("it is free");
    context.start().expect("it is not destroyed");
    // A share of 512 bytes holds a record and 56 levels.
    for (depth, fits) in [(56, true), (57, false), (9_000, false)] {
        let path = vec![PathLevel { operator: 1, iteration: 2 }; depth];
        let emitted = [
            buffer.emit_with_path(&dispatch(1), path.iter().copied()),
            emit_with_path(&dispatch(1), path.iter().copied()),
        ];
        for outcome in emitted {
            match outcome {
                Ok(()) => assert!(fits, "{depth}"),
                Err(TraceError::RecordTooLarge { length, limit: 512, .. }) => {
                    assert!(!fits && length == 64 + 8 * depth, "{depth}: {length}");
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
    assert_eq!(taken(&buffer, &kept).len(), 2);
}
