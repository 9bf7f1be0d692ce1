use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use opscope_model::RunId;
use opscope_sys::Mutex;
use opscope_tensor::Statistics;

use crate::stream::outcome::Ending;
use crate::stream::sink::MOST_ATTEMPTS;
use crate::{Answer, Closed, Missing, Piece, Sink, Stream};

/// Calls a sink, obeys its answers and counts the tensors that it took. After a stop or a panic it only closes the
/// sink.
pub(crate) struct Driver {
    sink: Box<dyn Sink>,
    ending: Arc<Mutex<Ending>>,
    /// Whether the rest of the current stream is wanted.
    wanted: bool,
    stopped: Option<String>,
    panicked: bool,
}

impl Driver {
    pub fn new(sink: Box<dyn Sink>, ending: Arc<Mutex<Ending>>) -> Self {
        Self { sink, ending, wanted: false, stopped: None, panicked: false }
    }

    /// Returns why the sink gets no more tensors, or `None` if it still does.
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Stops sending tensors to the sink.
    pub fn stop(&mut self, reason: &str) {
        self.stopped.get_or_insert_with(|| reason.to_owned());
    }

    /// Begins a stream. Returns whether its pieces are wanted.
    pub fn begin(&mut self, stream: &Stream) -> bool {
        self.wanted = self.stopped.is_none() && self.ask(|sink| sink.begin(stream));
        self.lose_if_stopped(stream);
        self.wanted
    }

    /// Sends a piece to the sink. Returns whether the next one is wanted.
    pub fn piece(&mut self, stream: &Stream, piece: Piece<'_>) -> bool {
        if self.wanted {
            self.wanted = self.ask(|sink| sink.piece(stream, piece));
            self.lose_if_stopped(stream);
            if piece.last && self.stopped.is_none() {
                let mut ending = self.ending.lock();
                ending.delivered.tensors += 1;
                ending.delivered.bytes += stream.bytes;
            }
        }
        self.wanted
    }

    /// Ends the current stream without its last piece.
    pub fn broken(&mut self, stream: &Stream, reason: &str) {
        if std::mem::take(&mut self.wanted) {
            self.lose(stream, reason);
            self.ask(|sink| {
                sink.broken(stream, reason);
                Answer::Continue
            });
        }
    }

    /// Sends the statistics of a tensor whose data is not known.
    pub fn summary(&mut self, stream: &Stream, statistics: &Statistics) {
        if self.stopped.is_some() {
            return self.lose_if_stopped(stream);
        }
        let mut is_taken = true;
        self.ask(|sink| {
            sink.summary(stream, statistics).unwrap_or_else(|| {
                is_taken = false;
                Answer::Skip
            })
        });
        if self.stopped.is_some() {
            self.lose_if_stopped(stream);
        } else if is_taken {
            let mut ending = self.ending.lock();
            ending.delivered.tensors += 1;
            ending.delivered.bytes += stream.bytes;
        } else {
            self.lose(stream, "only its statistics are known");
        }
    }

    pub fn run_ended(&mut self, run: RunId) {
        if self.stopped.is_none() {
            self.ask(|sink| sink.run_ended(run));
        }
    }

    /// Closes the sink.
    pub fn close(&mut self) -> Closed {
        let ending = {
            let mut ending = self.ending.lock();
            ending.stopped = ending.stopped.take().or(self.stopped.clone());
            ending.clone()
        };
        let mut closed = Closed::default();
        if !self.panicked {
            self.stopped = None;
            self.ask(|sink| {
                closed = sink.close(&ending);
                Answer::Continue
            });
        }
        closed.errors.extend(ending.stopped.into_iter().chain(self.stopped.take()));
        closed
    }

    fn lose_if_stopped(&mut self, stream: &Stream) {
        if let Some(reason) = self.stopped.clone() {
            self.lose(stream, &reason);
        }
    }

    fn lose(&self, stream: &Stream, reason: &str) {
        let missing = Missing { origin: stream.origin.clone(), reason: reason.into() };
        self.ending.lock().losses.add(missing);
    }

    /// Calls the sink until its answer is not `Again`. Returns whether the stream continues.
    fn ask(&mut self, mut call: impl FnMut(&mut dyn Sink) -> Answer) -> bool {
        for _ in 0..MOST_ATTEMPTS {
            let sink = &mut *self.sink;
            match catch_unwind(AssertUnwindSafe(|| call(sink))) {
                Ok(Answer::Continue) => return true,
                Ok(Answer::Skip) => return false,
                Ok(Answer::Again) => {}
                Ok(Answer::Stop(reason)) => {
                    self.stopped = Some(reason);
                    return false;
                }
                Err(panic) => {
                    self.stopped = Some(format!("the sink panicked: {}", message(&*panic)));
                    self.panicked = true;
                    return false;
                }
            }
        }
        self.stopped = Some(format!("the sink asked {MOST_ATTEMPTS} times for the same piece"));
        false
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}
