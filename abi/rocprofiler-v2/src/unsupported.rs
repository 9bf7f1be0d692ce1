//! Functions without a service here: counters of whole devices, and captures of code objects.

use opscope_border::{Answer, exported};

use crate::border::Status;

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
