//! Taps: custom operators that pass their inputs on without a copy, and show them to the observer of a run.

mod current_run;
mod kept_values;
mod layout;
mod op;
mod run;
mod state;
mod values;

pub(crate) use self::current_run::{unwatched, watching};
pub(crate) use self::kept_values::Spare;
pub(crate) use self::layout::Layout;
pub(crate) use self::op::{Domain, Memory, with_known};
pub(crate) use self::run::{Access, Watched};
