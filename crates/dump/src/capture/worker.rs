use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::Duration;

use opscope_model::KeptTensor;

use super::driver::Driver;
use super::queue::{Data, Message, Queue, Whole};
use crate::{Closed, DumpError, Flow, Piece, Policy, Stream};

/// The thread that delivers the messages of a queue to a sink.
pub(crate) struct Worker {
    pub queue: Arc<Queue>,
    progress: Arc<Progress>,
    patience: Duration,
    thread: JoinHandle<()>,
    closed: Mutex<Receiver<Closed>>,
}

/// The most bytes of a last piece that is copied: a size that statistics are computed for at once.
const LAST: usize = 64 << 10;

/// The state that the thread publishes while it works.
#[derive(Default)]
struct Progress {
    stopped: OnceLock<String>,
    messages: AtomicU64,
}

impl Worker {
    pub fn start(driver: Driver, flow: &Flow) -> Result<Self, DumpError> {
        let queue = Arc::new(Queue::new(flow));
        let progress = Arc::new(Progress::default());
        let (sender, receiver) = sync_channel(1);
        let (its_queue, its_progress) = (Arc::clone(&queue), Arc::clone(&progress));
        let work = move || {
            let mut driver = driver;
            deliver_all(&its_queue, &mut driver, &its_progress);
            // The receiver is gone if the sink took longer than the patience.
            let _ = sender.send(driver.close());
        };
        let thread = thread::Builder::new().name("opscope-dump".into()).spawn(work).map_err(DumpError::Thread)?;
        let patience = match flow.policy {
            Policy::Block { patience } => patience,
            Policy::Drop | Policy::Spill { .. } => Flow::DEFAULT_PATIENCE,
        };
        Ok(Self { queue, progress, patience, thread, closed: Mutex::new(receiver) })
    }

    /// Returns why the sink gets nothing more, or `None` if it still does.
    pub fn stopped(&self) -> Option<String> {
        self.progress.stopped.get().cloned()
    }

    pub fn thread(&self) -> ThreadId {
        self.thread.thread().id()
    }

    /// Delivers what is queued and closes the sink. Returns `None` if the sink takes nothing for the duration of the
    /// patience. Its thread is then abandoned.
    pub fn close(&self) -> Option<Closed> {
        self.queue.close();
        let closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let before = self.progress.messages.load(Ordering::Relaxed);
            match closed.recv_timeout(self.patience) {
                Ok(closed) => return Some(closed),
                Err(RecvTimeoutError::Timeout) if self.progress.messages.load(Ordering::Relaxed) != before => {}
                Err(_) => {
                    self.queue.leave();
                    return None;
                }
            }
        }
    }
}

fn deliver_all(queue: &Queue, driver: &mut Driver, progress: &Progress) {
    let mut current: Option<Arc<Stream>> = None;
    let mut handled = None;
    while let Some(message) = queue.take(handled.take()) {
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

/// Delivers a tensor that the engine keeps. The engine may wait until it was read, so its end, with which a sink does what takes
/// longer, comes from a copy.
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
