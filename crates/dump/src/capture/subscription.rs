use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};
use std::time::Instant;

use opscope_clock::Clock;
use opscope_model::{KeptTensor, TensorType};
use opscope_sys::Mutex;
use opscope_tensor::{Statistics, TensorError, TensorView};

use super::driver::Driver;
use super::queue::{Message, Refused, SMALL, Whole};
use super::worker::Worker;
use crate::stream::outcome::{Ending, RunOutcome, SubscriptionReport};
use crate::{Closed, Coverage, Delivery, DumpError, Missing, Origin, Piece, Selection, Sink, Stream};

/// A request to a dumper: which tensors to capture, and how to deliver them.
#[derive(Debug, Clone)]
pub struct Request {
    /// The tensors to capture.
    pub selection: Selection,
    /// How tensors are delivered to the sink, or `None` for [its preference](Sink::delivery).
    pub delivery: Option<Delivery>,
    /// The maximum size of a piece in bytes, rounded down to a multiple of 64, but at least 64. A queue may use smaller
    /// pieces.
    pub piece_size: usize,
    /// Whether the inputs of an operator are kept until it has ended, so that they can be delivered if the run fails in
    /// it. This costs a copy of the inputs that the selection does not capture, for one operator at a time.
    pub inputs_in_flight: bool,
    /// Whether a sink that stops also stops the runs that it takes part in.
    pub stops_run: bool,
    /// Whether tensors that are the same in every run are delivered in each run, with the other tensors of their
    /// operator, instead of once. This keeps copies of them.
    pub constants_in_runs: bool,
}

impl Request {
    /// The default size of pieces: 16 MiB.
    pub const DEFAULT_PIECE_SIZE: usize = 16 << 20;
}

impl Default for Request {
    fn default() -> Self {
        Self {
            selection: Selection::default(),
            delivery: None,
            piece_size: Self::DEFAULT_PIECE_SIZE,
            inputs_in_flight: true,
            stops_run: false,
            constants_in_runs: false,
        }
    }
}

/// A sink with its request and its delivery.
pub(crate) struct Subscription {
    pub selection: Selection,
    pub inputs_in_flight: bool,
    pub constants_in_runs: bool,
    stops_run: bool,
    piece_size: usize,
    route: Route,
    ending: Arc<Mutex<Ending>>,
    /// The tensors that were chosen so far. Locked while one stream is delivered, so that streams of concurrent runs do
    /// not mix.
    chosen: Mutex<Chosen>,
    /// Set before `close` waits for `chosen`: a run that delivers one tensor after the other could take that lock again
    /// and again first. From then on no stream begins.
    is_closing: AtomicBool,
    /// The thread that is inside the sink. If a sink starts runs of its own, they must not wait for the sink.
    inside: Mutex<Option<ThreadId>>,
}

enum Route {
    Direct(Mutex<Driver>),
    Queued {
        worker: Worker,
        /// Whether tensors that the engine can keep need not be copied.
        in_place: bool,
    },
}

/// Keeps a tensor in the engine's memory; `None` if it has to be copied.
type Keep<'a> = &'a dyn Fn() -> Option<Box<dyn KeptTensor>>;

#[derive(Default)]
struct Chosen {
    tensors: u64,
    bytes: u64,
    /// Why no more tensors are sent, unless the sink itself stopped.
    given_up: Option<String>,
    closed: bool,
}

/// Why a tensor that is wanted cannot be captured.
#[derive(Debug, thiserror::Error)]
enum NotCaptured {
    #[error(transparent)]
    Unreadable(#[from] TensorError),
    #[error("its {0} bytes do not fit into the byte budget any more")]
    OverBudget(u64),
}

impl Subscription {
    /// Creates a subscription that measures its patience by this clock.
    pub fn new(sink: Box<dyn Sink>, request: Request, clock: &Clock) -> Result<Self, DumpError> {
        let mut ending = Ending::default();
        if request.selection.first == Some(0) {
            ending.shortfalls.push("at most 0 tensors were asked for, so none is in the dump".to_owned());
        }
        let ending = Arc::new(Mutex::new(ending));
        let delivery = request.delivery.unwrap_or_else(|| sink.delivery());
        let in_place = sink.reads_in_place();
        let driver = Driver::new(sink, Arc::clone(&ending));
        let route = match &delivery {
            Delivery::Direct => Route::Direct(Mutex::new(driver)),
            Delivery::Queued(flow) => Route::Queued { worker: Worker::start(driver, flow, clock)?, in_place },
        };
        Ok(Self {
            selection: request.selection,
            inputs_in_flight: request.inputs_in_flight,
            constants_in_runs: request.constants_in_runs,
            stops_run: request.stops_run,
            piece_size: (request.piece_size & !63).max(64),
            route,
            ending,
            chosen: Mutex::default(),
            is_closing: AtomicBool::new(false),
            inside: Mutex::default(),
        })
    }

    /// Returns whether tensors that the engine keeps are read in place.
    pub fn reads_in_place(&self) -> bool {
        matches!(self.route, Route::Queued { in_place: true, .. })
    }

    /// Delivers a tensor. Returns the reason to stop the run, if there is one.
    pub fn deliver(&self, origin: Origin, siblings: usize, tensor: &TensorView<'_>, keep: Keep<'_>) -> Option<String> {
        if self.is_inside() {
            self.lose(origin, "it was computed by the sink that it was meant for");
            return None;
        }
        let mut chosen = self.chosen.lock();
        if self.is_closing.load(Ordering::Relaxed) {
            return None;
        }
        if let Some(reason) = chosen.given_up.clone().or_else(|| self.stopped()) {
            self.lose(origin, &reason);
            return self.stops_run.then_some(reason);
        }
        let Some(bytes) = tensor.byte_len() else {
            self.lose(origin, &format!("the engine has it only in a form without bytes ({})", tensor.dtype()));
            return None;
        };
        let has_non_finite = || Ok(Statistics::of(tensor)?.has_non_finite());
        match self.choose(&mut chosen, bytes as u64, has_non_finite) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => {
                self.lose(origin, &error.to_string());
                return None;
            }
        }
        let (dtype, shape, bytes) = (tensor.dtype(), tensor.shape().to_vec(), bytes as u64);
        let stream = Stream { origin, dtype, shape, bytes, siblings };
        match &self.route {
            Route::Direct(driver) => {
                self.inside(|| direct(&mut driver.lock(), &stream, tensor, self.piece_size));
            }
            Route::Queued { worker, in_place } => {
                let keep: Keep<'_> = if *in_place { keep } else { &|| None };
                chosen.given_up = self.queue(worker, stream, tensor, keep);
            }
        }
        let stopped = chosen.given_up.clone().or_else(|| self.stopped());
        stopped.filter(|_| self.stops_run)
    }

    /// Delivers the statistics of a tensor whose data is not known.
    pub fn summarise(&self, origin: Origin, tensor: &TensorType, statistics: &Statistics) {
        let mut chosen = self.chosen.lock();
        if self.is_closing.load(Ordering::Relaxed) {
            return;
        }
        if let Some(reason) = chosen.given_up.clone().or_else(|| self.stopped()) {
            return self.lose(origin, &reason);
        }
        let elements = tensor.shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim));
        let bytes = tensor.dtype.zip(elements).and_then(|(dtype, elements)| dtype.bytes_of(elements));
        let Some((dtype, bytes)) = tensor.dtype.zip(bytes) else {
            return self.lose(origin, "its type has no form in bytes");
        };
        match self.choose(&mut chosen, bytes as u64, || Ok(statistics.has_non_finite())) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return self.lose(origin, &error.to_string()),
        }
        let stream = Stream { origin, dtype, shape: tensor.shape.clone(), bytes: bytes as u64, siblings: 1 };
        match &self.route {
            Route::Direct(driver) => self.inside(|| driver.lock().summary(&stream, statistics)),
            Route::Queued { worker, .. } => worker.queue.push(Message::Summary(stream, *statistics)),
        }
    }

    /// Records a selected tensor that will not be delivered.
    pub fn missing(&self, missing: Missing) {
        self.ending.lock().losses.add(missing);
    }

    pub fn give_up_at(&self, deadline: Instant) {
        if let Route::Queued { worker, .. } = &self.route {
            worker.queue.give_up_at(deadline);
        }
    }

    pub fn set_incomplete(&self, reason: &str) {
        self.ending.lock().shortfalls.push(reason.into());
    }

    pub fn set_coverage(&self, coverage: &Coverage) {
        self.ending.lock().coverage = Some(coverage.clone());
    }

    pub fn run_ended(&self, outcome: RunOutcome) {
        let run = outcome.run;
        self.ending.lock().runs.push(outcome);
        if self.is_inside() {
            return;
        }
        let chosen = self.chosen.lock();
        if !chosen.closed {
            match &self.route {
                Route::Direct(driver) => self.inside(|| driver.lock().run_ended(run)),
                Route::Queued { worker, .. } => worker.queue.push(Message::RunEnded(run)),
            }
        }
    }

    /// Waits for the current stream, delivers the queued tensors, and closes the sink. The sink is not called
    /// afterwards. Returns `None` if it was already closed.
    pub fn close(&self) -> Result<Option<SubscriptionReport>, DumpError> {
        if self.is_inside() {
            return Err(DumpError::FromWithin);
        }
        self.is_closing.store(true, Ordering::Relaxed);
        let mut chosen = self.chosen.lock();
        if std::mem::replace(&mut chosen.closed, true) {
            return Ok(None);
        }
        let mut ending = self.ending.lock();
        ending.stopped = chosen.given_up.take();
        drop(ending);
        let closed = match &self.route {
            Route::Direct(driver) => self.inside(|| driver.lock().close()),
            Route::Queued { worker, .. } => worker.close().unwrap_or_else(|| {
                let error = "the sink took nothing for too long and was given up; what waited for it is lost".into();
                Closed { directory: None, errors: vec![error] }
            }),
        };
        let ending = self.ending.lock().clone();
        let failed = ending
            .runs
            .iter()
            .filter_map(|run| run.failure.as_ref().map(|reason| format!("run {} failed: {reason}", run.run.0)));
        let errors = closed.errors.into_iter().chain(failed).chain(ending.shortfalls).collect();
        Ok(Some(SubscriptionReport {
            directory: closed.directory,
            delivered: ending.delivered,
            losses: ending.losses,
            errors,
        }))
    }

    /// Calls a sink on this thread, which counts as inside the sink meanwhile.
    fn inside<R>(&self, call: impl FnOnce() -> R) -> R {
        *self.inside.lock() = Some(thread::current().id());
        let result = call();
        *self.inside.lock() = None;
        result
    }

    /// Returns whether the calling thread is, or may be, inside the sink.
    fn is_inside(&self) -> bool {
        let current = thread::current().id();
        match &self.route {
            Route::Direct(_) => *self.inside.lock() == Some(current),
            Route::Queued { worker, .. } => worker.thread() == current,
        }
    }

    fn stopped(&self) -> Option<String> {
        match &self.route {
            Route::Direct(driver) => driver.lock().stopped().map(str::to_owned),
            Route::Queued { worker, .. } => worker.stopped(),
        }
    }

    /// Returns whether a tensor is wanted, which depends on its data and on what was already captured. Returns an error
    /// if it is wanted but cannot be captured.
    fn choose(
        &self,
        chosen: &mut Chosen,
        bytes: u64,
        has_non_finite: impl FnOnce() -> Result<bool, TensorError>,
    ) -> Result<bool, NotCaptured> {
        if self.selection.first.is_some_and(|first| chosen.tensors >= first) {
            return Ok(false);
        }
        if self.selection.only_non_finite && !has_non_finite()? {
            return Ok(false);
        }
        if self.selection.byte_budget.is_some_and(|budget| bytes > budget.saturating_sub(chosen.bytes)) {
            return Err(NotCaptured::OverBudget(bytes));
        }
        chosen.tensors += 1;
        chosen.bytes += bytes;
        Ok(true)
    }

    /// Queues a tensor, and copies it unless the engine keeps it. Returns the reason if the queue takes no more
    /// tensors.
    fn queue(&self, worker: &Worker, stream: Stream, tensor: &TensorView<'_>, keep: Keep<'_>) -> Option<String> {
        let queue = &worker.queue;
        if queue.drops() && !queue.has_space_for(stream.bytes) {
            self.lose(stream.origin, "the sink was slower than the engine, and the policy is to drop");
            return None;
        }
        let refused = |refused: Refused| match refused {
            Refused::Patience(patience) => format!("the sink took nothing for {} s", patience.as_secs_f32()),
            Refused::Spill(error) => format!("the spill file could not be written: {error}"),
            Refused::Gone => "the sink was given up".into(),
        };
        let piece_size = self.piece_size.min(queue.piece_size());
        let small = || tensor.bytes().filter(|bytes| bytes.len() <= SMALL.min(piece_size));
        let whole = match small() {
            Some(bytes) => Some(Whole::Copied(bytes.to_vec())),
            None => keep().map(|tensor| Whole::Kept { tensor, piece_size }),
        };
        let stream = match whole {
            Some(whole) => queue.whole(stream, whole)?,
            None => stream,
        };
        let origin = stream.origin.clone();
        if let Err(error) = queue.begin(stream) {
            let reason = refused(error);
            self.lose(origin, &reason);
            return Some(reason);
        }
        let mut given_up = None;
        let ended = pieces(tensor, piece_size, |piece| {
            given_up = queue.piece(piece.bytes, piece.offset, piece.last).err().map(refused);
            given_up.is_none()
        });
        match (&given_up, ended) {
            (Some(reason), _) => queue.push(Message::Broken(reason.clone())),
            (None, Err(error)) => queue.push(Message::Broken(error.to_string())),
            (None, Ok(())) => {}
        }
        given_up
    }

    fn lose(&self, origin: Origin, reason: &str) {
        self.missing(Missing { origin, reason: reason.into() });
    }
}

fn direct(driver: &mut Driver, stream: &Stream, tensor: &TensorView<'_>, piece_size: usize) {
    if driver.begin(stream)
        && let Err(error) = pieces(tensor, piece_size, |piece| driver.piece(stream, piece))
    {
        driver.broken(stream, &error.to_string());
    }
}

/// Cuts a tensor into pieces for as long as they are wanted. Memory that the host cannot address is copied piece by
/// piece.
fn pieces(tensor: &TensorView<'_>, size: usize, mut wanted: impl FnMut(Piece<'_>) -> bool) -> Result<(), TensorError> {
    let length = tensor.byte_len().unwrap_or(0);
    let mut copy = Vec::new();
    let mut start = 0;
    loop {
        let end = (start + size).min(length);
        let bytes = match tensor.bytes() {
            Some(bytes) => &bytes[start..end],
            None => {
                copy.resize(end - start, 0);
                tensor.read(start..end, &mut copy)?;
                &copy
            }
        };
        if !wanted(Piece { offset: start as u64, bytes, last: end == length }) || end == length {
            return Ok(());
        }
        start = end;
    }
}
