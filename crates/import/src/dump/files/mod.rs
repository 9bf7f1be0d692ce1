//! Files with tensors of other tools.

pub(crate) mod json;
pub(crate) mod pickle;
pub(crate) mod pt;
pub(crate) mod safetensors;
pub(crate) mod types;

use super::found::{Elements, Unreadable};

/// A tensor of a file: its name there, which is empty if the file is the tensor, and where its elements are, or why they
/// cannot be had.
#[derive(Debug)]
pub(crate) struct Named {
    /// Its name.
    pub name: String,
    /// Its type, its shape and its elements, or why there are none.
    pub tensor: Result<Elements, Unreadable>,
}
