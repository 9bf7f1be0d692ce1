//! The status that every function returns, by phase and argument.

use super::program;

/// The kinds of buffered and of callback tracing that have no records here.
const EMPTY: &str = "\
librocprofiler-sdk (opscope): nothing here makes records of HIP_COMPILER_API, HIP_COMPILER_API_EXT, HIP_RUNTIME_API, \
HIP_RUNTIME_API_EXT, HIP_STREAM, HSA_AMD_EXT_API, HSA_CORE_API, HSA_FINALIZE_EXT_API, HSA_IMAGE_EXT_API, \
KFD_EVENT_DROPPED_EVENTS, KFD_EVENT_PAGE_FAULT, KFD_EVENT_PAGE_MIGRATE, KFD_EVENT_QUEUE, KFD_EVENT_UNMAP_FROM_GPU, \
KFD_PAGE_FAULT, KFD_PAGE_MIGRATE, KFD_QUEUE, OMPT, RCCL_API, ROCDECODE_API, ROCDECODE_API_EXT, ROCJPEG_API, \
SCRATCH_MEMORY; these services stay empty
";

#[test]
fn dispatch_counting_is_configured_and_stays_empty_and_categories_tell_records_apart() {
    let printed = program("counting.c").run();
    let line = "\
librocprofiler-sdk (opscope): nothing here makes records of counters of dispatches; these services stay empty
";
    assert_eq!((printed.stdout.as_str(), printed.stderr.as_str()), ("", line));
}

#[test]
fn every_misuse_is_answered_with_its_status() {
    let printed = program("statuses.c").run();
    assert_eq!((printed.stdout.as_str(), printed.stderr.as_str()), ("", EMPTY));
}
