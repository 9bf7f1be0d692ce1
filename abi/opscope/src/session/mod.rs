//! Models: loading, describing, running.

mod describe;
mod description;
mod load;

pub use describe::*;
pub use load::*;
