//! The functions of the library that are replaced. Each calls the library's own function with what the program has
//! passed, and observes the call if necessary.

mod create;
mod options;
mod run;

use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use ort_sys::OrtApi;

use crate::interface::interface;
use crate::messages::say;

/// Calls a function of the library in a slot. A replaced function is only called through a table of that library.
macro_rules! own {
    ($slot:expr, $function:ident($($argument:expr),* $(,)?)) => {
        ((*$crate::calls::table($slot)).$function)($($argument),*)
    };
}
use own;

/// The functions of a library that are replaced.
pub struct Replacements([(usize, usize); 17]);

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
        Self(replaced![
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
            SetIntraOpNumThreads: options::set_intra_op_num_threads::<SLOT>,
            CloneSessionOptions: options::clone_session_options::<SLOT>,
            ReleaseSessionOptions: options::release_session_options::<SLOT>,
            CreateSessionOptions: options::create_session_options::<SLOT>,
            DisablePerSessionThreads: options::disable_per_session_threads::<SLOT>,
        ])
    }

    /// Returns the offset of each in the table, and its address.
    pub fn functions(&self) -> impl Iterator<Item = (usize, usize)> {
        self.0.iter().copied()
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
