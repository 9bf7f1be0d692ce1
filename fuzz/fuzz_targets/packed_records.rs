//! Reads any bytes as the packed records of a frame, and packs any bytes that are whole records.

#![no_main]

use libfuzzer_sys::fuzz_target;
use opscope_profile::packed::{MOST_BYTES, pack, unpack};

fuzz_target!(|bytes: &[u8]| {
    if let Some(payload) = unpack(bytes) {
        assert!(payload.len() <= MOST_BYTES && payload.len() % 8 == 0);
        let mut packed = Vec::new();
        if pack(&payload, &mut packed) {
            assert_eq!(unpack(&packed), Some(payload));
        }
    }
    let mut packed = Vec::new();
    if bytes.len() <= MOST_BYTES && pack(bytes, &mut packed) {
        assert_eq!(unpack(&packed).as_deref(), Some(bytes));
    }
});
