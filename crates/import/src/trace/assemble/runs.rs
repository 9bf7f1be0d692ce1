//! Which ranges of a trace are its runs, and in which run something happened.

use std::collections::BTreeMap;

use super::rows::OUTSIDE;
use crate::trace::event::Track;

/// One run: a step of a training job or a server, or the whole trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub start: u64,
    pub end: u64,
    pub track: Track,
}

/// The runs of a trace, in the order of their beginnings.
#[derive(Debug, Default)]
pub(super) struct Runs {
    pub all: Vec<Run>,
    /// The runs of each process.
    of_processes: BTreeMap<u64, Vec<u32>>,
}

impl Runs {
    /// Takes the ranges that are runs, each with its process. Of two that overlap in one process, only the first one is
    /// a run.
    pub fn new(mut ranges: Vec<(u64, Run)>) -> Self {
        ranges.sort_by_key(|(process, run)| (run.start, std::cmp::Reverse(run.end), *process));
        let mut runs = Self::default();
        for (process, run) in ranges {
            let own = runs.of_processes.entry(process).or_default();
            let overlaps = own.last().is_some_and(|last| runs.all[*last as usize].end > run.start);
            if !overlaps {
                own.push(runs.all.len() as u32);
                runs.all.push(run);
            }
        }
        runs
    }

    /// Returns the number of the run in which a process did something at this moment. A process without runs of its own
    /// takes part in those of the only one that has some.
    pub fn at(&self, process: u64, moment: u64) -> u32 {
        let only = if self.of_processes.len() == 1 { self.of_processes.values().next() } else { None };
        let Some(own) = self.of_processes.get(&process).or(only) else { return OUTSIDE };
        let after = own.partition_point(|run| self.all[*run as usize].start <= moment);
        let Some(run) = after.checked_sub(1).map(|place| own[place]) else { return OUTSIDE };
        if moment < self.all[run as usize].end { run } else { OUTSIDE }
    }
}
