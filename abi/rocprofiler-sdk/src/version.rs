//! The version of the interface, the time, and the calling thread.

use opscope_border::{Out, exported};
use opscope_clock::Timestamp;

use crate::border::{Status, out};
use crate::layout::VersionTriplet;
use crate::thread;

/// The version of the interface, which is not opscope's own.
pub const VERSION: VersionTriplet = VersionTriplet { major: 1, minor: 0, patch: 0 };

/// Writes the version of the interface. Each pointer may be NULL.
#[exported]
pub fn rocprofiler_get_version(major: Out<'_, u32>, minor: Out<'_, u32>, patch: Out<'_, u32>) -> Status {
    for (place, number) in [(major, VERSION.major), (minor, VERSION.minor), (patch, VERSION.patch)] {
        place.write_if_given(number);
    }
    Status::Success
}

/// Writes the version of the interface.
#[exported]
pub fn rocprofiler_get_version_triplet(version: Out<'_, VersionTriplet>) -> Result<(), Status> {
    out(version).map(|version| version.write(VERSION))
}

/// Writes the time, in nanoseconds of CLOCK_BOOTTIME.
#[exported]
pub fn rocprofiler_get_timestamp(time: Out<'_, u64>) -> Result<(), Status> {
    out(time).map(|time| time.write(Timestamp::now().as_nanos()))
}

/// Writes the number of the calling thread in the operating system.
#[exported]
pub fn rocprofiler_get_thread_id(id: Out<'_, u64>) -> Result<(), Status> {
    out(id).map(|id| id.write(thread::current_id()))
}
