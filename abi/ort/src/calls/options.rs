//! Options of sessions: only the number of threads is noted.

use std::ffi::c_int;

use ort_sys::{OrtSessionOptions, OrtStatusPtr};

use super::own;
use crate::threads;

pub unsafe extern "system" fn create_session_options<const SLOT: usize>(
    options: *mut *mut OrtSessionOptions,
) -> OrtStatusPtr {
    // SAFETY: the program calls the library's function.
    let status = unsafe { own!(SLOT, CreateSessionOptions(options)) };
    if status.0.is_null() && !options.is_null() {
        // An address may be used again.
        // SAFETY: the library has just written it.
        threads::forget(unsafe { *options }.addr());
    }
    status
}

pub unsafe extern "system" fn set_intra_op_num_threads<const SLOT: usize>(
    options: *mut OrtSessionOptions,
    count: c_int,
) -> OrtStatusPtr {
    // SAFETY: the program calls the library's function.
    let status = unsafe { own!(SLOT, SetIntraOpNumThreads(options, count)) };
    if status.0.is_null() {
        threads::choose(options.addr(), count);
    }
    status
}

/// The threads of such sessions are those of the environment: by default, every processor.
pub unsafe extern "system" fn disable_per_session_threads<const SLOT: usize>(
    options: *mut OrtSessionOptions,
) -> OrtStatusPtr {
    // SAFETY: the program calls the library's function.
    let status = unsafe { own!(SLOT, DisablePerSessionThreads(options)) };
    if status.0.is_null() {
        threads::choose(options.addr(), 0);
    }
    status
}

pub unsafe extern "system" fn clone_session_options<const SLOT: usize>(
    from: *const OrtSessionOptions,
    to: *mut *mut OrtSessionOptions,
) -> OrtStatusPtr {
    // SAFETY: the program calls the library's function.
    let status = unsafe { own!(SLOT, CloneSessionOptions(from, to)) };
    if status.0.is_null() && !to.is_null() {
        // SAFETY: the library has just written it.
        threads::copy(from.addr(), unsafe { *to }.addr());
    }
    status
}

pub unsafe extern "system" fn release_session_options<const SLOT: usize>(options: *mut OrtSessionOptions) {
    threads::forget(options.addr());
    // SAFETY: the program calls the library's function.
    unsafe { own!(SLOT, ReleaseSessionOptions(options)) }
}
