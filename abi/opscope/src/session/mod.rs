//! Models: load, describe, run.

mod describe;
mod load;
mod run;

pub use describe::*;
pub use load::*;
pub use run::*;
