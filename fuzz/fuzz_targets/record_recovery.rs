//! Damages the file of a real buffer and reads it back: whatever is left must be whole, and the rest accounted for.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use opscope_trace::{Buffer, BufferOptions, Bytes, Category, intern, recover_bytes};

/// The file of a buffer with records of several kinds and lengths, and some names.
fn file() -> &'static [u8] {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    FILE.get_or_init(|| {
        let path = std::env::temp_dir().join(format!("opscope-record-recovery-{}", std::process::id()));
        let options = BufferOptions {
            size: Bytes::kib(16),
            watermark: Bytes::kib(16),
            file: Some(path.clone()),
            ..BufferOptions::default()
        };
        let buffer = Buffer::create(options, |_| ()).expect("the file can be made");
        for number in 0..300_u64 {
            let payload = [number as u8; 96];
            let length = 8 + number as usize * 13 % 88;
            buffer.emit_bytes(Category(1), (number / 3 % 10) as u16, &payload[..length]).expect("there is room");
            intern(&format!("name {}", number % 20));
        }
        let bytes = std::fs::read(&path).expect("it was made");
        std::fs::remove_file(path).expect("it was made");
        bytes
    })
}

// Each 4 bytes of the input are a place and a value that is written there; the first ones cut the file off.
fuzz_target!(|damage: &[u8]| {
    let mut bytes = file().to_vec();
    let mut changes = damage.chunks_exact(4).map(|change| u32::from_le_bytes(change.try_into().expect("4 bytes")));
    if let Some(cut) = changes.next().filter(|cut| cut % 4 == 0) {
        bytes.truncate(cut as usize % (bytes.len() + 1));
    }
    for change in changes {
        let place = (change >> 8) as usize % bytes.len().max(1);
        if let Some(byte) = bytes.get_mut(place) {
            *byte = change as u8;
        }
    }
    if let Ok(recovered) = recover_bytes(&bytes) {
        assert_eq!(recovered.records().count() as u64, recovered.recovery.records);
    }
});
