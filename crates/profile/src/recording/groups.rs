use std::collections::{HashMap, VecDeque};

use super::fact::{DispatchFact, Fact, RunFact, Span};
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

/// Returns the own time of each dispatch of a run, which excludes the time of dispatches in its body. So no time counts
/// twice.
///
/// `dispatches` are in the order of a [`RunGroup`](super::RunGroup); `time` measures a span, in any unit.
pub(crate) fn own_times(dispatches: &[DispatchFact], time: impl Fn(Span) -> f64) -> Vec<f64> {
    let mut own: Vec<f64> = dispatches.iter().map(|dispatch| time(dispatch.span)).collect();
    // The last dispatch, and those around it, outermost first.
    let mut around: Vec<usize> = Vec::new();
    for (index, dispatch) in dispatches.iter().enumerate() {
        around.retain(|&outer| is_around(&dispatches[outer], dispatch));
        if let Some(&body) = around.last() {
            own[body] = (own[body] - time(dispatch.span)).max(0.0);
        }
        around.push(index);
    }
    own
}

/// Returns whether `inner` was executed in a body of `outer`, or of an operator in it.
fn is_around(outer: &DispatchFact, inner: &DispatchFact) -> bool {
    outer.path.len() < inner.path.len()
        && inner.path.starts_with(&outer.path)
        && outer.span.start <= inner.span.start
        && inner.span.end <= outer.span.end
}

#[cfg(test)]
mod tests {
    use opscope_clock::Ticks;
    use opscope_model::Iteration;
    use opscope_onnx::OperatorId;
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
            device: 0,
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

    /// The begin and end of a dispatch, and its path: operators and iterations.
    type Dispatch<'a> = (u64, u64, &'a [(u32, u32)]);

    fn own(dispatches: &[Dispatch<'_>]) -> Vec<f64> {
        let level = |&(operator, index): &(u32, u32)| Iteration { operator: OperatorId::new(operator), index };
        let fact = |(start, end, path): &Dispatch<'_>| DispatchFact {
            run: 0,
            plan: 0,
            kernel: 0,
            thread: 1,
            span: Span { start: Ticks::from_raw(*start), end: Ticks::from_raw(*end) },
            correlation: Correlation::default(),
            device: 0,
            path: path.iter().map(level).collect(),
        };
        let facts: Vec<DispatchFact> = dispatches.iter().map(fact).collect();
        own_times(&facts, |span| (span.end.as_raw() - span.start.as_raw()) as f64)
    }

    #[test]
    fn the_time_of_a_body_is_not_that_of_the_operator_around_it() {
        let nested = own(&[
            (0, 100, &[]),
            (10, 60, &[(0, 0)]),
            (20, 30, &[(0, 0), (1, 0)]),
            (40, 50, &[(0, 0), (1, 1)]),
            (70, 80, &[(0, 1)]),
            (100, 120, &[]),
        ]);
        assert_eq!(nested, [40.0, 30.0, 10.0, 10.0, 10.0, 20.0]);
    }

    #[test]
    fn a_body_whose_operator_has_no_time_takes_none_from_others() {
        assert_eq!(own(&[(0, 10, &[]), (10, 20, &[(1, 0)]), (20, 30, &[(1, 0), (2, 0)])]), [10.0; 3]);
        assert_eq!(own(&[(0, 30, &[(1, 0)]), (10, 20, &[(1, 1), (2, 0)])]), [30.0, 10.0], "another iteration");
    }

    #[test]
    fn times_that_are_rounded_leave_no_operator_below_zero() {
        assert_eq!(own(&[(0, 1, &[]), (0, 1, &[(0, 0)]), (0, 1, &[(0, 1)])]), [0.0, 1.0, 1.0]);
    }
}
