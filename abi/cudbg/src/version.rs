//! The version of the interface, and the one that a client asked for.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::border::{Failure, Rule, Status};

pub const MAJOR: u32 = 13;
pub const MINOR: u32 = 4;
pub const REVISION: u32 = 193;

/// The last revision before 13.0.
const LAST_OF_12: u32 = 156;

/// The revision that a client asked for last.
static REQUESTED: AtomicU32 = AtomicU32::new(REVISION);

/// The version that a client was made for. Only its revision counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version(u32);

impl Version {
    /// Returns the version that was asked for last.
    pub fn requested() -> Self {
        Self(REQUESTED.load(Ordering::Relaxed))
    }

    pub fn revision(self) -> u32 {
        self.0
    }

    pub fn is_13(self) -> bool {
        self.0 > LAST_OF_12
    }

    /// Returns what the client's callback may call.
    pub fn rule(self) -> Rule {
        if self.is_13() { Rule::Relaxed } else { Rule::Strict }
    }
}

/// Stores the version that a client asks for.
///
/// # Errors
/// Returns an error if it is newer than this library.
pub fn request(revision: u32) -> Result<(), Failure> {
    if revision > REVISION {
        let text = format!("revision {revision} was asked for, and the newest one here is {REVISION}");
        return Err(Failure::new(Status::IncompatibleApi, text));
    }
    REQUESTED.store(revision, Ordering::Relaxed);
    Ok(())
}
