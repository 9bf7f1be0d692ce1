use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use opscope_clock::{Clock, Sleeper};
use opscope_model::{KeptTensor, RunId};
use opscope_sys::{Condvar, Mutex, MutexGuard};
use opscope_tensor::Statistics;

use crate::{Flow, Policy, Stream};

/// The queue of a sink, bounded in bytes. It has one producer at a time and one consumer.
///
/// The producer waits only for the consumer, and the consumer waits only for a message. Neither holds the lock while it
/// copies, writes or calls other code. So they cannot deadlock.
pub(crate) struct Queue {
    /// The clock by which the producer's patience is measured.
    clock: Clock,
    state: Mutex<State>,
    /// Notified when memory is returned, if the producer waits.
    space: Condvar,
    /// Notified when there is a message, or when no more will come, if the consumer sleeps.
    work: Condvar,
    /// Whether there may be a message, or no more will come. The consumer polls this before it sleeps.
    is_ready: AtomicBool,
    /// How long the consumer polls before it sleeps. On a single processor it does not poll, because the producer needs
    /// the processor.
    watched: Duration,
    cap: usize,
    block: usize,
    policy: Policy,
    /// The moment from which the consumer no longer delivers queued tensors.
    deadline: OnceLock<Instant>,
}

/// A message to the consumer.
pub(crate) enum Message {
    Begin(Arc<Stream>),
    Piece {
        data: Data,
        offset: u64,
        last: bool,
    },
    /// A whole tensor.
    Whole {
        stream: Stream,
        tensor: Whole,
    },
    /// The statistics of a tensor whose data is not known.
    Summary(Stream, Statistics),
    Broken(String),
    RunEnded(RunId),
}

/// A whole tensor, in one message so that the lock is taken only once.
pub(crate) enum Whole {
    /// A copy of a tensor that is one small piece.
    Copied(Vec<u8>),
    /// A tensor that stays in the engine's memory.
    Kept { tensor: Box<dyn KeptTensor>, piece_size: usize },
}

/// The bytes of a piece.
pub(crate) enum Data {
    Memory(Vec<u8>),
    Spilled { offset: u64, length: usize },
}

/// Why a piece was not queued.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The consumer has taken nothing for this long.
    Patience(Duration),
    /// The spill file could not be written.
    Spill(io::Error),
    /// The consumer has left.
    Gone,
}

struct State {
    messages: VecDeque<Message>,
    /// The bytes of blocks, of queued small pieces, and of the messages themselves.
    used: usize,
    /// Blocks for reuse. The one that was used last comes first, because it is still in the processor's cache.
    free: Vec<Vec<u8>>,
    /// Increases whenever the consumer takes something, so that a waiting producer sees that the consumer is alive.
    progress: u64,
    /// Whether the consumer sleeps until there is work, and whether the producer waits for space. A thread is woken
    /// only if necessary, because that is a system call.
    sleeps: bool,
    waits: bool,
    closed: bool,
    gone: bool,
    spill: Option<Arc<File>>,
    /// The end of the spill file, and the number of pieces in it that were not read yet.
    spill_end: u64,
    spilled: usize,
}

/// Pieces up to this size are allocated. Larger ones are copied into blocks that are reused.
pub(crate) const SMALL: usize = 32 << 10;

/// How long the consumer polls for a message before it sleeps.
const WATCHED: Duration = Duration::from_micros(300);

/// The bytes for which a message counts, in addition to its data.
const OVERHEAD: usize = 512;

impl Queue {
    pub fn new(flow: &Flow, clock: Clock) -> Self {
        let cap = flow.cap.max(Flow::SMALLEST_CAP);
        // With `Spill`, the other half of the cap is for the messages about pieces in the file.
        let cap = if matches!(flow.policy, Policy::Spill { .. }) { cap / 2 } else { cap };
        let state = State {
            messages: VecDeque::new(),
            used: 0,
            free: Vec::new(),
            progress: 0,
            sleeps: false,
            waits: false,
            closed: false,
            gone: false,
            spill: None,
            spill_end: 0,
            spilled: 0,
        };
        let block = (cap / 4).min(1 << 20) & !63;
        let (space, work, is_ready) = (Condvar::new(), Condvar::new(), AtomicBool::new(false));
        let is_alone = thread::available_parallelism().is_ok_and(|processors| processors.get() == 1);
        let watched = if is_alone { Duration::ZERO } else { WATCHED };
        Self {
            clock,
            state: Mutex::new(state),
            space,
            work,
            is_ready,
            watched,
            cap,
            block,
            policy: flow.policy.clone(),
            deadline: OnceLock::new(),
        }
    }

    /// Returns the largest size of a piece, which is a whole number of elements of any type.
    pub fn piece_size(&self) -> usize {
        self.block
    }

    /// Returns whether a tensor of this many bytes fits now. The producer asks if it drops a tensor that does not fit.
    pub fn has_space_for(&self, bytes: u64) -> bool {
        let state = self.state.lock();
        let free = self.cap - state.used.min(self.cap) + state.free.len() * self.block;
        let blocks = bytes.div_ceil(self.block as u64).saturating_mul((self.block + OVERHEAD) as u64);
        let needed = if bytes <= SMALL as u64 { bytes + 2 * OVERHEAD as u64 } else { blocks + OVERHEAD as u64 };
        needed <= free as u64
    }

    /// Queues a whole tensor. Returns its stream if there is no space. Then its pieces have to wait for space one by
    /// one. A tensor that the engine keeps counts as if it were copied, because the engine copies it if it is not read
    /// soon.
    pub fn whole(&self, stream: Stream, tensor: Whole) -> Option<Stream> {
        let mut state = self.state.lock();
        let takes = OVERHEAD + Self::length(&stream);
        if state.gone || takes > self.cap {
            return Some(stream);
        }
        while state.used + takes > self.cap {
            if state.free.pop().is_none() {
                return Some(stream);
            }
            state.used -= self.block;
        }
        state.used += takes;
        self.push_into(state, Message::Whole { stream, tensor });
        None
    }

    pub fn drops(&self) -> bool {
        matches!(self.policy, Policy::Drop)
    }

    /// Queues the beginning of a stream. The consumer is notified with the message that follows.
    pub fn begin(&self, stream: Stream) -> Result<(), Refused> {
        let mut state = self.find_space(0, self.state.lock())?.0;
        state.used += OVERHEAD;
        if !state.gone {
            state.messages.push_back(Message::Begin(Arc::new(stream)));
        }
        Ok(())
    }

    /// Copies a piece of at most [`piece_size`](Self::piece_size) bytes into the queue.
    pub fn piece(&self, bytes: &[u8], offset: u64, last: bool) -> Result<(), Refused> {
        let (mut state, space) = self.find_space(bytes.len(), self.state.lock())?;
        state.used += OVERHEAD;
        let data = match space {
            Space::Memory(block) => {
                drop(state);
                let mut copy = block.unwrap_or_else(|| Vec::with_capacity(self.capacity(bytes.len())));
                copy.clear();
                copy.extend_from_slice(bytes);
                Data::Memory(copy)
            }
            Space::Spill(file, offset) => {
                state.spill_end += bytes.len() as u64;
                state.spilled += 1;
                drop(state);
                file.write_all_at(bytes, offset).map_err(Refused::Spill)?;
                Data::Spilled { offset, length: bytes.len() }
            }
        };
        self.push_into(self.state.lock(), Message::Piece { data, offset, last });
        Ok(())
    }

    /// Queues a message without data. It needs no space, so this never waits.
    pub fn push(&self, message: Message) {
        let mut state = self.state.lock();
        state.used += OVERHEAD;
        self.push_into(state, message);
    }

    /// Closes the queue: no more messages come.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        self.wake(state);
    }

    /// Sets the moment from which the consumer no longer delivers queued tensors. Only the first call has an effect.
    pub fn give_up_at(&self, deadline: Instant) {
        self.deadline.get_or_init(|| deadline);
    }

    /// Returns that moment, and whether it has come.
    pub fn deadline(&self) -> Option<(Instant, bool)> {
        self.deadline.get().map(|&deadline| (deadline, self.clock.has_come(deadline)))
    }

    /// Frees the memory of the handled message, and waits for the next one. Returns `None` once the queue is closed and
    /// empty.
    pub fn take(&self, mut handled: Option<Message>) -> Option<Message> {
        // After a run, the next tensor may be long in coming, and waking the consumer once for a run costs little.
        let mut has_watched = matches!(handled, Some(Message::RunEnded(_)));
        let mut state = self.state.lock();
        if let Some(message) = &mut handled {
            Self::free(message, &mut state);
            if state.waits {
                self.space.notify_one();
            }
        }
        loop {
            if let Some(message) = state.messages.pop_front() {
                return Some(message);
            }
            if state.closed {
                return None;
            }
            self.is_ready.store(false, Ordering::Relaxed);
            if !has_watched {
                drop(state);
                self.watch();
                has_watched = true;
                state = self.state.lock();
                continue;
            }
            state.sleeps = true;
            state = self.work.wait(state);
            state.sleeps = false;
        }
    }

    /// Polls for a message for as long as it would take to sleep and be woken several times. Most tensors follow each
    /// other faster, and to wake the consumer for each of them would cost the producer more than to copy them.
    fn watch(&self) {
        let start = Instant::now();
        while !self.is_ready.load(Ordering::Relaxed) && start.elapsed() < self.watched {
            std::hint::spin_loop();
        }
    }

    fn free(message: &mut Message, state: &mut State) {
        state.used -= OVERHEAD;
        state.progress += 1;
        match message {
            Message::Piece { data: Data::Memory(block), .. } if block.len() > SMALL => {
                state.free.push(std::mem::take(block));
            }
            Message::Piece { data: Data::Memory(small), .. } => state.used -= small.len(),
            Message::Piece { data: Data::Spilled { .. }, .. } => {
                state.spilled -= 1;
                if state.spilled == 0 {
                    state.spill_end = 0;
                }
            }
            Message::Whole { stream, .. } => state.used -= Self::length(stream),
            Message::Begin(_) | Message::Summary(..) | Message::Broken(_) | Message::RunEnded(_) => {}
        }
    }

    /// Returns the number of bytes of a whole tensor, which is in memory.
    fn length(stream: &Stream) -> usize {
        usize::try_from(stream.bytes).unwrap_or(usize::MAX / 2)
    }

    /// Ends the consumer's side: it takes no more messages.
    pub fn leave(&self) {
        let mut state = self.state.lock();
        state.gone = true;
        state.messages.clear();
        state.free.clear();
        self.notify_of_space(state);
    }

    /// Reads the bytes of a piece that was spilled.
    pub fn read_spilled(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let file = self.state.lock().spill.clone().ok_or(io::ErrorKind::NotFound)?;
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// Finds memory for a message with a piece of this length, according to the policy, and counts it as used.
    fn find_space<'a>(
        &'a self,
        length: usize,
        mut state: MutexGuard<'a, State>,
    ) -> Result<(MutexGuard<'a, State>, Space), Refused> {
        let takes = if length > SMALL { self.block } else { length };
        loop {
            if state.gone {
                return Err(Refused::Gone);
            }
            if length > SMALL
                && state.used + OVERHEAD <= self.cap
                && let Some(block) = state.free.pop()
            {
                return Ok((state, Space::Memory(Some(block))));
            }
            if state.used + takes + OVERHEAD <= self.cap {
                state.used += takes;
                return Ok((state, Space::Memory(None)));
            }
            if state.free.pop().is_some() {
                state.used -= self.block;
                continue;
            }
            state = match &self.policy {
                // A spilled piece still needs a message, and the number of messages is bounded, too.
                Policy::Spill { directory } if state.messages.len() * OVERHEAD < self.cap => {
                    return if length > 0 { self.spill(directory, state) } else { Ok((state, Space::Memory(None))) };
                }
                Policy::Block { patience } => self.wait(state, *patience)?,
                Policy::Drop | Policy::Spill { .. } => self.wait(state, Flow::DEFAULT_PATIENCE)?,
            };
        }
    }

    fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        patience: Duration,
    ) -> Result<MutexGuard<'a, State>, Refused> {
        let before = state.progress;
        let deadline = self.clock.after(patience);
        state.waits = true;
        if state.sleeps {
            self.work.notify_one();
        }
        while state.progress == before && !state.gone {
            if deadline.is_some_and(|deadline| self.clock.has_come(deadline)) {
                state.waits = false;
                return Err(Refused::Patience(patience));
            }
            state = self.clock.wait(&self.space, state, deadline);
        }
        state.waits = false;
        Ok(state)
    }

    fn spill<'a>(
        &'a self,
        directory: &std::path::Path,
        mut state: MutexGuard<'a, State>,
    ) -> Result<(MutexGuard<'a, State>, Space), Refused> {
        let file = match &state.spill {
            Some(file) => Arc::clone(file),
            None => Arc::new(tempfile::tempfile_in(directory).map_err(Refused::Spill)?),
        };
        state.spill = Some(Arc::clone(&file));
        let offset = state.spill_end;
        Ok((state, Space::Spill(file, offset)))
    }

    fn push_into(&self, mut state: MutexGuard<'_, State>, message: Message) {
        if state.gone {
            return;
        }
        state.messages.push_back(message);
        self.wake(state);
    }

    /// Wakes the consumer, because there is a message or the queue was closed.
    fn wake(&self, state: MutexGuard<'_, State>) {
        let sleeps = state.sleeps;
        drop(state);
        self.is_ready.store(true, Ordering::Relaxed);
        if sleeps {
            self.work.notify_one();
        }
    }

    /// Wakes the producer, because there is space.
    fn notify_of_space(&self, state: MutexGuard<'_, State>) {
        let waits = state.waits;
        drop(state);
        if waits {
            self.space.notify_one();
        }
    }

    fn capacity(&self, length: usize) -> usize {
        if length > SMALL { self.block } else { length }
    }
}

impl Sleeper for Queue {
    fn wake_up(&self) {
        drop(self.state.lock());
        self.space.notify_all();
    }
}

enum Space {
    /// A block to reuse, or `None` to allocate one.
    Memory(Option<Vec<u8>>),
    /// An offset in the spill file.
    Spill(Arc<File>, u64),
}

#[cfg(test)]
mod tests;
