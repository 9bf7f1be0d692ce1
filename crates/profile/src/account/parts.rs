use opscope_clock::Ticks;

use crate::Recording;
use crate::recording::{DispatchFact, RunFact, RunGroup};

/// The parts of one run's time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct RunParts {
    pub run: f64,
    pub operators: f64,
    pub added: f64,
    pub between: f64,
    /// What taking the times of the dispatches adds, between them.
    pub profile: f64,
    pub dispatches: u64,
}

/// Divides the time of runs.
pub(super) struct Divider<'a> {
    recording: &'a Recording,
    with_dispatches: bool,
}

/// The time during which at least one of some dispatches was executed.
#[derive(Default)]
struct Busy {
    nanos: f64,
    until: Ticks,
}

impl<'a> Divider<'a> {
    pub(super) fn new(recording: &'a Recording) -> Self {
        Self { recording, with_dispatches: recording.records_of("task-time") }
    }

    /// Returns how a run's time divides; `None` where dispatches are missing or do not lie within the run.
    pub(super) fn parts(&self, run: &RunFact, group: &RunGroup) -> Option<RunParts> {
        let whole = self.nanos(run.span.start, run.span.end);
        let expected = self.recording.names().kernels_of(run.plan);
        if !self.with_dispatches {
            return Some(RunParts { run: whole, ..RunParts::default() });
        }
        // The operators in bodies are executed as often as the run decides.
        let is_short = match expected {
            Some(_) if self.recording.has_paths() => self.recording.lost_records(),
            Some(expected) => expected != group.dispatches.len(),
            None => false,
        };
        if is_short {
            return None;
        }
        let Some(first) = group.dispatches.first().map(|dispatch| dispatch.span.start) else {
            return Some(RunParts { run: whole, ..RunParts::default() });
        };
        let all = self.busy(&group.dispatches, |_| true);
        if first < run.span.start || all.until > run.span.end {
            return None;
        }
        let operators = match group.dispatches.iter().any(|dispatch| self.is_added(dispatch)) {
            true => self.busy(&group.dispatches, |dispatch| !self.is_added(dispatch)).nanos,
            false => all.nanos,
        };
        Some(RunParts {
            run: whole,
            operators,
            added: all.nanos - operators,
            between: (self.nanos(first, all.until) - all.nanos).max(0.0),
            profile: 0.0,
            dispatches: group.dispatches.len() as u64,
        })
    }

    /// Returns how long dispatches took together. They are in the order of their start; those that overlap count once.
    fn busy(&self, dispatches: &[DispatchFact], counts: impl Fn(&DispatchFact) -> bool) -> Busy {
        let mut busy = Busy::default();
        for dispatch in dispatches.iter().filter(|dispatch| counts(dispatch)) {
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
