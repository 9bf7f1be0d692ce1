//! What happens while the user types or a command waits: read on a thread of its own, and kept until it is reported.
//!
//! The thread that reads events as they come, so that the user can take their time at the prompt.

mod inbox;

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use opscope::debug::client::Client;
use opscope::debug::{DebugError, Event, EventName, Queue, Resume, Sequence};
use opscope::model::RunId;
use opscope::tensor::DType;
use opscope_sys::Mutex;

pub use inbox::Inbox;

/// Something that the console reports.
#[derive(Debug)]
pub enum ConsoleEvent {
    /// An event of the program at which no run is stopped.
    Reported(Event),
    /// A run stopped, and stays stopped until the user lets it continue.
    Stopped(Event),
    /// A run of this process's own model is over.
    RunEnded(RunEnd),
    /// A thread of this process has started all its runs.
    ThreadDone,
    /// Ctrl-C.
    Interrupted,
    /// Other console events were dropped because the inbox was full.
    Dropped(DroppedCounts),
    /// The program is gone, for this reason.
    Gone(String),
}

/// How many console events were dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct DroppedCounts {
    /// Runs that ended with outputs.
    pub ended: u64,
    /// Runs that failed.
    pub failed: u64,
    /// Events at which no run was stopped.
    pub events: u64,
}

impl DroppedCounts {
    /// Counts an event.
    pub fn add(&mut self, event: &ConsoleEvent) {
        match event {
            ConsoleEvent::Reported(event) => self.events += 1 + event.coalesced,
            ConsoleEvent::RunEnded(RunEnd { outcome: Ok(_), .. }) => self.ended += 1,
            ConsoleEvent::RunEnded(RunEnd { outcome: Err(_), .. }) => self.failed += 1,
            ConsoleEvent::Stopped(_)
            | ConsoleEvent::ThreadDone
            | ConsoleEvent::Interrupted
            | ConsoleEvent::Dropped(_)
            | ConsoleEvent::Gone(_) => {}
        }
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct RunEnd {
    /// Its number.
    pub run: RunId,
    /// Its outputs, or why there are none.
    pub outcome: Result<Vec<RunOutput>, String>,
}

/// An output of the model.
#[derive(Debug, serde::Serialize)]
pub struct RunOutput {
    /// Its name in the file.
    pub name: String,
    /// The type of its elements.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<usize>,
    /// How many of its elements are NaN.
    pub nan: u64,
    /// How many of its elements are infinite.
    pub infinite: u64,
}

impl fmt::Display for RunOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?}", self.name, self.dtype, self.shape)?;
        match (self.nan, self.infinite) {
            (0, 0) => Ok(()),
            (nan, 0) => write!(f, " with {nan} NaN"),
            (0, infinite) => write!(f, " with {infinite} infinite"),
            (nan, infinite) => write!(f, " with {nan} NaN and {infinite} infinite"),
        }
    }
}

/// The inbox that gets what the user does: that of the process that commands apply to.
#[derive(Clone)]
pub struct Front(Arc<Mutex<Arc<Inbox>>>);

impl Front {
    pub fn new(inbox: &Arc<Inbox>) -> Self {
        Self(Arc::new(Mutex::new(Arc::clone(inbox))))
    }

    pub fn set(&self, inbox: &Arc<Inbox>) {
        *self.0.lock() = Arc::clone(inbox);
    }

    pub fn get(&self) -> Arc<Inbox> {
        Arc::clone(&self.0.lock())
    }
}

/// The thread that reads the program's events. It immediately acknowledges the events at which no run has to stay
/// stopped, and renews the leases of the others.
pub struct EventReader {
    client: Arc<Client>,
    thread: JoinHandle<()>,
}

/// How many events are taken at once.
const BATCH: usize = 1024;

impl EventReader {
    /// Starts the thread. The client is attached with this lease.
    pub fn start(client: &Arc<Client>, inbox: &Arc<Inbox>, lease: Duration) -> std::io::Result<Self> {
        let reading = Reading {
            client: Arc::clone(client),
            inbox: Arc::clone(inbox),
            renewal_interval: lease / 3,
            renewed: Instant::now(),
        };
        let thread = thread::Builder::new().name("event-reader".into()).spawn(move || reading.run())?;
        Ok(Self { client: Arc::clone(client), thread })
    }

    /// Detaches the client, if it is attached, and ends the thread.
    pub fn end(self) {
        // An error means that the client is detached already.
        let _ = self.client.detach();
        let _ = self.thread.join();
    }
}

struct Reading {
    client: Arc<Client>,
    inbox: Arc<Inbox>,
    renewal_interval: Duration,
    renewed: Instant,
}

impl Reading {
    fn run(mut self) {
        if let Err(error) = self.read_all() {
            self.inbox.post(ConsoleEvent::Gone(error.to_string()));
        }
        // No more stops can come, so no command has to wait for them.
        self.inbox.has_read(Sequence(u64::MAX));
    }

    /// Reads until the client is detached. Returns an error when the program is gone.
    fn read_all(&mut self) -> Result<(), DebugError> {
        loop {
            self.client.wait(self.renewal_interval.saturating_sub(self.renewed.elapsed()));
            if self.take()?.is_break() {
                return Ok(());
            }
            if let Some(error) = self.client.gone() {
                return Err(error);
            }
            if self.renewed.elapsed() >= self.renewal_interval {
                for stop in self.inbox.stops() {
                    // A run that has continued meanwhile has no lease.
                    let _ = self.client.renew(stop.sequence);
                }
                self.renewed = Instant::now();
            }
        }
    }

    /// Takes the events that wait. Breaks after the last event that the client gets.
    fn take(&self) -> Result<ControlFlow<()>, DebugError> {
        loop {
            let mut events = self.client.next_events(Queue::Sync, BATCH)?;
            let last = events.last().map(|event| event.sequence);
            events.extend(self.client.next_events(Queue::Async, BATCH)?);
            if events.is_empty() {
                return Ok(ControlFlow::Continue(()));
            }
            events.sort_by_key(|event| event.sequence);
            for event in events {
                if event.kind.name() == EventName::DetachComplete {
                    return Ok(ControlFlow::Break(()));
                }
                if event.waiting && self.inbox.holds(&event) {
                    self.inbox.post(ConsoleEvent::Stopped(event));
                    continue;
                }
                let (sequence, waiting) = (event.sequence, event.waiting);
                self.inbox.post(ConsoleEvent::Reported(event));
                if waiting {
                    // Other errors mean that its lease has expired.
                    let acknowledged = self.client.acknowledge(sequence, Resume::Continue);
                    if let Err(error @ DebugError::Connection(_)) = acknowledged {
                        return Err(error);
                    }
                }
            }
            if let Some(last) = last {
                self.inbox.has_read(last);
            }
        }
    }
}
