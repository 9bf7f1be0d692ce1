use std::path::Path;

use opscope::SessionError;
use opscope_dump::DumpError;

use super::instruments::InstrumentError;
use super::measure::MeasureError;
use super::output::OutputPathError;
use crate::inputs::InputError;

/// Why a job gives no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The model.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The inputs.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A path that results should go to.
    #[error(transparent)]
    OutputPath(#[from] OutputPathError),
    /// An instrument.
    #[error(transparent)]
    Instrument(#[from] InstrumentError),
    /// The dump cannot be estimated.
    #[error(transparent)]
    Estimate(DumpError),
    /// What should be dumped is not in the model.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Selection(Vec<DumpError>),
    /// A run.
    #[error("{source}{}", where_kept(.kept))]
    Measure {
        /// What happened.
        source: MeasureError,
        /// The directory of what was captured until then.
        kept: Option<Box<Path>>,
    },
    /// No run was measured.
    #[error("nothing was measured: it was ended before the first run was over{}", where_kept(.kept))]
    NoRuns {
        /// The directory of what was captured until then.
        kept: Option<Box<Path>>,
    },
}

fn where_kept(directory: &Option<Box<Path>>) -> String {
    directory
        .as_ref()
        .map(|directory| format!("; what was captured until then is in {directory:?}"))
        .unwrap_or_default()
}
