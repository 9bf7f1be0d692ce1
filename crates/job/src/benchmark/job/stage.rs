use std::fmt;

/// What a job is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Reads the file and loads the model into the engine.
    Loading,
    /// Compares the optimised plan with the exact one.
    Verifying,
    /// Makes a plan for the shapes of the inputs.
    Planning,
    /// Runs the model.
    Running,
    /// Closes the recording or the dump.
    Closing,
    /// Exports the recording.
    Exporting,
}

impl Stage {
    /// Returns whether ending the job here loses nothing, because there are no results yet.
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
