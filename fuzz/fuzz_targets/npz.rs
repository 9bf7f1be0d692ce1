//! Any bytes as an npz file: arrays that fit their shapes, in the memory that the file's size warrants, or an error with a text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use opscope_tensor::npz::Npz;

fuzz_target!(|bytes: &[u8]| {
    match Npz::from_bytes(bytes.to_vec()) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(npz) => {
            for name in npz.names() {
                match npz.read(name) {
                    Err(error) => assert!(!error.to_string().is_empty()),
                    Ok(tensor) => {
                        assert_eq!(tensor.dtype().bytes_of(tensor.elements()), Some(tensor.bytes().len()));
                        assert!(tensor.bytes().len() <= bytes.len() * 1032);
                    }
                }
            }
        }
    }
});
