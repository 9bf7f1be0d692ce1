//! The border between engines and instruments.
//!
//! An [`Engine`] loads a graph and returns a [`Model`]. For inputs of known shapes the model returns a [`Plan`], which
//! runs. An [`Instrument`] makes one [`RunObserver`] per run, and the plan calls it around every dispatch. Neither side
//! knows the other, and this crate contains neither engines nor instruments.
//!
//! Ids and names of operators and values are those of the ONNX file ([`opscope_onnx::Graph`]), even if the engine fused
//! or rewrote its nodes: a [`Kernel`] says which operators it stands for.
//!
//! # Rooms
//!
//! | room | what |
//! |---|---|
//! | `testing` | engines and graphs for tests |
//! | `engine` | engines, models and plans |
//! | `observer` | instruments, and what an engine calls around every dispatch |
//! | `open` | models whose operators are found while they run |
//! | `inputs` | whether inputs fit a graph |
//! | `kernel` | kernels, the operators that they stand for, and the operators that their time counts for |
//! | `iteration` | where in a loop a dispatch is |
//! | `memory` | the tensors in an engine's memory, and the memory that a run takes |
//! | `generated_outputs` | the memory of outputs that a run generates from a few numbers in the file |
//! | `capabilities` | what an engine can do, how faithful a plan is, and how much time and memory loading may take |
//! | `error` | what can go wrong |

#![forbid(unsafe_code)]

mod capabilities;
mod engine;
mod error;
mod generated_outputs;
mod inputs;
mod iteration;
mod kernel;
mod memory;
mod observer;
mod open;
#[cfg(feature = "testing")]
pub mod testing;

pub use capabilities::{Capabilities, Fidelity, InvalidLoadBudget, LoadBudget, MissingCapability};
pub use engine::{CLOCK_RESOLUTION, Engine, KnownOutput, KnownOutputs, LoadOptions, Model, Plan, PlanForm};
pub use error::EngineError;
pub use generated_outputs::{GeneratedOutputs, TooMuchGenerated};
pub use inputs::{check_inputs, resized_inputs};
pub use iteration::{Iteration, LoopIteration};
pub use kernel::{
    Attribution, Kernel, KernelId, KernelInput, KernelSet, LAYOUT_OPERATORS, LiveMask, TensorType, changes_layout,
    is_matrix_operator, kernel_costs, nearest_before, place_the_rest,
};
pub use memory::{DeviceTensors, RunMemory, TensorMemory};
pub use observer::{
    Action, Dispatch, Instrument, Interest, KeptTensor, LiveValues, NoLiveValues, NoObserver, OpenRunInfo, RunId,
    RunInfo, RunObserver,
};
pub use open::{Description, OpenModel, OpenOperator};
