//! Graphs, plans and engines of a few lines, for the tests of instruments and of code that runs models, and comparisons
//! of the files that they write with reviewed ones.
//!
//! This module exists only with the feature `testing`, which only dev-dependencies enable.

mod engine;
mod graph;
mod kernels;
mod plan;

use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use crate::assert_snapshot;
pub use engine::FakeEngine;
pub use graph::GraphBuilder;
pub use kernels::{added_kernel, kernel, kernels};
pub use plan::{FakePlan, failure, floats, looping};

/// Reports that the running test, or a part of it, is skipped. The line is printed even if the test passes, whose
/// output is usually not shown, and includes a count: `skipped 2 in this program: NAME: WHY`.
pub fn skipped(why: impl Display) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // The macro `eprintln!` is not used, because the test harness captures its output. An error of a closed stderr is
    // ignored.
    let _ = writeln!(std::io::stderr(), "skipped {count} in this program: {test}: {why}");
}

/// Compares a file's bytes with those that are stored under its name in the crate's `snapshots/`. Even in text, line
/// ends and blanks must be identical. `INSTA_UPDATE=always` stores the new bytes.
///
/// A crate that uses it needs `insta` among its dev-dependencies.
#[macro_export]
macro_rules! assert_snapshot {
    ($name:expr, $found:expr) => {{
        let (name, found): (&str, Vec<u8>) = ($name, $found);
        // The extension is part of the snapshot's name, so `timeline.json` and `timeline.pftrace` are different ones.
        let (stem, extension) = name.split_once('.').expect("a file's name");
        let name = format!("{stem}_{extension}.{extension}");
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots");
        insta::with_settings!(
            { snapshot_path => directory, prepend_module_to_snapshot => false, omit_expression => true },
            { insta::assert_binary_snapshot!(&name, found) }
        );
    }};
}
