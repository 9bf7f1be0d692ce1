//! The border between engines and instruments.
//!
//! An [`Engine`] loads a graph and gives a [`Model`]; for inputs of known shapes the model gives a [`Plan`], which runs.
//! An [`Instrument`] makes one [`RunObserver`] per run, and the plan calls it around every dispatch. Neither side knows
//! the other: there is no engine and no instrument in this crate.
//!
//! Ids and names of operators and values are those of the ONNX file ([`opscope_onnx::Graph`]), also where the engine
//! fused or rewrote its nodes: a [`Kernel`] says which operators it stands for.

#![forbid(unsafe_code)]

mod budget;
mod capabilities;
mod engine;
mod error;
mod fidelity;
mod inputs;
mod iteration;
mod kernel;
mod machine;
mod memory;
mod observer;
#[cfg(feature = "testing")]
pub mod testing;

pub use budget::{InvalidLoadBudget, LoadBudget};
pub use capabilities::{Capabilities, MissingCapability};
pub use engine::{CLOCK_RESOLUTION, Engine, KnownOutput, KnownOutputs, LoadOptions, Model, Plan, PlanForm};
pub use error::EngineError;
pub use fidelity::Fidelity;
pub use inputs::{check_inputs, resized_inputs};
pub use iteration::{Iteration, LoopIteration};
pub use kernel::{
    Attribution, Kernel, KernelId, KernelInput, KernelSet, LiveMask, TensorType, changes_layout, is_matrix_operator,
    kernel_costs, nearest_before, place_the_rest,
};
pub use machine::memory_of_machine;
pub use memory::{DeviceTensors, RunMemory, TensorMemory};
pub use observer::{
    Action, Dispatch, Instrument, Interest, KeptTensor, LiveValues, NoLiveValues, NoObserver, RunId, RunInfo,
    RunObserver,
};
