//! The library as a whole: versions, initialization and finalization, the time, and forks. Also functions without a
//! service here: counters of whole devices, and captures of code objects.

use std::any::Any;
use std::ffi::c_int;

use opscope_border::{Answer, Out, exported};
use opscope_clock::Timestamp;
use opscope_producer::OfferedTable;
use opscope_producer::layout::OPSCOPE_ATTACHED;
use opscope_trace::{ForkRoom, HeldLocks};

use crate::border::{Status, say, set_begun, write};
use crate::{buffers, hsa_tools, sessions, sources};

/// Returns the major version of the interface.
#[exported]
pub fn rocprofiler_version_major() -> u32 {
    9
}

/// Returns the minor version of the interface.
#[exported]
pub fn rocprofiler_version_minor() -> u32 {
    0
}

/// Initializes the library.
#[exported]
pub fn rocprofiler_initialize() -> Status {
    hold_locks_across_forks();
    if set_begun(true) { Status::Success } else { Status::AlreadyInitialized }
}

/// Finalizes the library. Sessions stay, as do the records in their buffers; the library can be initialized again.
#[exported]
pub fn rocprofiler_finalize() -> Status {
    if set_begun(false) { Status::Success } else { Status::NotInitialized }
}

/// Called by a producer, with its table of callbacks.
#[exported]
pub fn opscope_attach_producer(table: OfferedTable<'_>) -> c_int {
    let attached = sources::attach_producer(table);
    if attached == OPSCOPE_ATTACHED {
        hsa_tools::load();
    }
    attached
}

/// Writes the time, in nanoseconds of CLOCK_BOOTTIME.
#[exported]
pub fn rocprofiler_get_timestamp(time: Out<'_, u64>) -> Result<(), Status> {
    write(time, Timestamp::now().as_nanos())
}

/// The guards of this library's locks during a fork, so that the child never finds a lock held by a thread that it does
/// not have.
struct Locks(#[expect(dead_code, reason = "they are held")] Vec<Box<dyn Any>>);

impl HeldLocks for Locks {
    fn reset_in_child(self: Box<Self>) {
        // The child has one thread, so nothing happens in between.
        drop(self);
        sessions::reset_in_child();
        buffers::reset_in_child();
    }
}

fn hold_locks_across_forks() {
    static ROOM: ForkRoom = ForkRoom::new(|| {
        let rooms = sessions::locks().into_iter().chain(sources::locks()).chain(buffers::locks());
        Box::new(Locks(rooms.chain([opscope_producer::kernels_lock()]).collect())) as Box<dyn HeldLocks>
    });
    if ROOM.register().is_err() {
        say("the child of a fork may hang: the system has no memory to prepare for it");
    }
}

/// Defines functions that always return the same, whatever their arguments are.
macro_rules! answers {
    ($answer:expr, $text:literal: $($function:ident)+) => {
        $(
            #[doc = $text]
            #[exported]
            pub fn $function() -> Status {
                $answer
            }
        )+
    };
}

answers! {
    Status::NotImplemented, "Answers `NotImplemented`, before the library is initialized as well.":
    rocprofiler_device_profiling_session_create
    rocprofiler_codeobj_capture_create
}

answers! {
    Answer::answer(|| Err(Status::NotImplemented)), "Answers `NotImplemented`, or that the library is not initialized.":
    rocprofiler_device_profiling_session_start
    rocprofiler_device_profiling_session_stop
    rocprofiler_device_profiling_session_destroy
    rocprofiler_device_profiling_session_poll
    rocprofiler_codeobj_capture_get
    rocprofiler_codeobj_capture_free
    rocprofiler_codeobj_capture_start
    rocprofiler_codeobj_capture_stop
}
