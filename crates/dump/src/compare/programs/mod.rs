//! Programs whose operators were found while they ran, and models that were exported from them: which of their tensors
//! belong together.

mod align;
pub(super) mod export;
mod module_map;
mod pairs;
mod place;
mod unmatched;

pub use module_map::{ModuleMap, WrongMap};
pub(super) use pairs::pairs;
pub(super) use unmatched::by_module;
