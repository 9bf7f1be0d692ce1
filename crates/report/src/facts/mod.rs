//! The content of a page as plain data: read once, in bounded memory.

mod dump;
mod latency;
#[cfg(test)]
pub(crate) mod made;
mod model;
mod operators;
mod surroundings;
mod timeline;
mod values;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use opscope_onnx::Graph;
use opscope_profile::{Account, Item, Layer, Manifest, MarkerFact, MemoryOverTime, Recording, RunFact, RunGroup};
use opscope_tensor::Digest;

pub(crate) use self::dump::{DumpFacts, FirstBad, ValueRow};
#[cfg(test)]
pub(crate) use self::latency::Bar;
pub(crate) use self::latency::{Latency, LatencySum, Step};
pub(crate) use self::model::NotDrawn;
pub(crate) use self::operators::{OperatorRow, Operators, TypeRow};
pub(crate) use self::surroundings::Surroundings;
pub(crate) use self::timeline::{Lane, Slot, SlotContent, Timeline};
pub(crate) use self::values::{FirstDifference, ValueDifference, ValuesComparison};
use crate::ReportError;
use crate::graph::Picture;
use crate::source::{RunPaths, SavedPrecision, Summary};

/// One run of the benchmark.
#[derive(Debug, Default)]
pub(crate) struct RunFacts {
    /// Its name.
    pub name: String,
    /// The paths of its parts.
    pub paths: RunPaths,
    /// The model's file, as the user gave it.
    pub model: Option<String>,
    /// The directory in which the run was started; `None` if its model cannot be found any more.
    pub started_in: Option<PathBuf>,
    /// How many plans the recorded runs have: one per set of shapes.
    pub plans: usize,
    /// The operators whose bodies contain an operator, the outermost first, by that operator's name.
    pub bodies: BTreeMap<String, Vec<String>>,
    /// The model, the engine, the machine.
    pub surroundings: Surroundings,
    /// What is missing, one sentence each.
    pub problems: Vec<String>,
    /// The engine's notes on how it ran the model.
    pub notes: Vec<String>,
    /// The summary's numbers.
    pub summary: Option<Summary>,
    /// How long runs took.
    pub latency: Option<Latency>,
    /// Where the time goes.
    pub account: Option<Account>,
    /// The operators by time.
    pub operators: Operators,
    /// The operator types by time.
    pub types: Vec<TypeRow>,
    /// The operators as a tree, by the paths in their names.
    pub layers: Option<Layer>,
    /// One run in full.
    pub timeline: Option<Timeline>,
    /// The memory that a run holds.
    pub memory: Option<MemoryOverTime>,
    /// The recording's manifest.
    pub manifest: Option<Manifest>,
    /// The dump.
    pub dump: Option<DumpFacts>,
    /// Which operators must stay in float32.
    pub precision: Option<SavedPrecision>,
    /// XXH3 (64 bit) of the model's file, 16 hexadecimal digits.
    pub model_hash: Option<Digest>,
    /// The drawing of the model, or the reason why there is none; `None` if it was not requested.
    pub picture: Option<Result<Picture, NotDrawn>>,
    /// How much the outputs of operators differ from another dump, by the operators' names.
    pub errors: HashMap<String, f64>,
}

impl RunFacts {
    /// Reads all parts of a run.
    pub(crate) fn read(paths: &RunPaths) -> Result<Self, ReportError> {
        let summary = paths.summary.as_deref().map(Summary::read).transpose()?;
        let recording = paths.recording.as_ref().map(Recording::open).transpose()?;
        let dump = paths.dump.as_deref().map(DumpFacts::read).transpose()?;
        let mut facts = Self {
            name: paths.name.clone(),
            paths: paths.clone(),
            surroundings: Surroundings::of(summary.as_ref(), recording.as_ref(), dump.as_ref()),
            dump,
            ..Self::default()
        };
        if let Some(dump) = &facts.dump {
            (facts.model, facts.model_hash) = (dump.model.clone(), dump.model_hash);
        }
        if let Some(recording) = &recording {
            let model = &recording.manifest().model;
            (facts.model, facts.model_hash) = (Some(model.path.clone()), Some(model.xxh3));
            facts.notes = recording.manifest().notes.clone();
            facts.add(recording)?;
        }
        if let Some(summary) = summary {
            facts.add_summary(summary);
        }
        facts.precision = paths.precision.as_deref().map(SavedPrecision::read).transpose()?;
        if let Some(precision) = &facts.precision {
            facts.model.get_or_insert_with(|| precision.model.clone());
            facts.problems.extend(match (precision.minimal, precision.all_low.is_some()) {
                (true, _) => None,
                (false, true) => Some("precision: the search ended before a minimal set was found".to_owned()),
                (false, false) => Some(format!("precision: the target {} is below the noise", precision.target)),
            });
        }
        facts.started_in =
            facts.model.as_ref().and_then(|model| paths.started_in(model.as_ref(), &facts.given_files()));
        facts.add_bodies_of_dump();
        if let Some(dump) = &facts.dump {
            facts.problems.extend(dump.problems.iter().map(|problem| format!("dump: {problem}")));
        }
        Ok(facts)
    }

    /// Adds the content of a recording. It is read four times: for the account, for the run with the median time, for
    /// the marks around that run, and for the memory.
    fn add(&mut self, recording: &Recording) -> Result<(), ReportError> {
        self.problems.extend(recording.problems().iter().map(|problem| format!("recording: {problem}")));
        let account = recording.account()?;
        let mut latency = LatencySum::new(account.runs.measured);
        let mut middle: Option<(f64, RunGroup)> = None;
        let mut plans: BTreeSet<u64> = BTreeSet::new();
        let mut seen: BTreeSet<(u64, u32)> = BTreeSet::new();
        for item in recording.groups()? {
            let Item::Run(group) = item? else { continue };
            let Some(run) = group.record.filter(|_| recording.counts(&group)) else { continue };
            let nanos = nanos(recording, &run);
            latency.add(run.run, nanos);
            plans.insert(run.plan);
            for dispatch in group.dispatches.iter().filter(|dispatch| !dispatch.path.is_empty()) {
                if seen.insert((dispatch.plan, dispatch.kernel))
                    && let Some(kernel) = recording.kernel(dispatch.plan, dispatch.kernel)
                {
                    let owners =
                        dispatch.path.iter().filter_map(|level| recording.operator(dispatch.plan, level.operator));
                    let owners = owners.map(str::to_owned).collect();
                    self.bodies.insert(kernel.operator.clone(), owners);
                }
            }
            let distance = (nanos - account.run.median_ns).abs();
            if !group.dispatches.is_empty() && middle.as_ref().is_none_or(|(nearest, _)| distance < *nearest) {
                middle = Some((distance, group));
            }
        }
        self.plans = plans.len();
        self.latency = latency.finish().map(|latency| Latency { is_recorded: true, ..exact(latency, &account) });
        if let Some((_, group)) = middle {
            let window = timeline::window(&group);
            let marks: Vec<MarkerFact> =
                window.map(|window| timeline::marks_within(recording, window)).transpose()?.unwrap_or_default();
            self.timeline = Timeline::new(recording, &group, &marks);
        }
        self.operators = Operators::of_account(&account);
        self.types = TypeRow::of_account(&account);
        self.layers = Some(account.layers());
        self.memory = recording.memory_over_time()?;
        self.manifest = Some(recording.manifest().clone());
        self.account = Some(account);
        Ok(())
    }

    /// Adds the content of a summary, as far as a recording does not provide it better.
    fn add_summary(&mut self, summary: Summary) {
        if !summary.complete && summary.incomplete_because.is_empty() {
            self.problems.push("summary: it says that it is incomplete".to_owned());
        }
        self.problems.extend(summary.incomplete_because.iter().map(|reason| format!("summary: {reason}")));
        self.model.get_or_insert_with(|| summary.model.path.clone());
        self.model_hash.get_or_insert(summary.model.xxh3);
        if self.notes.is_empty() {
            self.notes = summary.notes.clone();
        }
        if self.latency.is_none() && self.is_timed() {
            let mut latency = LatencySum::new(summary.times.len() as u64);
            summary.times.iter().zip(0..).for_each(|(millis, run)| latency.add(run, millis * 1e6));
            self.latency = latency.finish();
            if let (Some(latency), Some(times)) = (&mut self.latency, &summary.compute) {
                let millis = [times.median, times.p90, times.p99].map(|millis| millis * 1e6);
                [latency.median, latency.p90, latency.p99] = millis;
                latency.interval = summary.median_interval_95.map(|(low, high)| (low * 1e6, high * 1e6));
            }
        }
        if self.account.is_none() {
            self.operators = Operators::of_summary(summary.operators());
            self.types = TypeRow::of_summary(summary.op_types());
        }
        self.summary = Some(summary);
    }
}

fn nanos(recording: &Recording, run: &RunFact) -> f64 {
    recording.calibration().nanos(run.span.start, run.span.end)
}

/// Replaces the values that the account has exactly.
fn exact(latency: Latency, account: &Account) -> Latency {
    if latency.runs == account.runs.measured { Latency { median: account.run.median_ns, ..latency } } else { latency }
}

impl RunFacts {
    /// Returns the run's input files, as far as the summary names them.
    fn given_files(&self) -> Vec<PathBuf> {
        let words = self.summary.iter().flat_map(|summary| &summary.again);
        let files = words.filter_map(|word| word.strip_prefix("--input=")).flat_map(|files| files.split(','));
        files.map(|file| PathBuf::from(file.rsplit('=').next().unwrap_or(file))).collect()
    }

    /// Adds which operators are in the bodies of others, according to the dump.
    fn add_bodies_of_dump(&mut self) {
        for row in self.dump.iter().flat_map(|dump| &dump.rows).filter(|row| !row.owners.is_empty()) {
            self.bodies.entry(row.operator.clone()).or_insert_with(|| row.owners.clone());
        }
    }

    /// Adds which operators are in the bodies of others, according to the model.
    pub(crate) fn add_graph(&mut self, graph: &Graph) {
        for operator in graph.all_operators() {
            let owners = graph.owners_of(operator.id);
            if !owners.is_empty() {
                let names = owners.into_iter().map(|owner| graph.operator(owner).name.clone()).collect();
                self.bodies.insert(operator.name.clone(), names);
            }
        }
        if let Some(dump) = &mut self.dump {
            dump.add_graph(graph);
        }
    }

    /// Returns a text that says in whose body an operator is, or `None` for one in the main graph.
    pub(crate) fn body_of(&self, operator: &str) -> Option<String> {
        self.bodies
            .get(operator)
            .filter(|owners| !owners.is_empty())
            .map(|owners| format!("in the body of {}", owners.join(" / ")))
    }

    /// Returns an operator's name for people, by its name in the file.
    pub(crate) fn display_name<'a>(&'a self, operator: &'a str) -> &'a str {
        let rows = self.account.iter().flat_map(|account| &account.operators);
        rows.into_iter().find(|row| row.operator == operator).map_or(operator, |row| row.display_name())
    }

    /// Returns whether its times represent those of the model. They do not with a dump, which slows runs down.
    pub(crate) fn is_timed(&self) -> bool {
        self.paths.recording.is_some() || (self.dump.is_none() && !self.is_only_a_search())
    }

    /// Returns whether there is only the result of a search for precisions, and nothing of a run.
    pub(crate) fn is_only_a_search(&self) -> bool {
        let RunPaths { summary, recording, dump, precision, .. } = &self.paths;
        precision.is_some() && summary.is_none() && recording.is_none() && dump.is_none()
    }

    /// Returns the directory of the recording, for commands.
    pub(crate) fn recording(&self) -> Option<&PathBuf> {
        self.paths.recording.as_ref()
    }
}

#[cfg(test)]
mod tests;
