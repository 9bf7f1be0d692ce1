use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{Account, CopyTimes, OperatorTimes, RunCounts, RunTimes, SCHEMA, Share, Shares, TypeTimes};
use opscope_clock::Calibration;

use crate::recording::{CopyFact, Direction, Fact, Item, KernelNames, RunFact, RunGroup};
use crate::spread::{Spread, median};
use crate::{ProfileError, Recording};

impl Recording {
    /// The account of the measured runs. Memory for a few numbers per run is needed.
    ///
    /// # Errors
    /// When the file of records cannot be read.
    pub fn account(&self) -> Result<Account, ProfileError> {
        let mut collector = Collector::new(self);
        for item in self.groups()? {
            match item? {
                Item::Run(group) => collector.run(&group),
                Item::Other(Fact::Copy(copy)) => collector.copy(&copy),
                Item::Other(_) => {}
            }
        }
        Ok(collector.finish())
    }
}

struct Collector<'a> {
    recording: &'a Recording,
    with_dispatches: bool,
    counts: RunCounts,
    runs: Vec<RunParts>,
    dispatches: u64,
    kernels: HashMap<(u64, u32), Spread>,
    /// Inputs are copied before their run, so that it is known only later whether they count.
    copies_in: HashMap<u64, Vec<CopyFact>>,
    left_out: HashSet<u64>,
    copied_in: Copied,
    copied_out: Copied,
}

#[derive(Default)]
struct Copied {
    nanos: Spread,
    bytes: Spread,
}

/// The parts of one run's time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RunParts {
    run: f64,
    operators: f64,
    between: f64,
    dispatches: u64,
}

impl<'a> Collector<'a> {
    fn new(recording: &'a Recording) -> Self {
        Self {
            recording,
            with_dispatches: recording.records_of("task-time"),
            counts: RunCounts::default(),
            runs: Vec::new(),
            dispatches: 0,
            kernels: HashMap::new(),
            copies_in: HashMap::new(),
            left_out: HashSet::new(),
            copied_in: Copied::default(),
            copied_out: Copied::default(),
        }
    }

    fn run(&mut self, group: &RunGroup) {
        let parts = match group.record {
            Some(run) if run.warm_up => {
                self.counts.warm_up += 1;
                None
            }
            Some(run) if run.failed => {
                self.counts.failed += 1;
                None
            }
            Some(run) => {
                let parts = self.parts(&run, group);
                self.counts.partial += u64::from(parts.is_none());
                parts
            }
            None => {
                self.counts.partial += 1;
                None
            }
        };
        let copies_in = self.copies_in.remove(&group.run).unwrap_or_default();
        let Some(parts) = parts else {
            self.left_out.insert(group.run);
            return;
        };
        self.counts.measured += 1;
        self.runs.push(parts);
        self.dispatches += parts.dispatches;
        let calibration = self.recording.calibration();
        for dispatch in &group.dispatches {
            let nanos = calibration.nanos(dispatch.span.start, dispatch.span.end);
            self.kernels.entry((dispatch.plan, dispatch.kernel)).or_default().add(nanos);
        }
        copies_in.iter().for_each(|copy| self.copied_in.add(copy, calibration));
    }

    fn copy(&mut self, copy: &CopyFact) {
        match copy.direction {
            Direction::In => self.copies_in.entry(copy.run).or_default().push(*copy),
            Direction::Out if self.left_out.contains(&copy.run) => {}
            Direction::Out => self.copied_out.add(copy, self.recording.calibration()),
        }
    }
}

impl Copied {
    fn add(&mut self, copy: &CopyFact, calibration: &Calibration) {
        self.nanos.add(calibration.nanos(copy.span.start, copy.span.end));
        self.bytes.add(copy.bytes as f64);
    }
}

impl Collector<'_> {
    /// How a run's time divides; none where dispatches are missing or do not lie within the run.
    fn parts(&self, run: &RunFact, group: &RunGroup) -> Option<RunParts> {
        let nanos = |start, end| self.recording.calibration().nanos(start, end);
        let whole = nanos(run.span.start, run.span.end);
        let expected = self.recording.names().kernels_of(run.plan);
        if !self.with_dispatches {
            return Some(RunParts { run: whole, operators: 0.0, between: 0.0, dispatches: 0 });
        }
        if expected.is_some_and(|expected| expected != group.dispatches.len()) {
            return None;
        }
        let Some(first) = group.dispatches.first().map(|dispatch| dispatch.span.start) else {
            return Some(RunParts { run: whole, operators: 0.0, between: 0.0, dispatches: 0 });
        };
        // Dispatches are in the order of their start; those that overlap count once.
        let (mut busy, mut busy_until) = (0.0, first);
        for dispatch in &group.dispatches {
            let from = dispatch.span.start.max(busy_until);
            if dispatch.span.end > from {
                busy += nanos(from, dispatch.span.end);
                busy_until = dispatch.span.end;
            }
        }
        if first < run.span.start || busy_until > run.span.end {
            return None;
        }
        let between = (nanos(first, busy_until) - busy).max(0.0);
        Some(RunParts { run: whole, operators: busy, between, dispatches: group.dispatches.len() as u64 })
    }

    fn finish(self) -> Account {
        let manifest = self.recording.manifest();
        let run = self.run_times();
        Account {
            schema: SCHEMA,
            model: manifest.model.path.clone(),
            engine: manifest.engine.name.clone(),
            fidelity: manifest.engine.fidelity.clone(),
            complete: self.recording.is_complete(),
            runs: self.counts,
            run,
            shares: self.shares(run.total_ns),
            copies: self.copy_times(),
            operators: self.operators(run.total_ns),
            op_types: self.op_types(run.total_ns),
        }
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
            between,
            in_out: share(|parts| parts.run - parts.operators - parts.between),
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

    fn operators(&self, total: f64) -> Vec<OperatorTimes> {
        let mut rows: BTreeMap<String, OperatorTimes> = BTreeMap::new();
        for (names, times) in self.named_kernels() {
            let row = rows.entry(names.operator.clone()).or_insert_with(|| OperatorTimes {
                operator: names.operator.clone(),
                op_type: names.op_type.clone(),
                kernel_ops: Vec::new(),
                fused: Vec::new(),
                exact: true,
                dispatches: 0,
                total_ns: 0.0,
                mean_ns: 0.0,
                percent: 0.0,
            });
            row.exact &= names.exact;
            row.dispatches += times.count;
            row.total_ns += times.total;
            add_new(&mut row.kernel_ops, &names.op);
            names.fused.iter().for_each(|fused| add_new(&mut row.fused, &fused.name));
        }
        let mut rows: Vec<_> = rows.into_values().collect();
        for row in &mut rows {
            row.mean_ns = row.total_ns / self.runs.len() as f64;
            row.percent = percent(row.total_ns, total);
        }
        rows.sort_by(|a, b| b.total_ns.total_cmp(&a.total_ns));
        rows
    }

    fn op_types(&self, total: f64) -> Vec<TypeTimes> {
        let mut rows: BTreeMap<String, (TypeTimes, BTreeSet<String>)> = BTreeMap::new();
        for (names, times) in self.named_kernels() {
            let (row, operators) = rows.entry(names.op_type.clone()).or_insert_with(|| {
                let row = TypeTimes {
                    op_type: names.op_type.clone(),
                    operators: 0,
                    kernel_ops: Vec::new(),
                    dispatches: 0,
                    total_ns: 0.0,
                    mean_ns: 0.0,
                    percent: 0.0,
                };
                (row, BTreeSet::new())
            });
            operators.insert(names.operator.clone());
            row.dispatches += times.count;
            row.total_ns += times.total;
            add_new(&mut row.kernel_ops, &names.op);
        }
        let mut rows: Vec<_> = rows
            .into_values()
            .map(|(row, operators)| TypeTimes {
                operators: operators.len() as u64,
                mean_ns: row.total_ns / self.runs.len() as f64,
                percent: percent(row.total_ns, total),
                ..row
            })
            .collect();
        rows.sort_by(|a, b| b.total_ns.total_cmp(&a.total_ns));
        rows
    }

    /// Every kernel that was executed, with its names, in the order of the plans.
    fn named_kernels(&self) -> Vec<(KernelNames, &Spread)> {
        let mut kernels: Vec<_> = self.kernels.iter().collect();
        kernels.sort_by_key(|(number, _)| **number);
        let named = kernels.into_iter().map(|(&(plan, kernel), times)| {
            let known = self.recording.kernel(plan, kernel).cloned();
            (known.unwrap_or_else(|| KernelNames::unknown(plan, kernel)), times)
        });
        named.collect()
    }
}

fn add_new(list: &mut Vec<String>, text: &str) {
    if !list.iter().any(|known| known == text) {
        list.push(text.to_owned());
    }
}

fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}
