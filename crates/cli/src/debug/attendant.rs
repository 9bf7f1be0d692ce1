//! The thread that takes events as they come, so that the person at the prompt can take their time.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use opscope::debug::client::Client;
use opscope::debug::{DebugError, Event, EventKind, EventName, EventSet, Exception, Queue, Resume, Sequence};
use opscope::model::RunId;

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
    /// There were more of these than anybody took.
    Untold(Untold),
    /// The program is gone, for this reason.
    Gone(String),
}

/// What was not kept until somebody takes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Untold {
    /// Runs that gave their outputs.
    pub ended: u64,
    /// Runs that did not.
    pub failed: u64,
    /// Events that stopped nobody.
    pub events: u64,
}

/// Where news wait to be told, and what is stopped.
#[derive(Debug, Default)]
pub struct Board {
    state: Mutex<State>,
    changed: Condvar,
    /// Whether a run that fails is held where it failed.
    pub hold_failures: AtomicBool,
    /// Whether a person is typing.
    pub typing: AtomicBool,
    /// How many lines a person has typed.
    pub typed: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    news: VecDeque<News>,
    /// What is not among them any more.
    untold: Untold,
    /// Which events are to be told.
    told: EventSet,
    /// The run whose end somebody waits for.
    awaited: Option<RunId>,
    /// Events whose threads wait, in the order in which they came.
    stops: Vec<Event>,
}

/// The thread that reads the program's events: it acknowledges at once what is only to be told, and renews the leases of
/// what is stopped.
pub struct Attendant {
    client: Arc<Client>,
    thread: JoinHandle<()>,
}

/// How many events are taken at once.
const HANDFUL: usize = 1024;

/// How many news are kept, those aside that must be known: runs go on for days while the prompt waits for a person.
const KEPT: usize = 1024;

impl Board {
    /// Says something.
    pub fn post(&self, news: News) {
        let mut state = self.lock();
        let is_full = state.news.len() >= KEPT;
        match &news {
            News::Stopped(event) => state.stops.push(event.clone()),
            News::Told(event) if !state.wants(event) => return,
            News::Told(event) if is_full && !state.awaits(event) => {
                state.untold.events += 1 + event.coalesced;
                return;
            }
            News::RunEnded(end) if is_full => {
                match end.outcome {
                    Ok(_) => state.untold.ended += 1,
                    Err(_) => state.untold.failed += 1,
                }
                return;
            }
            News::ThreadDone if is_full => return,
            _ => {}
        }
        state.news.push_back(news);
        self.changed.notify_all();
    }

    /// The oldest of the news; none if there are none.
    pub fn take(&self) -> Option<News> {
        self.lock().take()
    }

    /// Waits for news.
    pub fn wait(&self) -> News {
        let mut state = self.lock();
        loop {
            match state.take() {
                Some(news) => return news,
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Which events are to be told.
    pub fn tell(&self, told: EventSet) {
        self.lock().told = told;
    }

    /// The end of this run is told in any case.
    pub fn await_end(&self, run: Option<RunId>) {
        self.lock().awaited = run;
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

impl State {
    fn take(&mut self) -> Option<News> {
        let news = self.news.pop_front();
        if news.is_none() && self.untold != Untold::default() {
            return Some(News::Untold(std::mem::take(&mut self.untold)));
        }
        news
    }

    fn wants(&self, event: &Event) -> bool {
        let name = event.kind.name();
        name == EventName::AttachComplete || self.told.contains(name) || self.awaits(event)
    }

    fn awaits(&self, event: &Event) -> bool {
        matches!(&event.kind, EventKind::RunPopped { run, .. } if self.awaited == Some(*run))
            || event.kind.name() == EventName::AttachComplete
    }
}

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
        }
    }
}
