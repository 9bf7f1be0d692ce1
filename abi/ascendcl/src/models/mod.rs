//! Models: how they are read, loaded and unloaded.

#[allow(unsafe_code, reason = "values of attributes are pointers of the program")]
mod config;
mod gears;
mod load;
mod model;
mod port;
mod source;

pub use gears::{Gear, Gears, INPUT as CHOICE, INPUT_TYPE as CHOICE_TYPE, Kind as GearKind, MOST as MOST_GEARS};
pub use model::{Model, ModelId, find};
pub use port::{Port, bound_sizes, bytes_of};
pub use source::{Source, read_file, read_memory};
