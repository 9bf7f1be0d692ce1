//! Files that are damaged, truncated, or not those of a buffer.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use opscope_trace::{Buffer, BufferOptions, Bytes, Category, Policy, RecoverError, intern, recover, recover_bytes};
use proptest::prelude::*;

/// The file of a buffer that still holds 200 records.
fn file() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("records");
    let options = BufferOptions {
        size: Bytes::kib(8),
        watermark: Bytes::kib(8),
        file: Some(path.clone()),
        ..BufferOptions::default()
    };
    let buffer = Buffer::create(options, |_| ()).expect("the file can be made");
    for number in 0..200_u64 {
        buffer.emit_bytes(Category(4), (number / 5 % 3) as u16, &number.to_le_bytes()).expect("there is room");
    }
    intern("a name of this test");
    std::fs::read(path).expect("it was made")
}

#[test]
fn a_file_that_is_not_a_buffers_is_refused_with_its_reason() {
    assert!(matches!(recover(Path::new("/nonexistent")), Err(RecoverError::Read { .. })));
    assert!(matches!(recover_bytes(b""), Err(RecoverError::NotABuffer)));
    assert!(matches!(recover_bytes(&[7; 5000]), Err(RecoverError::NotABuffer)));
    let mut newer = file();
    newer[8] = 2;
    let error = recover_bytes(&newer).expect_err("it is of another version");
    assert_eq!(error.to_string(), "this buffer's file has version 2; this program reads version 1");
    let mut senseless = file();
    senseless[32] = 3;
    assert!(matches!(recover_bytes(&senseless), Err(RecoverError::Head(_))));
}

#[test]
fn the_head_of_a_file_has_a_stride_and_a_number_of_chunks_that_a_buffer_can_have() {
    let whole = file();
    // The distance between chunks is the word at 32, and their number that at 40. A chunk has a head of 64 bytes and a
    // record of 8.
    let with = |at: usize, number: u64| {
        let mut changed = whole.clone();
        changed[at..at + 8].copy_from_slice(&number.to_le_bytes());
        match recover_bytes(&changed) {
            Ok(_) => None,
            Err(RecoverError::Head(reason)) => Some(reason),
            Err(error) => panic!("{error}"),
        }
    };
    let stride = Some("the distance between its chunks is not one that a buffer has");
    for (number, reason) in [
        (0, stride),
        (8, stride),
        (64, stride),
        (72, None),
        (76, stride),
        (80, None),
        (1 << 20, None),
        ((1 << 20) + 8, stride),
    ] {
        assert_eq!(with(32, number), reason, "a stride of {number}");
    }
    let count = Some("it has more chunks than a buffer can have");
    for (number, reason) in [(0, None), (1 << 32, None), ((1 << 32) + 1, count), (u64::MAX, count)] {
        assert_eq!(with(40, number), reason, "{number} chunks");
    }
}

#[test]
fn a_damaged_file_gives_its_whole_records_and_says_what_is_lost() {
    let mut bytes = file();
    let whole = recover_bytes(&bytes).expect("it is the file of a buffer");
    assert_eq!((whole.recovery.records, whole.recovery.damage.len()), (200, 0));
    assert_eq!(whole.recovery.bytes, Bytes::new(1_600), "200 records of 8 bytes");
    assert!(whole.recovery.names.values().any(|name| name == "a name of this test"));
    // The header of the second segment of the first chunk: it begins after five records.
    let second = 4096 + 64 + 5 * 8;
    bytes[second..second + 8].fill(0);
    let damaged = recover_bytes(&bytes).expect("it is the file of a buffer");
    let lost: u64 = damaged.recovery.damage.iter().map(|damage| damage.lost.get()).sum();
    assert_eq!(damaged.recovery.damage.len(), 1);
    assert!(damaged.recovery.records < 200 && lost >= (200 - damaged.recovery.records) * 8);
    assert_eq!(damaged.records().count() as u64, damaged.recovery.records);
    let cut = recover_bytes(&bytes[..5000]).expect("it is the file of a buffer");
    assert!(!cut.recovery.damage.is_empty());
}

#[test]
fn a_file_that_is_cut_in_the_head_of_a_chunk_says_which_chunks_are_missing() {
    let bytes = file();
    let stride = u64::from_le_bytes(bytes[32..40].try_into().expect("8 bytes")) as usize;
    // The second chunk begins after the head of the file and the first chunk. Its own head has 64 bytes.
    for left in [0, 8, 40, 64] {
        let cut = recover_bytes(&bytes[..4096 + stride + left]).expect("it is the file of a buffer").recovery;
        let damage: Vec<(usize, u64)> = cut.damage.iter().map(|damage| (damage.chunk, damage.lost.get())).collect();
        assert_eq!(damage, [(1, 0)], "{left} bytes of the chunk are left");
    }
}

#[test]
fn a_file_says_how_many_records_its_policy_has_dropped() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("records");
    let options = BufferOptions {
        size: Bytes::kib(8),
        watermark: Bytes::kib(8),
        policy: Policy::Discard,
        file: Some(path.clone()),
        ..BufferOptions::default()
    };
    let buffer = Buffer::create(options, |_| ()).expect("the file can be made");
    for _ in 0..1_000 {
        buffer.emit_bytes(Category(4), 0, &[0; 64]).expect("what has no room is dropped");
    }
    let recovered = recover(&path).expect("it is the file of a buffer").recovery;
    assert!((64..=128).contains(&(recovered.records + recovered.delivered)), "{recovered:?}");
    assert_eq!(recovered.records + recovered.delivered + recovered.dropped, 1_000);
}

#[test]
fn a_chunk_that_says_to_be_longer_ends_where_the_next_one_begins() {
    let mut bytes = file();
    let stride = u64::from_le_bytes(bytes[32..40].try_into().expect("8 bytes"));
    assert!((bytes.len() as u64) > 4096 + 3 * stride, "there are more chunks");
    let whole = recover_bytes(&bytes).expect("it is the file of a buffer");
    // How far the first chunk is filled: a million bytes.
    bytes[4096..4100].copy_from_slice(&1_000_000_u32.to_le_bytes());
    let damaged = recover_bytes(&bytes).expect("it is the file of a buffer");
    let [damage] = damaged.recovery.damage[..] else { panic!("{:?}", damaged.recovery.damage) };
    // All but the chunk itself is lost.
    assert!((1_000_000 - stride..1_000_000).contains(&damage.lost.get()), "{damage:?} with a stride of {stride}");
    let records = damaged.recovery.records;
    assert!((whole.recovery.records..whole.recovery.records + stride / 8).contains(&records), "{records} records");
    assert_eq!(damaged.records().count() as u64, records);
}

proptest! {
    #[test]
    fn damaged_files_give_whole_records_or_a_reason(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
        length in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let mut bytes = file();
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if cut {
            bytes.truncate(length.index(bytes.len()));
        }
        if let Ok(recovered) = recover_bytes(&bytes) {
            let mut records = 0;
            for record in recovered.records() {
                records += 1;
                prop_assert_eq!(record.payload().len(), usize::from(record.header().length));
            }
            prop_assert_eq!(records, recovered.recovery.records);
        }
    }

    #[test]
    fn any_bytes_behind_a_right_head_are_read_without_harm(chunk in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let mut bytes = file();
        bytes.truncate(4096);
        bytes[32..40].copy_from_slice(&2048_u64.to_le_bytes());
        bytes.extend(chunk);
        if let Ok(recovered) = recover_bytes(&bytes) {
            prop_assert_eq!(recovered.records().count() as u64, recovered.recovery.records);
        }
    }
}

#[test]
fn a_live_buffer_whose_file_is_overwritten_delivers_what_precedes_the_damage_and_goes_on() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("records");
    let delivered = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&delivered);
    let options =
        BufferOptions { size: Bytes::new(64 << 10), watermark: Bytes::new(64 << 10), ..BufferOptions::default() };
    let buffer = Buffer::create(BufferOptions { file: Some(path.clone()), ..options }, move |batch| {
        seen.lock().expect("no panic").extend(batch.records().map(|record| record.payload().to_vec()));
    });
    let buffer = buffer.expect("the options are valid");
    let emit =
        |kind: u16, number: u64| buffer.emit_bytes(Category(9), kind, &number.to_le_bytes()).expect("there is room");
    (0..10).for_each(|number| emit(1, number));
    (10..20).for_each(|number| emit(2, number));
    // The head of the second segment, after ten records of the first.
    let file = File::options().write(true).open(&path).expect("the file");
    let bytes = fs::read(&path).expect("the file");
    let stride = u64::from_le_bytes(bytes[32..40].try_into().expect("8 bytes")) as usize;
    let chunk = (4096..bytes.len()).step_by(stride).find(|chunk| bytes[*chunk] != 0).expect("a chunk in use");
    file.write_all_at(&[0; 8], (chunk + 64 + 80) as u64).expect("it can be written");
    buffer.flush().expect("it ends");
    let before: Vec<_> = (0..10_u64).map(|number| number.to_le_bytes().to_vec()).collect();
    assert_eq!(*delivered.lock().expect("no panic"), before);
    assert_eq!(buffer.statistics().damaged, Bytes::new(80));
    // The other chunks are intact.
    std::thread::scope(|scope| {
        scope.spawn(|| emit(1, 20));
    });
    buffer.flush().expect("it ends");
    assert_eq!(delivered.lock().expect("no panic").last(), Some(&20_u64.to_le_bytes().to_vec()));
    buffer.destroy().expect("it ends");
}

#[test]
fn a_buffer_has_all_of_its_space_again_after_records_were_delivered_and_others_could_not_be_read() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("records");
    let options = BufferOptions {
        size: Bytes::kib(8),
        watermark: Bytes::kib(8),
        policy: Policy::Discard,
        file: Some(path.clone()),
        ..BufferOptions::default()
    };
    let buffer = Buffer::create(options, |_| ()).expect("the options are valid");
    let emit = |kind: u16| buffer.emit_bytes(Category(9), kind, &[7; 8]).expect("it is taken or dropped");
    (0..10).for_each(|_| emit(1));
    (0..5).for_each(|_| emit(2));
    // The head of the second segment, after ten records of the first.
    let bytes = fs::read(&path).expect("the file");
    let stride = u64::from_le_bytes(bytes[32..40].try_into().expect("8 bytes")) as usize;
    let chunk = (4096..bytes.len()).step_by(stride).find(|chunk| bytes[*chunk] != 0).expect("a chunk in use");
    let file = File::options().write(true).open(&path).expect("the file");
    file.write_all_at(&[0; 8], (chunk + 64 + 80) as u64).expect("it can be written");
    buffer.flush().expect("it ends");
    assert_eq!(buffer.statistics().damaged, Bytes::new(40));
    // 1024 records of 8 bytes fill 8 KiB, and one more has no room.
    (0..1024).for_each(|_| emit(1));
    assert_eq!(buffer.statistics().total().dropped, 0);
    emit(1);
    assert_eq!(buffer.statistics().total().dropped, 1);
}
