//! A destination of streams, and how pieces get there.

use std::path::PathBuf;
use std::time::Duration;

use opscope_model::RunId;
use opscope_tensor::Statistics;

use super::outcome::Ending;
use crate::{DumpError, Piece, Stream};

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

/// How pieces get from the engine to a sink.
#[derive(Debug, Clone)]
pub enum Delivery {
    /// On the engine's thread, while the run waits. Pieces are the engine's own memory. Nothing is copied.
    Direct,
    /// On a thread of the subscription. Pieces are copied into bounded memory.
    Queued(Flow),
}

/// The bounds of a queue.
#[derive(Debug, Clone)]
pub struct Flow {
    /// The maximum number of bytes in the queue, including the queue's own.
    pub cap: usize,
    /// What happens when the queue is full.
    pub policy: Policy,
}

/// What happens to a tensor when the queue is full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy {
    /// The run waits. If the sink takes nothing for this long, the subscription is given up, so that a sink that hangs
    /// does not make the run hang.
    Block {
        /// How long to wait.
        patience: Duration,
    },
    /// A tensor that does not fit as a whole is not delivered. It is counted and listed.
    Drop,
    /// Pieces that do not fit wait in an unnamed file in this directory. Half of the cap is for data in memory, and
    /// half for the list of pieces in the file. When that list is full, too (after some hundred thousand pieces), the
    /// run waits.
    Spill {
        /// The directory.
        directory: PathBuf,
    },
}

impl Policy {
    /// Returns every policy, with the default patience and the system's directory for temporary files.
    pub fn all() -> [Self; 3] {
        let block = Self::Block { patience: Flow::DEFAULT_PATIENCE };
        [block, Self::Drop, Self::Spill { directory: std::env::temp_dir() }]
    }

    /// `block`, `drop` or `spill`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Block { .. } => "block",
            Self::Drop => "drop",
            Self::Spill { .. } => "spill",
        }
    }
}

impl Flow {
    /// The default cap: 224 MiB. Including the tensor that waits for space and the overhead of the allocator, a dump
    /// makes a process grow by less than 256 MiB.
    pub const DEFAULT_CAP: usize = 224 << 20;
    /// The default patience.
    pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(60);
    /// The smallest cap, which replaces any smaller one.
    pub const SMALLEST_CAP: usize = 64 << 10;
}

impl Default for Flow {
    fn default() -> Self {
        Self { cap: Self::DEFAULT_CAP, policy: Policy::Block { patience: Self::DEFAULT_PATIENCE } }
    }
}

impl Default for Delivery {
    fn default() -> Self {
        Delivery::Queued(Flow::default())
    }
}
