//! Models: loading, describing, running.

mod describe;
mod load;

pub use describe::*;
pub use load::*;
