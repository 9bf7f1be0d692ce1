//! Products and functions of many numbers, for the operators that this crate computes itself. `pulp` compiles them for
//! the machine's widest vectors.

mod bytes;
mod filters;
mod floats;
mod quantisation;
mod rational;

pub(crate) use bytes::ByteMatrix;
pub(crate) use filters::{Filters, SLACK};
pub(crate) use floats::FloatMatrix;
pub(crate) use quantisation::{Quantised, Scale};
pub(crate) use rational::{sigmoids, tanhs};
