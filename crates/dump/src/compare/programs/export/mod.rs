//! A model that was exported from a program: which of its values are what the program computed.

mod agreement;
mod composites;
mod covered;
mod pairs;
mod results;

pub(in crate::compare) use agreement::Agreement;
pub(in crate::compare) use covered::covered;
pub(in crate::compare) use pairs::pairs;
