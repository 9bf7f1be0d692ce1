//! The shell of every exported function: it returns a status, stops panics, and checks pointers. Also calls of a tool's
//! functions.

mod call;
mod status;

pub use call::{call_tool, in_callback, out, required, say, set_begun, write};
pub use status::Status;
