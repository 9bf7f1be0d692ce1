//! opscope shows what an accelerator really does while it runs a model: **what ran and when** (records), **what came
//! out** (dumps), **stop and look** (events).
//!
//! A Rust program depends on this crate. [`Session`] loads a model into an engine, and runs it with instruments: a
//! profiler, a dumper, a debugger. The engine is the embedded one unless another is [chosen](engine::EngineSpec). What
//! the command `opscope` does with a model, from inputs to a report, is in `opscope-job`.
//!
//! ONNX Runtime runs a model if its library is installed:
//!
//! ```no_run
//! use opscope::engine::{EngineName, EngineSpec};
//! use opscope::{Session, model::{Fidelity, LoadOptions}};
//!
//! let engine = EngineSpec { name: EngineName::OnnxRuntime, ..EngineSpec::default() }.open()?;
//! let options = LoadOptions::new(Fidelity::Exact, std::num::NonZeroUsize::MIN);
//! let session = Session::open_with(engine, "resnet50.onnx".as_ref(), &options)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With two lines, a debugger can attach to a program's runs. They cost nothing while none is attached:
//!
//! ```no_run
//! use opscope::debug::{Debugger, server::ServerOptions};
//! # use opscope::{Session, model::Fidelity, tensor::Tensor};
//! # let session = Session::load("resnet50.onnx".as_ref(), Fidelity::Exact, std::num::NonZeroUsize::MIN)?;
//! # let inputs: Vec<Tensor> = Vec::new();
//!
//! let debugger = Debugger::new()?;
//! let _server = debugger.serve(ServerOptions::default())?; // opscope debug --attach PID
//!
//! let outputs = session.run(&inputs, &[&debugger])?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A program receives the records of its runs from a context. It gets those of all sessions:
//!
//! ```no_run
//! use opscope::profile::plan_names;
//! use opscope::trace::{Buffer, BufferOptions, Context, DispatchRecord, Kind, Operations};
//! # use opscope::{Session, model::Fidelity, tensor::Tensor};
//! # let session = Session::load("resnet50.onnx".as_ref(), Fidelity::Optimised, std::num::NonZeroUsize::MIN)?;
//! # let inputs: Vec<Tensor> = Vec::new();
//!
//! let buffer = Buffer::create(BufferOptions::default(), |batch| {
//!     let calibration = batch.calibration();
//!     for dispatch in batch.records().filter_map(|record| record.get::<DispatchRecord>()) {
//!         let Some(plan) = plan_names(dispatch.plan) else { continue };
//!         let operator = &plan.kernels[dispatch.kernel.0 as usize].operator;
//!         println!("{operator}: {} ns", calibration.nanos(dispatch.start, dispatch.end));
//!     }
//! })?;
//! let context = Context::create();
//! context.configure(Kind::OperatorDispatch, Operations::All, &buffer)?;
//! context.start()?;
//! session.run(&inputs, &[])?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A program marks its own code with [`range`]; the profile shows the marks beside the model's operators.
//!
//! # Rooms
//!
//! Each file or folder is a room, and imports only from rooms below it:
//!
//! | room | what |
//! |---|---|
//! | `session` | a loaded model, its runs, and several observers of one run |
//! | `engine` | the engines, and how one is chosen |
//! | `consumers` | feeds libraries that receive what this program runs |
//! | `local_time` | names of runs by date and time |

#![forbid(unsafe_code)]

pub mod consumers;
pub mod engine;
mod local_time;
mod session;

pub use local_time::local_time;
pub use opscope_clock as clock;
pub use opscope_debug as debug;
pub use opscope_dump as dump;
pub use opscope_files as files;
pub use opscope_model as model;
pub use opscope_onnx as onnx;
pub use opscope_profile as profile;
pub use opscope_tensor as tensor;
pub use opscope_text as text;
pub use opscope_trace as trace;
pub use opscope_trace::{mark, range};
pub use session::{Chain, Inference, Session, SessionError};
