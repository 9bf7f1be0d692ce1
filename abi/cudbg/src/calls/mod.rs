//! The functions of the table. Each file has a group of them.

mod breakpoints;
mod constants;
mod control;
mod device;
mod encode;
mod events;
mod grids;
mod images;
mod memory;
mod place;
mod registers;
mod session;
mod warps;

pub use breakpoints::*;
pub use constants::*;
pub use control::*;
pub use device::*;
pub use events::*;
pub use grids::*;
pub use images::*;
pub use memory::*;
pub use registers::*;
pub use session::*;
pub use warps::*;
