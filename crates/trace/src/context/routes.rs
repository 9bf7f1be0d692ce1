use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::buffer::SharedBuffer;
use crate::record::Kind;

/// The version of the newest routes: the lower 16 bits say which kinds are traced, the other bits count the changes.
static VERSION: AtomicU64 = AtomicU64::new(0);
const KINDS: u64 = 0xffff;

/// A kind that a context traces into a buffer.
#[derive(Debug, Clone)]
pub(super) struct Service {
    pub(super) kind: Kind,
    /// A bit for each operation.
    pub(super) operations: u64,
    pub(super) buffer: Arc<SharedBuffer>,
    /// Whether the context is started. Emitting threads read it under the buffer's lock.
    pub(super) active: Arc<AtomicBool>,
}

/// The services of all contexts that were started at one moment.
#[derive(Debug, Default)]
pub(super) struct Routes {
    pub(super) version: u64,
    pub(super) services: Vec<Service>,
}

/// Returns the version of the newest routes.
#[inline(always)]
pub(super) fn current_version() -> u64 {
    VERSION.load(Ordering::Relaxed)
}

/// Returns whether the routes of this version trace a kind.
#[inline(always)]
pub(super) fn traces(version: u64, kind: Kind) -> bool {
    version & kind.bit() != 0
}

impl Routes {
    /// Makes the routes of these services, with the next version.
    pub(super) fn next(services: Vec<Service>) -> Self {
        let kinds = services.iter().fold(0, |kinds, service| kinds | service.kind.bit());
        let change = (current_version() & !KINDS) + KINDS + 1;
        Self { version: change | kinds, services }
    }

    /// Makes this the version that emitting threads see.
    pub(super) fn publish(&self) {
        VERSION.store(self.version, Ordering::SeqCst);
    }
}

impl Service {
    pub(super) fn is_active(&self) -> bool {
        self.active.load(Ordering::SeqCst)
    }
}
