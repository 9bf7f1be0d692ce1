//! The version of the interface, the time, and the calling thread.

use opscope_clock::Timestamp;

use crate::border::{Status, call, out};
use crate::layout::VersionTriplet;
use crate::thread;

/// The version of the interface, which is not opscope's own.
pub const VERSION: VersionTriplet = VersionTriplet { major: 1, minor: 0, patch: 0 };

/// Writes the version of the interface. Each place may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_get_version(major: *mut u32, minor: *mut u32, patch: *mut u32) -> Status {
    for (place, number) in [(major, VERSION.major), (minor, VERSION.minor), (patch, VERSION.patch)] {
        if !place.is_null() {
            // SAFETY: it is not NULL, and the tool promises that it is writable.
            unsafe { place.write(number) };
        }
    }
    Status::Success
}

/// Writes the version of the interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_get_version_triplet(version: *mut VersionTriplet) -> Status {
    // SAFETY: it is checked, and the tool promises that it is writable.
    call(|| out(version).map(|version| unsafe { version.write(VERSION) }))
}

/// Writes the time, in nanoseconds of CLOCK_BOOTTIME.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_get_timestamp(time: *mut u64) -> Status {
    // SAFETY: as above.
    call(|| out(time).map(|time| unsafe { time.write(Timestamp::now().as_nanos()) }))
}

/// Writes the number of the calling thread in the operating system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_get_thread_id(id: *mut u64) -> Status {
    // SAFETY: as above.
    call(|| out(id).map(|id| unsafe { id.write(thread::current_id()) }))
}
