//! Events, places and numbers as text and as JSON.

mod event;
mod function;
mod number;
mod place;
mod table;

pub use event::{ended, stopped, told, untold};
pub use function::applied;
pub use number::{count, element_json, histogram, statistics, top};
pub use place::{breakpoint, fate, fates, inputs_and_outputs, tensor_form, tensors};
pub use table::table;
