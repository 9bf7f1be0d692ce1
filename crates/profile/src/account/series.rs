use std::collections::{BTreeSet, HashMap};

use super::parts::{Divider, RunParts};
use crate::interval::MedianEstimate;
use crate::recording::{DispatchFact, Item, KernelNames, RunKind, own_times};
use crate::{ProfileError, Recording};

/// The times of measured runs, in the order of their end. Warm-up runs, failed runs, and runs with missing dispatches
/// are excluded. All times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// How many runs of the recording each run here represents. It is 1 unless the recording has too many times, so
    /// that only every second, fourth, ... run is kept.
    pub every: u64,
    /// The number of runs that count, including those that are not kept.
    pub counted: u64,
    /// The time of each run.
    pub runs: Vec<f64>,
    /// The part of each run during which no kernel was executed; empty if dispatches were not recorded.
    pub outside: Vec<f64>,
    /// The operators, in the order in which they were first seen.
    pub operators: Vec<OperatorSeries>,
}

/// The times of an operator of the file, or of a kernel that the engine added. A fused kernel's time counts for the
/// first of its operators.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorSeries {
    /// Its name in the file; the engine's name for a kernel that the engine added.
    pub operator: String,
    /// Its type, or what the engine executes if it added the kernel.
    pub op_type: String,
    /// Whether this is not an operator of the file, but a kernel that the engine added.
    pub added: bool,
    /// What the engine executes for it.
    pub kernel_ops: BTreeSet<String>,
    /// For each of its kernels, the names of all operators that the kernel executes, without duplicates; empty for an
    /// added kernel.
    pub kernels: BTreeSet<BTreeSet<String>>,
    /// Its time in each run, excluding that of operators in its bodies; 0 in a run that did not execute it.
    pub times: Vec<f32>,
}

impl Series {
    /// Estimates the median of the total time of several operators, in the runs that executed any of them.
    pub(super) fn estimate<'s>(
        &'s self,
        operators: impl Iterator<Item = &'s OperatorSeries>,
    ) -> Option<MedianEstimate> {
        MedianEstimate::of_sums(operators.map(|operator| &operator.times[..]), &self.runs, self.every)
    }
}

/// What the times of dispatches are added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum GroupBy {
    /// By the operator that a dispatch's time counts for.
    #[default]
    Operator,
    /// By the innermost module that the operator is in.
    Module,
    /// By the kernel's name.
    Kernel,
    /// By the thread, or the stream of a device, that executes it.
    Stream,
}

/// The group of operators that are in no module.
const NO_MODULE: &str = "(no module)";

impl GroupBy {
    /// Returns the name of a group, and what it is; `None` for an operator, which has a type of its own.
    fn group(
        self,
        recording: &Recording,
        names: &KernelNames,
        dispatch: &DispatchFact,
    ) -> Option<(String, &'static str)> {
        match self {
            Self::Operator => None,
            Self::Module => {
                let innermost = names.origin.as_ref().and_then(|origin| origin.modules.last());
                Some((innermost.map_or(NO_MODULE, |module| &module.path).to_owned(), "module"))
            }
            Self::Kernel => Some((names.name.clone(), "kernel")),
            Self::Stream => Some((stream_name(recording, dispatch.thread), "stream")),
        }
    }
}

/// Returns the name of a thread or stream, the same in each process that does the same: in place of the system's number
/// it has the thread's place among those of the recording, from 1.
fn stream_name(recording: &Recording, thread: u32) -> String {
    let place = recording.names().threads.keys().position(|known| *known == thread).map_or(1, |place| place + 1);
    let number = thread.to_string();
    match recording.thread_name(thread) {
        None => format!("thread #{place}"),
        Some(name) => name
            .split(' ')
            .map(|word| if word == number { format!("#{place}") } else { word.to_owned() })
            .collect::<Vec<_>>()
            .join(" "),
    }
}

/// The maximum number of times that are kept: 64 MiB of them.
pub(super) const MOST_TIMES: usize = 16 << 20;

impl Recording {
    /// Returns the times of the measured runs and of their operators, run by run. If there are too many to be kept (16
    /// million), every second run is dropped, repeatedly if necessary.
    ///
    /// # Errors
    /// Returns an error if the file of records cannot be read.
    pub fn series(&self) -> Result<Series, ProfileError> {
        self.series_of(MOST_TIMES, GroupBy::Operator)
    }

    /// Returns the same, with groups of dispatches in place of operators.
    ///
    /// # Errors
    /// Returns an error if the file of records cannot be read.
    pub fn series_by(&self, by: GroupBy) -> Result<Series, ProfileError> {
        self.series_of(MOST_TIMES, by)
    }

    fn series_of(&self, most_times: usize, by: GroupBy) -> Result<Series, ProfileError> {
        let divider = Divider::new(self);
        let mut series = SeriesBuilder { by, ..SeriesBuilder::new(self, most_times) };
        for item in self.groups()? {
            let Item::Run(group) = item? else { continue };
            let Some(run) = group.record.filter(|run| run.kind == RunKind::Measured && !run.failed) else { continue };
            let Some(parts) = divider.parts(&run, &group) else { continue };
            let times = own_times(&group.dispatches, |span| self.calibration().nanos(span.start, span.end));
            series.add(&parts, &group.dispatches, &times);
        }
        Ok(series.finish())
    }
}

/// A series that is being built, run by run.
pub(super) struct SeriesBuilder<'a> {
    recording: &'a Recording,
    series: Series,
    most_times: usize,
    /// The operator that a kernel's time counts for.
    kernels: HashMap<(u64, u32, u32), usize>,
    by_name: HashMap<(bool, String), usize>,
    by: GroupBy,
}

impl<'a> SeriesBuilder<'a> {
    /// Begins a series with at most about `most_times` times.
    pub(super) fn new(recording: &'a Recording, most_times: usize) -> Self {
        let series = Series { every: 1, ..Series::default() };
        Self { recording, series, most_times, kernels: HashMap::new(), by_name: HashMap::new(), by: GroupBy::Operator }
    }

    /// Adds a run and the times of its dispatches, in nanoseconds.
    pub(super) fn add(&mut self, parts: &RunParts, dispatches: &[DispatchFact], nanos: &[f64]) {
        let counted = self.series.counted;
        self.series.counted += 1;
        let every = self.series.every;
        if !is_kept(counted, every) {
            return;
        }
        let at = self.series.runs.len();
        self.series.runs.push(parts.run);
        self.series.outside.extend((parts.dispatches > 0).then_some(parts.run - parts.operators - parts.added));
        for (dispatch, nanos) in dispatches.iter().zip(nanos) {
            let operator = self.operator(dispatch);
            let times = &mut self.series.operators[operator].times;
            // The runs since the last one that executed it have a time of 0.
            times.resize(at + 1, 0.0);
            times[at] += *nanos as f32;
        }
        if self.series.runs.len() > 1
            && self.series.runs.len().saturating_mul(self.series.operators.len() + 2) > self.most_times
        {
            self.halve();
        }
    }

    /// Returns the series. May be called only once.
    pub(super) fn finish(&mut self) -> Series {
        let mut series = std::mem::take(&mut self.series);
        let runs = series.runs.len();
        series.operators.iter_mut().for_each(|operator| operator.times.resize(runs, 0.0));
        series
    }

    /// Keeps one of two successive runs.
    fn halve(&mut self) {
        fn halved<T: Copy>(times: &mut Vec<T>) {
            let one_of = |(pair, two): (usize, &[T])| two.get(chosen(pair as u64, 2) as usize).copied();
            *times = times.chunks(2).enumerate().filter_map(one_of).collect();
        }
        self.series.every *= 2;
        halved(&mut self.series.runs);
        halved(&mut self.series.outside);
        self.series.operators.iter_mut().for_each(|operator| halved(&mut operator.times));
    }

    /// Returns the index of the operator that a dispatch's time counts for.
    fn operator(&mut self, dispatch: &DispatchFact) -> usize {
        let thread = if self.by == GroupBy::Stream { dispatch.thread } else { 0 };
        let key = (dispatch.plan, dispatch.kernel, thread);
        if let Some(&known) = self.kernels.get(&key) {
            return known;
        }
        let unknown;
        let names = match self.recording.kernel(dispatch.plan, dispatch.kernel) {
            Some(names) => names,
            None => {
                unknown = KernelNames::unknown(dispatch.plan, dispatch.kernel);
                &unknown
            }
        };
        let (name, op_type, added) = match self.by.group(self.recording, names, dispatch) {
            Some((name, what)) => (name, what, false),
            None => (names.operator.clone(), names.op_type.as_str(), names.added),
        };
        let operators = &mut self.series.operators;
        let place = *self.by_name.entry((added, name.clone())).or_insert_with(|| {
            operators.push(OperatorSeries {
                operator: name.clone(),
                op_type: op_type.to_owned(),
                added,
                kernel_ops: BTreeSet::new(),
                kernels: BTreeSet::new(),
                times: Vec::new(),
            });
            operators.len() - 1
        });
        let operator = &mut operators[place];
        operator.kernel_ops.insert(names.op.clone());
        if self.by != GroupBy::Operator {
            operator.kernels.insert([name].into());
        } else if !added {
            let fused = names.fused.iter().map(|fused| fused.name.clone());
            operator.kernels.insert(fused.chain([name]).collect());
        }
        self.kernels.insert(key, place);
        place
    }
}

/// Returns whether a run is kept if one of `every` successive runs is kept.
fn is_kept(run: u64, every: u64) -> bool {
    run % every == chosen(run / every, every)
}

/// Returns which one of each group of `of` successive runs is kept. It is pseudo-random, because different kinds of
/// runs may alternate, and a fixed choice would always keep the same kind.
fn chosen(group: u64, of: u64) -> u64 {
    // The upper bits of a product by the golden ratio (D. E. Knuth, "The Art of Computer Programming", volume 3, 6.4).
    (group.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % of
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::test_recording;

    fn recording() -> (tempfile::TempDir, Recording) {
        let directory = tempfile::tempdir().expect("a directory");
        test_recording::write(directory.path());
        let recording = Recording::open(directory.path()).expect("a recording");
        (directory, recording)
    }

    #[test]
    fn the_series_has_what_measured_runs_took_and_their_medians_are_those_of_the_account() {
        let (_directory, recording) = recording();
        let (series, account) = (recording.series().unwrap(), recording.account().unwrap());
        assert_eq!((series.every, series.counted), (1, account.runs.measured));
        assert_eq!(series.runs, [3_200.0, 3_200.0]);
        assert_eq!(series.outside, [200.0, 200.0]);
        let times: Vec<_> = series.operators.iter().map(|one| (one.op_type.as_str(), &one.times[..])).collect();
        assert_eq!(times, [("Conv", &[1_500.0, 1_500.0][..]), ("MatMul", &[1_500.0, 1_500.0])]);
        // Two runs of 1500 ns each.
        let totals: Vec<_> =
            account.op_types.iter().map(|one| (one.op_type.as_str(), one.total_ns, one.mean_ns)).collect();
        assert_eq!(totals, [("Conv", 3_000.0, 1_500.0), ("MatMul", 3_000.0, 1_500.0)]);
        let names: Vec<_> = account.operators.iter().map(|one| (one.display_name(), one.total_ns)).collect();
        assert_eq!(names, [("conv, \"the first\"\nof two", 3_000.0), ("/mm/MatMul", 3_000.0)]);
        let kernels = &series.operators[1].kernels;
        assert_eq!(kernels, &BTreeSet::from([BTreeSet::from(["/mm/Add".to_owned(), "/mm/MatMul".to_owned()])]));
    }

    #[test]
    fn of_too_many_runs_one_of_two_is_kept() {
        let (_directory, recording) = recording();
        let series = recording.series_of(4, GroupBy::Operator).unwrap();
        assert_eq!((series.every, series.counted, series.runs.len()), (2, 2, 1));
        assert!(series.operators.iter().all(|operator| operator.times.len() == 1));
    }

    #[test]
    fn of_each_group_of_runs_exactly_one_is_kept() {
        for every in [1, 2, 4, 64] {
            for group in 0..200 {
                let kept: Vec<u64> = (group * every..(group + 1) * every).filter(|&run| is_kept(run, every)).collect();
                assert_eq!(kept, [group * every + chosen(group, every)], "group {group} of {every}");
            }
        }
        // The multiplier is floor(2^64 / golden ratio). These are the bits of its multiples above the 32nd, computed
        // with Python.
        assert_eq!([0, 1, 2, 3, 4].map(|group| chosen(group, 64)), [0, 57, 50, 44, 37]);
    }

    #[test]
    fn runs_that_take_turns_are_kept_alike() {
        for of in [2, 4, 8] {
            let odd = (0..10_000).filter(|group| chosen(*group, of) % 2 == 1).count();
            assert!((4_500..5_500).contains(&odd), "{odd} of 10000 among {of}");
        }
    }
}
