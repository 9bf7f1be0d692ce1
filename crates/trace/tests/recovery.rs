//! Files that were damaged, cut off, or never were a buffer.

use std::path::Path;

use opscope_trace::{Buffer, BufferOptions, Bytes, Category, RecoverError, intern, recover, recover_bytes};
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
fn a_damaged_file_gives_its_whole_records_and_says_what_is_lost() {
    let mut bytes = file();
    let whole = recover_bytes(&bytes).expect("it is the file of a buffer");
    assert_eq!((whole.recovery.records, whole.recovery.damage.len()), (200, 0));
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
