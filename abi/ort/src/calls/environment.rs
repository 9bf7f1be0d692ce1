//! Environments that the program makes, which it does before it loads models. From then on clients may attach.
//!
//! A severity is a number here. The table has an enum of Rust in its place, which may not have every number that a
//! program in C may pass.

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;

use ort_sys::{OrtApi, OrtEnv, OrtStatusPtr, OrtThreadingOptions};

use super::{beside, table};
use crate::debug_server;

type Name = *const c_char;
type Made = *mut *mut OrtEnv;
type Logger = *const c_void;
type Parameter = *mut c_void;
type Threads = *const OrtThreadingOptions;

type Create = unsafe extern "system" fn(c_int, Name, Made) -> OrtStatusPtr;
type CreateWithLogger = unsafe extern "system" fn(Logger, Parameter, c_int, Name, Made) -> OrtStatusPtr;
type CreateWithThreads = unsafe extern "system" fn(c_int, Name, Threads, Made) -> OrtStatusPtr;
type CreateWithBoth = unsafe extern "system" fn(Logger, Parameter, c_int, Name, Threads, Made) -> OrtStatusPtr;

/// Returns the functions that make environments: the offset of each in the table, and the address of the one that stands
/// in for it.
pub fn replacements<const SLOT: usize>() -> [(usize, usize); 4] {
    [
        (offset_of!(OrtApi, CreateEnv), (create::<SLOT> as Create) as usize),
        (offset_of!(OrtApi, CreateEnvWithCustomLogger), (create_with_logger::<SLOT> as CreateWithLogger) as usize),
        (
            offset_of!(OrtApi, CreateEnvWithGlobalThreadPools),
            (create_with_threads::<SLOT> as CreateWithThreads) as usize,
        ),
        (
            offset_of!(OrtApi, CreateEnvWithCustomLoggerAndGlobalThreadPools),
            (create_with_both::<SLOT> as CreateWithBoth) as usize,
        ),
    ]
}

/// Lets clients attach, if the environment was made.
fn listen_after(status: OrtStatusPtr) -> OrtStatusPtr {
    if status.0.is_null() {
        beside("the debug server", debug_server::listen);
    }
    status
}

/// Calls a function of the library, with its severity as a number.
macro_rules! make {
    ($function:ident as $kind:ty, $($argument:ident),*) => {{
        // SAFETY: the table of this slot lives as long as the process. In C an enum is passed as an int, and pointers
        // alike, whatever they point to.
        let function = unsafe { (&raw const (*table(SLOT)).$function).cast::<$kind>().read() };
        // SAFETY: the program calls the library's function.
        listen_after(unsafe { function($($argument),*) })
    }};
}

unsafe extern "system" fn create<const SLOT: usize>(severity: c_int, name: Name, made: Made) -> OrtStatusPtr {
    make!(CreateEnv as Create, severity, name, made)
}

unsafe extern "system" fn create_with_logger<const SLOT: usize>(
    logger: Logger,
    parameter: Parameter,
    severity: c_int,
    name: Name,
    made: Made,
) -> OrtStatusPtr {
    make!(CreateEnvWithCustomLogger as CreateWithLogger, logger, parameter, severity, name, made)
}

unsafe extern "system" fn create_with_threads<const SLOT: usize>(
    severity: c_int,
    name: Name,
    threads: Threads,
    made: Made,
) -> OrtStatusPtr {
    make!(CreateEnvWithGlobalThreadPools as CreateWithThreads, severity, name, threads, made)
}

unsafe extern "system" fn create_with_both<const SLOT: usize>(
    logger: Logger,
    parameter: Parameter,
    severity: c_int,
    name: Name,
    threads: Threads,
    made: Made,
) -> OrtStatusPtr {
    make!(
        CreateEnvWithCustomLoggerAndGlobalThreadPools as CreateWithBoth,
        logger,
        parameter,
        severity,
        name,
        threads,
        made
    )
}
