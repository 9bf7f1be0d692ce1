//! What every function of the table does: it answers with a code, keeps the text of a failure, keeps panics inside, checks
//! pointers, and knows whether it is called from inside of a callback.

mod call;
mod failure;
mod message;
mod pointer;
mod rule;

pub use crate::layout::numbers::Status;
pub use call::{call, call_for_events, call_keeping_the_message};
pub use failure::Failure;
pub use message::{ascii, last as last_message};
pub use pointer::{bytes, given_text, out, text};
pub use rule::{Rule, inside};
