//! What the rows of a comparison are.

use std::path::Path;

use opscope_profile::{GroupBy, Recording};

use super::measurement::{Executed, ExecutedTimes, recordings_at};
use super::{Times, TimesError};

/// What the rows of a comparison of recordings are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum By {
    /// Operators.
    #[default]
    Operator,
    /// Modules: the time of all operators in each.
    Module,
    /// Kernels by their names.
    Kernel,
    /// Threads, and streams of devices.
    Stream,
    /// The ranks of a job, of which each side has a directory with a recording per rank.
    Rank,
}

impl By {
    /// Every kind of rows.
    pub const ALL: [Self; 5] = [Self::Operator, Self::Module, Self::Kernel, Self::Stream, Self::Rank];

    /// Returns its name in options.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Operator => "op",
            Self::Module => "module",
            Self::Kernel => "kernel",
            Self::Stream => "stream",
            Self::Rank => "rank",
        }
    }

    /// Returns the groups of a recording's dispatches; `None` for ranks, which are recordings of their own.
    fn group(self) -> Option<GroupBy> {
        match self {
            Self::Operator => Some(GroupBy::Operator),
            Self::Module => Some(GroupBy::Module),
            Self::Kernel => Some(GroupBy::Kernel),
            Self::Stream => Some(GroupBy::Stream),
            Self::Rank => None,
        }
    }
}

impl Times {
    /// Reads the times of what [`open`](Self::open) takes, with these rows. For ranks, the path is a directory with a
    /// recording of each; a run takes as long as it does on the slowest of them.
    ///
    /// # Errors
    /// Returns an error if there is neither or there are several, or if it cannot be read.
    pub fn open_by(path: &Path, by: By) -> Result<Self, TimesError> {
        match by.group() {
            Some(GroupBy::Operator) => Self::open(path),
            Some(group) => match &recordings_at(path)[..] {
                [one] => Self::of_recording_by(&Recording::open(one)?, group),
                _ => Self::open(path),
            },
            None => Self::of_ranks(path),
        }
    }

    fn of_ranks(path: &Path) -> Result<Self, TimesError> {
        let directories = recordings_at(path);
        let mut ranks = Vec::new();
        for directory in &directories {
            let name = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            ranks.push((name, Self::of_recording(&Recording::open(directory)?)?));
        }
        let Some((_, first)) = ranks.first() else { return Self::open(path) };
        let runs = ranks.iter().map(|(_, times)| times.runs.len()).min().unwrap_or(0);
        let slowest = |run: usize| ranks.iter().map(|(_, times)| times.runs[run]).fold(0.0, f64::max);
        let mut all = Self { runs: (0..runs).map(slowest).collect(), outside: Vec::new(), ..first.clone() };
        all.operators = ranks
            .iter()
            .map(|(name, times)| Executed {
                operator: name.clone(),
                op_type: "rank".to_owned(),
                added: false,
                kernels: [[name.clone()].into()].into(),
                times: ExecutedTimes::Runs(times.runs[..runs].iter().map(|nanos| *nanos as f32).collect()),
            })
            .collect();
        all.side.path = path.to_owned();
        all.side.runs = runs as u64;
        all.side.complete = ranks.iter().all(|(_, times)| times.side.complete);
        all.problems = ranks.iter().flat_map(|(_, times)| times.problems.clone()).collect();
        Ok(all)
    }
}
