//! Any bytes as one of Perfetto's files: what can be read is read, and damage is no error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use opscope_import::fuzzing::perfetto;

fuzz_target!(|bytes: &[u8]| perfetto(bytes).expect("damage is no error"));
