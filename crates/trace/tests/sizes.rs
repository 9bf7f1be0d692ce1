//! Sizes, watermarks and policies, to the letter.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use opscope_trace::{Buffer, BufferOptions, Bytes, Category, Policy, TraceError};

const OURS: Category = Category(7);

/// Returns a buffer whose callback sends the payloads of each batch.
fn buffer(size: u64, watermark: u64, policy: Policy) -> (Buffer, Receiver<Vec<Vec<u8>>>) {
    let (sender, receiver) = channel();
    let options =
        BufferOptions { size: Bytes::new(size), watermark: Bytes::new(watermark), policy, ..BufferOptions::default() };
    let buffer = Buffer::create(options, move |batch| {
        // A test that has ended receives no more.
        let _ = sender.send(batch.records().map(|record| record.payload().to_vec()).collect());
    });
    (buffer.expect("the options are valid"), receiver)
}

fn emit(buffer: &Buffer, kind: u16, number: u64, length: usize) {
    let mut payload = vec![0; length];
    let number = number.to_le_bytes();
    let short = length.min(8);
    payload[..short].copy_from_slice(&number[..short]);
    buffer.emit_bytes(OURS, kind, &payload).expect("the record fits");
}

fn number(payload: &[u8]) -> u64 {
    u64::from_le_bytes(payload[..8].try_into().expect("8 bytes"))
}

fn next(batches: &Receiver<Vec<Vec<u8>>>) -> Vec<Vec<u8>> {
    batches.recv_timeout(Duration::from_secs(20)).expect("a callback was due")
}

#[test]
fn a_watermark_of_48_fires_at_every_sixth_8_byte_record_and_at_every_64_byte_record() {
    let (buffer, batches) = buffer(4096, 48, Policy::Lossless);
    for round in 0..20 {
        for index in 0..5 {
            emit(&buffer, 1, round * 6 + index, 8);
        }
        assert_eq!(buffer.statistics().callbacks, round * 2, "five 8-byte records make no callback due");
        emit(&buffer, 1, round * 6 + 5, 8);
        let numbers: Vec<u64> = next(&batches).iter().map(|payload| number(payload)).collect();
        assert_eq!(numbers, (round * 6..round * 6 + 6).collect::<Vec<_>>());
        emit(&buffer, 2, 0, 64);
        assert_eq!(next(&batches).len(), 1);
        while buffer.statistics().callbacks < round * 2 + 2 {
            std::thread::yield_now();
        }
    }
}

#[test]
fn callbacks_are_cut_at_the_watermark_however_late_they_come() {
    let (buffer, batches) = buffer(4096, 48, Policy::Lossless);
    for index in 0..600 {
        emit(&buffer, 1, index, 8);
    }
    for batch in 0..100 {
        let numbers: Vec<u64> = next(&batches).iter().map(|payload| number(payload)).collect();
        assert_eq!(numbers, (batch * 6..batch * 6 + 6).collect::<Vec<_>>());
    }
}

#[test]
fn a_watermark_of_0_fires_at_every_record() {
    let (buffer, batches) = buffer(4096, 0, Policy::Lossless);
    for index in 0..100 {
        emit(&buffer, 1, index, 8);
    }
    for _ in 0..100 {
        assert_eq!(next(&batches).len(), 1);
    }
}

#[test]
fn a_full_buffer_of_4096_bytes_holds_512_records_of_8_bytes_or_64_of_64_in_any_mixture_of_kinds() {
    for (length, expected) in [(8, 512), (64, 64), (104, 39), (512, 8), (504, 8), (24, 170)] {
        for kinds in [1, 2, 3] {
            let (buffer, batches) = buffer(4096, 4096, Policy::Discard);
            for index in 0..expected + 10 {
                emit(&buffer, (index % kinds) as u16, index, length);
            }
            let total = buffer.statistics().total();
            assert_eq!((total.emitted, total.dropped), (expected + 10, 10), "records of {length} bytes, {kinds} kinds");
            buffer.flush().expect("it is not destroyed");
            assert_eq!(batches.try_iter().flatten().count() as u64, expected);
            assert_eq!(buffer.statistics().total().delivered, expected);
        }
    }
}

#[test]
fn capacity_is_exact_again_after_a_flush_at_any_fill() {
    let (buffer, batches) = buffer(4096, 4096, Policy::Discard);
    for fill in [1, 3, 63, 64, 65, 100, 511, 512, 17] {
        for index in 0..fill {
            emit(&buffer, (index % 2) as u16, index, 8);
        }
        buffer.flush().expect("it is not destroyed");
        assert_eq!(batches.try_iter().flatten().count() as u64, fill);
        let before = buffer.statistics().total();
        for index in 0..520 {
            emit(&buffer, 1, index, 8);
        }
        let after = buffer.statistics().total();
        assert_eq!(after.dropped - before.dropped, 8, "after a flush of {fill} records");
        buffer.flush().expect("it is not destroyed");
        assert_eq!(batches.try_iter().flatten().count(), 512);
    }
}

#[test]
fn a_record_that_finds_8_of_4000_bytes_free_starts_the_next_generation() {
    let (buffer, batches) = buffer(4000, 4000, Policy::Lossless);
    for index in 0..499 {
        emit(&buffer, 1, index, 8);
    }
    emit(&buffer, 2, 499, 16);
    let first = next(&batches);
    assert_eq!(first.len(), 499, "the first generation ends where the record did not fit");
    buffer.flush().expect("it is not destroyed");
    let second = next(&batches);
    assert_eq!(second.iter().map(|payload| number(payload)).collect::<Vec<_>>(), [499]);
    assert_eq!(buffer.statistics().total().dropped, 0);
}

#[test]
fn records_that_come_to_3998_of_4000_bytes_leave_no_2_bytes_because_each_is_rounded_up_to_8() {
    let fill = |policy| {
        let (buffer, batches) = buffer(4000, 4000, policy);
        for index in 0..499 {
            emit(&buffer, 1, index, 8);
        }
        buffer.emit_bytes(OURS, 1, &[7; 6]).expect("it is the last that fits");
        assert_eq!(next(&batches).len(), 500, "the watermark is reached");
        buffer.emit_bytes(OURS, 1, &[8; 2]).expect("the policy decides");
        (buffer, batches)
    };
    let (discarding, batches) = fill(Policy::Discard);
    assert_eq!(discarding.statistics().total().dropped, 1);
    discarding.flush().expect("it is not destroyed");
    assert_eq!(batches.try_iter().count(), 0);

    let (lossless, batches) = fill(Policy::Lossless);
    lossless.flush().expect("it is not destroyed");
    assert_eq!(next(&batches), [vec![8; 2]]);
    assert_eq!((lossless.statistics().total().dropped, lossless.statistics().bytes), (0, Bytes::new(4008)));
}

#[test]
fn a_flush_hands_over_all_records_that_wait_at_once() {
    let (buffer, batches) = buffer(4096, 4096, Policy::Lossless);
    for records in [1, 2, 100] {
        (0..records).for_each(|index| emit(&buffer, (index % 2) as u16, index, 8));
        assert_eq!(batches.try_iter().count(), 0, "nothing is due before");
        buffer.flush().expect("it is not destroyed");
        let batch: Vec<u64> = next(&batches).iter().map(|payload| number(payload)).collect();
        assert_eq!(batch, (0..records).collect::<Vec<_>>());
        assert_eq!(batches.try_iter().count(), 0, "one callback");
    }
    buffer.flush().expect("it is not destroyed");
    assert_eq!(batches.try_iter().count(), 0, "and none for nothing");
}

#[test]
fn a_discarding_buffer_drops_what_is_larger_than_its_room_until_it_is_flushed_explicitly() {
    let (buffer, batches) = buffer(4000, 4000, Policy::Discard);
    for index in 0..499 {
        emit(&buffer, 1, index, 8);
    }
    for _ in 0..3 {
        emit(&buffer, 2, 0, 16);
    }
    assert_eq!(buffer.statistics().total().dropped, 3);
    emit(&buffer, 1, 499, 8);
    assert_eq!(buffer.statistics().total().dropped, 3, "what fits is taken");
    assert_eq!(next(&batches).len(), 500, "the watermark was reached");
    emit(&buffer, 1, 0, 8);
    assert_eq!(buffer.statistics().total().dropped, 4, "a callback alone does not open it");
    buffer.flush().expect("it is not destroyed");
    emit(&buffer, 2, 500, 16);
    buffer.flush().expect("it is not destroyed");
    assert_eq!(next(&batches).len(), 1, "an explicit flush does");
    let total = buffer.statistics().total();
    assert_eq!((total.emitted, total.delivered, total.dropped, total.waiting), (505, 501, 4, 0));
}

#[test]
fn an_overwriting_buffer_keeps_exactly_the_newest() {
    for (length, kept) in [(8, 512), (64, 64), (104, 39)] {
        let (buffer, batches) = buffer(4096, 4096, Policy::Overwrite);
        for index in 0..5000 {
            emit(&buffer, 1, index, length);
        }
        assert_eq!(buffer.statistics().callbacks, 0, "a flight recorder delivers when it is asked to");
        let total = buffer.statistics().total();
        assert_eq!((total.emitted, total.dropped, total.waiting), (5000, 5000 - kept, kept));
        buffer.flush().expect("it is not destroyed");
        let numbers: Vec<u64> = batches.try_iter().flatten().map(|payload| number(&payload)).collect();
        assert_eq!(numbers, (5000 - kept..5000).collect::<Vec<_>>());
    }
}

#[test]
fn an_overwriting_buffer_keeps_as_much_of_the_newest_as_fits_whatever_the_lengths() {
    let (buffer, batches) = buffer(4096, 4096, Policy::Overwrite);
    let lengths: Vec<usize> = (0..3000).map(|index| if index % 7 == 0 { 512 } else { 8 + index * 8 % 96 }).collect();
    for (index, length) in lengths.iter().enumerate() {
        emit(&buffer, (index % 2) as u16, index as u64, *length);
    }
    buffer.flush().expect("it is not destroyed");
    let numbers: Vec<u64> = batches.try_iter().flatten().map(|payload| number(&payload)).collect();
    let newest = (1..).take_while(|count| lengths[3000 - count..].iter().sum::<usize>() <= 4096).count() as u64;
    assert_eq!(numbers, (3000 - newest..3000).collect::<Vec<_>>());
}

#[test]
fn a_lossless_buffer_gives_every_record_once_and_in_order_whatever_the_lengths() {
    let (buffer, batches) = buffer(4096, 1000, Policy::Lossless);
    for index in 0..20_000 {
        emit(&buffer, (index % 3) as u16, index, 8 + (index as usize * 7) % 500);
    }
    buffer.flush().expect("it is not destroyed");
    let numbers: Vec<u64> = batches.try_iter().flatten().map(|payload| number(&payload)).collect();
    assert_eq!(numbers, (0..20_000).collect::<Vec<_>>());
}

#[test]
fn invalid_sizes_and_records_are_refused() {
    let options = |size, watermark| BufferOptions {
        size: Bytes::new(size),
        watermark: Bytes::new(watermark),
        ..BufferOptions::default()
    };
    assert!(matches!(Buffer::create(options(0, 0), |_| ()), Err(TraceError::ZeroSize)));
    assert!(matches!(Buffer::create(options(u64::MAX, 0), |_| ()), Err(TraceError::SizeTooLarge(_))));
    assert!(matches!(Buffer::create(options(64, 65), |_| ()), Err(TraceError::WatermarkAboveSize { .. })));
    let restless = BufferOptions { interval: Some(Duration::ZERO), ..options(64, 64) };
    assert!(matches!(Buffer::create(restless, |_| ()), Err(TraceError::ZeroInterval)));
    let patient = BufferOptions { interval: Some(Duration::MAX), ..options(64, 64) };
    let patient = Buffer::create(patient, |_| ()).expect("it is never flushed by itself");
    patient.flush_within(Duration::MAX).expect("it is empty");
    let (buffer, batches) = buffer(4096, 4096, Policy::Lossless);
    assert!(matches!(buffer.emit_bytes(OURS, 1, &[]), Err(TraceError::EmptyRecord)));
    assert!(matches!(buffer.emit_bytes(OURS, 1, &[0; 513]), Err(TraceError::RecordTooLarge { limit: 512, .. })));
    assert!(matches!(buffer.emit_bytes(OURS, 1, &vec![0; 70_000]), Err(TraceError::RecordTooLarge { .. })));
    buffer.emit_bytes(OURS, 1, &[5]).expect("one byte is a record");
    assert!(
        matches!(buffer.emit_bytes(OURS, 1, &[]), Err(TraceError::EmptyRecord)),
        "also where the thread has a chunk"
    );
    buffer.emit_bytes(OURS, 1, &[6; 512]).expect("a chunk's share is a record");
    buffer.flush().expect("it is not destroyed");
    assert_eq!(next(&batches), [vec![5], vec![6; 512]]);
    assert_eq!(buffer.statistics().bytes, Bytes::new(520));
}
