use std::collections::HashMap;

use opscope_clock::Ticks;

use super::devices::DevicesBuilder;
use super::histogram::TimeHistogram;
use super::parts::{Divider, RunParts};
use super::rows::{Rows, Tables};
use super::series::{MOST_TIMES, SeriesBuilder};
use super::spread::{Ranges, Spread, TensorMemorySums};
use super::{Account, CopyTimes, ProfileTimes, RunCounts, RunTimes, SCHEMA, Share, Shares, UntimedRuns, percent};
use crate::interval::median;
use crate::recording::{Call, CallFact, CopyFact, Direction, Fact, Item, RunGroup, RunKind, own_times};
use crate::{ProfileError, Recording};

impl Recording {
    /// Returns the account of the measured runs. It needs memory for a few numbers per run, and for the times of
    /// [`series`](Self::series).
    ///
    /// # Errors
    /// Returns an error if the file of records cannot be read.
    pub fn account(&self) -> Result<Account, ProfileError> {
        Ok(self.distributions()?.account)
    }

    /// Returns the account, with the distribution of each operator's times over the runs.
    ///
    /// # Errors
    /// Returns an error if the file of records cannot be read.
    pub fn distributions(&self) -> Result<Distribution, ProfileError> {
        let mut collector = Collector::new(self);
        for item in self.groups()? {
            match item? {
                Item::Run(group) => collector.run(&group),
                Item::Other(Fact::Copy(copy)) => collector.copy(&copy),
                Item::Other(Fact::Call(call)) => collector.call(&call),
                Item::Other(Fact::Marker(marker)) => {
                    collector.ranges.add(self, &marker);
                    collector.devices.marker(&marker);
                }
                Item::Other(Fact::Allocation(allocation)) => {
                    collector.memory.add(&allocation);
                }
                // Such facts are not part of an account, which says where the time and the memory of runs go.
                Item::Other(_) => {}
            }
        }
        Ok(collector.finish())
    }
}

/// An account with the distributions of times.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// The account.
    pub account: Account,
    /// The distribution of the time that an operator takes in a run, for each of the account's operators in order.
    pub operators: Vec<TimeHistogram>,
}

struct Collector<'a> {
    recording: &'a Recording,
    divider: Divider<'a>,
    counts: RunCounts,
    runs: Vec<RunParts>,
    dispatches: u64,
    rows: Rows,
    series: SeriesBuilder<'a>,
    ranges: Ranges,
    devices: DevicesBuilder,
    /// For every run that has ended, whether it counts.
    ended: HashMap<u64, bool>,
    /// The copies of runs that have not ended yet.
    copies: HashMap<u64, Vec<CopyFact>>,
    /// The time of the engine's work on its profile, for runs that have not ended yet.
    profiles: HashMap<u64, f64>,
    profiled: Spread,
    /// The durations of runs without times of their dispatches, in nanoseconds.
    untimed: Vec<f64>,
    copied_in: Copied,
    copied_out: Copied,
    memory: TensorMemorySums,
}

#[derive(Default)]
struct Copied {
    nanos: Spread,
    bytes: Spread,
}

impl<'a> Collector<'a> {
    fn new(recording: &'a Recording) -> Self {
        Self {
            recording,
            divider: Divider::new(recording),
            counts: RunCounts::default(),
            runs: Vec::new(),
            dispatches: 0,
            rows: Rows::default(),
            series: SeriesBuilder::new(recording, MOST_TIMES),
            ranges: Ranges::default(),
            devices: DevicesBuilder::default(),
            ended: HashMap::new(),
            copies: HashMap::new(),
            profiles: HashMap::new(),
            profiled: Spread::default(),
            untimed: Vec::new(),
            copied_in: Copied::default(),
            copied_out: Copied::default(),
            memory: TensorMemorySums::default(),
        }
    }

    fn run(&mut self, group: &RunGroup) {
        let parts = match group.record {
            Some(run) if run.kind == RunKind::WarmUp => {
                self.counts.warm_up += 1;
                None
            }
            Some(run) if run.failed => {
                self.counts.failed += 1;
                None
            }
            Some(run) if run.kind == RunKind::Untimed => {
                self.untimed.push(self.nanos(run.span.start, run.span.end));
                None
            }
            Some(run) => {
                let parts = self.divider.parts(&run, group);
                self.counts.partial += u64::from(parts.is_none());
                parts
            }
            None => {
                self.counts.partial += 1;
                None
            }
        };
        self.devices.run(self.recording, group, parts.is_some());
        self.ended.insert(group.run, parts.is_some());
        let copies = self.copies.remove(&group.run).unwrap_or_default();
        let profiled = self.profiles.remove(&group.run);
        if let Some(parts) = parts {
            self.counts.measured += 1;
            self.runs.push(parts);
            self.dispatches += parts.dispatches;
            let times = own_times(&group.dispatches, |span| self.nanos(span.start, span.end));
            self.rows.add(self.recording, &group.dispatches, &times);
            self.series.add(&parts, &group.dispatches, &times);
            copies.iter().for_each(|copy| self.add_copy(copy));
            profiled.into_iter().for_each(|nanos| self.profiled.add(nanos));
        }
    }

    fn copy(&mut self, copy: &CopyFact) {
        match self.ended.get(&copy.run) {
            Some(true) => self.add_copy(copy),
            Some(false) => {}
            None => self.copies.entry(copy.run).or_default().push(*copy),
        }
    }

    /// Stores the time of the engine's work on the profile of a run, whose own record follows later.
    fn call(&mut self, call: &CallFact) {
        if let (Call::Profile, Some(run)) = (call.call, call.run) {
            *self.profiles.entry(run).or_default() += self.nanos(call.span.start, call.span.end);
        }
    }

    fn nanos(&self, start: Ticks, end: Ticks) -> f64 {
        self.recording.calibration().nanos(start, end)
    }

    fn add_copy(&mut self, copy: &CopyFact) {
        let copied = match copy.direction {
            Direction::In => &mut self.copied_in,
            Direction::Out => &mut self.copied_out,
        };
        copied.nanos.add(self.recording.calibration().nanos(copy.span.start, copy.span.end));
        copied.bytes.add(copy.bytes as f64);
    }
}

impl Collector<'_> {
    fn finish(mut self) -> Distribution {
        let manifest = self.recording.manifest();
        let run = self.run_times();
        self.split_off_profile();
        let Tables { operators, op_types, histograms } =
            std::mem::take(&mut self.rows).finish(self.runs.len(), run.median_ns, &self.series.finish());
        let account = Account {
            schema: SCHEMA,
            model: manifest.model.path.clone(),
            engine: manifest.engine.name.clone(),
            fidelity: manifest.engine.fidelity,
            complete: self.recording.is_complete(),
            runs: self.counts,
            run,
            shares: self.shares(run.total_ns),
            time_resolution_ns: manifest.engine.time_resolution_ns,
            devices: std::mem::take(&mut self.devices).finish(self.recording),
            engine_profile: (self.profiled.count > 0)
                .then(|| ProfileTimes { count: self.profiled.count, mean_ns: self.profiled.mean() }),
            untimed: self.untimed_runs(),
            copies: self.copy_times(),
            tensor_memory: std::mem::take(&mut self.memory).finish().filter(|_| self.recording.is_complete()),
            operators,
            op_types,
            ranges: std::mem::take(&mut self.ranges).finish(self.recording),
            roofline: None,
        };
        Distribution { account, operators: histograms }
    }

    fn run_times(&self) -> RunTimes {
        let mut spread = Spread::default();
        self.runs.iter().for_each(|parts| spread.add(parts.run));
        if spread.count == 0 {
            return RunTimes::default();
        }
        RunTimes {
            total_ns: spread.total,
            mean_ns: spread.mean(),
            median_ns: self.median_of(|parts| parts.run),
            min_ns: spread.min,
            max_ns: spread.max,
        }
    }

    fn untimed_runs(&self) -> Option<UntimedRuns> {
        let median_ns = median(&mut self.untimed.clone());
        (!self.untimed.is_empty()).then_some(UntimedRuns { count: self.untimed.len() as u64, median_ns })
    }

    /// Moves the cost of taking the times of dispatches from the time between dispatches, in which the engine takes
    /// them, to a part of its own. The cost is the difference to a run without those times.
    fn split_off_profile(&mut self) {
        let Some(untimed) = self.untimed_runs() else { return };
        let added = self.median_of(|parts| parts.run) - untimed.median_ns;
        for parts in &mut self.runs {
            parts.profile = added.clamp(0.0, parts.between);
            parts.between -= parts.profile;
        }
    }

    fn shares(&self, total: f64) -> Option<Shares> {
        if self.dispatches == 0 {
            return None;
        }
        let share = |part: fn(&RunParts) -> f64| {
            let sum: f64 = self.runs.iter().map(part).sum();
            Share {
                total_ns: sum,
                mean_ns: sum / self.runs.len() as f64,
                median_ns: self.median_of(part),
                percent: percent(sum, total),
            }
        };
        let between = share(|parts| parts.between);
        Some(Shares {
            operators: share(|parts| parts.operators),
            added: share(|parts| parts.added),
            between,
            profile: share(|parts| parts.profile),
            in_out: share(|parts| parts.in_out),
            rest: share(RunParts::rest),
            dispatches_per_run: self.dispatches as f64 / self.runs.len() as f64,
            between_ns_per_dispatch: between.total_ns / self.dispatches as f64,
            median_between_ns_per_dispatch: self.median_of(|parts| parts.between / parts.dispatches.max(1) as f64),
        })
    }

    fn median_of(&self, part: impl Fn(&RunParts) -> f64) -> f64 {
        median(&mut self.runs.iter().map(part).collect::<Vec<_>>())
    }

    fn copy_times(&self) -> Vec<CopyTimes> {
        let rows = [(Direction::In, &self.copied_in), (Direction::Out, &self.copied_out)].into_iter();
        rows.filter(|(_, copied)| copied.nanos.count > 0)
            .map(|(direction, copied)| CopyTimes {
                direction: direction.name(),
                count: copied.nanos.count,
                mean_ns: copied.nanos.mean(),
                mean_bytes: copied.bytes.mean(),
            })
            .collect()
    }
}
