//! The shell of every function of the table: it returns a code, stores the text of a failure, and checks whether it is
//! called from inside a callback. Arguments and panics are handled by `opscope-border`.

mod call;
mod failure;
mod message;
mod rule;
mod text;

pub use crate::layout::numbers::Status;
pub use call::{for_events, keeping_the_message};
pub use failure::Failure;
pub use message::{ascii, last as last_message};
pub use rule::{Rule, inside};
pub use text::{THE_BUFFER, write_text};
