use std::path::PathBuf;

use opscope_model::RunId;
use opscope_tensor::Statistics;

use super::outcome::Ending;
use crate::{Delivery, DumpError, Piece, Stream};

/// A destination of streams: files, statistics, a callback, a comparison. A closure that takes pieces is a sink:
///
/// ```
/// use opscope_dump::{Answer, Dumper, Piece, Request, Stream};
///
/// let dumper = Dumper::new();
/// let print = |stream: &Stream, piece: Piece<'_>| {
///     println!("{} at {}: {} bytes", stream.origin, piece.offset, piece.bytes.len());
///     Answer::Continue
/// };
/// dumper.subscribe(Box::new(print), Request::default())?;
/// # Ok::<(), opscope_dump::DumpError>(())
/// ```
///
/// A sink is never called by two threads at once, and one stream ends before the next begins. A panic ends the
/// subscription, not the run.
pub trait Sink: Send {
    /// Returns the delivery that suits this sink best, for requests that choose none.
    fn delivery(&self) -> Delivery {
        Delivery::default()
    }

    /// Returns whether the pieces from a queue, except the last one of a stream, may be the engine's own memory if the
    /// engine can keep it. The engine must wait for a call that takes such a piece. So a sink that waits for anything,
    /// such as a disk, returns `false`.
    fn reads_in_place(&self) -> bool {
        false
    }

    /// Takes the beginning of a stream. If the answer skips it, none of its pieces follow.
    fn begin(&mut self, _stream: &Stream) -> Answer {
        Answer::Continue
    }

    /// Takes the next piece of the stream that began last.
    fn piece(&mut self, stream: &Stream, piece: Piece<'_>) -> Answer;

    /// Takes the statistics of a tensor whose data is not known. Their hash is 0 if it is not known either. Returns
    /// `None` if the sink needs the data, so that the tensor counts as missing.
    fn summary(&mut self, _stream: &Stream, _statistics: &Statistics) -> Option<Answer> {
        None
    }

    /// Called if the current stream ends without its last piece.
    fn broken(&mut self, _stream: &Stream, _reason: &str) {}

    /// Called when a run has ended and all its streams were delivered.
    fn run_ended(&mut self, _run: RunId) -> Answer {
        Answer::Continue
    }

    /// Called once at the end, even after a stop, but not after a panic of this sink.
    fn close(&mut self, _ending: &Ending) -> Closed {
        Closed::default()
    }
}

impl<F: FnMut(&Stream, Piece<'_>) -> Answer + Send> Sink for F {
    fn piece(&mut self, stream: &Stream, piece: Piece<'_>) -> Answer {
        self(stream, piece)
    }
}

/// What a sink wants to happen next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Send the next pieces and streams.
    Continue,
    /// Send no more pieces of this stream. It does not count as missing.
    Skip,
    /// Send no more streams, for this reason. The tensor of the current stream counts as missing, even at its last
    /// piece.
    Stop(String),
    /// Repeat the same call at once. After [`MOST_ATTEMPTS`] times this counts as a stop.
    Again,
}

impl From<Result<(), DumpError>> for Answer {
    fn from(taken: Result<(), DumpError>) -> Self {
        taken.map_or_else(|error| Self::Stop(error.to_string()), |()| Self::Continue)
    }
}

/// How often one piece is offered to a sink that answers [`Answer::Again`].
pub const MOST_ATTEMPTS: usize = 1000;

/// The result of closing a sink.
#[derive(Debug, Clone, Default)]
pub struct Closed {
    /// The directory that it wrote.
    pub directory: Option<PathBuf>,
    /// Why the result is not complete, apart from tensors that did not reach the sink.
    pub errors: Vec<String>,
}
