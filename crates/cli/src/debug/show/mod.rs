//! Events, operators and numbers as text and as JSON.

pub mod array;
mod event;
mod function;
mod number;
mod operator;
mod printable;
mod table;

pub use event::{dropped, ended, happened, stopped};
pub use function::applied;
pub use number::{count, element_json, histogram, statistics, top};
pub use operator::{breakpoint, inputs_and_outputs, mapping, mappings, tensor_form, tensors};
pub use printable::{first_line, printable};
pub use table::table;
