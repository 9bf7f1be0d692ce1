//! The thread that takes events as they come, so that the person at the prompt can take their time.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use opscope::debug::client::Client;
use opscope::debug::{DebugError, EventName, Queue, Resume, Sequence};

use super::board::{Board, News};

/// The thread that reads the program's events: it acknowledges at once what is only to be told, and renews the leases of
/// what is stopped.
pub struct Attendant {
    client: Arc<Client>,
    thread: JoinHandle<()>,
}

/// How many events are taken at once.
const HANDFUL: usize = 1024;
impl Attendant {
    /// Begins; the client is attached with this lease.
    pub fn start(client: &Arc<Client>, board: &Arc<Board>, lease: Duration) -> std::io::Result<Self> {
        let attending = Attending {
            client: Arc::clone(client),
            board: Arc::clone(board),
            turn: lease / 3,
            renewed: Instant::now(),
        };
        let thread = thread::Builder::new().name("attendant".into()).spawn(move || attending.attend())?;
        Ok(Self { client: Arc::clone(client), thread })
    }

    /// Ends: the client is detached, if it was not, and nothing is read and renewed any more.
    pub fn end(self) {
        // One that is detached or gone is what is wanted.
        let _ = self.client.detach();
        let _ = self.thread.join();
    }
}

/// Whether more events can come.
enum Course {
    GoesOn,
    /// The last event was read: the client is detached.
    Over,
}

struct Attending {
    client: Arc<Client>,
    board: Arc<Board>,
    turn: Duration,
    renewed: Instant,
}

impl Attending {
    fn attend(mut self) {
        self.read_to_the_end();
        // Nobody waits for what cannot come any more.
        self.board.has_read(Sequence(u64::MAX));
    }

    fn read_to_the_end(&mut self) {
        let gone = loop {
            self.client.wait(self.turn.saturating_sub(self.renewed.elapsed()));
            match self.take() {
                Ok(Course::GoesOn) => {}
                Ok(Course::Over) => return,
                Err(error) => break error,
            }
            if let Some(error) = self.client.gone() {
                break error;
            }
            if self.renewed.elapsed() >= self.turn {
                for stop in self.board.stops() {
                    // One that has gone on in the meantime needs no lease.
                    let _ = self.client.renew(stop.sequence);
                }
                self.renewed = Instant::now();
            }
        };
        self.board.post(News::Gone(gone.to_string()));
    }

    fn take(&self) -> Result<Course, DebugError> {
        loop {
            let mut events = self.client.next_events(Queue::Sync, HANDFUL)?;
            let last = events.last().map(|event| event.sequence);
            events.extend(self.client.next_events(Queue::Async, HANDFUL)?);
            if events.is_empty() {
                return Ok(Course::GoesOn);
            }
            events.sort_by_key(|event| event.sequence);
            for event in events {
                if event.kind.name() == EventName::DetachComplete {
                    return Ok(Course::Over);
                }
                if event.waiting && self.board.holds(&event) {
                    self.board.post(News::Stopped(event));
                    continue;
                }
                let (sequence, waiting) = (event.sequence, event.waiting);
                self.board.post(News::Told(event));
                if waiting {
                    // It may have gone on when its lease ran out; without a connection there is nothing more to take.
                    let acknowledged = self.client.acknowledge(sequence, Resume::Continue);
                    if let Err(error @ DebugError::Connection(_)) = acknowledged {
                        return Err(error);
                    }
                }
            }
            if let Some(last) = last {
                self.board.has_read(last);
            }
        }
    }
}
