use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use opscope_debug::{
    ConnectionError, DebugError, Event as Raised, EventKind, ModelId, Queue, ReleaseReason, Resume, Sequence,
};
use opscope_sys::MutexGuard;

use opscope_border::report;

use super::grids::Module;

use super::{Session, event};
use crate::LIBRARY;
use crate::border::Status;
use crate::graph::Graph;
use crate::layout::numbers::LaunchNotifyMode;

/// The time between two reminders of an event that a client does not acknowledge.
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
            // The client receives an error event and should close the session. The program continues when the
            // connection is closed.
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
                // After this, the program notifies again.
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

    /// Waits for events. Returns `false` if the time is over, or if the thread is woken.
    fn wait(&self, timeout: Duration) -> bool {
        if !self.state().is_over {
            return self.client.wait(timeout);
        }
        let (woken, signal) = &self.woken;
        *signal.wait_timeout_while(woken.lock(), timeout, |woken| !*woken) = false;
        false
    }

    /// Wakes the engine's thread, which then checks whether the client must be notified.
    pub(super) fn wake(&self) {
        self.client.wake();
        *self.woken.0.lock() = true;
        self.woken.1.notify_all();
    }

    /// Calls the client if it must be notified.
    fn notify(&self) {
        let due = self.state().due.take();
        if let Some(notice) = due.filter(|_| !self.is_closed.load(Ordering::Acquire)) {
            event::call_back(notice, self.options.version.rule());
        }
    }

    /// Fetches the events that wait in the program.
    pub(super) fn fetch(&self) {
        self.fetch_sync();
        self.fetch_async();
    }

    /// Does the same as [`fetch`](Self::fetch), and wakes the engine's thread if the client must be notified. For other
    /// threads than the engine's.
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
                // Some events were delivered before the answer, and some after it.
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

    /// Takes the events that the program delivered together with their notification. Checks whether the connection has
    /// ended.
    fn take_delivered(&self) {
        let fetching = self.fetching.lock();
        let events = self.client.take_delivered();
        self.take_sync(events);
        if let Some(error) = self.client.gone() {
            // Events that were delivered meanwhile are the last ones.
            self.take_sync(self.client.take_delivered());
            self.end(&error);
        }
        self.sync_taken(fetching);
    }

    fn take_sync(&self, events: Vec<Raised>) {
        // Before a run stops or ends, the asynchronous events are taken, so that dispatches that finished earlier get
        // lower numbers. If launches are reported, dispatches get their numbers from these events instead.
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

    /// Returns a model with its image. This may take long, so the state is not locked meanwhile.
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

    /// Returns the result of a request. If the program has announced meanwhile that it ends, returns the default
    /// instead: nothing is left to stop or continue, and events report that.
    pub(super) fn unless_it_ends<T: Default>(&self, outcome: Result<T, DebugError>) -> Result<T, DebugError> {
        match outcome {
            Err(error @ DebugError::Connection(ConnectionError::Bye(_))) => {
                self.end(&error);
                Ok(T::default())
            }
            outcome => outcome,
        }
    }

    /// Renews the leases of stopped runs while the client is active. Otherwise reports the events whose leases have
    /// expired.
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
        for release in status.released.iter().filter(|release| release.because != ReleaseReason::DebuggerGone) {
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
            // Otherwise the run would wait for another lease at every operator.
            let _ = self.resume_all();
        }
    }

    /// Continues a stopped run, as `how` says.
    pub(super) fn resume(&self, event: Sequence, how: Resume) -> Result<(), DebugError> {
        self.state().queues.remove(event);
        self.client.acknowledge(event, how)
    }
}
