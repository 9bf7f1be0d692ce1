//! Reads any bytes as the packed records of a frame, and packs any bytes that are whole records.

#![no_main]

use libfuzzer_sys::fuzz_target;
use opscope_profile::packed::{pack, unpack};

fuzz_target!(|bytes: &[u8]| {
    // The longest payload of a frame.
    let most = 128 << 10;
    if let Some(payload) = unpack(bytes) {
        assert!(payload.len() <= most && payload.len() % 8 == 0);
        let mut packed = Vec::new();
        if pack(&payload, &mut packed) {
            assert_eq!(unpack(&packed), Some(payload));
        }
    }
    let mut packed = Vec::new();
    if bytes.len() <= most && pack(bytes, &mut packed) {
        assert_eq!(unpack(&packed).as_deref(), Some(bytes));
    }
});
