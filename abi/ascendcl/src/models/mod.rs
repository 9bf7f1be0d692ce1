//! Models: read, load, unload.

mod config;
mod consumers;
mod load;
mod model;
mod port;
mod prepared;
mod shapes;
mod sizes;
mod source;
mod table;

pub use model::{Model, ModelId};
pub use port::{Port, bound_sizes, bytes_of};
pub use source::{read_file, read_memory};
pub use table::find;
