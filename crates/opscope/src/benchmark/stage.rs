use std::fmt;

/// What a job is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The file is read and given to the engine.
    Loading,
    /// The optimised plan is compared with the exact one.
    Verifying,
    /// The engine gets ready for the shapes of the inputs.
    Planning,
    /// The model runs.
    Running,
    /// What was captured is brought to an end.
    Closing,
    /// Files are made of a recording.
    Exporting,
}

impl Stage {
    /// Returns whether ending here loses nothing: there are no results yet.
    pub fn has_no_results(self) -> bool {
        self < Stage::Running
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Stage::Loading => "loading the model",
            Stage::Verifying => "comparing the optimised plan with the exact one",
            Stage::Planning => "planning for the shapes of the inputs",
            Stage::Running => "running",
            Stage::Closing => "closing",
            Stage::Exporting => "exporting the profile",
        })
    }
}
