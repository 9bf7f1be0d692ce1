//! What every exported function does: it answers with a code, keeps the text of a failure, keeps panics inside, and checks pointers.

mod call;
pub mod codes;
mod failure;
mod messages;
mod pointer;
mod program;

pub use call::{call, value};
pub use failure::Failure;
pub use messages::{keep_per_process, note};
pub use pointer::{Data, out, required, text};
pub use program::{call_program, say};
