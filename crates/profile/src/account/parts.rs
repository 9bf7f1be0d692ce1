use opscope_clock::Ticks;

use crate::Recording;
use crate::recording::{DispatchFact, RunFact, RunGroup, Span};

/// The parts of one run's time, in nanoseconds. Each is measured separately, so their sum equals the run only if all of
/// them are right.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct RunParts {
    pub run: f64,
    pub operators: f64,
    pub added: f64,
    pub between: f64,
    /// Before the first dispatch and after the last one.
    pub in_out: f64,
    /// The cost of taking the times of the dispatches, between them.
    pub profile: f64,
    pub dispatches: u64,
}

/// Divides the time of runs into parts.
pub(super) struct Divider<'a> {
    recording: &'a Recording,
    with_dispatches: bool,
}

/// The time during which at least one of a set of dispatches was executed, and the time between them during which none
/// was.
#[derive(Default)]
struct Busy {
    nanos: f64,
    gaps: f64,
    until: Ticks,
}

impl RunParts {
    /// Returns the time of the run that is in no part; negative if a time is in two parts.
    pub(super) fn rest(&self) -> f64 {
        self.run - self.operators - self.added - self.between - self.profile - self.in_out
    }
}

impl<'a> Divider<'a> {
    pub(super) fn new(recording: &'a Recording) -> Self {
        Self { recording, with_dispatches: recording.records_of("task-time") }
    }

    /// Returns the parts of a run's time; `None` if dispatches are missing or are not within the run.
    pub(super) fn parts(&self, run: &RunFact, group: &RunGroup) -> Option<RunParts> {
        let whole = self.nanos(run.span.start, run.span.end);
        let expected = self.recording.names().kernels_of(run.plan);
        if !self.with_dispatches {
            return Some(RunParts { run: whole, ..RunParts::default() });
        }
        // The number of executions of operators in bodies depends on the run.
        let is_short = match expected {
            Some(_) if self.recording.has_paths() => self.recording.lost_records(),
            Some(expected) => expected != group.dispatches.len(),
            None => self.recording.names().open.contains(&run.plan) && self.recording.lost_records(),
        };
        if is_short {
            return None;
        }
        if self.recording.manifest().imported.is_some() {
            return Some(self.parts_within(run, group));
        }
        let Some(first) = group.dispatches.first().map(|dispatch| dispatch.span.start) else {
            return Some(RunParts { run: whole, ..RunParts::default() });
        };
        let all = self.busy(&group.dispatches, |_| true);
        if first < run.span.start || all.until > run.span.end {
            return None;
        }
        Some(RunParts {
            run: whole,
            operators: self.busy(&group.dispatches, |dispatch| !self.is_added(dispatch)).nanos,
            added: self.busy(&group.dispatches, |dispatch| self.is_added(dispatch)).nanos,
            between: all.gaps,
            in_out: self.nanos(run.span.start, first) + self.nanos(all.until, run.span.end),
            profile: 0.0,
            dispatches: group.dispatches.len() as u64,
        })
    }

    /// Returns the parts of a run of another tool's trace. What a run launches may be done after its end, and only what
    /// is done within it counts for its parts.
    fn parts_within(&self, run: &RunFact, group: &RunGroup) -> RunParts {
        let Span { start, end } = run.span;
        let within = |dispatch: &DispatchFact| {
            let span = Span { start: dispatch.span.start.clamp(start, end), end: dispatch.span.end.clamp(start, end) };
            DispatchFact { span, ..dispatch.clone() }
        };
        let dispatches: Vec<DispatchFact> = group.dispatches.iter().map(within).collect();
        let all = self.busy(&dispatches, |_| true);
        let first = dispatches.first().map_or(end, |dispatch| dispatch.span.start);
        let of_operators = self.busy(&dispatches, |dispatch| !self.is_added(dispatch)).nanos;
        RunParts {
            run: self.nanos(start, end),
            operators: of_operators,
            // While both run, the time counts for operators.
            added: all.nanos - of_operators,
            between: all.gaps,
            in_out: self.nanos(start, first) + self.nanos(all.until.clamp(first, end), end),
            profile: 0.0,
            dispatches: group.dispatches.len() as u64,
        }
    }

    /// Returns how long dispatches took together. They must be in the order of their start. Overlapping dispatches
    /// count once.
    fn busy(&self, dispatches: &[DispatchFact], counts: impl Fn(&DispatchFact) -> bool) -> Busy {
        let mut busy = Busy::default();
        for (index, dispatch) in dispatches.iter().filter(|dispatch| counts(dispatch)).enumerate() {
            if index > 0 && dispatch.span.start > busy.until {
                busy.gaps += self.nanos(busy.until, dispatch.span.start);
            }
            let from = dispatch.span.start.max(busy.until);
            if dispatch.span.end > from {
                busy.nanos += self.nanos(from, dispatch.span.end);
                busy.until = dispatch.span.end;
            }
        }
        busy
    }

    fn is_added(&self, dispatch: &DispatchFact) -> bool {
        self.recording.kernel(dispatch.plan, dispatch.kernel).is_some_and(|kernel| kernel.added)
    }

    fn nanos(&self, start: Ticks, end: Ticks) -> f64 {
        self.recording.calibration().nanos(start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_what_no_part_has_and_negative_where_two_have_the_same() {
        let parts = RunParts {
            run: 1_000.0,
            operators: 500.0,
            added: 100.0,
            between: 50.0,
            in_out: 300.0,
            profile: 30.0,
            dispatches: 7,
        };
        assert_eq!(parts.rest(), 20.0);
        assert_eq!(RunParts { operators: 530.0, ..parts }.rest(), -10.0);
        assert_eq!(RunParts { added: 0.0, ..parts }.rest(), 120.0);
        assert_eq!(RunParts { between: 0.0, ..parts }.rest(), 70.0);
        assert_eq!(RunParts { in_out: 0.0, ..parts }.rest(), 320.0);
        assert_eq!(RunParts { profile: 0.0, ..parts }.rest(), 50.0);
    }
}
