//! Everything around the engine: start of the process, reading, reporting.

mod support;

use support::around::around;
use support::{light, not_measured, smallest};

fn main() {
    around("around", "digits_cnn", &smallest(), &[]);
    match light("squeezenet") {
        Some(path) => around("around", "squeezenet", &path, &[]),
        None => not_measured("around", "start, parse, report, squeezenet", "<= 100 ms"),
    }
}
