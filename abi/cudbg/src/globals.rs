//! The variables that a client reads and writes. One of them names the process to debug.
//!
//! A client writes to the variables of this library, or to those of a `libcuda.so.1` that forwards to this library.

use std::ffi::CStr;
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicU64, Ordering};

macro_rules! variables {
    ($( $type:ident: $($name:ident)*; )*) => {
        $($(
            #[allow(non_upper_case_globals)]
            #[unsafe(no_mangle)]
            pub static $name: $type = $type::new(0);
        )*)*
    };
}

variables! {
    AtomicU32:
        cudbgIpcFlag cudbgRpcEnabled cudbgApiClientPid cudbgApiClientRevision cudbgSessionId cudbgDebuggerCapabilities
        cudbgEnableLaunchBlocking cudbgEnableIntegratedMemcheck cudbgEnablePreemptionDebugging
        cudbgDetachSuspendedDevicesMask cudbgReportDriverApiErrorFlags cudbgDebuggerInitialized
        cudbgAttachHandlerAvailable cudbgResumeForAttachDetach cudbgUseExternalDebugger CUDBG_I_AM_DEBUGGER
        cudbgReportedDriverApiErrorSource;
    AtomicU64:
        cudbgReportedDriverApiErrorCode cudbgReportedDriverApiErrorFuncNameSize cudbgReportedDriverApiErrorFuncNameAddr
        cudbgReportedDriverApiErrorNameSize cudbgReportedDriverApiErrorNameAddr cudbgReportedDriverApiErrorStringSize
        cudbgReportedDriverApiErrorStringAddr cudbgReportedDriverInternalErrorCode;
}

/// The descriptor that starts an attach procedure. There is none, because a client attaches through `initialize`.
#[allow(non_upper_case_globals)]
#[unsafe(no_mangle)]
pub static cudbgInitiateDebuggerAttachProcedureFd: AtomicI32 = AtomicI32::new(-1);

/// The path of a debug engine that a client names. Nothing reads it, because there is only one engine.
#[allow(non_upper_case_globals)]
#[unsafe(no_mangle)]
pub static cudbgInjectionPath: [AtomicU8; 4096] = [const { AtomicU8::new(0) }; 4096];

/// Notes whether a session is open.
pub fn set_initialized(is_open: bool) {
    cudbgDebuggerInitialized.store(is_open.into(), Ordering::Relaxed);
}

/// Notes that this process is prepared for a debugger.
pub fn note_injection() {
    cudbgAttachHandlerAvailable.store(1, Ordering::Relaxed);
}

/// Notes that a debugger attaches or detaches without a failure, and that the process must run for that.
pub fn note_attachment() {
    cudbgReportedDriverInternalErrorCode.store(0, Ordering::Relaxed);
    cudbgResumeForAttachDetach.store(1, Ordering::Relaxed);
}

/// Returns the capabilities that the client asks for.
pub fn capabilities() -> u32 {
    cudbgDebuggerCapabilities.load(Ordering::Relaxed) | of_libcuda(c"cudbgDebuggerCapabilities")
}

/// Returns the process that the client names. `None` if it names none, or this process.
pub fn named_process() -> Option<u32> {
    let named = [cudbgApiClientPid.load(Ordering::Relaxed), of_libcuda(c"cudbgApiClientPid")];
    named.into_iter().find(|&pid| pid != 0 && pid != std::process::id())
}

/// Returns the value of a variable in the process's `libcuda.so.1`; 0 if there is none.
fn of_libcuda(name: &CStr) -> u32 {
    // SAFETY: with RTLD_NOLOAD no library is loaded; the name ends with NUL.
    let libcuda = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if libcuda.is_null() {
        return 0;
    }
    // SAFETY: the handle is valid until it is closed.
    let variable = unsafe { libc::dlsym(libcuda, name.as_ptr()) }.cast::<AtomicU32>();
    // SAFETY: the variable with this name has four bytes. Other threads may write to it.
    let value = unsafe { variable.as_ref() }.map_or(0, |variable| variable.load(Ordering::Relaxed));
    // SAFETY: the handle is closed once.
    unsafe { libc::dlclose(libcuda) };
    value
}
