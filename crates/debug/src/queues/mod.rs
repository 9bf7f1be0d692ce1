//! The two queues, and the threads that wait at events.
//!
//! Everything is behind one lock, which is held for moments only: never while a thread waits, looks at tensors, or calls
//! anybody. An event is in its queue before anyone is notified of it.

mod backlog;
#[cfg(all(test, loom))]
mod models;
mod parked;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use opscope_clock::Timestamp;

use crate::doorbell::Doorbell;
use crate::sync::{Condvar, Mutex, lock, wait_until};
use crate::{Account, DebugError, Event, EventKind, EventName, Queue, Release, ReleaseReason, Resume, Sequence, Stop};
use backlog::Backlog;
use parked::Parking;
pub(crate) use parked::StoppedRun;

/// The queues of one program. `J` is work that a waiting thread does for the debugger.
pub(crate) struct Queues<J> {
    state: Mutex<State<J>>,
    /// Signalled when the reader has made room.
    room: Condvar,
    /// Signalled when there is something to notify of, or the debugger goes.
    news: Condvar,
}

/// What the queues must know of the debugger.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    /// How long an event may stay unacknowledged.
    pub lease: Duration,
    /// How many async events wait at most.
    pub capacity: usize,
    /// How long a reader that does not read still counts as one that drains.
    pub patience: Duration,
}

/// Which debugger: each that attaches has another number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Generation(u64);

/// How a wait ended.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The debugger says how to go on, or is gone.
    Resume(Resume),
    /// The lease ran out.
    Expired {
        /// What was not acknowledged.
        release: Release,
        /// The debugger, where it had not even read it, and asked for nothing else in that time: it is dead.
        silent: Option<Generation>,
    },
}

/// What a wait for news ended with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// Events came.
    Events,
    /// It is the moment that was waited for.
    Due,
    /// The debugger is gone, or nobody shall be notified any more.
    Over,
}

struct State<J> {
    attached: Option<(Generation, Terms)>,
    generations: u64,
    next: u64,
    sync: VecDeque<Event>,
    backlog: Backlog,
    parking: Parking<J>,
    account: [Account; 2],
    /// When room was last made in the async queue, or there was nothing in it to be read.
    last_read: Instant,
    /// When the debugger last asked for anything.
    last_call: Instant,
    /// The process that the queues are of. A child that was forked off is not debugged: the descriptor is its parent's.
    process: u32,
    /// Whether the bell is rung: exactly while an event waits to be read.
    rung: bool,
    /// Whether the notification's thread was told of what waits.
    told: bool,
    released: VecDeque<Release>,
    /// The bell of the debugger that came last. Each brings its own, so that none is told of what another one is to read.
    bell: Arc<Doorbell>,
}

/// How many releases are remembered.
const REMEMBERED: usize = 64;

/// How many sync events are kept at which nobody waits any more.
const MOST_SYNC: usize = 4096;

impl<J> Queues<J> {
    pub fn new() -> io::Result<Self> {
        let state = State {
            attached: None,
            generations: 0,
            next: 1,
            sync: VecDeque::new(),
            backlog: Backlog::default(),
            parking: Parking::default(),
            account: [Account::default(); 2],
            last_read: Instant::now(),
            last_call: Instant::now(),
            process: std::process::id(),
            rung: false,
            told: false,
            released: VecDeque::new(),
            bell: Arc::new(Doorbell::new()?),
        };
        Ok(Self { state: Mutex::new(state), room: Condvar::new(), news: Condvar::new() })
    }

    /// Whether these are the queues of this process, and not of one that it was forked off from.
    pub fn is_at_home(&self) -> bool {
        lock(&self.state).process == std::process::id()
    }

    /// Lets a debugger in, and tells it what happened before. What an earlier one left unread is gone. The bell is rung
    /// while an event waits to be read.
    pub fn attach(&self, terms: Terms, bell: Arc<Doorbell>, replay: impl IntoIterator<Item = EventKind>) -> Generation {
        let mut state = lock(&self.state);
        state.generations += 1;
        let generation = Generation(state.generations);
        state.sync.clear();
        state.backlog = Backlog::default();
        self.silence(&mut state);
        state.bell = bell;
        state.account = [Account::default(); 2];
        state.released.clear();
        state.last_read = Instant::now();
        state.last_call = state.last_read;
        state.attached = Some((generation, terms));
        for kind in replay {
            let replayed = !matches!(kind, EventKind::AttachComplete);
            let event = state.event(kind, 0, replayed);
            state.push_sync(event);
        }
        self.notify(&mut state);
        generation
    }

    /// Lets the debugger go. Threads that wait go on; `last` is the last event that it can read. What it asked for last
    /// is not done any more, for nobody would read the answer: it is given back, to be dropped where no lock is held.
    pub fn detach(&self, generation: Generation, last: Option<EventKind>) -> (Vec<Release>, Vec<J>) {
        let mut state = lock(&self.state);
        if state.reached(Some(generation)).is_none() {
            return (Vec::new(), Vec::new());
        }
        state.attached = None;
        let (released, undone) = state.parking.release_all();
        for release in &released {
            state.remember(release.clone());
        }
        if let Some(kind) = last {
            let event = state.event(kind, 0, false);
            state.push_sync(event);
        } else {
            let unread = state.sync.len() as u64;
            state.sync.clear();
            state.account[0].discarded += unread;
            state.account[1].discarded += std::mem::take(&mut state.backlog).len() as u64;
            self.silence(&mut state);
        }
        self.room.notify_all();
        self.notify(&mut state);
        self.news.notify_all();
        (released, undone)
    }

    /// Raises an async event for this debugger, or for whichever is attached. Where the queue is full and its reader
    /// drains, waits for room; where nobody reads, the event is folded into the last one of its kind.
    pub fn raise(&self, to: Option<Generation>, kind: EventKind, thread: u32) {
        let mut state = lock(&self.state);
        let Some((generation, terms)) = state.reached(to) else { return };
        while state.is(generation) && state.backlog.len() >= terms.capacity {
            let until = state.last_read + terms.patience;
            if Instant::now() >= until {
                break;
            }
            state = wait_until(&self.room, state, Some(until));
        }
        if state.is(generation) {
            self.push(&mut state, kind, thread, terms.capacity);
        }
    }

    /// Raises an async event for this debugger on the thread that notifies it, and so may be the one that makes room.
    pub fn raise_at_once(&self, to: Generation, kind: EventKind) {
        let mut state = lock(&self.state);
        if let Some((_, terms)) = state.reached(Some(to)) {
            self.push(&mut state, kind, 0, terms.capacity);
        }
    }

    fn push(&self, state: &mut State<J>, kind: EventKind, thread: u32, capacity: usize) {
        state.account[1].raised += 1;
        let event = state.event(kind, thread, false);
        if state.backlog.push(event, capacity) {
            self.notify(state);
        } else {
            state.account[1].coalesced += 1;
        }
    }

    /// Raises a sync event for this debugger, or for whichever is attached; the calling thread will
    /// [`wait`](Self::wait) at it. None when it is not attached.
    pub fn announce(&self, to: Option<Generation>, kind: EventKind, thread: u32) -> Option<Sequence> {
        let mut state = lock(&self.state);
        let (_, terms) = state.reached(to)?;
        let event = state.event(kind, thread, false);
        let sequence = event.sequence;
        state.parking.park(&event, terms.lease);
        state.push_sync(event);
        self.notify(&mut state);
        Some(sequence)
    }

    /// Raises a sync event at which nobody waits.
    pub fn post(&self, kind: EventKind) {
        let mut state = lock(&self.state);
        if state.reached(None).is_some() {
            let event = state.event(kind, 0, false);
            state.push_sync(event);
            self.notify(&mut state);
        }
    }

    /// Parks the calling thread at the event that it has announced. What the debugger wants to have done here is given to
    /// `work`, with the lock open. The lease counts while the thread waits: not while it still waited for another event,
    /// and not while it works for the debugger.
    pub fn wait(&self, sequence: Sequence, mut work: impl FnMut(J)) -> Answer {
        let mut state = lock(&self.state);
        state.restart_lease(sequence);
        loop {
            let Some(parked) = state.parking.get_mut(sequence) else {
                return Answer::Resume(Resume::Continue);
            };
            if let Some(resume) = parked.resume.take() {
                let gone = state.parking.remove(sequence);
                // What it was to do besides is dropped with no lock held.
                drop(state);
                drop(gone);
                return Answer::Resume(resume);
            }
            if let Some(job) = parked.jobs.pop_front() {
                drop(state);
                work(job);
                state = lock(&self.state);
                state.restart_lease(sequence);
                continue;
            }
            if parked.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return state.expire(sequence);
            }
            let (signal, deadline) = (parked.signal.clone(), parked.deadline);
            state = wait_until(&signal, state, deadline);
        }
    }

    /// Takes events out of a queue, in their order.
    pub fn take(&self, generation: Generation, queue: Queue, most: usize) -> Vec<Event> {
        let mut state = lock(&self.state);
        if !state.is_latest(generation) {
            return Vec::new();
        }
        state.last_call = Instant::now();
        let lease = state.attached.map_or(Duration::ZERO, |(_, terms)| terms.lease);
        let taken = match queue {
            Queue::Async => {
                let taken = state.backlog.take(most);
                if !taken.is_empty() || state.backlog.len() == 0 {
                    state.last_read = state.last_call;
                }
                taken
            }
            Queue::Sync => {
                let count = state.sync.len().min(most);
                let mut taken: Vec<Event> = state.sync.drain(..count).collect();
                for event in &mut taken {
                    event.waiting = state.parking.read(event.sequence, lease);
                }
                taken
            }
        };
        let account = &mut state.account[index(queue)];
        account.delivered += taken.len() as u64;
        if queue == Queue::Async && !taken.is_empty() {
            self.room.notify_all();
        }
        self.silence(&mut state);
        taken
    }

    /// Silences the bell when nothing waits any more.
    fn silence(&self, state: &mut State<J>) {
        if state.rung && state.sync.is_empty() && state.backlog.len() == 0 {
            state.rung = false;
            state.bell.silence();
        }
    }

    /// Lets the thread of an event that was read go on.
    pub fn acknowledge(&self, generation: Generation, sequence: Sequence, resume: Resume) -> Result<(), DebugError> {
        let mut state = lock(&self.state);
        state.check(generation)?;
        match state.parking.get_mut(sequence) {
            Some(parked) if parked.resume.is_some() => match resume {
                Resume::Continue => Ok(()),
                _ => Err(DebugError::GoneOn(sequence, "it was acknowledged before".to_owned())),
            },
            Some(parked) if !parked.read => Err(DebugError::NotRead(sequence)),
            Some(parked) => {
                parked.resume = Some(resume);
                parked.signal.notify_all();
                Ok(())
            }
            None => match (state.gone(sequence), resume) {
                (Some(error), _) => Err(error),
                // Replayed events and the ends of attaching and detaching stop nobody.
                (None, Resume::Continue) if sequence.0 < state.next => Ok(()),
                (None, _) => Err(DebugError::NotStopped(sequence)),
            },
        }
    }

    /// Lets the threads of all events that were read go on, and says how many there were.
    pub fn acknowledge_read(&self, generation: Generation) -> Result<usize, DebugError> {
        let mut state = lock(&self.state);
        state.check(generation)?;
        Ok(state.parking.resume_read())
    }

    /// Starts the lease of an event anew.
    pub fn renew(&self, generation: Generation, sequence: Sequence) -> Result<(), DebugError> {
        self.parked(generation, sequence, |_| ())
    }

    /// Gives work to the thread that waits at an event. That starts its lease anew: whoever asks has not forgotten it.
    pub fn submit(&self, generation: Generation, sequence: Sequence, job: J) -> Result<(), DebugError> {
        self.parked(generation, sequence, |parked| {
            parked.jobs.push_back(job);
            parked.signal.notify_all();
        })
    }

    fn parked(
        &self,
        generation: Generation,
        sequence: Sequence,
        with: impl FnOnce(&mut parked::Parked<J>),
    ) -> Result<(), DebugError> {
        let mut state = lock(&self.state);
        let lease = state.check(generation)?.lease;
        let gone = state.gone(sequence);
        match state.parking.get_mut(sequence).filter(|parked| parked.resume.is_none()) {
            Some(parked) => {
                parked.deadline = parked::deadline(lease);
                with(parked);
                Ok(())
            }
            None => Err(gone.unwrap_or(DebugError::NotStopped(sequence))),
        }
    }

    /// The kind of an event that a thread waits at, and whether that thread is at an operator.
    pub fn kind_of(&self, sequence: Sequence) -> Option<(EventName, bool)> {
        lock(&self.state).parking.get(sequence).map(|parked| (parked.kind, parked.at_operator))
    }

    /// Notes that this debugger asks for something, which it can while it is attached.
    pub fn call(&self, generation: Generation) -> Result<(), DebugError> {
        lock(&self.state).check(generation).map(drop)
    }

    /// Whether this debugger is attached.
    #[cfg(not(loom))]
    pub fn is_attached(&self, generation: Generation) -> bool {
        lock(&self.state).is(generation)
    }

    /// Accounts of the sync and of the async queue, the threads that wait, the latest releases, and the runs that wait.
    pub fn status(&self) -> ([Account; 2], Vec<Stop>, Vec<Release>, Vec<StoppedRun>) {
        let state = lock(&self.state);
        let mut accounts = state.account;
        accounts[0].waiting = state.sync.len() as u64;
        accounts[1].waiting = state.backlog.len() as u64;
        (accounts, state.parking.stops(), state.released.iter().cloned().collect(), state.parking.runs())
    }

    /// The runs that wait at events.
    pub fn stopped_runs(&self) -> Vec<StoppedRun> {
        lock(&self.state).parking.runs()
    }

    /// Waits until there is something to notify of that was not told yet, or until a moment.
    pub fn wait_for_news(&self, generation: Generation, until: Option<Instant>, wanted: impl Fn() -> bool) -> News {
        let mut state = lock(&self.state);
        loop {
            // What comes for a later debugger is not for this one to take note of.
            if !wanted() || !state.is_latest(generation) {
                return News::Over;
            }
            if state.rung && !state.told {
                state.told = true;
                return News::Events;
            }
            if !state.is(generation) {
                return News::Over;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return News::Due;
            }
            state = wait_until(&self.news, state, until);
        }
    }

    /// Wakes whoever waits for news, so that it looks whether it is still wanted.
    pub fn nudge(&self) {
        let state = lock(&self.state);
        self.news.notify_all();
        drop(state);
    }

    /// Tells of what waits again, because somebody else is to be notified from now on.
    pub fn tell_again(&self, generation: Generation) {
        let mut state = lock(&self.state);
        if state.is_latest(generation) {
            self.notify(&mut state);
        }
    }

    /// An event came: rings the bell, and tells the notification's thread.
    fn notify(&self, state: &mut State<J>) {
        state.told = false;
        let waits = !state.sync.is_empty() || state.backlog.len() > 0;
        if waits && !state.rung {
            state.rung = true;
            state.bell.ring();
        }
        if waits {
            self.news.notify_all();
        }
    }
}

#[cfg(all(test, loom))]
impl<J> Queues<J> {
    pub fn is_rung(&self) -> bool {
        lock(&self.state).bell.is_rung()
    }

    /// What the clock does to a lease.
    pub fn expire(&self, sequence: Sequence) {
        if let Some(parked) = lock(&self.state).parking.get_mut(sequence) {
            parked.deadline = Some(Instant::now());
            parked.signal.notify_all();
        }
    }
}

impl<J> State<J> {
    fn is(&self, generation: Generation) -> bool {
        self.attached.is_some_and(|(attached, _)| attached == generation)
    }

    /// Whether this debugger is the last one that attached: what waits in the queues is its own.
    fn is_latest(&self, generation: Generation) -> bool {
        self.generations == generation.0 && self.process == std::process::id()
    }

    /// This debugger, or whichever is attached. A process that was forked off has none.
    fn reached(&self, to: Option<Generation>) -> Option<(Generation, Terms)> {
        let fits = |(attached, _): &(Generation, Terms)| to.is_none_or(|to| to == *attached);
        self.attached.filter(fits).filter(|_| self.process == std::process::id())
    }

    /// The terms of the debugger that calls, if it is attached.
    fn check(&mut self, generation: Generation) -> Result<Terms, DebugError> {
        let (_, terms) = self.reached(Some(generation)).ok_or(DebugError::NotAttached(None))?;
        self.last_call = Instant::now();
        Ok(terms)
    }

    fn restart_lease(&mut self, sequence: Sequence) {
        if let Some((_, terms)) = self.attached
            && let Some(parked) = self.parking.get_mut(sequence)
        {
            parked.deadline = parked::deadline(terms.lease);
        }
    }

    /// Ends the wait at an event whose lease has run out. Nothing is left to be done there then.
    fn expire(&mut self, sequence: Sequence) -> Answer {
        let Some(parked) = self.parking.remove(sequence) else { return Answer::Resume(Resume::Continue) };
        let release = parked.release(sequence, ReleaseReason::LeaseExpired);
        self.remember(release.clone());
        let silent = self.attached.filter(|(_, terms)| !parked.read && self.last_call.elapsed() >= terms.lease);
        Answer::Expired { release, silent: silent.map(|(generation, _)| generation) }
    }

    /// Each thread waits at its event, so these are few, unless leases run out again and again and nobody reads: then the
    /// oldest at which nobody waits makes room.
    fn push_sync(&mut self, event: Event) {
        self.account[0].raised += 1;
        self.sync.push_back(event);
        if self.sync.len() > MOST_SYNC
            && let Some(old) = self.sync.iter().position(|event| self.parking.get(event.sequence).is_none())
        {
            self.sync.remove(old);
            self.account[0].discarded += 1;
        }
    }

    fn event(&mut self, kind: EventKind, thread: u32, replayed: bool) -> Event {
        let sequence = Sequence(self.next);
        self.next += 1;
        Event { sequence, at: Timestamp::now(), thread, waiting: false, replayed, coalesced: 0, kind }
    }

    fn gone(&self, sequence: Sequence) -> Option<DebugError> {
        let release = self.released.iter().find(|release| release.event == sequence)?;
        Some(DebugError::GoneOn(sequence, release.because.to_string()))
    }

    fn remember(&mut self, release: Release) {
        if self.released.len() == REMEMBERED {
            self.released.pop_front();
        }
        self.released.push_back(release);
    }
}

fn index(queue: Queue) -> usize {
    match queue {
        Queue::Sync => 0,
        Queue::Async => 1,
    }
}
