use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use opscope_model::RunId;

use super::status::{Release, ReleaseReason, Resume, Stop};
use crate::event::{Event, EventName, RunPosition, Sequence};
use crate::sync::Condvar;

/// The threads that wait at events, by the events' numbers.
pub(super) struct ParkedThreads<J>(BTreeMap<Sequence, ParkedThread<J>>);

/// A thread that waits at an event.
pub(super) struct ParkedThread<J> {
    pub thread: u32,
    /// Whether its event was read.
    pub read: bool,
    /// When its lease expires; `None` for never.
    deadline: Option<Instant>,
    /// When it continues in any case; `None` for never. It is known once it waits.
    latest: Option<Instant>,
    /// How it continues, once the client has decided that.
    pub resume: Option<Resume>,
    /// The jobs that it has to carry out for the client.
    pub jobs: VecDeque<J>,
    /// Signalled to wake it.
    pub signal: Arc<Condvar>,
    pub kind: EventName,
    /// Whether it is at an operator and has its tensors.
    pub at_operator: bool,
    run: Option<RunId>,
    place: Option<RunPosition>,
}

/// A run that waits at an event.
pub(crate) struct StoppedRun {
    pub run: RunId,
    pub event: Sequence,
    /// Whether it is at an operator and has its tensors.
    pub at_operator: bool,
}

impl<J> Default for ParkedThreads<J> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<J> ParkedThreads<J> {
    /// Parks the thread of an event. Its lease begins when it starts to wait.
    pub fn park(&mut self, event: &Event) {
        let parked = ParkedThread {
            thread: event.thread,
            read: false,
            deadline: None,
            latest: None,
            resume: None,
            jobs: VecDeque::new(),
            signal: Arc::new(Condvar::new()),
            kind: event.kind.name(),
            at_operator: event.kind.is_at_operator(),
            run: event.kind.run(),
            place: event.kind.position().cloned(),
        };
        self.0.insert(event.sequence, parked);
    }

    pub fn get(&self, sequence: Sequence) -> Option<&ParkedThread<J>> {
        self.0.get(&sequence)
    }

    pub fn get_mut(&mut self, sequence: Sequence) -> Option<&mut ParkedThread<J>> {
        self.0.get_mut(&sequence)
    }

    pub fn remove(&mut self, sequence: Sequence) -> Option<ParkedThread<J>> {
        self.0.remove(&sequence)
    }

    /// Notes that an event was read, and that its lease now expires at `deadline`. Returns whether a thread waits at
    /// it.
    pub fn read(&mut self, sequence: Sequence, deadline: Option<Instant>) -> bool {
        let parked = self.0.get_mut(&sequence).filter(|parked| parked.resume.is_none());
        parked.is_some_and(|parked| {
            parked.read = true;
            parked.set_deadline(deadline);
            true
        })
    }

    /// Resumes the threads whose events were read, and returns how many there are.
    pub fn resume_read(&mut self) -> usize {
        let mut count = 0;
        for parked in self.0.values_mut().filter(|parked| parked.read && parked.resume.is_none()) {
            parked.resume = Some(Resume::Continue);
            parked.signal.notify_all();
            count += 1;
        }
        count
    }

    /// Resumes all threads because the debugger is gone. Returns the releases of the events that were not acknowledged,
    /// and the remaining jobs.
    pub fn release_all(&mut self) -> (Vec<Release>, Vec<J>) {
        let (mut released, mut cancelled) = (Vec::new(), Vec::new());
        for (sequence, parked) in &mut self.0 {
            cancelled.extend(parked.jobs.drain(..));
            if parked.resume.is_none() {
                parked.resume = Some(Resume::Continue);
                parked.signal.notify_all();
                released.push(parked.release(*sequence, ReleaseReason::DebuggerGone));
            }
        }
        (released, cancelled)
    }

    /// Wakes all threads, so that they check their leases.
    pub fn wake_all(&self) {
        self.0.values().for_each(|parked| parked.signal.notify_all());
    }

    pub fn runs(&self) -> Vec<StoppedRun> {
        let waiting = self.0.iter().filter(|(_, parked)| parked.resume.is_none());
        let run = |(&event, parked): (&Sequence, &ParkedThread<J>)| {
            Some(StoppedRun { run: parked.run?, event, at_operator: parked.at_operator })
        };
        waiting.filter_map(run).collect()
    }

    pub fn stops(&self) -> Vec<Stop> {
        let waiting = self.0.iter().filter(|(_, parked)| parked.resume.is_none());
        waiting
            .map(|(&event, parked)| Stop {
                event,
                kind: parked.kind,
                place: parked.place.clone(),
                thread: parked.thread,
                read: parked.read,
            })
            .collect()
    }
}

impl<J> ParkedThread<J> {
    /// Begins its lease. `latest` is when it continues in any case.
    pub fn begin(&mut self, deadline: Option<Instant>, latest: Option<Instant>) {
        if self.latest.is_none() {
            self.latest = latest;
        }
        self.set_deadline(deadline);
    }

    /// Sets when its lease expires.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Returns when it continues without an acknowledgement.
    pub fn deadline(&self) -> Option<Instant> {
        match (self.deadline, self.latest) {
            (Some(deadline), Some(latest)) => Some(deadline.min(latest)),
            (deadline, latest) => deadline.or(latest),
        }
    }

    /// Returns why it continues then.
    pub fn reason(&self) -> ReleaseReason {
        let is_lease = self.latest.is_none_or(|latest| self.deadline.is_some_and(|deadline| deadline < latest));
        if is_lease { ReleaseReason::LeaseExpired } else { ReleaseReason::StoppedTooLong }
    }

    /// Describes how it continued without an acknowledgement.
    pub fn release(&self, event: Sequence, because: ReleaseReason) -> Release {
        Release { event, kind: self.kind, place: self.place.clone(), because }
    }
}
