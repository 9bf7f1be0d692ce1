//! The functions of the table. Each file has a group of them.

mod breakpoints;
mod constants;
mod control;
mod device;
mod encode;
mod memory;
mod place;
mod session;
mod warps;

pub use breakpoints::*;
pub use constants::*;
pub use control::*;
pub use device::*;
pub use memory::*;
pub use place::*;
pub use session::*;
pub use warps::*;
