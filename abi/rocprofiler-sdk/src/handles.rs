//! The numbers at which ids begin. They differ between processes, so that an id from anywhere else is recognised as
//! wrong.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use opscope_border::system;

/// Ids that count up.
pub struct Handles {
    first: OnceLock<u64>,
    used: AtomicU64,
}

/// The ids of contexts.
pub static CONTEXTS: Handles = Handles::new();
/// The ids of buffers.
pub static BUFFERS: Handles = Handles::new();
/// The ids of agents.
pub static AGENTS: Handles = Handles::new();

impl Handles {
    const fn new() -> Self {
        Self { first: OnceLock::new(), used: AtomicU64::new(0) }
    }

    /// Returns an id that was not returned before.
    pub fn next(&self) -> u64 {
        *self.first.get_or_init(random_start) + self.used.fetch_add(1, Ordering::Relaxed)
    }
}

/// Returns a number from 255 to 65,534.
fn random_start() -> u64 {
    // Without a source of random bytes, all processes begin with the same number.
    255 + system::random() % (65_535 - 255)
}
