//! Forks of the process and its exit: when they happen. The rooms above register what they do then.

mod exit;
mod fork;

pub(crate) use exit::call_at_exit;
pub(crate) use fork::{HeldLocks, hold_across_forks};
