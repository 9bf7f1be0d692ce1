//! Where the records of the active session go. What is traced looks only here, without a lock.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering};

use opscope_trace::BufferId;

use crate::layout::{Handle, TracerRecord};

/// A tool's callback for the calls of an API.
pub type SyncCallback = unsafe extern "C-unwind" fn(TracerRecord, Handle);

/// A buffer that a kind of records goes into.
pub struct Target {
    /// The number of the buffer; 0 for none.
    buffer: AtomicU64,
}

/// Where ROCTX calls go, if no callback takes them.
pub static ROCTX: Target = Target::none();
/// Where dispatches go.
pub static DISPATCHES: Target = Target::none();
/// Where activities go, and as what domain.
pub static ACTIVITIES: Target = Target::none();
static ACTIVITY_DOMAIN: AtomicI32 = AtomicI32::new(0);

static SYNC: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());
static SESSION: AtomicU64 = AtomicU64::new(0);

/// What a session wants.
#[derive(Default)]
pub struct Wanted {
    pub roctx: Option<BufferId>,
    pub dispatches: Option<BufferId>,
    pub activities: Option<(BufferId, c_int)>,
    pub sync: Option<SyncCallback>,
}

impl Target {
    const fn none() -> Self {
        Self { buffer: AtomicU64::new(0) }
    }

    /// Returns the number of its buffer, if it has one.
    #[inline(always)]
    pub fn get(&self) -> Option<BufferId> {
        match self.buffer.load(Ordering::Acquire) {
            0 => None,
            number => Some(BufferId::from_raw(number)),
        }
    }

    fn set(&self, buffer: Option<BufferId>) {
        self.buffer.store(buffer.map_or(0, BufferId::as_raw), Ordering::Release);
    }
}

/// Sends the records of a session to where it wants them.
pub fn set(session: Handle, wanted: &Wanted) {
    SESSION.store(session.0, Ordering::Release);
    let sync = wanted.sync.map_or(std::ptr::null_mut(), |function| function as *mut ());
    SYNC.store(sync, Ordering::Release);
    ACTIVITY_DOMAIN.store(wanted.activities.map_or(0, |(_, domain)| domain), Ordering::Release);
    ACTIVITIES.set(wanted.activities.map(|(buffer, _)| buffer));
    DISPATCHES.set(wanted.dispatches);
    ROCTX.set(wanted.roctx);
}

/// Returns the domain of activities.
pub fn activity_domain() -> c_int {
    ACTIVITY_DOMAIN.load(Ordering::Acquire)
}

/// Returns the callback for ROCTX calls, and the session it belongs to.
#[inline(always)]
pub fn sync_callback() -> Option<(SyncCallback, Handle)> {
    let function = SYNC.load(Ordering::Acquire);
    if function.is_null() {
        return None;
    }
    // SAFETY: `set` stored a function of this type.
    let function = unsafe { std::mem::transmute::<*mut (), SyncCallback>(function) };
    Some((function, Handle(SESSION.load(Ordering::Acquire))))
}
