//! What every exported function does: it answers with a status, keeps panics inside, and checks pointers. And calls of a tool.

mod call;
mod status;
mod tool;

pub use call::{NamePlaces, name_out, out, required};
pub use status::Status;
pub use tool::{Data, call_tool, say};
