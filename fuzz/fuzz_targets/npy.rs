//! Any bytes as an npy file: a tensor that fits its shape and survives being written and read again, or an error with a
//! text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use opscope_tensor::{DType, Statistics, npy};

fuzz_target!(|bytes: &[u8]| {
    match npy::read(bytes) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(tensor) => {
            assert_eq!(tensor.dtype().bytes_of(tensor.elements()), Some(tensor.bytes().len()));
            let statistics = Statistics::of(&tensor.view()).expect("every npy type has bytes");
            assert_eq!(statistics.count, tensor.elements() as u64);
            // Some are scalars of other shapes; all have a type that can be written.
            assert_ne!(tensor.dtype(), DType::String);
            let mut written = Vec::new();
            if npy::write(&tensor.view(), &mut written).is_ok() {
                assert_eq!(npy::read(&written).expect("our own file"), tensor);
            }
        }
    }
});
