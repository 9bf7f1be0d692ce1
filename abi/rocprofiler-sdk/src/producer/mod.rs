//! What opscope's producers run: models as code objects with kernel symbols, dispatches, copies and memory.

mod code_objects;
mod dispatches;
mod memory;
mod table;

pub use table::{attach, connect_all, update_all};
