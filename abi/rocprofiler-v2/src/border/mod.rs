//! What every exported function does: it answers with a status, keeps panics inside, and checks pointers. And calls of a tool.

mod call;
mod status;

pub use call::{call_tool, in_callback, out, required, say, set_begun, write};
pub use status::Status;
