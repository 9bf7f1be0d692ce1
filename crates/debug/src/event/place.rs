use std::fmt;
use std::sync::Arc;

use opscope_model::RunId;
use serde::{Deserialize, Serialize};

/// Before or after an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Its inputs are there, it was not executed.
    Before,
    /// Its outputs are there, nobody took them.
    After,
}

/// Where a run is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The run.
    #[serde(with = "run")]
    pub run: RunId,
    /// The operator's index in the graph, from 0, in the order of execution.
    pub operator: u32,
    /// The operator's name in the file.
    pub name: Arc<str>,
    /// The operator's type.
    pub op_type: Arc<str>,
    /// The step of the engine's plan, from 0.
    pub kernel: u32,
    /// Before or after it.
    pub moment: Moment,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Moment::Before => "before",
            Moment::After => "after",
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {}, {} #{} {} ({})", self.run.0, self.moment, self.operator, self.name, self.op_type)
    }
}

/// A run as its number.
pub(crate) mod run {
    use opscope_model::RunId;
    use serde::Deserialize;

    pub fn serialize<S: serde::Serializer>(run: &RunId, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(run.0)
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<RunId, D::Error> {
        u64::deserialize(from).map(RunId)
    }
}
