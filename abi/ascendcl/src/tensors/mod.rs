//! Tensors as a program describes them: types, formats, shapes.

mod desc;
mod dtype;
mod float16;
mod format;

pub use desc::{DESCS, TensorDesc, aclTensorDesc};
pub use dtype::{UNDEFINED as DTYPE_UNDEFINED, number_of};
pub use format::{UNDEFINED as FORMAT_UNDEFINED, of_rank as format_of_rank};
