//! The phases of the library, between its first use and its end.

use std::sync::atomic::{AtomicI32, Ordering};

use opscope_border::{Out, exported};

use crate::border::{Status, out};

static INITIALIZATION: AtomicI32 = AtomicI32::new(NOT_YET);
static FINALIZATION: AtomicI32 = AtomicI32::new(NOT_YET);

/// It has not begun yet.
pub const NOT_YET: i32 = 0;
/// It is in progress.
pub const IN_PROGRESS: i32 = -1;
/// It is done.
pub const DONE: i32 = 1;

/// Returns the state of the initialization.
pub fn initialization() -> i32 {
    INITIALIZATION.load(Ordering::Acquire)
}

/// Returns the state of the finalization.
pub fn finalization() -> i32 {
    FINALIZATION.load(Ordering::Acquire)
}

/// Begins the initialization. Returns whether the caller must perform it: only the first one must.
pub fn begin_initialization() -> bool {
    INITIALIZATION.compare_exchange(NOT_YET, IN_PROGRESS, Ordering::AcqRel, Ordering::Acquire).is_ok()
}

/// Ends the initialization.
pub fn end_initialization() {
    INITIALIZATION.store(DONE, Ordering::Release);
}

pub fn set_finalization(phase: i32) {
    FINALIZATION.store(phase, Ordering::Release);
}

/// Checks that tools are being initialized: contexts, buffers and services are created only then.
pub fn check_configurable() -> Result<(), Status> {
    if initialization() == IN_PROGRESS { Ok(()) } else { Err(Status::ConfigurationLocked) }
}

/// Checks that the initialization of the tools is not over.
pub fn check_not_initialized() -> Result<(), Status> {
    if initialization() == DONE { Err(Status::ConfigurationLocked) } else { Ok(()) }
}

/// Writes 1 if tools are initialized, -1 while they are being initialized, else 0.
#[exported]
pub fn rocprofiler_is_initialized(status: Out<'_, i32>) -> Result<(), Status> {
    out(status).map(|status| status.write(initialization()))
}

/// Writes 1 if tools are finalized, -1 while they are being finalized, else 0.
#[exported]
pub fn rocprofiler_is_finalized(status: Out<'_, i32>) -> Result<(), Status> {
    out(status).map(|status| status.write(finalization()))
}
