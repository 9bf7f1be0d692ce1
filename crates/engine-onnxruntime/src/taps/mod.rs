//! Taps: operators of our own that hand their inputs on without a copy, and show them to the observer of a run.

mod current;
mod kept;
mod layout;
mod op;
mod run;
mod state;
mod values;

pub(crate) use self::current::{unwatched, watching};
pub(crate) use self::kept::Spare;
pub(crate) use self::layout::Layout;
pub(crate) use self::op::{Domain, Memory, with_known};
pub(crate) use self::run::{Access, Watched};
