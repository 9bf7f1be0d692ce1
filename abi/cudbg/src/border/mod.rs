//! What every function of the table does: it answers with a code, keeps the text of a failure, and knows whether it is called from
//! inside of a callback. `opscope-border` has the rest: arguments, and panics.

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
