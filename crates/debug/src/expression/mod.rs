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
mod evaluate;
mod function;
mod grammar;
mod parser;
mod tensor_ref;
#[cfg(test)]
mod tests;
mod tree;

use std::fmt;

pub use condition::{Condition, Needs};
pub use evaluate::{EvaluateError, Tensors};
pub use function::{Function, Quantity};
pub use tensor_ref::{TensorPart, TensorRef};

/// An error in the text of a condition or of a reference to a tensor, with its position.
///
/// `{}` is one line; `{:#}` also shows the text, with a mark below the position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionError(Box<ErrorDetails>);

/// The content of the error. It is boxed, so that results are small: the parser has one on the stack for each level of
/// nesting.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ErrorDetails {
    text: String,
    /// The position in bytes.
    at: usize,
    found: String,
    right: String,
}

/// The number of characters of a long text that are shown on either side of the position.
const SHOWN: usize = 60;

impl ConditionError {
    /// Creates an error from what was found at a byte of the text, and what would be right there.
    fn new(text: &str, at: usize, found: impl Into<String>, right: impl Into<String>) -> Self {
        Self(Box::new(ErrorDetails { text: text.to_owned(), at, found: found.into(), right: right.into() }))
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Returns the position of the error in the text: a number of characters, from 1.
    pub fn column(&self) -> usize {
        self.0.text[..self.0.at].chars().count() + 1
    }

    /// Returns what the text has there.
    pub fn found(&self) -> &str {
        &self.0.found
    }

    /// Returns what would be right there.
    pub fn right(&self) -> &str {
        &self.0.right
    }
}

impl std::error::Error for ConditionError {}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}; right would be {}", self.column(), self.found(), self.right())?;
        if f.alternate() {
            // Every character takes one column, including tabs and line ends.
            let visible = |character: char| if character.is_control() { ' ' } else { character };
            let (before, after) = self.0.text.split_at(self.0.at);
            let skipped = (self.column() - 1).saturating_sub(SHOWN);
            let before: String = before.chars().skip(skipped).map(visible).collect();
            let after: String = after.chars().take(SHOWN).map(visible).collect();
            write!(f, "\n  {before}{after}\n  {:1$}^", "", before.chars().count())?;
        }
        Ok(())
    }
}
