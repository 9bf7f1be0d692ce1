//! The console's inbox: what has happened while the user was not waiting for it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use opscope::debug::{Event, EventKind, EventName, EventSet, Sequence, StopCause};
use opscope::model::RunId;
use opscope_sys::{Condvar, Mutex, MutexGuard};

use super::{ConsoleEvent, DroppedCounts};

/// How many console events are kept, not counting stops and others that must not be lost: runs may continue for days
/// while the prompt waits for a line.
const KEPT: usize = 1024;

/// The console events that wait to be reported, and the runs that are stopped.
#[derive(Debug, Default)]
pub struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
    /// Whether a run that fails stays stopped where it failed.
    pub hold_failures: AtomicBool,
    /// Whether a run that begins stays stopped before its first operator.
    pub hold_begins: AtomicBool,
    /// Whether a user is editing a line.
    pub typing: AtomicBool,
    /// How many lines a user has entered.
    pub typed: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<ConsoleEvent>,
    dropped: DroppedCounts,
    /// Whether a command takes console events as they come.
    is_drained: bool,
    /// Whether the prompt waits for a line.
    is_reading: bool,
    /// The events that the user wants to see.
    shown: EventSet,
    /// The run whose end a command waits for.
    awaited: Option<RunId>,
    /// The events at which runs are stopped, in the order in which they came.
    stops: Vec<Event>,
    /// The last sync event that was read.
    read: Option<Sequence>,
}

impl Inbox {
    /// Adds a console event. If the inbox is full, waits for space while a command takes events. If no command does,
    /// the event is dropped and counted.
    pub fn post(&self, event: ConsoleEvent) {
        let mut state = self.lock();
        if let ConsoleEvent::Reported(event) = &event
            && !state.wants(event)
        {
            return;
        }
        while state.is_drained && state.is_full_for(&event) {
            state = self.changed.wait(state);
        }
        if state.is_full_for(&event) {
            return state.dropped.add(&event);
        }
        if let ConsoleEvent::Stopped(event) = &event {
            state.stops.push(event.clone());
        }
        state.events.push_back(event);
        self.changed.notify_all();
    }

    /// Sets whether a command takes console events as they come.
    pub fn drain(&self, is_drained: bool) {
        self.lock().is_drained = is_drained;
        self.changed.notify_all();
    }

    /// Takes the oldest console event, if there is one.
    pub fn take(&self) -> Option<ConsoleEvent> {
        let event = self.lock().take();
        self.changed.notify_all();
        event
    }

    /// Waits for a console event and takes it.
    pub fn wait(&self) -> ConsoleEvent {
        let mut state = self.lock();
        loop {
            match state.take() {
                Some(event) => {
                    self.changed.notify_all();
                    return event;
                }
                None => state = self.changed.wait(state),
            }
        }
    }

    /// Sets the events that the user wants to see.
    pub fn show(&self, shown: EventSet) {
        self.lock().shown = shown;
    }

    /// Keeps the event of the end of this run, even if the inbox is full.
    pub fn await_end(&self, run: Option<RunId>) {
        self.lock().awaited = run;
    }

    /// Returns the events at which runs are stopped, in the order in which they stopped.
    pub fn stops(&self) -> Vec<Event> {
        self.lock().stops.clone()
    }

    /// Returns an event if a run is still stopped at it.
    pub fn stop(&self, event: Sequence) -> Option<Event> {
        self.lock().stops.iter().find(|stop| stop.sequence == event).cloned()
    }

    /// Returns whether there is a stop that was not reported yet.
    pub fn has_stop(&self) -> bool {
        self.lock().events.iter().any(|event| matches!(event, ConsoleEvent::Stopped(_)))
    }

    /// Removes a stop whose run continues. It is not reported any more.
    pub fn forget(&self, event: Sequence) {
        let mut state = self.lock();
        state.stops.retain(|stop| stop.sequence != event);
        state.events.retain(|kept| !matches!(kept, ConsoleEvent::Stopped(stop) if stop.sequence == event));
    }

    /// Notes that all stops up to this event are in the inbox.
    pub fn has_read(&self, event: Sequence) {
        self.lock().read = Some(event);
        self.changed.notify_all();
    }

    /// Waits until all stops up to this event are in the inbox, or no more can come.
    pub fn catch_up(&self, event: Sequence) {
        let state = self.lock();
        let is_behind = |state: &mut State| state.read < Some(event);
        drop(self.changed.wait_while(state, is_behind));
    }

    /// Sets whether the prompt waits for a line. Only the end of the program is reported meanwhile.
    pub fn reads(&self, is_reading: bool) {
        self.lock().is_reading = is_reading;
        self.changed.notify_all();
    }

    /// Waits until the program is gone while the prompt waits for a line. Takes that console event and returns the
    /// reason.
    pub fn gone_while_reading(&self) -> String {
        let mut state = self.lock();
        loop {
            let gone = state.events.iter().position(|event| matches!(event, ConsoleEvent::Gone(_)));
            if state.is_reading
                && let Some(ConsoleEvent::Gone(reason)) = gone.and_then(|at| state.events.remove(at))
            {
                return reason;
            }
            state = self.changed.wait(state);
        }
    }

    /// Discards the interrupts from before a command began to wait.
    pub fn forget_interrupts(&self) {
        self.lock().events.retain(|event| !matches!(event, ConsoleEvent::Interrupted));
    }

    /// Returns whether a run stays stopped at this event until the user lets it continue.
    pub fn holds(&self, event: &Event) -> bool {
        match event.kind.stop_cause() {
            None => event.kind.name() == EventName::RunPushed && self.hold_begins.load(Ordering::Relaxed),
            Some(StopCause::Request) => true,
            Some(StopCause::Failure) => self.hold_failures.load(Ordering::Relaxed),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn take(&mut self) -> Option<ConsoleEvent> {
        let event = self.events.pop_front();
        if event.is_none() && self.dropped != DroppedCounts::default() {
            return Some(ConsoleEvent::Dropped(std::mem::take(&mut self.dropped)));
        }
        event
    }

    /// Returns whether there is no space for this event. After one was dropped, later ones are dropped, too, so that
    /// they are never reported before it.
    fn is_full_for(&self, event: &ConsoleEvent) -> bool {
        let is_full = self.events.len() >= KEPT || self.dropped != DroppedCounts::default();
        match event {
            ConsoleEvent::Reported(event) => is_full && !self.awaits(event),
            ConsoleEvent::RunEnded(_) => is_full,
            ConsoleEvent::Stopped(_)
            | ConsoleEvent::ThreadDone
            | ConsoleEvent::Interrupted
            | ConsoleEvent::Dropped(_)
            | ConsoleEvent::Gone(_) => false,
        }
    }

    fn wants(&self, event: &Event) -> bool {
        let name = event.kind.name();
        name == EventName::AttachComplete || self.shown.contains(name) || self.awaits(event)
    }

    fn awaits(&self, event: &Event) -> bool {
        matches!(&event.kind, EventKind::RunPopped { run, .. } if self.awaited == Some(*run))
            || event.kind.name() == EventName::AttachComplete
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use serde_json::json;

    use super::super::RunEnd;
    use super::*;

    fn ended(run: usize) -> ConsoleEvent {
        ConsoleEvent::RunEnded(RunEnd { run: RunId(run as u64), outcome: Ok(Vec::new()) })
    }

    fn stop(sequence: u64) -> Event {
        let event = json!({
            "sequence": sequence, "at": 0, "thread": 1, "waiting": true, "replayed": false, "coalesced": 0,
            "kind": "timeout",
        });
        serde_json::from_value(event).unwrap()
    }

    fn run(event: ConsoleEvent) -> usize {
        match event {
            ConsoleEvent::RunEnded(end) => end.run.0 as usize,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_dropped_is_counted_and_reported_after_the_rest() {
        let inbox = Inbox::default();
        (0..KEPT + 10).for_each(|run| inbox.post(ended(run)));
        assert_eq!(run(inbox.wait()), 0);
        inbox.post(ended(KEPT + 10));
        for number in 1..KEPT {
            assert_eq!(run(inbox.wait()), number);
        }
        assert!(matches!(inbox.take(), Some(ConsoleEvent::Dropped(DroppedCounts { ended: 11, failed: 0, events: 0 }))));
        assert!(inbox.take().is_none());
        inbox.post(ended(7));
        assert_eq!(run(inbox.wait()), 7);
    }

    #[test]
    fn nothing_is_dropped_while_a_command_takes_events() {
        let inbox = Inbox::default();
        inbox.drain(true);
        thread::scope(|scope| {
            scope.spawn(|| (0..10 * KEPT).for_each(|run| inbox.post(ended(run))));
            for number in 0..10 * KEPT {
                assert_eq!(run(inbox.wait()), number);
            }
        });
        inbox.drain(false);
        assert!(inbox.take().is_none());
    }

    #[test]
    fn a_stop_is_not_reported_once_its_run_continues() {
        let inbox = Inbox::default();
        let events = [1, 2].map(stop);
        events.iter().for_each(|event| inbox.post(ConsoleEvent::Stopped(event.clone())));
        inbox.forget(Sequence(1));
        assert!(matches!(inbox.take(), Some(ConsoleEvent::Stopped(event)) if event.sequence == Sequence(2)));
        assert!(inbox.take().is_none());
        assert_eq!(inbox.stops(), events[1..]);
    }
}
