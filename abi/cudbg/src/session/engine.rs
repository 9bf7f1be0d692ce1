use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use opscope_debug::{
    ConnectionError, DebugError, Event as Raised, EventKind, ModelId, Queue, ReleaseReason, Resume, Sequence,
};
use opscope_sys::MutexGuard;

use super::modules::Module;
use opscope_border::report;

use super::{Session, callback};
use crate::LIBRARY;
use crate::border::Status;
use crate::graph::Graph;
use crate::layout::numbers::LaunchNotifyMode;

/// How often a client is reminded of an event that it does not acknowledge.
const REMINDER: Duration = Duration::from_secs(1);

/// How many events are fetched at once.
const BATCH: usize = 1024;

impl Session {
    /// Fetches events and calls the client, until the session is closed. All calls of the client are made on this
    /// thread.
    pub(super) fn run(self: Arc<Self>) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.serve())) {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            report(LIBRARY, format_args!("the events' thread failed: {}", text.unwrap_or("a panic without a text")));
            // The client is to stop calling. The program goes on when the connection is closed.
            self.state().end(Some(Status::Internal));
            self.changed.notify_all();
            self.notify();
        }
    }

    fn serve(&self) {
        let interval = REMINDER.min(self.options.lease / 3);
        let mut next = Instant::now() + interval;
        let mut reminded = Instant::now();
        while !self.is_closed.load(Ordering::Acquire) {
            if self.wait(next.saturating_duration_since(Instant::now())) {
                self.take_delivered();
                self.notify();
                // The program notifies again after this.
                self.fetch_async();
            }
            self.notify();
            let _ = self.update_subscription();
            if Instant::now() >= next {
                next = Instant::now() + interval;
                self.watch_leases();
                if self.options.wants_timeouts() && reminded.elapsed() >= REMINDER {
                    reminded = Instant::now();
                    self.state().remind();
                    self.notify();
                }
            }
        }
    }

    /// Waits for events. Returns `false` after the time, or when the thread is woken.
    fn wait(&self, timeout: Duration) -> bool {
        if !self.state().is_over {
            return self.client.wait(timeout);
        }
        let (woken, signal) = &self.woken;
        *signal.wait_timeout_while(woken.lock(), timeout, |woken| !*woken) = false;
        false
    }

    /// Makes the engine's thread look whether the client has to be notified.
    pub(super) fn wake(&self) {
        self.client.wake();
        *self.woken.0.lock() = true;
        self.woken.1.notify_all();
    }

    /// Calls the client if it has to be notified.
    fn notify(&self) {
        let due = self.state().due.take();
        if let Some(notice) = due.filter(|_| !self.is_closed.load(Ordering::Acquire)) {
            callback::call(notice, self.options.version.rule());
        }
    }

    /// Fetches the events that wait in the program.
    pub(super) fn fetch(&self) {
        self.fetch_sync();
        self.fetch_async();
    }

    /// The same on another thread than the engine's, which is woken to call the client.
    pub(super) fn fetch_and_notify(&self) {
        self.fetch();
        if self.state().due.is_some() {
            self.wake();
        }
    }

    fn fetch_sync(&self) {
        let fetching = self.fetching.lock();
        match self.client.next_events(Queue::Sync, BATCH) {
            Ok(fetched) => {
                let mut events = self.client.take_delivered();
                events.extend(fetched);
                // Some were delivered before the answer came, and some behind it.
                events.sort_by_key(|event| event.sequence);
                self.take_sync(events);
            }
            Err(error) => {
                self.take_sync(self.client.take_delivered());
                self.end(&error);
            }
        }
        self.sync_taken(fetching);
    }

    /// Takes the events that came with their notification, and notes whether the connection has ended.
    fn take_delivered(&self) {
        let fetching = self.fetching.lock();
        let events = self.client.take_delivered();
        self.take_sync(events);
        if let Some(error) = self.client.gone() {
            // Those that came meanwhile are the last ones.
            self.take_sync(self.client.take_delivered());
            self.end(&error);
        }
        self.sync_taken(fetching);
    }

    fn take_sync(&self, events: Vec<Raised>) {
        // What finished before a run has stopped, or has ended, is known by then: it has the lower number. Where
        // launches are reported, they have given the numbers.
        let is_deferred = self.state().mode == LaunchNotifyMode::Defer;
        let is_late = |event: &Raised| match event.kind {
            EventKind::RunPopped { .. } => true,
            EventKind::OperatorReady { .. } => is_deferred,
            _ => event.kind.stop_cause().is_some(),
        };
        if events.iter().any(is_late) {
            self.take_async();
        }
        events.into_iter().for_each(|event| self.take(event));
    }

    fn sync_taken(&self, fetching: MutexGuard<'_, ()>) {
        drop(fetching);
        self.changed.notify_all();
        self.release(self.state());
    }

    fn fetch_async(&self) {
        let _fetching = self.fetching.lock();
        self.take_async();
    }

    fn take_async(&self) {
        while let Ok(events) = self.client.next_events(Queue::Async, BATCH) {
            let is_last = events.len() < BATCH;
            let mut state = self.state();
            events.into_iter().for_each(|event| state.take(event));
            drop(state);
            self.changed.notify_all();
            if is_last {
                break;
            }
        }
    }

    fn take(&self, event: Raised) {
        if let EventKind::ModelLoaded { model, .. } = event.kind {
            match self.module(model) {
                Ok(module) => drop(self.state().modules.insert(model, module)),
                Err(error) => report(LIBRARY, format_args!("model {model} is not shown to the client: {error}")),
            }
        }
        self.state().take(event);
    }

    /// Returns a model with its image, which may take long: nothing is locked meanwhile.
    fn module(&self, model: ModelId) -> Result<Arc<Module>, Box<dyn Error>> {
        let graph = Graph::of(&self.client, model)?;
        let addresses = {
            let addresses = &mut self.state().addresses;
            addresses.add(model, graph.operators.len() as u32, graph.values.len() as u32);
            addresses.clone()
        };
        Ok(Module::new(graph, &addresses)?)
    }

    /// Notes that the connection has ended.
    fn end(&self, error: &DebugError) {
        let mut state = self.state();
        if !state.is_over && !matches!(error, DebugError::RecursiveCall) {
            let is_failure = !matches!(error, DebugError::Connection(ConnectionError::Bye(_)));
            state.end(is_failure.then_some(Status::CommunicationFailure));
        }
    }

    /// Returns what a request has answered, or nothing if the program has said meanwhile that it ends: then nothing is
    /// left that could be stopped or continued, and events say so.
    pub(super) fn unless_it_ends<T: Default>(&self, outcome: Result<T, DebugError>) -> Result<T, DebugError> {
        match outcome {
            Err(error @ DebugError::Connection(ConnectionError::Bye(_))) => {
                self.end(&error);
                Ok(T::default())
            }
            outcome => outcome,
        }
    }

    /// Renews the leases of what the client looks at. Reports the events of which it let the lease expire.
    fn watch_leases(&self) {
        let state = self.state();
        let is_looking = state.suspended && state.is_attended;
        let share = if is_looking { self.options.lease / 2 } else { self.options.lease };
        let old: Vec<Sequence> =
            state.queues.held().filter(|(_, held)| held.since.elapsed() >= share).map(|(event, _)| event).collect();
        drop(state);
        if old.is_empty() {
            return;
        }
        if is_looking {
            old.iter().for_each(|event| drop(self.client.renew(*event)));
            let now = Instant::now();
            self.state()
                .queues
                .held_mut()
                .filter(|(event, _)| old.contains(event))
                .for_each(|(_, held)| held.since = now);
            return;
        }
        let Ok(status) = self.client.status() else { return };
        let mut has_lost_stop = false;
        for release in status.released.iter().filter(|release| release.because == ReleaseReason::LeaseExpired) {
            let Some(held) = self.state().queues.remove(release.event) else { continue };
            has_lost_stop |= held.is_acknowledged();
            let what = held.awaited().map_or_else(
                || format!("a run that is stopped at event {} of the program was not looked at", release.event),
                |(kind, is_read)| {
                    let but = if is_read { "was read, but not" } else { "was neither read nor" };
                    format!("{kind:?}, event {} of the program, {but} acknowledged", release.event)
                },
            );
            let seconds = self.options.lease.as_secs_f64();
            let text =
                format_args!("{what} within {seconds} s, so its thread continues; OPSCOPE_DEBUG_LEASE sets the time");
            report(LIBRARY, text);
        }
        if has_lost_stop {
            // Otherwise the run would stop for as long at every operator.
            let _ = self.resume_all();
        }
    }

    /// Continues a stopped run in some way.
    pub(super) fn resume(&self, event: Sequence, how: Resume) -> Result<(), DebugError> {
        self.state().queues.remove(event);
        self.client.acknowledge(event, how)
    }
}
