use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::{Duration, Instant};

use opscope_clock::{Clock, Sleeper};
use opscope_model::KeptTensor;
use opscope_sys::{Condvar, Mutex, MutexGuard};

use super::driver::Driver;
use super::queue::{Data, Message, Queue, Whole};
use crate::{Closed, DumpError, Flow, Piece, Policy, Stream};

/// The thread that delivers the messages of a queue to a sink.
pub(crate) struct Worker {
    pub queue: Arc<Queue>,
    progress: Arc<Progress>,
    patience: Duration,
    thread: JoinHandle<()>,
    end: Arc<End>,
}

/// The end of the sink, for which the thread that closes it waits.
struct End {
    /// The clock by which the patience is measured.
    clock: Clock,
    /// The result of closing the sink; `Some(None)` if its thread ended without closing it.
    closed: Mutex<Option<Option<Closed>>>,
    /// Notified when it is closed.
    changed: Condvar,
}

/// Ends the wait for a sink when its thread ends, even by a panic.
struct Ending(Arc<End>);

/// The maximum size of a last piece that is copied. Statistics of this many bytes are computed at once.
const LAST: usize = 64 << 10;

/// Why tensors that still waited at the deadline are missing.
const GIVEN_UP: &str = "there was no time to write what still waited";

/// How long a call of a sink may take after the deadline, including the one that writes the list of missing tensors.
const GRACE: Duration = Duration::from_secs(3);

/// The state that the thread publishes while it works.
#[derive(Default)]
struct Progress {
    stopped: OnceLock<String>,
    messages: AtomicU64,
}

impl Worker {
    /// Starts the thread. Its patience is measured by this clock.
    pub fn start(driver: Driver, flow: &Flow, clock: &Clock) -> Result<Self, DumpError> {
        let queue = Arc::new(Queue::new(flow, clock.clone()));
        let progress = Arc::new(Progress::default());
        let end = Arc::new(End { clock: clock.clone(), closed: Mutex::default(), changed: Condvar::new() });
        let sleepers: [Weak<dyn Sleeper>; 2] = [Arc::downgrade(&queue) as _, Arc::downgrade(&end) as _];
        sleepers.into_iter().for_each(|sleeper| clock.register(sleeper));
        let (its_queue, its_progress) = (Arc::clone(&queue), Arc::clone(&progress));
        let ending = Ending(Arc::clone(&end));
        let work = move || {
            let mut driver = driver;
            deliver_all(&its_queue, &mut driver, &its_progress);
            ending.0.set(Some(driver.close()));
        };
        let thread = thread::Builder::new().name("opscope-dump".into()).spawn(work).map_err(DumpError::Thread)?;
        let patience = match flow.policy {
            Policy::Block { patience } => patience,
            Policy::Drop | Policy::Spill { .. } => Flow::DEFAULT_PATIENCE,
        };
        Ok(Self { queue, progress, patience, thread, end })
    }

    /// Returns why the sink gets no more tensors, or `None` if it still does.
    pub fn stopped(&self) -> Option<String> {
        self.progress.stopped.get().cloned()
    }

    pub fn thread(&self) -> ThreadId {
        self.thread.thread().id()
    }

    /// Delivers the queued tensors and closes the sink. Returns `None`, and abandons the thread, if the sink takes
    /// nothing for as long as the patience lasts.
    pub fn close(&self) -> Option<Closed> {
        self.queue.close();
        loop {
            let before = self.progress.messages.load(Ordering::Relaxed);
            let until = |deadline: Instant| deadline.saturating_duration_since(self.end.clock.now()) + GRACE;
            let patience =
                self.queue.deadline().map_or(self.patience, |(deadline, _)| self.patience.min(until(deadline)));
            if let Some(closed) = self.end.within(patience) {
                return closed.or_else(|| self.give_up());
            }
            if self.progress.messages.load(Ordering::Relaxed) == before {
                return self.give_up();
            }
        }
    }

    fn give_up<T>(&self) -> Option<T> {
        self.queue.leave();
        None
    }
}

impl End {
    /// Waits for the end. Returns `None` if it has not happened after this time.
    fn within(&self, patience: Duration) -> Option<Option<Closed>> {
        let deadline = self.clock.after(patience);
        let mut closed = self.lock();
        loop {
            if let Some(closed) = closed.take() {
                return Some(closed);
            }
            if deadline.is_some_and(|deadline| self.clock.has_come(deadline)) {
                return None;
            }
            closed = self.clock.wait(&self.changed, closed, deadline);
        }
    }

    /// Ends the wait, unless it has already ended.
    fn set(&self, closed: Option<Closed>) {
        self.lock().get_or_insert(closed);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Option<Option<Closed>>> {
        self.closed.lock()
    }
}

impl Sleeper for End {
    fn wake_up(&self) {
        drop(self.lock());
        self.changed.notify_all();
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

fn deliver_all(queue: &Queue, driver: &mut Driver, progress: &Progress) {
    let mut current: Option<Arc<Stream>> = None;
    let mut handled = None;
    while let Some(message) = queue.take(handled.take()) {
        if driver.stopped().is_none() && queue.deadline().is_some_and(|(_, has_come)| has_come) {
            if let Some(stream) = current.as_deref() {
                driver.broken(stream, GIVEN_UP);
            }
            driver.stop(GIVEN_UP);
        }
        match (&message, &current) {
            (Message::Begin(stream), _) => {
                driver.begin(stream);
                current = Some(Arc::clone(stream));
            }
            (Message::Piece { data, offset, last }, Some(stream)) => {
                let (offset, last) = (*offset, *last);
                match data {
                    Data::Memory(bytes) => drop(driver.piece(stream, Piece { offset, bytes, last })),
                    Data::Spilled { offset: at, length } => match queue.read_spilled(*at, *length) {
                        Ok(bytes) => drop(driver.piece(stream, Piece { offset, bytes: &bytes, last })),
                        Err(error) => driver.broken(stream, &format!("what was spilled cannot be read: {error}")),
                    },
                }
                if last {
                    current = None;
                }
            }
            (Message::Whole { stream, tensor }, _) => {
                if driver.begin(stream) {
                    match tensor {
                        Whole::Copied(bytes) => drop(driver.piece(stream, Piece { offset: 0, bytes, last: true })),
                        Whole::Kept { tensor, piece_size } => deliver_kept(driver, stream, &**tensor, *piece_size),
                    }
                }
                current = None;
            }
            (Message::Summary(stream, statistics), _) => driver.summary(stream, statistics),
            (Message::Broken(reason), Some(stream)) => driver.broken(stream, reason),
            (Message::RunEnded(run), _) => driver.run_ended(*run),
            (Message::Piece { .. } | Message::Broken(_), None) => unreachable!("a stream begins before its pieces"),
        }
        if let Some(reason) = driver.stopped() {
            progress.stopped.get_or_init(|| reason.to_owned());
        }
        progress.messages.fetch_add(1, Ordering::Relaxed);
        handled = Some(message);
    }
}

/// Delivers a tensor that the engine keeps. The engine may wait until it was read. A sink does most of its work at the
/// last piece, so that piece is delivered from a copy.
fn deliver_kept(driver: &mut Driver, stream: &Stream, tensor: &dyn KeptTensor, piece_size: usize) {
    let length = usize::try_from(stream.bytes).unwrap_or(usize::MAX);
    let last = length.saturating_sub(1) / LAST * LAST;
    let mut deliver = |bytes: &[u8], offset: usize| {
        let mut start = 0;
        let pieces = bytes.chunks(piece_size).map(|piece| {
            let begin = offset + start;
            start += piece.len();
            Piece { offset: begin as u64, bytes: piece, last: begin + piece.len() == length }
        });
        pieces.map(|piece| driver.piece(stream, piece)).take_while(|is_wanted| *is_wanted).count();
    };
    let mut rest = None;
    tensor.read(&mut |bytes| {
        deliver(&bytes[..last], 0);
        rest = Some(bytes[last..].to_vec());
    });
    match rest {
        Some(rest) => deliver(&rest, last),
        None => driver.broken(stream, "the engine did not keep it"),
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::testing::GraphBuilder;
    use opscope_onnx::{OperatorId, ValueId};
    use opscope_tensor::DType;

    use super::*;
    use crate::{Answer, Ending, Io, Origin};

    struct Kept(Vec<u8>);

    impl KeptTensor for Kept {
        fn read(&self, read: &mut dyn FnMut(&[u8])) {
            read(&self.0);
        }
    }

    /// Returns the pieces in which a tensor that the engine keeps is delivered: offset, length, and whether it is the
    /// last.
    fn pieces(bytes: usize, piece_size: usize) -> Vec<(u64, usize, bool)> {
        let graph =
            GraphBuilder::new("one").input("x", &[1]).operator("op", "Relu", &["x"], &["y"]).output("y").build();
        let origin = Origin {
            graph: Arc::new(graph),
            plan: 0,
            run: None,
            operator: OperatorId::new(0),
            path: Box::default(),
            io: Io::Output,
            slot: 0,
            value: ValueId::new(1),
        };
        let stream = Stream { origin, dtype: DType::U8, shape: vec![bytes], bytes: bytes as u64, siblings: 1 };
        let data: Vec<u8> = (0..bytes).map(|index| (index % 251) as u8).collect();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (keep, expected) = (Arc::clone(&seen), data.clone());
        let sink = move |_: &Stream, piece: Piece<'_>| {
            let start = piece.offset as usize;
            assert_eq!(piece.bytes, &expected[start..start + piece.bytes.len()]);
            keep.lock().push((piece.offset, piece.bytes.len(), piece.last));
            Answer::Continue
        };
        let ending = Arc::new(Mutex::new(Ending::default()));
        let mut driver = Driver::new(Box::new(sink), Arc::clone(&ending));
        assert!(driver.begin(&stream));
        deliver_kept(&mut driver, &stream, &Kept(data), piece_size);
        assert_eq!(ending.lock().delivered.bytes, bytes as u64);
        let seen = seen.lock();
        seen.clone()
    }

    #[test]
    fn the_last_64_kib_of_a_kept_tensor_are_delivered_when_the_engine_has_it_back() {
        const KIB: usize = 1 << 10;
        assert_eq!(pieces(1, KIB << 10), [(0, 1, true)]);
        assert_eq!(pieces(64 * KIB, KIB << 10), [(0, 64 * KIB, true)]);
        assert_eq!(pieces(64 * KIB + 1, KIB << 10), [(0, 64 * KIB, false), (64 * KIB as u64, 1, true)]);
        assert_eq!(pieces(200_000, KIB << 10), [(0, 196_608, false), (196_608, 3392, true)]);
        let small = pieces(130 * KIB, 48 * KIB);
        let at = |kib: u64| kib << 10;
        let expected = [(0, 48, false), (at(48), 48, false), (at(96), 32, false), (at(128), 2, true)];
        assert_eq!(small, expected.map(|(offset, kib, last)| (offset, kib * KIB, last)));
    }
}
