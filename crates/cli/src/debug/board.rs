//! Where news wait for the person at the prompt.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use opscope::debug::{Event, EventKind, EventName, EventSet, Exception, Sequence};
use opscope::model::RunId;

use super::debuggee::RunEnd;

/// How many news are kept, those aside that must be known: runs go on for days while the prompt waits for a person.
const KEPT: usize = 1024;

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

impl Untold {
    fn add(&mut self, news: &News) {
        match news {
            News::Told(event) => self.events += 1 + event.coalesced,
            News::RunEnded(RunEnd { outcome: Ok(_), .. }) => self.ended += 1,
            News::RunEnded(RunEnd { outcome: Err(_), .. }) => self.failed += 1,
            _ => {}
        }
    }
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
    is_drained: bool,
    /// Whether a line is waited for.
    is_reading: bool,
    /// Which events are to be told.
    told: EventSet,
    /// The run whose end somebody waits for.
    awaited: Option<RunId>,
    /// Events whose threads wait, in the order in which they came.
    stops: Vec<Event>,
    /// The last event that can stop somebody and was read.
    read: Option<Sequence>,
}

impl Board {
    /// Says something. Where much waits already it is only counted, or, if somebody takes news just now, waits for room.
    pub fn post(&self, news: News) {
        let mut state = self.lock();
        if let News::Told(event) = &news
            && !state.wants(event)
        {
            return;
        }
        while state.is_drained && state.is_full_for(&news) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_full_for(&news) {
            return state.untold.add(&news);
        }
        if let News::Stopped(event) = &news {
            state.stops.push(event.clone());
        }
        state.news.push_back(news);
        self.changed.notify_all();
    }

    /// Whether somebody takes all news as they come.
    pub fn drain(&self, is_drained: bool) {
        self.lock().is_drained = is_drained;
        self.changed.notify_all();
    }

    /// The oldest of the news; none if there are none.
    pub fn take(&self) -> Option<News> {
        let news = self.lock().take();
        self.changed.notify_all();
        news
    }

    /// Waits for news.
    pub fn wait(&self) -> News {
        let mut state = self.lock();
        loop {
            match state.take() {
                Some(news) => {
                    self.changed.notify_all();
                    return news;
                }
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

    /// Whether a run has stopped, and nobody has taken that yet.
    pub fn has_stop(&self) -> bool {
        self.lock().news.iter().any(|news| matches!(news, News::Stopped(_)))
    }

    /// A run is let go. That it had stopped is no news any more.
    pub fn forget(&self, event: Sequence) {
        let mut state = self.lock();
        state.stops.retain(|stop| stop.sequence != event);
        state.news.retain(|news| !matches!(news, News::Stopped(stop) if stop.sequence == event));
    }

    /// What stopped somebody up to this event is here now.
    pub fn has_read(&self, event: Sequence) {
        self.lock().read = Some(event);
        self.changed.notify_all();
    }

    /// Waits until all that stopped somebody up to this event is here, or nothing comes any more.
    pub fn catch_up(&self, event: Sequence) {
        let state = self.lock();
        let is_behind = |state: &mut State| state.read < Some(event);
        drop(self.changed.wait_while(state, is_behind).unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether a line is waited for: what happens is told when it has come, except that the program is gone.
    pub fn reads(&self, is_reading: bool) {
        self.lock().is_reading = is_reading;
        self.changed.notify_all();
    }

    /// Waits until the program is gone while a line is waited for, and takes that out of the news: the reason.
    pub fn gone_while_reading(&self) -> String {
        let mut state = self.lock();
        loop {
            let gone = state.news.iter().position(|news| matches!(news, News::Gone(_)));
            if state.is_reading
                && let Some(News::Gone(reason)) = gone.and_then(|at| state.news.remove(at))
            {
                return reason;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Throws away what was typed before something began.
    pub fn forget_interrupts(&self) {
        self.lock().news.retain(|news| !matches!(news, News::Interrupted));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a run is held at this event until a person lets it go.
    pub fn holds(&self, event: &Event) -> bool {
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

    /// Whether this is not kept. What came later than something that was not is not, either.
    fn is_full_for(&self, news: &News) -> bool {
        let is_full = self.news.len() >= KEPT || self.untold != Untold::default();
        match news {
            News::Told(event) => is_full && !self.awaits(event),
            News::RunEnded(_) => is_full,
            _ => false,
        }
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

#[cfg(test)]
mod tests {
    use std::thread;

    use serde_json::json;

    use super::*;

    fn ended(run: usize) -> News {
        News::RunEnded(RunEnd { run: RunId(run as u64), outcome: Ok(Vec::new()) })
    }

    fn stop(sequence: u64) -> Event {
        let event = json!({
            "sequence": sequence, "at": 0, "thread": 1, "waiting": true, "replayed": false, "coalesced": 0,
            "kind": "timeout",
        });
        serde_json::from_value(event).unwrap()
    }

    fn run(news: News) -> usize {
        match news {
            News::RunEnded(end) => end.run.0 as usize,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_nobody_takes_is_counted_and_told_when_the_rest_is_taken() {
        let board = Board::default();
        (0..KEPT + 10).for_each(|run| board.post(ended(run)));
        assert_eq!(run(board.wait()), 0);
        board.post(ended(KEPT + 10));
        for number in 1..KEPT {
            assert_eq!(run(board.wait()), number);
        }
        assert!(matches!(board.take(), Some(News::Untold(Untold { ended: 11, failed: 0, events: 0 }))));
        assert!(board.take().is_none());
        board.post(ended(7));
        assert_eq!(run(board.wait()), 7);
    }

    #[test]
    fn what_somebody_takes_is_told_to_the_last_one() {
        let board = Board::default();
        board.drain(true);
        thread::scope(|scope| {
            scope.spawn(|| (0..10 * KEPT).for_each(|run| board.post(ended(run))));
            for number in 0..10 * KEPT {
                assert_eq!(run(board.wait()), number);
            }
        });
        board.drain(false);
        assert!(board.take().is_none());
    }

    #[test]
    fn a_run_that_was_let_go_before_anybody_was_told_that_it_stopped_is_no_news() {
        let board = Board::default();
        let events = [1, 2].map(stop);
        events.iter().for_each(|event| board.post(News::Stopped(event.clone())));
        board.forget(Sequence(1));
        assert!(matches!(board.take(), Some(News::Stopped(event)) if event.sequence == Sequence(2)));
        assert!(board.take().is_none());
        assert_eq!(board.stops(), events[1..]);
    }
}
