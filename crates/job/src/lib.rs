//! What the command `opscope` does with a model, for other programs, too. [`benchmark::Job`] is `opscope benchmark`,
//! from inputs to a report, with a profiler or a dumper on request.
//!
//! ```no_run
//! use opscope_job::benchmark::{Job, JobHooks};
//!
//! let report = Job::new("resnet50.onnx").run(&JobHooks::default())?;
//! println!("{} ms", report.measurements[0].compute.mean);
//! # Ok::<(), opscope_job::benchmark::JobError>(())
//! ```
//!
//! The job's field `engine` chooses ONNX Runtime. Its field `debugger` adds a debugger to a profiler or a dumper.
//!
//! # Rooms
//!
//! Each file or folder is a room, and imports only from rooms below it:
//!
//! | room | what |
//! |---|---|
//! | `benchmark` | a job from its inputs to its report |
//! | `reduce` | finds the smallest model that still fails |
//! | `compare` | compares two ways to run a model |
//! | `precision` | finds which operators must stay in float32 |
//! | `verify` | finds the fastest plan that is right |
//! | `inputs` | what a model is given: files, shapes, generated data |
//! | `roofline` | what this machine reaches |
//! | `machine` | the processor and the system |
//! | `json_path` | paths in JSON |

#![forbid(unsafe_code)]

pub mod benchmark;
pub mod compare;
pub mod inputs;
mod json_path;
pub mod machine;
pub mod precision;
pub mod reduce;
pub mod roofline;
pub mod verify;
