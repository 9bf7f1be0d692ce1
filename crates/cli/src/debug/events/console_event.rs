use std::fmt;

use opscope::debug::Event;
use opscope::model::RunId;
use opscope::tensor::DType;

/// Something that the console reports.
#[derive(Debug)]
pub enum ConsoleEvent {
    /// An event of the program at which no run is stopped.
    Reported(Event),
    /// A run stopped, and stays stopped until the user lets it continue.
    Stopped(Event),
    /// A run of this process's own model is over.
    RunEnded(RunEnd),
    /// A thread of this process has started all its runs.
    ThreadDone,
    /// Ctrl-C.
    Interrupted,
    /// Other console events were dropped because the inbox was full.
    Dropped(DroppedCounts),
    /// The program is gone, for this reason.
    Gone(String),
}

/// How many console events were dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct DroppedCounts {
    /// Runs that ended with outputs.
    pub ended: u64,
    /// Runs that failed.
    pub failed: u64,
    /// Events at which no run was stopped.
    pub events: u64,
}

impl DroppedCounts {
    /// Counts an event.
    pub fn add(&mut self, event: &ConsoleEvent) {
        match event {
            ConsoleEvent::Reported(event) => self.events += 1 + event.coalesced,
            ConsoleEvent::RunEnded(RunEnd { outcome: Ok(_), .. }) => self.ended += 1,
            ConsoleEvent::RunEnded(RunEnd { outcome: Err(_), .. }) => self.failed += 1,
            ConsoleEvent::Stopped(_)
            | ConsoleEvent::ThreadDone
            | ConsoleEvent::Interrupted
            | ConsoleEvent::Dropped(_)
            | ConsoleEvent::Gone(_) => {}
        }
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct RunEnd {
    /// Its number.
    pub run: RunId,
    /// Its outputs, or why there are none.
    pub outcome: Result<Vec<RunOutput>, String>,
}

/// An output of the model.
#[derive(Debug, serde::Serialize)]
pub struct RunOutput {
    /// Its name in the file.
    pub name: String,
    /// The type of its elements.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<usize>,
    /// How many of its elements are NaN.
    pub nan: u64,
    /// How many of its elements are infinite.
    pub infinite: u64,
}

impl fmt::Display for RunOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?}", self.name, self.dtype, self.shape)?;
        match (self.nan, self.infinite) {
            (0, 0) => Ok(()),
            (nan, 0) => write!(f, " with {nan} NaN"),
            (0, infinite) => write!(f, " with {infinite} infinite"),
            (nan, infinite) => write!(f, " with {nan} NaN and {infinite} infinite"),
        }
    }
}
