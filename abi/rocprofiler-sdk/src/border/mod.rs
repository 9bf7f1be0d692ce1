//! The shell of every exported function: it returns a status, stops panics, and checks pointers. Also calls of a tool's
//! functions.

mod call;
mod status;
mod tool;

pub use call::{NamePlaces, name_out, out, required};
pub use status::Status;
pub use tool::{Data, call_tool, say};
