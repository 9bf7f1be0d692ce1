//! ROCTx: a runtime hands over the tables of its functions, and the functions that tools want to know of are replaced by wrappers.

mod arguments;
mod intercept;
mod ranges;
mod register;
mod table;
mod wrappers;

pub use register::{Tables, register_waiting};
