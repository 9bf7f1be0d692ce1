use opscope_model::{Fidelity, RunId};
use serde::{Deserialize, Serialize};

use crate::event::{ModelId, Sequence, run_number};
use crate::queues::{Account, Release, Stop};

/// The state of a program and of its debugger.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The models that are loaded.
    pub models: Vec<LoadedModel>,
    /// The runs in progress.
    pub runs: Vec<RunState>,
    /// The threads that wait for an acknowledgement, in the order of their events.
    pub stopped: Vec<Stop>,
    /// The account of the sync queue since the debugger attached.
    pub sync: Account,
    /// The account of the async queue since the debugger attached.
    #[serde(rename = "async")]
    pub asynchronous: Account,
    /// The latest events (at most 64) whose threads continued without an acknowledgement.
    pub released: Vec<Release>,
}

/// A model that a program has loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedModel {
    /// Its number.
    pub model: ModelId,
    /// The graph's name in the file.
    pub name: String,
    /// The file.
    pub path: String,
    /// How faithfully the engine follows the file.
    pub fidelity: Fidelity,
    /// How many operators it has.
    pub operators: u32,
}

/// A run in progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// The run.
    #[serde(with = "run_number")]
    pub run: RunId,
    /// Its model.
    pub model: ModelId,
    /// The system's number of its thread; 0 before it begins.
    pub thread: u32,
    /// The event that it is stopped at, if it is.
    pub stopped: Option<Sequence>,
}
