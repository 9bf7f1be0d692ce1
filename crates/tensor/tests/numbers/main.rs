//! The numbers of tensors, against tables that were written by hand, and against numpy: `expected.py` wrote the files
//! beside this one.

mod differences;
mod elements;
mod limits;
mod statistics;
mod tolerances;
mod types;

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn near(found: f64, expected: f64, share: f64) -> bool {
    found == expected || (found - expected).abs() <= share * expected.abs()
}
