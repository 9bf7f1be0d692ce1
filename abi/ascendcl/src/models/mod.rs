//! Models: how they are read, loaded and unloaded.

#[allow(unsafe_code, reason = "values of attributes are pointers of the program")]
mod config;
mod consumers;
mod gears;
mod load;
mod model;
mod port;
mod preparation;
mod shapes;
mod sizes;
mod source;
mod table;

pub use gears::{Gear, Gears, INPUT as CHOICE, INPUT_TYPE as CHOICE_TYPE, Kind as GearKind, MOST as MOST_GEARS};
pub use model::{Model, ModelId};
pub use port::{Port, bound_sizes, bytes_of};
pub use source::{Source, read_file, read_memory};
pub use table::find;
