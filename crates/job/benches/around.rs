//! Measures everything around the engine: starting the process, reading and reporting.

mod support;

use std::process::ExitCode;

use opscope_bench::{Goal, finish, not_measured};
use support::around::around;
use support::{NO_MODELS, light, smallest};

fn main() -> ExitCode {
    around("around", "digits_cnn", &smallest(), &[]);
    match light("squeezenet") {
        Some(path) => around("around", "squeezenet", &path, &[]),
        None => not_measured("around", "start, parse, report, squeezenet", Goal::AtMost(100.0), "ms", NO_MODELS),
    }
    finish()
}
