use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opscope_model::RunId;

use crate::{Flow, Policy, Stream};

/// What waits for a sink, bounded in bytes. One producer at a time, one consumer.
///
/// The producer waits only for the consumer, and the consumer only for the producer to add something; neither holds the
/// lock while it copies, writes or calls anything. So no order of events leaves both waiting.
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Told when memory was given back.
    space: Condvar,
    /// Told when there is something to take, or nothing more will come.
    work: Condvar,
    cap: usize,
    block: usize,
    policy: Policy,
}

/// What the consumer gets.
pub(crate) enum Message {
    Begin(Arc<Stream>),
    Piece { data: Data, offset: u64, last: bool },
    Broken(String),
    RunEnded(RunId),
}

/// The bytes of a piece.
pub(crate) enum Data {
    Memory(Vec<u8>),
    Spilled { offset: u64, length: usize },
}

/// Why a piece was not taken.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The consumer took nothing for this long.
    Patience(Duration),
    /// The spill file could not be written.
    Spill(io::Error),
    /// The consumer has gone.
    Gone,
}

struct State {
    messages: VecDeque<Message>,
    /// Bytes of blocks, of small pieces that wait, and of the messages themselves.
    used: usize,
    /// Blocks that wait to be used again, the last used first: it is still in the processor's cache.
    free: Vec<Vec<u8>>,
    /// Grows with everything the consumer takes, so that a waiting producer sees that it is alive.
    progress: u64,
    closed: bool,
    gone: bool,
    spill: Option<Arc<File>>,
    /// Where the next piece goes in the spill file, and how many pieces in it were not read yet.
    spill_end: u64,
    spilled: usize,
}

/// Pieces up to this size are allocated as they come; larger ones are copied into blocks that are used again.
const SMALL: usize = 32 << 10;

/// What a message is counted for.
const OVERHEAD: usize = 512;

impl Queue {
    pub fn new(flow: &Flow) -> Self {
        let cap = flow.cap.max(Flow::SMALLEST_CAP);
        // Messages of what is spilled come on top of the data in memory.
        let cap = if matches!(flow.policy, Policy::Spill { .. }) { cap / 2 } else { cap };
        let state = State {
            messages: VecDeque::new(),
            used: 0,
            free: Vec::new(),
            progress: 0,
            closed: false,
            gone: false,
            spill: None,
            spill_end: 0,
            spilled: 0,
        };
        let block = (cap / 4).min(1 << 20) & !63;
        let (space, work) = (Condvar::new(), Condvar::new());
        Self { state: Mutex::new(state), space, work, cap, block, policy: flow.policy.clone() }
    }

    /// The size of the pieces that are put in: whole elements of any type.
    pub fn piece_size(&self) -> usize {
        self.block
    }

    /// Whether a tensor of so many bytes fits now, for a producer that would rather drop it.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        let state = self.lock();
        let free = self.cap - state.used.min(self.cap) + state.free.len() * self.block;
        let blocks = bytes.div_ceil(self.block as u64).saturating_mul((self.block + OVERHEAD) as u64);
        let needed = if bytes <= SMALL as u64 { bytes + 2 * OVERHEAD as u64 } else { blocks + OVERHEAD as u64 };
        needed <= free as u64
    }

    pub fn drops(&self) -> bool {
        matches!(self.policy, Policy::Drop)
    }

    pub fn begin(&self, stream: Stream) -> Result<(), Refused> {
        let mut state = self.room(0, self.lock())?.0;
        state.used += OVERHEAD;
        self.push(state, Message::Begin(Arc::new(stream)));
        Ok(())
    }

    /// Copies a piece of at most [`piece_size`](Self::piece_size) bytes.
    pub fn piece(&self, bytes: &[u8], offset: u64, last: bool) -> Result<(), Refused> {
        let (mut state, room) = self.room(bytes.len(), self.lock())?;
        state.used += OVERHEAD;
        let data = match room {
            Room::Memory(block) => {
                drop(state);
                let mut copy = block.unwrap_or_else(|| Vec::with_capacity(self.capacity(bytes.len())));
                copy.clear();
                copy.extend_from_slice(bytes);
                Data::Memory(copy)
            }
            Room::Spill(file, offset) => {
                state.spill_end += bytes.len() as u64;
                state.spilled += 1;
                drop(state);
                file.write_all_at(bytes, offset).map_err(Refused::Spill)?;
                Data::Spilled { offset, length: bytes.len() }
            }
        };
        self.push(self.lock(), Message::Piece { data, offset, last });
        Ok(())
    }

    /// Something without data. Needs no room, so that it can always be said.
    pub fn tell(&self, message: Message) {
        let mut state = self.lock();
        state.used += OVERHEAD;
        self.push(state, message);
    }

    /// Nothing more comes.
    pub fn close(&self) {
        self.lock().closed = true;
        self.work.notify_one();
    }

    /// The next message, or none when the queue is closed and empty.
    pub fn take(&self) -> Option<Message> {
        let mut state = self.lock();
        loop {
            if let Some(message) = state.messages.pop_front() {
                return Some(message);
            }
            if state.closed {
                return None;
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The message was dealt with; its memory can be used again.
    pub fn done(&self, message: Message) {
        let mut state = self.lock();
        state.used -= OVERHEAD;
        state.progress += 1;
        match message {
            Message::Piece { data: Data::Memory(block), .. } if block.len() > SMALL => state.free.push(block),
            Message::Piece { data: Data::Memory(small), .. } => state.used -= small.len(),
            Message::Piece { data: Data::Spilled { .. }, .. } => {
                state.spilled -= 1;
                if state.spilled == 0 {
                    state.spill_end = 0;
                }
            }
            Message::Begin(_) | Message::Broken(_) | Message::RunEnded(_) => {}
        }
        drop(state);
        self.space.notify_one();
    }

    /// The consumer takes nothing any more.
    pub fn leave(&self) {
        let mut state = self.lock();
        state.gone = true;
        state.messages.clear();
        state.free.clear();
        drop(state);
        self.space.notify_one();
    }

    /// The bytes of a piece that was spilled.
    pub fn read_spilled(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let file = self.lock().spill.clone().ok_or(io::ErrorKind::NotFound)?;
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// Finds memory for a message with a piece of this length, as the policy says, and counts the piece as used.
    fn room<'a>(
        &'a self,
        length: usize,
        mut state: MutexGuard<'a, State>,
    ) -> Result<(MutexGuard<'a, State>, Room), Refused> {
        let takes = if length > SMALL { self.block } else { length };
        loop {
            if state.gone {
                return Err(Refused::Gone);
            }
            if length > SMALL
                && state.used + OVERHEAD <= self.cap
                && let Some(block) = state.free.pop()
            {
                return Ok((state, Room::Memory(Some(block))));
            }
            if state.used + takes + OVERHEAD <= self.cap {
                state.used += takes;
                return Ok((state, Room::Memory(None)));
            }
            if state.free.pop().is_some() {
                state.used -= self.block;
                continue;
            }
            state = match &self.policy {
                // What is spilled still takes a message; they, too, are bounded.
                Policy::Spill { directory } if state.messages.len() * OVERHEAD < self.cap => {
                    return if length > 0 { self.spill(directory, state) } else { Ok((state, Room::Memory(None))) };
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
        let timeout;
        (state, timeout) = self
            .space
            .wait_timeout_while(state, patience, |state| state.progress == before && !state.gone)
            .unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() { Err(Refused::Patience(patience)) } else { Ok(state) }
    }

    fn spill<'a>(
        &'a self,
        directory: &std::path::Path,
        mut state: MutexGuard<'a, State>,
    ) -> Result<(MutexGuard<'a, State>, Room), Refused> {
        let file = match &state.spill {
            Some(file) => Arc::clone(file),
            None => Arc::new(tempfile::tempfile_in(directory).map_err(Refused::Spill)?),
        };
        state.spill = Some(Arc::clone(&file));
        let offset = state.spill_end;
        Ok((state, Room::Spill(file, offset)))
    }

    fn push(&self, mut state: MutexGuard<'_, State>, message: Message) {
        if state.gone {
            return;
        }
        state.messages.push_back(message);
        drop(state);
        self.work.notify_one();
    }

    fn capacity(&self, length: usize) -> usize {
        if length > SMALL { self.block } else { length }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Room {
    /// A block to use again, or none: allocate.
    Memory(Option<Vec<u8>>),
    /// A place in the spill file.
    Spill(Arc<File>, u64),
}
