//! ROCTx: a runtime passes the tables of its functions, and those that tools want to trace are replaced by wrappers.

mod arguments;
mod intercept;
#[allow(unsafe_code, reason = "it calls what stood in a runtime's table")]
mod ranges;
mod register;
#[allow(unsafe_code, reason = "tables in the memory of a runtime")]
mod table;
#[allow(unsafe_code, reason = "it calls what stood in a runtime's table")]
mod wrappers;

use std::any::Any;

pub use intercept::forget_intercepts_of;
pub use register::{Tables, register_waiting};
pub use table::RuntimeTables;

/// Locks the locks of this room, and returns the guards.
pub fn locks() -> Vec<Box<dyn Any>> {
    vec![Box::new(register::lock()), Box::new(intercept::lock()), Box::new(ranges::lock())]
}
