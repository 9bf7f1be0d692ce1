//! The functions of the library that are replaced. Each calls the library's own function with what the program has
//! passed, and observes the call if necessary.

mod create;
mod environment;
mod run;

use std::ffi::c_int;
use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use ort_sys::{OrtApi, OrtSessionOptions, OrtStatusPtr};

use crate::interface::interface;
use crate::messages::say;
use crate::threads;

/// Calls a function of the library in a slot. A replaced function is only called through a table of that library.
macro_rules! own {
    ($slot:expr, $function:ident($($argument:expr),* $(,)?)) => {
        ((*$crate::calls::table($slot)).$function)($($argument),*)
    };
}
use own;

/// The functions of a library that are replaced.
pub struct Replacements {
    functions: [(usize, usize); 17],
    environments: [(usize, usize); 4],
}

impl Replacements {
    /// Returns those of the library in a slot.
    pub fn of<const SLOT: usize>() -> Self {
        macro_rules! replaced {
            ($($name:ident: $function:path),* $(,)?) => {
                [$((offset_of!(OrtApi, $name), replaced!(@ $name, $function))),*]
            };
            // The table's field checks the function's type.
            (@ $name:ident, $function:path) => {{
                let mut field = |api: &mut OrtApi| api.$name = $function;
                let _ = &mut field;
                $function as *const () as usize
            }};
        }
        let functions = replaced![
            CreateSession: create::create_session::<SLOT>,
            CreateSessionFromArray: create::create_session_from_array::<SLOT>,
            CreateSessionWithPrepackedWeightsContainer: create::create_session_with_weights::<SLOT>,
            CreateSessionFromArrayWithPrepackedWeightsContainer: create::create_session_from_array_with_weights::<SLOT>,
            ReleaseSession: create::release_session::<SLOT>,
            Run: run::run::<SLOT>,
            RunAsync: run::run_async::<SLOT>,
            RunWithBinding: run::run_with_binding::<SLOT>,
            CreateIoBinding: run::create_binding::<SLOT>,
            ReleaseIoBinding: run::release_binding::<SLOT>,
            BindInput: run::bind_input::<SLOT>,
            ClearBoundInputs: run::clear_bound_inputs::<SLOT>,
            SetIntraOpNumThreads: set_intra_op_num_threads::<SLOT>,
            CloneSessionOptions: clone_session_options::<SLOT>,
            ReleaseSessionOptions: release_session_options::<SLOT>,
            CreateSessionOptions: create_session_options::<SLOT>,
            DisablePerSessionThreads: disable_per_session_threads::<SLOT>,
        ];
        Self { functions, environments: environment::replacements::<SLOT>() }
    }

    /// Returns the offset of each in the table, and its address.
    pub fn functions(&self) -> impl Iterator<Item = (usize, usize)> {
        self.functions.iter().chain(&self.environments).copied()
    }
}

/// Returns the library's own table. Never null here, because a table of a library is made after the library is known.
fn table(slot: usize) -> *const OrtApi {
    interface(slot).map_or(ptr::null(), |known| known.table())
}

/// Does work beside a call of the program. A panic of the work does not end the program.
fn beside<R>(what: &str, work: impl FnOnce() -> R) -> Option<R> {
    let done = catch_unwind(AssertUnwindSafe(work));
    if done.is_err() {
        say(format_args!("{what} was ended by a fault of opscope; the program continues"));
    }
    done.ok()
}

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
