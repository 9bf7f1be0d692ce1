//! Models: load, describe, run.

mod describe;
mod description;
mod load;

pub use describe::*;
pub use load::*;
