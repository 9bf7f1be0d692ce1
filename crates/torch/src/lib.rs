//! A PyTorch program as an open model: its operators are found while it runs, and instruments watch them as they watch
//! those of an engine. There is no Python in this crate: the package for Python tells it what was executed.
//!
//! # Rooms
//!
//! | room | what |
//! |---|---|
//! | `program` | a program that runs, and the observers of its current step |
//! | `execution` | an operator that was executed, and its tensors |
//! | `changes` | what instruments change of an operator |
//! | `watch` | the instrument that stops at the first NaN or infinity |
//! | `steps` | where a step ends and the next one begins |
//! | `stems` | the names of what is executed, counted in each step |
//! | `producers` | which value a tensor in memory is |
//! | `place` | where an operator is executed: module, phase, source line; its name |
//! | `strided` | tensors whose elements are not contiguous in memory |
//! | `nonfinite` | whether a tensor has a NaN or an infinite element |

#![forbid(unsafe_code)]

mod changes;
mod execution;
mod nonfinite;
mod place;
mod producers;
mod program;
mod stems;
mod steps;
mod strided;
mod watch;

pub use changes::Changes;
pub use execution::{Execution, GivenInput, GivenInputs, Shown, Taken};
pub use nonfinite::{Found, non_finite};
pub use place::{ModulePath, Phase, Place};
pub use program::{CAPABILITIES, Program, Stopped};
pub use steps::{StepRange, Steps, WrongSteps};
pub use strided::Strided;
pub use watch::{Finding, FindingInput, NonFinite, Watch};
