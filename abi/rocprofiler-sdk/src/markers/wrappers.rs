//! The wrappers that replace a runtime's functions in its tables: each notifies the tools, and calls the runtime's own
//! function.

use std::ffi::{c_int, c_void};

use opscope_border::{Out, Text};

use super::table::{Functions, no_functions, original};
use crate::kinds::Domain;
use crate::layout::MarkerArguments;
use crate::tracing::{ApiCall, traced};

/// The functions of the first runtime that registered itself.
pub static CORE: Functions = no_functions();
pub static CONTROL: Functions = no_functions();
pub static NAME: Functions = no_functions();

/// Returns two words as arguments.
pub fn words(first: u64, second: u64) -> MarkerArguments {
    MarkerArguments { words: [first, second] }
}

/// Defines a wrapper for each function of a table, and a function that lists them in the order of the table. If the
/// runtime does not have a function, its wrapper returns 0.
macro_rules! wrappers {
    (
        $list:ident, $domain:ident, $originals:ident:
        $($operation:literal $wrapper:ident($($argument:ident: $type:ty),*) -> $result:ty, $first:expr, $second:expr;)+
    ) => {
        $(
            extern "C" fn $wrapper($($argument: $type),*) -> $result {
                let call = ApiCall {
                    domain: Domain::$domain,
                    operation: $operation,
                    arguments: words($first, $second),
                };
                traced(call, || {
                    // SAFETY: the runtime put a function of this type into this entry of its table.
                    let original = unsafe { original::<extern "C" fn($($type),*) -> $result>(&$originals[$operation]) };
                    original.map_or_else(<$result>::default, |original| original($($argument),*))
                })
            }
        )+

        /// The wrappers, by operation.
        pub fn $list() -> Vec<*mut c_void> {
            vec![$($wrapper as extern "C" fn($($type),*) -> $result as *mut c_void),+]
        }
    };
}

wrappers! {
    core_wrappers, MarkerCore, CORE:
    0 mark(message: Text<'_>) -> (), message.as_ptr() as u64, 0;
    1 push(message: Text<'_>) -> c_int, message.as_ptr() as u64, 0;
    2 pop() -> c_int, 0, 0;
    3 start(message: Text<'_>) -> u64, message.as_ptr() as u64, 0;
    4 stop(id: u64) -> (), id, 0;
    5 get_thread_id(id: Out<'_, u64>) -> c_int, id.as_ptr() as u64, 0;
}

wrappers! {
    control_wrappers, MarkerControl, CONTROL:
    0 pause(thread: u64) -> c_int, thread, 0;
    1 resume(thread: u64) -> c_int, thread, 0;
}

wrappers! {
    name_wrappers, MarkerName, NAME:
    0 name_thread(name: Text<'_>) -> c_int, name.as_ptr() as u64, 0;
    1 name_agent(name: Text<'_>, agent: *const c_void) -> c_int, name.as_ptr() as u64, agent as u64;
    2 name_device(name: Text<'_>, device: c_int) -> c_int, name.as_ptr() as u64, u64::from(device.cast_unsigned());
    3 name_stream(name: Text<'_>, stream: *const c_void) -> c_int, name.as_ptr() as u64, stream as u64;
}
