use std::collections::{HashMap, VecDeque};

use super::fact::{DispatchFact, Fact, RunFact};
use crate::ProfileError;

/// A run with its dispatches.
#[derive(Debug, Clone, PartialEq)]
pub struct RunGroup {
    /// The number of the run.
    pub run: u64,
    /// The run's own record; `None` if it is missing, or runs were not recorded.
    pub record: Option<RunFact>,
    /// Its dispatches, sorted by their start.
    pub dispatches: Vec<DispatchFact>,
}

/// An item of a recording, with dispatches grouped by run.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A run with its dispatches.
    Run(RunGroup),
    /// A fact that is neither a run nor a dispatch.
    Other(Fact),
}

/// Groups dispatches by their runs. A run's record follows those of its dispatches, so memory is needed only for the
/// runs that are open at the same moment.
pub struct Groups<I> {
    facts: I,
    open: HashMap<u64, Vec<DispatchFact>>,
    /// The current run of each thread.
    current: HashMap<u32, u64>,
    /// The thread and the run of the last dispatch, while that run is the thread's current one.
    latest: Option<(u32, u64)>,
    ready: VecDeque<RunGroup>,
    ended: bool,
}

/// A run with more dispatches than this is returned in parts, so that a damaged file cannot exhaust the memory.
const MOST_DISPATCHES: usize = 4 << 20;

impl<I: Iterator<Item = Result<Fact, ProfileError>>> Groups<I> {
    pub(crate) fn new(facts: I) -> Self {
        Self {
            facts,
            open: HashMap::new(),
            current: HashMap::new(),
            latest: None,
            ready: VecDeque::new(),
            ended: false,
        }
    }

    fn dispatch(&mut self, fact: DispatchFact) {
        let latest = Some((fact.thread, fact.run));
        if self.latest != latest
            && let Some(previous) = self.current.insert(fact.thread, fact.run)
            && previous != fact.run
        {
            // The thread has begun another run, so the previous one will get no record.
            self.close(previous, None);
        }
        self.latest = latest;
        let run = fact.run;
        let dispatches = self.open.entry(run).or_default();
        dispatches.push(fact);
        if dispatches.len() >= MOST_DISPATCHES {
            self.close(run, None);
        }
    }

    fn close(&mut self, run: u64, record: Option<RunFact>) {
        let mut dispatches = self.open.remove(&run).unwrap_or_default();
        if record.is_none() && dispatches.is_empty() {
            return;
        }
        // An operator comes before those in its body that begin at the same time.
        dispatches.sort_by_key(|dispatch| (dispatch.span.start, dispatch.path.len(), dispatch.span.end));
        self.ready.push_back(RunGroup { run, record, dispatches });
    }
}

impl<I: Iterator<Item = Result<Fact, ProfileError>>> Iterator for Groups<I> {
    type Item = Result<Item, ProfileError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(group) = self.ready.pop_front() {
                return Some(Ok(Item::Run(group)));
            }
            if self.ended {
                return None;
            }
            match self.facts.next() {
                Some(Ok(Fact::Dispatch(fact))) => self.dispatch(fact),
                Some(Ok(Fact::Run(fact))) => {
                    if self.current.get(&fact.thread) == Some(&fact.run) {
                        self.current.remove(&fact.thread);
                        self.latest = None;
                    }
                    self.close(fact.run, Some(fact));
                }
                Some(Ok(other)) => return Some(Ok(Item::Other(other))),
                Some(Err(error)) => return Some(Err(error)),
                None => {
                    self.ended = true;
                    let mut left: Vec<u64> = self.open.keys().copied().collect();
                    left.sort_unstable();
                    for run in left {
                        self.close(run, None);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use opscope_clock::Ticks;
    use opscope_trace::Correlation;

    use super::*;
    use crate::recording::fact::{RunKind, Span};

    fn span(start: u64, end: u64) -> Span {
        Span { start: Ticks::from_raw(start), end: Ticks::from_raw(end) }
    }

    fn dispatch(run: u64, thread: u32, start: u64) -> Result<Fact, ProfileError> {
        Ok(Fact::Dispatch(DispatchFact {
            run,
            plan: 0,
            kernel: 0,
            thread,
            span: span(start, start + 1),
            correlation: Correlation::default(),
            path: Box::default(),
        }))
    }

    fn run(run: u64, thread: u32) -> Result<Fact, ProfileError> {
        Ok(Fact::Run(RunFact {
            run,
            plan: 0,
            thread,
            span: span(0, 100),
            upload: None,
            download: None,
            correlation: Correlation::default(),
            kind: RunKind::Measured,
            failed: false,
        }))
    }

    fn shape(facts: Vec<Result<Fact, ProfileError>>) -> Vec<(u64, bool, usize)> {
        Groups::new(facts.into_iter())
            .map(|item| match item {
                Ok(Item::Run(group)) => (group.run, group.record.is_some(), group.dispatches.len()),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn runs_of_two_threads_that_interleave_keep_their_own_dispatches() {
        let facts =
            vec![dispatch(0, 7, 5), dispatch(1, 8, 6), dispatch(0, 7, 1), run(0, 7), dispatch(1, 8, 9), run(1, 8)];
        assert_eq!(shape(facts), [(0, true, 2), (1, true, 2)]);
    }

    #[test]
    fn a_run_without_a_record_ends_with_the_next_run_of_its_thread_or_the_file() {
        let facts = vec![dispatch(0, 7, 1), dispatch(0, 7, 2), dispatch(1, 7, 3), run(1, 7), dispatch(2, 7, 4)];
        assert_eq!(shape(facts), [(0, false, 2), (1, true, 1), (2, false, 1)]);
    }
}
