use std::fmt;
use std::sync::Arc;

use opscope_model::{LoopIteration, RunId};
use serde::{Deserialize, Serialize};

use super::id::{ModelId, run_number};

/// Before or after an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Its inputs exist, and it has not been executed yet.
    Before,
    /// Its outputs exist, and no other operator has taken them yet.
    After,
}

/// Where a run is: before or after one of its operators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPosition {
    /// The run.
    #[serde(with = "run_number")]
    pub run: RunId,
    /// The run's model; 0 if the program does not say.
    #[serde(default)]
    pub model: ModelId,
    /// The operator's index in the graph, from 0, in the order of execution.
    pub operator: u32,
    /// The operator's name in the file.
    pub name: Arc<str>,
    /// The operator's type.
    pub op_type: Arc<str>,
    /// For an operator in a loop, the iterations of the loops around it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub iterations: Vec<LoopIteration>,
    /// The kernel's index in the engine's plan, from 0.
    pub kernel: u32,
    /// Before or after the operator.
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

impl fmt::Display for RunPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, run {}", self.moment, self.label(), self.run.0)
    }
}

impl RunPosition {
    /// Returns the operator with its index, its type and, in a loop, the iteration: `#12 Loop_3/Add_0[17] (Add)`.
    pub fn label(&self) -> String {
        let indices = LoopIteration::indices(&self.iterations);
        format!("#{} {}{indices} ({})", self.operator, self.name, self.op_type)
    }
}
