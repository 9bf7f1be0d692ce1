//! What every exported function does: it answers with a status, keeps panics inside, and checks pointers. And calls of a tool.

mod call;
mod exception;
mod message;
mod pointer;
mod status;
mod tool;

pub use call::call;
pub use message::say;
pub use pointer::{Data, name_out, operations, out, required};
pub use status::Status;
pub use tool::call_tool;
