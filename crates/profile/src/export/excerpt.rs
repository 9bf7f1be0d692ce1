//! The selection of runs that a timeline shows. Statistics cover all runs, but no viewer can open a timeline of a
//! million runs.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use opscope_clock::Ticks;
use opscope_trace::CorrelationId;

use crate::recording::{Belonging, Fact, Groups, Item, RunFact, RunGroup, RunKind, SampleFact, Span};
use crate::{ProfileError, Recording};

/// How many runs timelines and the table of dispatches show. They show the first runs, the slowest (failed runs count
/// as slow), and those nearest to the median.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimelineRuns {
    /// As many runs as have about 100,000 slices, which are some ten megabytes per file.
    #[default]
    Fitting,
    /// At most this many.
    Most(NonZeroU64),
    /// All of them.
    All,
}

/// The number of slices that are shown with [`TimelineRuns::Fitting`], unless three runs have more.
const FITTING_SLICES: u64 = 100_000;

/// The slices of a run in addition to its dispatches: the run itself, calls of the engine and copies.
const SLICES_BESIDES: u64 = 6;

/// The minimum distance of samples of a counter between the runs that are shown, in nanoseconds.
const BETWEEN_SAMPLES: f64 = 10e6;

/// The part of a recording that its timelines show.
pub struct Excerpt<'a> {
    recording: &'a Recording,
    /// The part that is shown; `None` for everything.
    part: Option<Part>,
}

/// A selection of the runs.
struct Part {
    items: Vec<Item>,
    reasons: HashMap<u64, Reason>,
    shown: ShownRuns,
}

/// The numbers of runs that are shown and recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct ShownRuns {
    /// The number of runs that are shown.
    pub shown: u64,
    /// The number of runs that were recorded.
    pub recorded: u64,
}

/// Why a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    First,
    Failed,
    Slowest,
    NearestToMedian,
}

/// A run that may be shown.
#[derive(Clone, Copy)]
struct Candidate {
    run: u64,
    /// The correlation id of its allocations, the last of which follow its end.
    correlation: CorrelationId,
    is_warm_up: bool,
    is_failed: bool,
    ticks: u64,
    /// The span of the run and its copies.
    around: Span,
}

impl FromStr for TimelineRuns {
    type Err = String;

    /// Parses `all`, or a number of at least 1.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.eq_ignore_ascii_case("all") {
            return Ok(Self::All);
        }
        text.parse().map(Self::Most).map_err(|_| "a number from 1, or 'all', would be right".to_owned())
    }
}

impl fmt::Display for ShownRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shown, recorded } = self;
        let which = match shown {
            0 | 1 => "the first",
            2 => "the first, and the one nearest to the median",
            3 => "the first, the slowest, and the one nearest to the median",
            _ => "the first, the slowest, and those nearest to the median",
        };
        write!(f, "{shown} of {recorded} runs: {which}")
    }
}

impl Reason {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::First => "one of the first runs",
            Self::Failed => "it failed",
            Self::Slowest => "one of the slowest runs",
            Self::NearestToMedian => "one of the runs nearest to the median",
        }
    }
}

impl Recording {
    /// Chooses the runs that timelines show. This needs memory for a few numbers per run, and for the runs that are
    /// shown.
    ///
    /// # Errors
    /// Returns an error if the file of records cannot be read.
    pub fn excerpt(&self, runs: TimelineRuns) -> Result<Excerpt<'_>, ProfileError> {
        if runs == TimelineRuns::All {
            return Ok(Excerpt { recording: self, part: None });
        }
        let (candidates, dispatches) = candidates(self)?;
        let recorded = candidates.len() as u64;
        let most = match runs {
            TimelineRuns::Most(most) => most.get(),
            _ => FITTING_SLICES / (dispatches / recorded.max(1) + SLICES_BESIDES),
        };
        // At least one of each kind is shown.
        let most = if runs == TimelineRuns::Fitting { most.max(3) } else { most };
        if recorded <= most {
            return Ok(Excerpt { recording: self, part: None });
        }
        let reasons = choose(&candidates, most as usize);
        let shown = ShownRuns { shown: reasons.len() as u64, recorded };
        let filter = Filter::new(self, candidates.iter().filter(|candidate| reasons.contains_key(&candidate.run)));
        let items = filter.items(&reasons)?;
        Ok(Excerpt { recording: self, part: Some(Part { items, reasons, shown }) })
    }
}

impl<'a> Excerpt<'a> {
    /// Returns the recording.
    pub fn recording(&self) -> &'a Recording {
        self.recording
    }

    /// Returns the numbers of runs that are shown and recorded; `None` if all runs are shown.
    pub fn shown_runs(&self) -> Option<ShownRuns> {
        self.part.as_ref().map(|part| part.shown)
    }

    /// Returns why a run is shown; `None` if all runs are shown.
    pub(super) fn reason(&self, run: u64) -> Option<Reason> {
        self.part.as_ref()?.reasons.get(&run).copied()
    }

    /// Returns the items that are shown, one after the other.
    pub(super) fn items(&self) -> Result<Box<dyn Iterator<Item = Result<Item, ProfileError>> + '_>, ProfileError> {
        Ok(match &self.part {
            Some(part) => Box::new(part.items.iter().cloned().map(Ok)),
            None => Box::new(self.recording.groups()?),
        })
    }
}

/// Returns every run, in the order of their ends, and the total number of dispatches.
fn candidates(recording: &Recording) -> Result<(Vec<Candidate>, u64), ProfileError> {
    let (mut candidates, mut dispatches) = (Vec::new(), 0);
    if recording.records_of("model-execution") {
        for fact in recording.facts()? {
            match fact? {
                Fact::Run(run) => candidates.push(Candidate::of_run(&run)),
                Fact::Dispatch(_) => dispatches += 1,
                _ => {}
            }
        }
    } else {
        for item in recording.groups()? {
            let Item::Run(group) = item? else { continue };
            dispatches += group.dispatches.len() as u64;
            candidates.extend(Candidate::of_dispatches(&group));
        }
    }
    Ok((candidates, dispatches))
}

impl Candidate {
    fn of_run(run: &RunFact) -> Self {
        let start = run.upload.map_or(run.span.start, |upload| upload.start.min(run.span.start));
        let end = run.download.map_or(run.span.end, |download| download.end.max(run.span.end));
        Self {
            run: run.run,
            correlation: run.correlation.internal,
            is_warm_up: run.kind == RunKind::WarmUp,
            is_failed: run.failed,
            ticks: run.span.end.as_raw().saturating_sub(run.span.start.as_raw()),
            around: Span { start, end },
        }
    }

    fn of_dispatches(group: &RunGroup) -> Option<Self> {
        let first = group.dispatches.first()?;
        let (start, end) = (first.span.start, group.dispatches.iter().map(|dispatch| dispatch.span.end).max()?);
        Some(Self {
            run: group.run,
            correlation: first.correlation.internal,
            is_warm_up: false,
            is_failed: false,
            ticks: end.as_raw().saturating_sub(start.as_raw()),
            around: Span { start, end },
        })
    }
}

/// Chooses at most `most` runs, a third of each kind.
fn choose(candidates: &[Candidate], most: usize) -> HashMap<u64, Reason> {
    let mut chosen: HashMap<u64, Reason> =
        candidates.iter().take(most.div_ceil(3)).map(|first| (first.run, Reason::First)).collect();
    let mut by_time: Vec<&Candidate> = candidates.iter().filter(|candidate| !candidate.is_warm_up).collect();
    by_time.sort_by_key(|candidate| (candidate.is_failed, candidate.ticks, candidate.run));
    let until = chosen.len() + (most - chosen.len()) / 2;
    for candidate in by_time.iter().rev() {
        if chosen.len() >= until {
            break;
        }
        let reason = if candidate.is_failed { Reason::Failed } else { Reason::Slowest };
        chosen.entry(candidate.run).or_insert(reason);
    }
    // Starting at the median, takes the nearer one of the next faster and the next slower run.
    by_time.retain(|candidate| !candidate.is_failed);
    let Some(median) = by_time.get(by_time.len() / 2).map(|candidate| candidate.ticks) else { return chosen };
    let (faster, slower) = by_time.split_at(by_time.len() / 2);
    let (mut faster, mut slower) = (faster.iter().rev().peekable(), slower.iter().peekable());
    while chosen.len() < most {
        let distance = |candidate: Option<&&&Candidate>| candidate.map(|candidate| candidate.ticks.abs_diff(median));
        let next = match (distance(faster.peek()), distance(slower.peek())) {
            (Some(below), Some(above)) if below < above => faster.next(),
            (Some(_), None) => faster.next(),
            _ => slower.next(),
        };
        let Some(candidate) = next else { break };
        chosen.entry(candidate.run).or_insert(Reason::NearestToMedian);
    }
    chosen
}

/// Decides which items of a recording are shown together with the selected runs.
struct Filter<'a> {
    recording: &'a Recording,
    /// The spans of the shown runs with their copies, sorted by their beginning. Each comes with the latest end of all
    /// spans up to it.
    around: Vec<(Span, Ticks)>,
    correlations: HashSet<CorrelationId>,
    /// The time of the last shown sample of each counter.
    sampled: HashMap<u32, Ticks>,
}

impl<'a> Filter<'a> {
    fn new<'c>(recording: &'a Recording, shown: impl Iterator<Item = &'c Candidate>) -> Self {
        let (mut around, mut correlations) = (Vec::new(), HashSet::new());
        for candidate in shown {
            around.push((candidate.around, candidate.around.end));
            correlations.insert(candidate.correlation);
        }
        around.sort_by_key(|(span, _)| span.start);
        let mut latest = Ticks::default();
        for (span, until) in &mut around {
            latest = latest.max(span.end);
            *until = latest;
        }
        Self { recording, around, correlations, sampled: HashMap::new() }
    }

    fn items(mut self, runs: &HashMap<u64, Reason>) -> Result<Vec<Item>, ProfileError> {
        let facts = self.recording.facts()?.filter(|fact| match fact.as_ref().map(Fact::belonging) {
            Ok(Belonging::Run(run)) => runs.contains_key(&run),
            Ok(Belonging::Correlation(id)) => self.correlations.contains(&id),
            // This includes facts around a run, within it, and across its beginning or its end.
            Ok(Belonging::Times(span)) => overlaps(&self.around, span),
            Ok(Belonging::Sample(sample)) => self.shows_sample(sample),
            Ok(Belonging::Everywhere) | Err(_) => true,
            Ok(Belonging::Nowhere) => false,
        });
        Groups::new(facts).collect()
    }

    fn shows_sample(&mut self, sample: &SampleFact) -> bool {
        let calibration = self.recording.calibration();
        let is_far = |last: &Ticks| calibration.nanos(*last, sample.at) >= BETWEEN_SAMPLES;
        let is_shown = self.sampled.get(&sample.counter).is_none_or(is_far)
            || overlaps(&self.around, Span { start: sample.at, end: sample.at });
        if is_shown {
            self.sampled.insert(sample.counter, sample.at);
        }
        is_shown
    }
}

/// Returns whether a span overlaps with one of these sorted spans.
fn overlaps(around: &[(Span, Ticks)], span: Span) -> bool {
    let begun = around.partition_point(|(one, _)| one.start <= span.end);
    begun > 0 && around[begun - 1].1 >= span.start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(ticks: &[u64]) -> Vec<Candidate> {
        let at = |ticks| Ticks::from_raw(ticks);
        let candidate = |(run, &ticks): (usize, &u64)| Candidate {
            run: run as u64,
            correlation: CorrelationId(run as u64 + 1),
            is_warm_up: run == 0,
            is_failed: false,
            ticks,
            around: Span { start: at(0), end: at(ticks) },
        };
        ticks.iter().enumerate().map(candidate).collect()
    }

    fn of(chosen: &HashMap<u64, Reason>, reason: Reason) -> Vec<u64> {
        let mut runs: Vec<u64> = chosen.iter().filter(|(_, of)| **of == reason).map(|(run, _)| *run).collect();
        runs.sort_unstable();
        runs
    }

    #[test]
    fn a_third_each_are_the_first_the_slowest_and_those_nearest_to_the_median() {
        // The warm-up run is the slowest run of all.
        let mut candidates = candidates(&[900, 50, 52, 100, 101, 99, 300, 54, 200, 53, 150, 120, 103]);
        let chosen = choose(&candidates, 6);
        assert_eq!(of(&chosen, Reason::First), [0, 1]);
        assert_eq!(of(&chosen, Reason::Slowest), [6, 8]);
        assert_eq!(of(&chosen, Reason::NearestToMedian), [3, 4], "100 and 101, of which 101 is the median");
        candidates[5].is_failed = true;
        let chosen = choose(&candidates, 6);
        assert_eq!((of(&chosen, Reason::Failed), of(&chosen, Reason::Slowest)), (vec![5], vec![6]));
    }

    #[test]
    fn as_many_runs_are_chosen_as_were_asked_for() {
        let times: Vec<u64> = (0..50).map(|run| 1_000 + run * 37 % 50).collect();
        for most in 1..50 {
            assert_eq!(choose(&candidates(&times), most).len(), most);
        }
        assert_eq!(choose(&candidates(&[7; 20]), 9).len(), 9, "equal times");
    }

    #[test]
    fn what_is_said_of_few_runs_names_those_that_are_chosen() {
        let said = |shown| ShownRuns { shown, recorded: 50 }.to_string();
        assert_eq!(said(1), "1 of 50 runs: the first");
        assert_eq!(said(2), "2 of 50 runs: the first, and the one nearest to the median");
        assert_eq!(said(3), "3 of 50 runs: the first, the slowest, and the one nearest to the median");
        assert!(said(4).ends_with("the slowest, and those nearest to the median"));
        let times: Vec<u64> = (0..50).map(|run| 1_000 + run * 37 % 50).collect();
        for (most, kinds) in [(1, [1, 0, 0]), (2, [1, 0, 1]), (3, [1, 1, 1])] {
            let chosen = choose(&candidates(&times), most);
            let found = [Reason::First, Reason::Slowest, Reason::NearestToMedian].map(|kind| of(&chosen, kind).len());
            assert_eq!(found, kinds);
        }
    }

    #[test]
    fn what_overlaps_a_shown_run_is_shown() {
        let span = |start, end| Span { start: Ticks::from_raw(start), end: Ticks::from_raw(end) };
        // The first span encloses the second.
        let around = [(span(10, 100), Ticks::from_raw(100)), (span(20, 30), Ticks::from_raw(100))];
        for (start, end, is_shown) in
            [(0, 9, false), (0, 10, true), (50, 60, true), (100, 200, true), (101, 200, false)]
        {
            assert_eq!(overlaps(&around, span(start, end)), is_shown, "{start} to {end}");
        }
        assert!(!overlaps(&[], span(0, 100)));
    }

    #[test]
    fn a_number_of_runs_is_read_and_other_words_are_refused() {
        assert_eq!("all".parse(), Ok(TimelineRuns::All));
        assert_eq!("7".parse(), Ok(TimelineRuns::Most(NonZeroU64::new(7).unwrap())));
        for wrong in ["0", "-1", "some", ""] {
            assert!(wrong.parse::<TimelineRuns>().unwrap_err().contains("'all'"));
        }
    }
}
