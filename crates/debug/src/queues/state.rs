//! The state of the queues under their lock, and the async events that wait to be read.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use opscope_clock::{Clock, Timestamp};

use super::parked_threads::ParkedThreads;
use super::status::{Account, Release, Resume};
use crate::error::DebugError;
use crate::event::{Event, EventKind, EventName, Sequence};
use crate::sync::EventDescriptor;

/// How long a client may make the program wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// How long an event may stay unacknowledged.
    pub lease: Duration,
    /// How many async events can wait.
    pub capacity: usize,
    /// How long a full async queue waits for its reader before it coalesces events.
    pub reader_grace: Duration,
}

/// The number of an attachment. Each client that attaches gets a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Generation(pub(super) u64);

/// How a wait at an event ended.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The client acknowledged the event, or has detached.
    Resume(Resume),
    /// The lease expired.
    Expired {
        /// The event that was not acknowledged.
        release: Release,
        /// The client, if it has neither read the event nor made another call during a whole lease. It is considered
        /// dead.
        silent: Option<Generation>,
    },
}

/// The data that the lock of the queues protects.
pub(super) struct State<J> {
    /// The clock of leases, timeouts and the reader's grace.
    pub clock: Clock,
    pub attached: Option<(Generation, Limits)>,
    /// How many clients have attached so far.
    pub generations: u64,
    /// The number of the next event.
    pub next: u64,
    pub sync: VecDeque<Event>,
    pub backlog: Backlog,
    pub parking: ParkedThreads<J>,
    pub account: [Account; 2],
    /// When the client last freed space in the async queue, or found it empty.
    pub last_read: Instant,
    /// When the client last made a call.
    pub last_call: Instant,
    /// The process of the queues. A forked child is not debugged, because it shares the descriptor with its parent.
    pub process: u32,
    /// Whether the descriptor is readable: exactly while an event waits to be read.
    pub signalled: bool,
    /// Whether the notifier knows about the waiting events.
    pub notified: bool,
    pub released: VecDeque<Release>,
    /// How long a thread may wait at an event, however often its lease is renewed.
    pub longest_stop: Option<Duration>,
    /// The descriptor of the latest client. Each has its own, so that none is notified of another one's events.
    pub descriptor: Arc<EventDescriptor>,
}

/// How many releases are remembered.
const REMEMBERED: usize = 64;

/// How many sync events are kept before those whose threads no longer wait are discarded.
const MOST_SYNC: usize = 4096;

impl<J> State<J> {
    pub fn new(descriptor: Arc<EventDescriptor>, clock: Clock) -> Self {
        let now = clock.now();
        Self {
            clock,
            attached: None,
            generations: 0,
            next: 1,
            sync: VecDeque::new(),
            backlog: Backlog::default(),
            parking: ParkedThreads::default(),
            account: [Account::default(); 2],
            last_read: now,
            last_call: now,
            process: std::process::id(),
            signalled: false,
            notified: false,
            released: VecDeque::new(),
            longest_stop: None,
            descriptor,
        }
    }

    /// Returns whether this client is attached.
    pub fn is(&self, generation: Generation) -> bool {
        self.attached.is_some_and(|(attached, _)| attached == generation)
    }

    /// Returns whether this client is the latest one that attached, so that the events in the queues are its own.
    pub fn is_latest(&self, generation: Generation) -> bool {
        self.generations == generation.0 && self.process == std::process::id()
    }

    /// Returns this client if it is attached, or any attached client if `to` is `None`. A forked child has none.
    pub fn reached(&self, to: Option<Generation>) -> Option<(Generation, Limits)> {
        let fits = |(attached, _): &(Generation, Limits)| to.is_none_or(|to| to == *attached);
        self.attached.filter(fits).filter(|_| self.process == std::process::id())
    }

    /// Notes a call of this client and returns its limits. Returns an error if it is not attached.
    pub fn check(&mut self, generation: Generation) -> Result<Limits, DebugError> {
        let (_, limits) = self.reached(Some(generation)).ok_or(DebugError::NotAttached)?;
        self.last_call = self.clock.now();
        Ok(limits)
    }

    pub fn restart_lease(&mut self, sequence: Sequence) {
        if let Some((_, limits)) = self.attached
            && let Some(parked) = self.parking.get_mut(sequence)
        {
            let latest = self.longest_stop.and_then(|longest| self.clock.after(longest));
            parked.begin(self.clock.after(limits.lease), latest);
        }
    }

    /// Ends the wait at an event whose lease has expired and which has no jobs left.
    pub fn expire(&mut self, sequence: Sequence) -> Answer {
        let Some(parked) = self.parking.remove(sequence) else { return Answer::Resume(Resume::Continue) };
        let release = parked.release(sequence, parked.reason());
        self.remember(release.clone());
        let silent =
            self.attached.filter(|(_, limits)| !parked.read && self.clock.elapsed(self.last_call) >= limits.lease);
        Answer::Expired { release, silent: silent.map(|(generation, _)| generation) }
    }

    /// Adds a sync event. There are usually few, because each thread waits at its event. But if leases expire again and
    /// again while no client reads, their events pile up. In that case the oldest event without a waiting thread is
    /// discarded.
    pub fn push_sync(&mut self, event: Event) {
        self.account[0].raised += 1;
        self.sync.push_back(event);
        if self.sync.len() > MOST_SYNC
            && let Some(old) = self.sync.iter().position(|event| self.parking.get(event.sequence).is_none())
        {
            self.sync.remove(old);
            self.account[0].discarded += 1;
        }
    }

    pub fn event(&mut self, kind: EventKind, thread: u32, replayed: bool) -> Event {
        let sequence = Sequence(self.next);
        self.next += 1;
        Event { sequence, at: Timestamp::now(), thread, waiting: false, replayed, coalesced: 0, kind }
    }

    /// Returns the error for an event whose thread was released, if it was.
    pub fn continued(&self, sequence: Sequence) -> Option<DebugError> {
        let release = self.released.iter().find(|release| release.event == sequence)?;
        Some(DebugError::AlreadyContinued(sequence, release.because.into()))
    }

    pub fn remember(&mut self, release: Release) {
        if self.released.len() == REMEMBERED {
            self.released.pop_front();
        }
        self.released.push_back(release);
    }
}

/// The async events that wait to be read: at most the capacity plus one event of each kind.
#[derive(Default)]
pub(super) struct Backlog {
    events: VecDeque<Event>,
    /// How many events were added and taken so far.
    pushed: u64,
    taken: u64,
    /// The number of the last event of each kind, counted like `pushed`.
    last: [Option<u64>; EventName::ALL.len()],
}

impl Backlog {
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Adds an event. If there is no space, coalesces it into the last one of its kind. Returns whether it was added as
    /// an event of its own.
    pub fn push(&mut self, event: Event, capacity: usize) -> bool {
        let last = &mut self.last[event.kind.name() as usize];
        if self.events.len() >= capacity
            && let Some(earlier) = last.filter(|last| *last >= self.taken)
        {
            self.events[(earlier - self.taken) as usize].coalesced += 1;
            return false;
        }
        *last = Some(self.pushed);
        self.pushed += 1;
        self.events.push_back(event);
        true
    }

    /// Takes the first events.
    pub fn take(&mut self, most: usize) -> Vec<Event> {
        let count = self.events.len().min(most);
        self.taken += count as u64;
        self.events.drain(..count).collect()
    }
}
