//! Reads any bytes as the one chunk of a buffer's file, behind a head that is right.

#![no_main]

use libfuzzer_sys::fuzz_target;
use opscope_trace::{CounterRecord, DispatchRecord, MarkerRecord, recover_bytes};

const HEAD: usize = 4096;

fuzz_target!(|chunk: &[u8]| {
    let stride = chunk.len().max(72).next_multiple_of(8);
    let mut file = vec![0; HEAD + stride];
    file[..8].copy_from_slice(b"OPSCREC\x01");
    // Version, size, share, stride and the number of chunks.
    for (word, value) in [(8, 1), (16, 4096), (24, 512), (32, stride as u64), (40, 1)] {
        file[word..word + 8].copy_from_slice(&value.to_le_bytes());
    }
    file[HEAD..HEAD + chunk.len()].copy_from_slice(chunk);
    let Ok(recovered) = recover_bytes(&file) else { return };
    let mut records = 0;
    for record in recovered.records() {
        records += 1;
        assert_eq!(record.payload().len(), usize::from(record.header().length));
        let _ = (record.get::<DispatchRecord>(), record.get::<CounterRecord>(), record.get::<MarkerRecord>());
        let _ = record.path();
    }
    assert_eq!(records, recovered.recovery.records);
});
