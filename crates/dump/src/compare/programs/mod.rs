//! Programs whose operators were found while they ran, and models that were exported from them: which of their tensors
//! belong together.

pub(super) mod export;
mod module_map;
mod pairs;
mod place;

pub use module_map::{ModuleMap, WrongMap};
pub(super) use pairs::pairs;
pub(super) use place::by_module;
