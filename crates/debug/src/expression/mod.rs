//! The language of conditions and references to tensors.
//!
//! A condition says when a breakpoint stops: `nan`, `absmax(output[0]) > 100 and rank == 4`, `shape == [1, 3, 8, 8]`.
//!
//! | | |
//! |---|---|
//! | `input[0]`, `output[1]`, `weight[0]`, `value("name")` | a tensor; `input` alone is `input[0]`, and so with `output` and `weight` |
//! | `output[0][0, :4]`, `input[0][..., -1]`, `value("x")[::2]` | a part of it, as in numpy |
//! | `nan`, `inf`, `zeros` | how many elements are NaN, infinite, zero |
//! | `count` | how many elements there are |
//! | `absmax`, `min`, `max`, `mean`, `std`, `l2` | of the finite elements: the largest magnitude, the smallest, the largest, the mean, the standard deviation (divided by their number), the Euclidean norm |
//! | `shape`, `shape[0]`, `shape[-1]` | the sizes of all axes, of one |
//! | `rank` | the number of axes |
//! | `dtype` | the type of the elements |
//! | `iteration`, `iteration[0]` | the iteration of the innermost loop around the operator, of the outermost; from 0 |
//! | `12`, `0.5`, `1e-3` | a number |
//! | `[1, 3, 8, 8]`, `[]` | a shape |
//! | `f32`, `float32`, `i64`, `bf16`, `bool`, ... | a type, by its full or short name |
//! | `-x`, `x * y`, `x / y`, `x + y`, `x - y` | of numbers, in double precision |
//! | `<`, `<=`, `>`, `>=`, `==`, `!=` | of two numbers; of two shapes or two types `==` and `!=` only |
//! | `not`, `and`, `or`; or `!`, `&&`, `\|\|` | of truth values |
//! | `( )` | grouping |
//!
//! From the highest precedence to the lowest: a sign, `*` and `/`, `+` and `-`, a comparison, `not`, `and`, `or`. A
//! number in place of a truth value holds if it is not 0, so `nan` is `nan > 0`.
//!
//! *Arguments.* `absmax(output[1])` is a function of that tensor. Without an argument, it is a function of all
//! tensors of the side at which the run is stopped, taken together: the inputs before an operator, the outputs after
//! it. `shape`, `rank` and `dtype` without an argument are those of the first of them.
//!
//! *Unknown numbers.* `min`, `max`, `mean` and the others are unknown if a tensor has no finite element. So are the
//! size of an axis that the tensor does not have, the shape if there is no tensor, the iteration outside of loops,
//! `0 / 0`, and every result that is computed from an unknown number. A comparison with an unknown number is unknown,
//! and so is its `not`. `and` is false if any part is false, and `or` is true if any part is true, even if other parts
//! are unknown. An unknown condition does not hold, so no run stops because of a number that does not exist. To stop at
//! NaN or infinity, write `nan or inf`. [`Condition::evaluate`] distinguishes unknown from false.
//!
//! *Kinds of elements.* For complex numbers, the counts, and `absmax` and `l2` of their magnitudes, are defined; the
//! others are unknown. Text has `count`, but no NaN, infinity or zeros. Integers beyond 2^53 are rounded.
//!
//! *Cost.* A tensor's elements are read at most once, for all functions together, and not at all if its type or shape
//! gives the answer. If only their presence matters, the search for `nan`, `inf` or `zeros` ends at the first one.
//! Parts of `and` and `or` that read no elements are evaluated first. If another part is not evaluated because of that,
//! its errors are not reported. Counts, `absmax`, `min` and `max` are found about as fast as one thread reads memory.
//! `mean`, `std` and `l2` take longer.

mod condition;
mod display;
mod error;
mod evaluate;
mod function;
mod grammar;
mod needs;
mod parser;
mod tensor_ref;
#[cfg(test)]
mod tests;
mod tokens;
mod tree;

pub use condition::Condition;
pub use error::ConditionError;
pub use evaluate::{EvaluateError, Tensors};
pub use function::{Function, Quantity};
pub use needs::Needs;
pub use tensor_ref::{TensorPart, TensorRef};
