//! The two queues, and the threads that wait for acknowledgements.
//!
//! Everything is behind one lock, which is held only briefly: never while a thread waits, reads tensors, or calls a
//! callback. An event is in its queue before its client is notified.

#[cfg(all(test, loom))]
mod loom_tests;
mod parked_threads;
mod state;
mod status;
#[cfg(all(test, not(loom)))]
mod tests;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use opscope_clock::Clock;

use crate::error::{Continued, DebugError};
use crate::event::{Event, EventKind, EventName, Queue, Sequence};
use crate::sync::{Condvar, EventDescriptor, Mutex, lock, wait_until};
pub(crate) use parked_threads::StoppedRun;
pub(crate) use state::{Answer, Generation, Limits};
use state::{Backlog, State};
pub use status::{Account, Release, ReleaseReason, Resume, Stop};

/// The queues of one program. `J` is a job that a waiting thread does for the client.
pub(crate) struct Queues<J> {
    clock: Clock,
    state: Mutex<State<J>>,
    /// Signalled when the reader has freed space.
    space: Condvar,
    /// Signalled when there are events to notify of, or the client detaches.
    notice: Condvar,
}

/// How a wait for a notice ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// There are new events.
    Events,
    /// The caller's deadline has passed.
    Due,
    /// The client has detached, or no longer wants notices.
    Over,
}

impl<J> Queues<J> {
    pub fn new(clock: Clock) -> io::Result<Self> {
        let state = State::new(Arc::new(EventDescriptor::new()?), clock.clone());
        Ok(Self { clock, state: Mutex::new(state), space: Condvar::new(), notice: Condvar::new() })
    }

    /// Returns the clock of leases and timeouts.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Returns whether these are the queues of this process, and not of the one that it was forked from.
    pub fn is_own_process(&self) -> bool {
        lock(&self.state).process == std::process::id()
    }

    /// Attaches a client and raises the events that report what happened before. Events that an earlier client left
    /// unread are discarded. The client's descriptor is readable while an event waits to be read.
    pub fn attach(
        &self,
        limits: Limits,
        descriptor: Arc<EventDescriptor>,
        replay: impl IntoIterator<Item = EventKind>,
    ) -> Generation {
        let mut state = lock(&self.state);
        state.generations += 1;
        let generation = Generation(state.generations);
        state.sync.clear();
        state.backlog = Backlog::default();
        self.clear_if_empty(&mut state);
        state.descriptor = descriptor;
        state.account = [Account::default(); 2];
        state.released.clear();
        state.last_read = self.clock.now();
        state.last_call = state.last_read;
        state.attached = Some((generation, limits));
        for kind in replay {
            let replayed = !matches!(kind, EventKind::AttachComplete);
            let event = state.event(kind, 0, replayed);
            state.push_sync(event);
        }
        self.notify(&mut state);
        generation
    }

    /// Detaches the client and releases the threads that wait. `last` is the last event that it can read. Returns the
    /// releases and the cancelled jobs, which have to be dropped outside of the lock.
    pub fn detach(&self, generation: Generation, last: Option<EventKind>) -> (Vec<Release>, Vec<J>) {
        let mut state = lock(&self.state);
        if state.reached(Some(generation)).is_none() {
            return (Vec::new(), Vec::new());
        }
        state.attached = None;
        let (released, cancelled) = state.parking.release_all();
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
            self.clear_if_empty(&mut state);
        }
        self.space.notify_all();
        self.notify(&mut state);
        self.notice.notify_all();
        (released, cancelled)
    }

    /// Raises an async event for this client, or for any client that is attached. While the queue is full, waits for
    /// its reader to free space. If it does not do so in time, coalesces the event into the last one of its kind.
    pub fn raise(&self, to: Option<Generation>, kind: EventKind, thread: u32) {
        let mut state = lock(&self.state);
        let Some((generation, limits)) = state.reached(to) else { return };
        while state.is(generation) && state.backlog.len() >= limits.capacity {
            let until = state.last_read + limits.reader_grace;
            if self.clock.has_come(until) {
                break;
            }
            state = wait_until(&self.clock, &self.space, state, Some(until));
        }
        if state.is(generation) {
            self.push(&mut state, kind, thread, limits.capacity);
        }
    }

    /// Raises an async event for this client without waiting for space, because the calling thread may be the one that
    /// frees it.
    pub fn raise_without_waiting(&self, to: Generation, kind: EventKind) {
        let mut state = lock(&self.state);
        if let Some((_, limits)) = state.reached(Some(to)) {
            self.push(&mut state, kind, 0, limits.capacity);
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

    /// Raises a sync event for this client, or for any client that is attached; the calling thread then has to call
    /// [`wait`](Self::wait). Returns `None` when the client is not attached.
    pub fn announce(&self, to: Option<Generation>, kind: EventKind, thread: u32) -> Option<Sequence> {
        let mut state = lock(&self.state);
        state.reached(to)?;
        let event = state.event(kind, thread, false);
        let sequence = event.sequence;
        state.parking.park(&event);
        state.push_sync(event);
        self.notify(&mut state);
        Some(sequence)
    }

    /// Raises a sync event for which no thread waits.
    pub fn post(&self, kind: EventKind) {
        let mut state = lock(&self.state);
        if state.reached(None).is_some() {
            let event = state.event(kind, 0, false);
            state.push_sync(event);
            self.notify(&mut state);
        }
    }

    /// Parks the calling thread at the event that it has announced. Passes the client's jobs to `work`, without the
    /// lock. The lease runs only while the thread waits here, not while it waited at an earlier event or carries out a
    /// job.
    pub fn wait(&self, sequence: Sequence, mut work: impl FnMut(J)) -> Answer {
        let mut state = lock(&self.state);
        state.restart_lease(sequence);
        loop {
            let Some(parked) = state.parking.get_mut(sequence) else {
                return Answer::Resume(Resume::Continue);
            };
            if let Some(resume) = parked.resume.take() {
                let parked = state.parking.remove(sequence);
                // The other jobs are dropped outside of the lock.
                drop(state);
                drop(parked);
                return Answer::Resume(resume);
            }
            if let Some(job) = parked.jobs.pop_front() {
                drop(state);
                work(job);
                state = lock(&self.state);
                state.restart_lease(sequence);
                continue;
            }
            if parked.deadline().is_some_and(|deadline| self.clock.has_come(deadline)) {
                return state.expire(sequence);
            }
            let (signal, deadline) = (parked.signal.clone(), parked.deadline());
            state = wait_until(&self.clock, &signal, state, deadline);
        }
    }

    /// Takes events out of a queue, in order.
    pub fn take(&self, generation: Generation, queue: Queue, most: usize) -> Vec<Event> {
        let mut state = lock(&self.state);
        if !state.is_latest(generation) {
            return Vec::new();
        }
        state.last_call = self.clock.now();
        let lease = state.attached.map_or(Duration::ZERO, |(_, limits)| limits.lease);
        let deadline = state.last_call.checked_add(lease);
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
                    event.waiting = state.parking.read(event.sequence, deadline);
                }
                taken
            }
        };
        let account = &mut state.account[index(queue)];
        account.delivered += taken.len() as u64;
        if queue == Queue::Async && !taken.is_empty() {
            self.space.notify_all();
        }
        self.clear_if_empty(&mut state);
        taken
    }

    /// Makes the descriptor unreadable when no event waits.
    fn clear_if_empty(&self, state: &mut State<J>) {
        if state.signalled && state.sync.is_empty() && state.backlog.len() == 0 {
            state.signalled = false;
            state.descriptor.clear();
        }
    }

    /// Resumes the thread of an event that was read.
    pub fn acknowledge(&self, generation: Generation, sequence: Sequence, resume: Resume) -> Result<(), DebugError> {
        let mut state = lock(&self.state);
        state.check(generation)?;
        match state.parking.get_mut(sequence) {
            Some(parked) if parked.resume.is_some() => match resume {
                Resume::Continue => Ok(()),
                _ => Err(DebugError::AlreadyContinued(sequence, Continued::Acknowledged)),
            },
            Some(parked) if !parked.read => Err(DebugError::NotRead(sequence)),
            Some(parked) => {
                parked.resume = Some(resume);
                parked.signal.notify_all();
                Ok(())
            }
            None => match (state.continued(sequence), resume) {
                (Some(error), _) => Err(error),
                // Replayed events and the ends of attaching and detaching do not stop a thread.
                (None, Resume::Continue) if sequence.0 < state.next => Ok(()),
                (None, _) => Err(DebugError::NotStopped(sequence)),
            },
        }
    }

    /// Resumes the threads of all events that were read, and returns how many there were.
    pub fn acknowledge_read(&self, generation: Generation) -> Result<usize, DebugError> {
        let mut state = lock(&self.state);
        state.check(generation)?;
        Ok(state.parking.resume_read())
    }

    /// Sets how long a thread may wait at an event, however often its lease is renewed.
    pub fn set_longest_stop(&self, longest: Option<Duration>) {
        lock(&self.state).longest_stop = longest;
    }

    /// Restarts the lease of an event.
    pub fn renew(&self, generation: Generation, sequence: Sequence) -> Result<(), DebugError> {
        self.parked(generation, sequence, |_| ())
    }

    /// Gives a job to the thread that waits at an event, and restarts its lease.
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
        with: impl FnOnce(&mut parked_threads::ParkedThread<J>),
    ) -> Result<(), DebugError> {
        let mut state = lock(&self.state);
        let lease = state.check(generation)?.lease;
        let continued = state.continued(sequence);
        match state.parking.get_mut(sequence).filter(|parked| parked.resume.is_none()) {
            Some(parked) => {
                parked.set_deadline(self.clock.after(lease));
                with(parked);
                Ok(())
            }
            None => Err(continued.unwrap_or(DebugError::NotStopped(sequence))),
        }
    }

    /// Returns the kind of the event that a thread waits at, and whether that thread is at an operator.
    pub fn kind_of(&self, sequence: Sequence) -> Option<(EventName, bool)> {
        lock(&self.state).parking.get(sequence).map(|parked| (parked.kind, parked.at_operator))
    }

    /// Notes that this client made a call. Returns an error if it is not attached.
    pub fn call(&self, generation: Generation) -> Result<(), DebugError> {
        lock(&self.state).check(generation).map(drop)
    }

    /// Returns whether this client is attached.
    #[cfg(not(loom))]
    pub fn is_attached(&self, generation: Generation) -> bool {
        lock(&self.state).is(generation)
    }

    /// Returns the accounts of the sync and the async queue, the threads that wait, the latest releases, and the runs
    /// that wait.
    pub fn status(&self) -> ([Account; 2], Vec<Stop>, Vec<Release>, Vec<StoppedRun>) {
        let state = lock(&self.state);
        let mut accounts = state.account;
        accounts[0].waiting = state.sync.len() as u64;
        accounts[1].waiting = state.backlog.len() as u64;
        (accounts, state.parking.stops(), state.released.iter().cloned().collect(), state.parking.runs())
    }

    /// Returns the runs that wait at events.
    pub fn stopped_runs(&self) -> Vec<StoppedRun> {
        lock(&self.state).parking.runs()
    }

    /// Waits until there are events that this client was not notified of yet, but at most until a moment.
    pub fn wait_for_notice(&self, generation: Generation, until: Option<Instant>, wanted: impl Fn() -> bool) -> Notice {
        let mut state = lock(&self.state);
        loop {
            // The events may belong to a later client.
            if !wanted() || !state.is_latest(generation) {
                return Notice::Over;
            }
            if state.signalled && !state.notified {
                state.notified = true;
                return Notice::Events;
            }
            if !state.is(generation) {
                return Notice::Over;
            }
            if until.is_some_and(|until| self.clock.has_come(until)) {
                return Notice::Due;
            }
            state = wait_until(&self.clock, &self.notice, state, until);
        }
    }

    /// Wakes every thread that waits for a deadline, so that it reads the clock again.
    pub fn wake_up(&self) {
        let state = lock(&self.state);
        state.parking.wake_all();
        self.space.notify_all();
        self.notice.notify_all();
        drop(state);
    }

    /// Wakes the threads that wait for a notice, so that they check whether it is still wanted.
    pub fn wake_notifier(&self) {
        let state = lock(&self.state);
        self.notice.notify_all();
        drop(state);
    }

    /// Notifies again of the events that wait, because there is a new callback.
    pub fn notify_again(&self, generation: Generation) {
        let mut state = lock(&self.state);
        if state.is_latest(generation) {
            self.notify(&mut state);
        }
    }

    /// Notifies the client of a new event: makes the descriptor readable and wakes the notifier.
    fn notify(&self, state: &mut State<J>) {
        state.notified = false;
        let waits = !state.sync.is_empty() || state.backlog.len() > 0;
        if waits && !state.signalled {
            state.signalled = true;
            state.descriptor.signal();
        }
        if waits {
            self.notice.notify_all();
        }
    }
}

#[cfg(all(test, loom))]
impl<J> Queues<J> {
    pub fn is_signalled(&self) -> bool {
        lock(&self.state).descriptor.is_signalled()
    }

    /// Ends a lease, as if its time had passed.
    pub fn expire(&self, sequence: Sequence) {
        if let Some(parked) = lock(&self.state).parking.get_mut(sequence) {
            parked.set_deadline(Some(self.clock.now()));
            parked.signal.notify_all();
        }
    }
}

fn index(queue: Queue) -> usize {
    match queue {
        Queue::Sync => 0,
        Queue::Async => 1,
    }
}
