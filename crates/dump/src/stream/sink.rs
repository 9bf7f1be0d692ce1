use std::path::PathBuf;

use opscope_model::RunId;

use super::outcome::Ending;
use crate::{Delivery, Piece, Stream};

/// Where streams go: files, statistics, a callback, a comparison.
///
/// A sink is never called by two threads at once, and one stream ends before the next begins. A panic ends the
/// subscription, not the run.
pub trait Sink: Send {
    /// Returns how it is best delivered to, where the request does not say.
    fn delivery(&self) -> Delivery {
        Delivery::default()
    }

    /// Returns a stream begins. If it is skipped, none of its pieces come.
    fn begin(&mut self, _stream: &Stream) -> Answer {
        Answer::Continue
    }

    /// Returns the next piece of the stream that began last.
    fn piece(&mut self, stream: &Stream, piece: Piece<'_>) -> Answer;

    /// Returns the stream that began last ends without its last piece.
    fn broken(&mut self, _stream: &Stream, _reason: &str) {}

    /// Returns a run has ended; no more of it comes.
    fn run_ended(&mut self, _run: RunId) -> Answer {
        Answer::Continue
    }

    /// Nothing more comes. Called once, also after a stop; not after a panic of this sink.
    fn close(&mut self, _ending: &Ending) -> Closed {
        Closed::default()
    }
}

/// What a sink wants to happen next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Go on.
    Continue,
    /// No more of this stream. It does not count as missing.
    Skip,
    /// No more of any stream, for this reason.
    Stop(String),
    /// Call again with the same: at once, and at most [`MOST_ATTEMPTS`] times, after which it counts as a stop.
    Again,
}

/// How often one piece is offered to a sink that answers [`Answer::Again`].
pub const MOST_ATTEMPTS: usize = 1000;

/// What a sink leaves behind.
#[derive(Debug, Clone, Default)]
pub struct Closed {
    /// The directory that it wrote.
    pub directory: Option<PathBuf>,
    /// Why what it made is not complete, apart from the tensors that were missing before they reached it.
    pub errors: Vec<String>,
}
