//! What this machine reaches, and the recordings that it can be compared with.

use std::num::NonZeroUsize;
use std::path::Path;

use opscope_profile::Manifest;
pub use opscope_roofline::{
    Bandwidth, Bound, ComputePeak, Limit, Roofline, RooflineError, keep, kept, kept_or_measured, measure,
    processor_name,
};

/// What to do if a machine has not been measured yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmeasured {
    /// Measure it, which takes about a second.
    Measure,
    /// Continue without the measurement.
    Skip,
}

/// Returns what the machine of a recording reaches with as many threads as its engine had: the measurement stored in
/// the directory, or a new one. Returns `None` for a recording from another machine, which can be measured only there.
///
/// # Errors
/// Returns an error if a thread for the measurement cannot be started.
pub fn of_recording(
    manifest: &Manifest,
    directory: Option<&Path>,
    unmeasured: Unmeasured,
) -> Result<Option<Roofline>, RooflineError> {
    let Some(threads) = NonZeroUsize::new(manifest.engine.threads) else { return Ok(None) };
    // A recording may state any number of threads. This machine measures at most as many as it has processors.
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    if manifest.host.cpu != processor_name() || manifest.host.processors != processors || threads.get() > processors {
        return Ok(None);
    }
    match unmeasured {
        Unmeasured::Measure => kept_or_measured(directory, threads).map(Some),
        Unmeasured::Skip => Ok(directory.and_then(|directory| kept(directory, threads))),
    }
}
