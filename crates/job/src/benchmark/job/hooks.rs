use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use opscope_onnx::Graph;

use super::Stage;
use crate::inputs::Inputs;

/// How the caller of a job follows its progress, and cancels it.
#[derive(Clone, Copy)]
pub struct JobHooks<'a> {
    /// Set by the caller to end the job early. What was measured until then is reported.
    pub cancel: &'a Arc<AtomicBool>,
    /// Called when a stage begins.
    pub stage: &'a (dyn Fn(Stage) + Sync),
    /// Called with the inputs before the first run: those of the first set in a table of shapes.
    pub fed: &'a (dyn Fn(&Inputs, &Graph) + Sync),
    /// Called after every run with the number of runs so far.
    pub advanced: &'a (dyn Fn(u64, Goal) + Sync),
    /// Called once with the bytes that the recording will take without its exports, as soon as the first runs show it.
    /// Never called if the number of runs is open.
    pub expects: &'a (dyn Fn(u64) + Sync),
}

/// The goal at which a measurement ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// This number of runs.
    Runs(u64),
    /// A duration.
    Time {
        /// The part that has passed.
        passed: Duration,
        /// The whole duration.
        all: Duration,
    },
    /// A median with a narrow confidence interval.
    Stable {
        /// The width of the interval in percent of the median, or `None` before it is first computed.
        width: Option<f64>,
        /// The width at which the measurement ends.
        wanted: f64,
        /// The time that has passed.
        passed: Duration,
        /// The time after which the measurement ends in any case.
        most: Duration,
    },
}

impl Default for JobHooks<'_> {
    /// Hooks that do nothing and never cancel.
    fn default() -> Self {
        static NEVER: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
        Self { cancel: &NEVER, stage: &|_| (), fed: &|_, _| (), advanced: &|_, _| (), expects: &|_| () }
    }
}
