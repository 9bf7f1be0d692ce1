//! The thread that takes events as they come, so that the person at the prompt can take their time.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use opscope::debug::client::Client;
use opscope::debug::{DebugError, Event, EventKind, EventName, Exception, Queue, Resume, Sequence};

use super::debuggee::RunEnd;

/// What has happened.
#[derive(Debug)]
pub enum News {
    /// Something that stopped nobody, or nobody any more.
    Told(Event),
    /// A run stopped; it is held until it is let go.
    Stopped(Event),
    /// A run of our own model is over.
    RunEnded(RunEnd),
    /// A thread of ours has no more runs to start.
    ThreadDone,
    /// Ctrl-C.
    Interrupted,
    /// The program is gone, for this reason.
    Gone(String),
}

/// Where news wait to be told, and what is stopped.
#[derive(Debug, Default)]
pub struct Board {
    state: Mutex<State>,
    changed: Condvar,
    /// Whether a run that fails is held where it failed.
    pub hold_failures: AtomicBool,
    /// Whether a command is being executed, so that no person can type another one.
    pub busy: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    news: VecDeque<News>,
    /// Events whose threads wait, in the order in which they came.
    stops: Vec<Event>,
}

/// The thread that reads the program's events: it acknowledges at once what is only to be told, and renews the leases of
/// what is stopped.
pub struct Attendant {
    client: Arc<Client>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// How many events are taken at once.
const HANDFUL: usize = 1024;

impl Board {
    /// Says something.
    pub fn post(&self, news: News) {
        let mut state = self.lock();
        if let News::Stopped(event) = &news {
            state.stops.push(event.clone());
        }
        state.news.push_back(news);
        self.changed.notify_all();
    }

    /// The oldest of the news; none if there are none.
    pub fn take(&self) -> Option<News> {
        self.lock().news.pop_front()
    }

    /// Waits for news.
    pub fn wait(&self) -> News {
        let mut state = self.lock();
        loop {
            match state.news.pop_front() {
                Some(news) => return news,
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// What is stopped, in the order in which it stopped.
    pub fn stops(&self) -> Vec<Event> {
        self.lock().stops.clone()
    }

    /// An event that stops a run, if it still does.
    pub fn stop(&self, event: Sequence) -> Option<Event> {
        self.lock().stops.iter().find(|stop| stop.sequence == event).cloned()
    }

    /// A run is let go.
    pub fn forget(&self, event: Sequence) {
        self.lock().stops.retain(|stop| stop.sequence != event);
    }

    /// Throws away what was typed before something began.
    pub fn forget_interrupts(&self) {
        self.lock().news.retain(|news| !matches!(news, News::Interrupted));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn holds(&self, event: &Event) -> bool {
        match &event.kind {
            EventKind::Exception { exception: Exception::NonFinite { .. }, .. } => true,
            EventKind::Exception { .. } => self.hold_failures.load(Ordering::Relaxed),
            kind => matches!(kind.name(), EventName::Breakpoint | EventName::StepComplete | EventName::Paused),
        }
    }
}

impl Attendant {
    /// Begins; the client is attached with this lease.
    pub fn start(client: &Arc<Client>, board: &Arc<Board>, lease: Duration) -> std::io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let attending = Attending {
            client: Arc::clone(client),
            board: Arc::clone(board),
            over: Arc::clone(&over),
            turn: lease / 3,
            renewed: Instant::now(),
        };
        let thread = thread::Builder::new().name("attendant".into()).spawn(move || attending.attend())?;
        Ok(Self { client: Arc::clone(client), over, thread: Some(thread) })
    }

    /// Ends: nothing is read and renewed any more. The client must be detached or about to go.
    pub fn end(mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.client.detach();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Attending {
    client: Arc<Client>,
    board: Arc<Board>,
    over: Arc<AtomicBool>,
    turn: Duration,
    renewed: Instant,
}

impl Attending {
    fn attend(mut self) {
        let gone = loop {
            self.client.wait(self.turn.saturating_sub(self.renewed.elapsed()));
            if let Err(error) = self.take() {
                break error;
            }
            if let Some(error) = self.client.gone() {
                break error;
            }
            if self.over.load(Ordering::Relaxed) {
                return;
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

    fn take(&self) -> Result<(), DebugError> {
        loop {
            let mut events = self.client.next_events(Queue::Sync, HANDFUL)?;
            events.extend(self.client.next_events(Queue::Async, HANDFUL)?);
            if events.is_empty() {
                return Ok(());
            }
            events.sort_by_key(|event| event.sequence);
            for event in events {
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
        }
    }
}
