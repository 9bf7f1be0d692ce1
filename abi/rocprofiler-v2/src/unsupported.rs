//! What this library does not have: counters of whole devices, and captures of code objects.

use crate::border::Status;

/// Functions that answer `NotImplemented`, whatever their arguments are.
macro_rules! not_implemented {
    ($($function:ident)+) => {
        $(
            /// Answers `NotImplemented`.
            #[unsafe(no_mangle)]
            pub extern "C" fn $function() -> Status {
                Status::NotImplemented
            }
        )+
    };
}

not_implemented! {
    rocprofiler_device_profiling_session_create
    rocprofiler_device_profiling_session_start
    rocprofiler_device_profiling_session_stop
    rocprofiler_device_profiling_session_destroy
    rocprofiler_device_profiling_session_poll
    rocprofiler_codeobj_capture_create
    rocprofiler_codeobj_capture_get
    rocprofiler_codeobj_capture_free
    rocprofiler_codeobj_capture_start
    rocprofiler_codeobj_capture_stop
}
