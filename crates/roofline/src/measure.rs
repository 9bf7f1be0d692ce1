use std::num::NonZeroUsize;
use std::time::Duration;

use crate::limits::{Roofline, processor_name};
use crate::{RooflineError, bandwidth, compute};

/// The time for each peak and each bandwidth in a round. The eleven of them take less than half a second.
const TIME: Duration = Duration::from_millis(36);

/// How many rounds measure everything, one after another. Another program may occupy a processor for longer than one
/// measurement takes.
const ROUNDS: usize = 2;

/// Measures what this machine reaches with this many threads at the same time. It takes about a second, and memory for
/// 256 MiB of data.
///
/// # Errors
/// Returns an error if a thread cannot be started.
pub fn measure(threads: NonZeroUsize) -> Result<Roofline, RooflineError> {
    let mut measured = round(threads)?;
    for _ in 1..ROUNDS {
        measured.raise_to(&round(threads)?);
    }
    Ok(measured)
}

fn round(threads: NonZeroUsize) -> Result<Roofline, RooflineError> {
    Ok(Roofline {
        processor: processor_name(),
        threads: threads.get(),
        peaks: compute::peaks(threads, TIME)?,
        bandwidths: bandwidth::bandwidths(threads, TIME)?,
    })
}
