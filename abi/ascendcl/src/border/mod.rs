//! The shell of every exported function: it returns a code, stores the text of a failure, stops panics, and checks
//! pointers.

mod call;
pub mod codes;
mod failure;
mod messages;
mod pointer;
mod program;

pub use call::value;
pub use failure::Failure;
pub use messages::{keep_per_process, note};
pub use opscope_border::UserData as Data;
pub use pointer::{given, required};
pub use program::{call_program, say};
