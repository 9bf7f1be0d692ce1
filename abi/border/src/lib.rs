//! The border between a C program and opscope's libraries: typed values for what a program passes, and the shell of
//! every exported function.
//!
//! A C pointer becomes one of the types below. Each type documents what C guarantees for it, reads or writes through
//! the pointer in only one place, and checks the pointer first. So the body of an exported function is safe Rust, and
//! cannot forget a check:
//!
//! ```
//! # use opscope_border::{ArgumentError, Failure, Items, Out, Text, exported};
//! # struct Wrong(i32);
//! # impl From<ArgumentError> for Wrong { fn from(_: ArgumentError) -> Self { Self(2) } }
//! # impl Failure for Wrong {
//! #     type Status = i32;
//! #     fn success() -> i32 { 0 }
//! #     fn panicked(_: &str) -> Self { Self(3) }
//! #     fn report(self) -> i32 { self.0 }
//! # }
//! /// Writes how many of these numbers are even.
//! #[exported]
//! pub fn example_even(#[counted_by(count)] numbers: Items<'_, u32>, count: usize, even: Out<'_, usize>) -> Result<(),
//! Wrong> {
//!     let even = even.place("even")?;
//!     even.write(numbers.get("numbers")?.iter().filter(|number| *number % 2 == 0).count());
//!     Ok(())
//! }
//! ```
//!
//! # `exported`
//!
//! The attribute makes `example_even` a C function: `int example_even(const uint32_t *numbers, size_t count, size_t
//! *even)`.
//!
//! - A function that returns a `Result` returns the status of its [`Failure`] to C. Its body runs in
//!   [`Answer::answer`], or in the function that the attribute names, as in `#[exported(in_callback)]`: a panic becomes
//!   an error, and an error is reported. Any other function returns its own type to C, and its body runs unchanged.
//! - `#[counted_by(count)]` names the parameter with the count of an array. In the body, the array has its count.
//! - The ABI is "C" unless the function names another one.
//!
//! `in_table` is the same for a function that C calls through a pointer in a table: it has no name in C.
//!
//! A Rust program that calls such a function needs values that only C or `unsafe` code can create, so the function
//! itself is safe.
//!
//! # Rooms
//!
//! | room | what |
//! |---|---|
//! | `answer` | bodies of exported functions: panics, statuses |
//! | `sized` | structs that begin with their size |
//! | `items` | arrays |
//! | `value`, `text` | single values, places for results, texts |
//! | `program` | calls of a program's functions |
//! | `exception` | C++ exceptions that such a function throws |
//! | `entry` | functions in memory that a program overwrites |
//! | `last` | references that can change while threads read them |
//! | `unpadded` | structs as bytes |
//! | `loader`, `system` | what other libraries export; system calls |
//! | `error` | why an argument is invalid |

mod answer;
mod entry;
mod error;
mod exception;
mod items;
mod last;
pub mod loader;
mod program;
mod sized;
pub mod system;
mod text;
mod unpadded;
mod value;

pub use answer::{Answer, Failure, answer, caught, value};
pub use entry::Entry;
pub use error::{Argument, ArgumentError};
pub use items::{Bytes, Changed, Count, Counted, Items, ItemsInOut, ItemsOut, Room};
pub use last::Last;
pub use opscope_border_macros::{exported, in_table};
pub use program::{UserData, call_program, report, required};
pub use sized::{SizedCounted, SizedIn, SizedItems, SizedOut, SizedPlace, SizedStruct};
pub use text::Text;
pub use unpadded::Unpadded;
#[doc(hidden)]
pub use unpadded::{size_of_pointee as __size_of_pointee, uninit as __uninit};
pub use value::{In, InOut, Out, Place};
