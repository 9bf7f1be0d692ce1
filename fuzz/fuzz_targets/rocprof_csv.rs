//! Any bytes as a CSV file of rocprofv3: what can be read is read, and damage is no error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use opscope_import::fuzzing::rocprof_csv;

fuzz_target!(|bytes: &[u8]| rocprof_csv(bytes).expect("damage is no error"));
