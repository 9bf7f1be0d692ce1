use std::collections::BTreeMap;
use std::io;

use rustix::process::Signal;
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::{Handle, Signals};

/// The signals that a parent passes on, each with the signal that it sends to the child instead.
///
/// Ctrl-C, and many programs that end others, signal a whole process group, which includes the child. By these separate
/// signals the child recognises which ones it received twice.
pub const PASSED_ON: [(i32, Signal); 2] = [(SIGINT, Signal::USR1), (SIGTERM, Signal::USR2)];

/// The signals that the user sends. Each is reported once, even if both an isolated process and its parent receive it.
pub struct UserSignals {
    signals: Signals,
    isolated: bool,
    /// For each signal, how many came directly and how many through the parent.
    came: BTreeMap<i32, (u64, u64)>,
}

impl UserSignals {
    pub(super) fn new(kinds: &[i32], isolated: bool) -> io::Result<Self> {
        let passed_on = [SIGUSR1, SIGUSR2].into_iter().filter(|_| isolated);
        let signals = Signals::new(kinds.iter().copied().chain(passed_on))?;
        Ok(Self { signals, isolated, came: BTreeMap::new() })
    }

    /// Returns a handle that ends [`next`](Self::next) from another thread.
    pub fn handle(&self) -> Handle {
        self.signals.handle()
    }

    /// Waits for the next signal. Returns `None` once the handle is closed.
    pub fn next(&mut self) -> Option<i32> {
        loop {
            let signal = self.signals.forever().next()?;
            let original = PASSED_ON.iter().find(|(_, passed)| self.isolated && passed.as_raw() == signal);
            let kind = original.map_or(signal, |(kind, _)| *kind);
            let (direct, passed) = self.came.entry(kind).or_default();
            let before = *direct.max(passed);
            *(if original.is_some() { &mut *passed } else { &mut *direct }) += 1;
            if *direct.max(passed) > before {
                return Some(kind);
            }
        }
    }
}
