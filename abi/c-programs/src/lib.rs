//! Programs in C and C++ for tests and benchmarks. They are compiled with the headers of a library of `abi/`, linked
//! with the library that cargo built along with the test, and run with a time limit.
//!
//! ```ignore
//! let program = Program::of(Library::Opscope, "tour.c").option("-lopscope").argument("digits_cnn.onnx");
//! assert_eq!(program.inside(models()).run().stderr, "");
//! ```
//!
//! | file | what it has |
//! |---|---|
//! | `program` | a program: how it is compiled, and what it is run with |
//! | `running` | a program that runs, and what it printed |
//! | `loaded` | a C file that is loaded into this process |
//! | `consumers`, `sdk_trace`, `v2_trace` | consumers and tools in C, and what they wrote about the runs of models |
//! | `library` | the libraries, and how they are linked |
//! | `command` | compilers and other commands |
//!
//! A test that uses a library depends on its crate, so that cargo builds the archive that the library is linked from.

#![deny(unsafe_code)]

mod command;
pub mod consumers;
mod library;
// Loads compiled code and returns its functions.
#[allow(unsafe_code)]
mod loaded;
mod program;
mod running;
pub mod sdk_trace;
pub mod v2_trace;

pub use command::{Language, output_of, succeeds};
pub use library::{Library, models, repository};
pub use loaded::Loaded;
pub use program::{DIRECTORY, Program, source};
pub use running::{Printed, Running};
