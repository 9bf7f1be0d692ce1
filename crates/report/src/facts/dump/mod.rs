//! The tensors of a dump.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope_dump::{Details, IndexStatistics, Io, Positions, StoredDump, StoredTensor};
use opscope_onnx::{CodeOrigin, Graph, Operator, Producer};
use opscope_tensor::Digest;

use crate::ReportError;
use crate::graph::KnownTypes;

/// How many rows the table of tensors has at most; a page says how many more there are.
const MOST_ROWS: usize = 4_000;

/// A dump: one row per value of the model, across all runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct DumpFacts {
    /// The path of the dump.
    pub path: PathBuf,
    /// Facts about the dump: pairs of a word and a text from the dump.
    pub about: Vec<(&'static str, String)>,
    /// The model's path, if the dump has it.
    pub model: Option<String>,
    /// The dump's hash of the model file.
    pub model_hash: Option<Digest>,
    /// The types of its tensors, by the names of their values.
    pub types: KnownTypes,
    /// The number of tensors.
    pub tensors: usize,
    /// The size of the tensors in bytes.
    pub bytes: u64,
    /// The values in the order of their first tensors.
    pub rows: Vec<ValueRow>,
    /// How many values have no row.
    pub left: usize,
    /// Whether the values are in the order of execution, rather than in that of their files.
    pub is_ordered: bool,
    /// The first tensor that has a NaN or an infinity.
    pub first_bad: Option<FirstBad>,
    /// The NaN and infinite elements of all tensors.
    pub bad: BadElements,
    /// The problems of the dump, one sentence each.
    pub problems: Vec<String>,
}

/// The NaN and infinite elements of a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct BadElements {
    /// How many tensors have any.
    pub tensors: usize,
    pub nan: u64,
    pub inf: u64,
}

/// A value of the model, across all its tensors. The numbers cover the finite elements.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ValueRow {
    pub value: String,
    pub operator: String,
    pub op_type: String,
    pub code: Option<Arc<CodeOrigin>>,
    /// The operators whose bodies contain its operator, the outermost first.
    pub owners: Vec<String>,
    pub io: &'static str,
    pub dtype: String,
    pub shape: String,
    pub tensors: u64,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// The mean of the tensors' means.
    pub mean: Option<f64>,
    means: u64,
    pub nan: u64,
    pub inf: u64,
    /// Its first tensor that is not finite.
    first_bad: Option<FirstBad>,
}

/// The first tensor that is not finite.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FirstBad {
    pub run: Option<u64>,
    pub value: String,
    pub operator: Option<String>,
    pub op_type: Option<String>,
    pub code: Option<Arc<CodeOrigin>>,
    pub is_input: bool,
    /// Whether it is an input of the model, which no operator computes.
    pub is_given: bool,
    /// Inputs of the model that its operator takes, and that may have had the first NaN; `None` if that is unknown.
    pub suspects: Option<Vec<String>>,
    pub nan: u64,
    pub inf: u64,
    pub file: Option<PathBuf>,
}

impl DumpFacts {
    /// Reads a dump. If it does not contain statistics of its tensors, the tensors are also read.
    pub(crate) fn read(path: &Path) -> Result<Self, ReportError> {
        let mut dump = StoredDump::open(path)?;
        let positions = Positions::of(dump.tensors.iter().map(|tensor| &tensor.place));
        // An operator's inputs come before its outputs.
        dump.tensors.sort_by_cached_key(|StoredTensor { place, .. }| {
            (place.run, positions.place(place), place.io != Some(Io::Input))
        });
        let mut facts = Self {
            path: path.to_owned(),
            about: about(&dump),
            model: dump.manifest.as_ref().map(|manifest| manifest.model.path.clone()),
            model_hash: dump.manifest.as_ref().map(|manifest| manifest.model.xxh3),
            tensors: dump.tensors.len(),
            bytes: dump.tensors.iter().fold(0, |sum: u64, tensor| sum.saturating_add(tensor.bytes)),
            problems: problems(&dump),
            is_ordered: !dump.tensors.is_empty() && dump.tensors.iter().all(|tensor| tensor.place.position.is_some()),
            ..Self::default()
        };
        let given = |value: &str| {
            let inputs = dump.manifest.iter().flat_map(|manifest| manifest.inputs.iter().flatten());
            inputs.into_iter().any(|input| input.name == value)
        };
        let mut places: HashMap<ValueKey, usize> = HashMap::new();
        for tensor in &dump.tensors {
            let read = || Details::of(tensor).map(|details| IndexStatistics::from(&details.statistics));
            let statistics = tensor.noted.clone().map_or_else(read, Ok);
            let statistics = statistics.map_err(|error| facts.problems.push(format!("{}: {error}", tensor.place))).ok();
            let next = facts.rows.len();
            let index = *places.entry(ValueKey::of(tensor)).or_insert(next);
            if index == next {
                facts.rows.push(ValueRow::new(tensor));
                if let (Some(value), Some(dtype)) = (&tensor.place.value, tensor.dtype) {
                    facts.types.insert(value.clone(), (dtype, tensor.shape.clone()));
                }
            }
            if let Some(statistics) = &statistics {
                facts.rows[index].add(statistics);
                if statistics.nan + statistics.inf > 0 {
                    facts.bad.tensors += 1;
                    facts.bad.nan = facts.bad.nan.saturating_add(statistics.nan);
                    facts.bad.inf = facts.bad.inf.saturating_add(statistics.inf);
                    let is_given = tensor.place.value.as_deref().is_some_and(given);
                    let bad = || FirstBad { is_given, ..FirstBad::new(tensor, statistics) };
                    facts.rows[index].first_bad.get_or_insert_with(bad);
                    if facts.first_bad.is_none() {
                        facts.first_bad = facts.rows[index].first_bad.clone();
                    }
                }
            }
        }
        facts.left = facts.rows.len().saturating_sub(MOST_ROWS);
        let bad = facts.rows.iter().filter(|row| row.nan + row.inf > 0).count();
        let mut finite = 0;
        // Rows with a NaN or an infinity are kept, wherever they are.
        facts.rows.retain(|row| {
            let is_bad = row.nan + row.inf > 0;
            finite += usize::from(!is_bad);
            is_bad || finite + bad <= MOST_ROWS
        });
        facts.rows.truncate(MOST_ROWS);
        facts.find_suspects(None);
        Ok(facts)
    }

    /// Sorts the values into the order in which the model computes them, if the dump does not have it, and finds out
    /// what the first tensor that is not finite was computed from.
    pub(crate) fn add_graph(&mut self, graph: &Graph) {
        if !self.is_ordered {
            let order = Order::of(graph);
            self.rows.sort_by_cached_key(|row| order.place(row));
            let bad = self.rows.iter().filter_map(|row| row.first_bad.as_ref());
            // The runs are in order, and `min_by_key` returns the first of several.
            self.first_bad = bad.min_by_key(|bad| bad.run).cloned();
            self.is_ordered = true;
        }
        if let Some(bad) = &mut self.first_bad {
            bad.is_given |= graph.inputs.iter().any(|input| graph.value(*input).name == bad.value);
        }
        self.find_suspects(Some(graph));
    }

    /// Finds the inputs of the model that the operator of the first non-finite tensor takes, and that are not in the
    /// dump.
    fn find_suspects(&mut self, graph: Option<&Graph>) {
        let Some(bad) = self.first_bad.as_ref().filter(|bad| !bad.is_input && !bad.is_given) else { return };
        let is_dumped = |value: &str| self.rows.iter().any(|row| row.value == value);
        let operator =
            graph.zip(bad.operator.as_deref()).and_then(|(graph, name)| Some((graph, graph.operator_named(name)?)));
        let suspects = match operator {
            Some((graph, operator)) => {
                let taken = operator.inputs.iter().flatten().map(|value| graph.value(*value));
                let given = taken.filter(|value| graph.inputs.contains(&value.id) && !is_dumped(&value.name));
                Some(given.map(|value| value.name.clone()).collect())
            }
            // An operator whose inputs were dumped has no others.
            None => {
                let has_inputs =
                    self.rows.iter().any(|row| row.io == "input" && Some(&row.operator) == bad.operator.as_ref());
                has_inputs.then(Vec::new)
            }
        };
        if let Some(bad) = &mut self.first_bad {
            bad.suspects = suspects;
        }
    }
}

/// The order in which a model computes its values.
struct Order<'g> {
    graph: &'g Graph,
    operators: HashMap<&'g str, &'g Operator>,
    values: HashMap<&'g str, Producer>,
}

impl<'g> Order<'g> {
    fn of(graph: &'g Graph) -> Self {
        let operators = graph.all_operators().map(|operator| (operator.name.as_str(), operator)).collect();
        let values = graph.values.iter().map(|value| (value.name.as_str(), value.producer)).collect();
        Self { graph, operators, values }
    }

    /// Returns the key that a value is sorted by: when the operator in the main graph that computes it, or that
    /// contains it in a body, is executed, and when it is computed inside that body. Unknown values come last, inputs
    /// first.
    fn place(&self, row: &ValueRow) -> (usize, usize) {
        let operator = match self.operators.get(row.operator.as_str()) {
            Some(operator) => operator.id,
            None => match self.values.get(row.value.as_str()) {
                Some(Producer::Operator(operator, _)) => *operator,
                Some(_) => return (0, 0),
                None => return (usize::MAX, 0),
            },
        };
        let outermost = self.graph.owners_of(operator).first().copied().unwrap_or(operator);
        // Values in a body come before the outputs of its owner.
        let within = if outermost == operator { usize::MAX } else { operator.index() };
        (outermost.index() + 1, within)
    }
}

/// The identity of a value in a dump.
#[derive(PartialEq, Eq, Hash)]
struct ValueKey {
    value: Option<String>,
    operator: Option<String>,
    is_input: bool,
    slot: Option<usize>,
}

impl ValueKey {
    fn of(tensor: &StoredTensor) -> Self {
        let place = &tensor.place;
        Self {
            value: place.value.clone(),
            operator: place.operator.clone(),
            is_input: place.io == Some(Io::Input),
            slot: place.slot,
        }
    }
}

impl ValueRow {
    fn new(tensor: &StoredTensor) -> Self {
        let place = &tensor.place;
        let shape: Vec<String> = tensor.shape.iter().map(usize::to_string).collect();
        Self {
            value: place.value.clone().unwrap_or_else(|| place.label()),
            operator: place.operator.clone().unwrap_or_default(),
            op_type: place.op_type.clone().unwrap_or_default(),
            code: place.code.clone(),
            owners: place.iterations.iter().map(|iteration| iteration.operator.clone()).collect(),
            io: place.io.map_or("", Io::name),
            dtype: tensor.dtype.map_or_else(|| "?".to_owned(), |dtype| dtype.to_string()),
            shape: if shape.is_empty() { "scalar".to_owned() } else { shape.join("×") },
            ..Self::default()
        }
    }

    fn add(&mut self, statistics: &IndexStatistics) {
        let less =
            |a: Option<f64>, b: Option<f64>| if let (Some(a), Some(b)) = (a, b) { Some(a.min(b)) } else { a.or(b) };
        self.tensors += 1;
        self.min = less(self.min, statistics.min);
        self.max = less(self.max.map(|max| -max), statistics.max.map(|max| -max)).map(|max| -max);
        if let Some(mean) = statistics.mean {
            self.means += 1;
            let before = self.mean.unwrap_or(0.0);
            self.mean = Some(before + (mean - before) / self.means as f64);
        }
        self.nan = self.nan.saturating_add(statistics.nan);
        self.inf = self.inf.saturating_add(statistics.inf);
    }
}

impl FirstBad {
    fn new(tensor: &StoredTensor, statistics: &IndexStatistics) -> Self {
        let place = &tensor.place;
        Self {
            run: place.run,
            value: place.label(),
            operator: place.operator.clone(),
            op_type: place.op_type.clone(),
            code: place.code.clone(),
            is_input: place.io == Some(Io::Input),
            is_given: false,
            suspects: None,
            nan: statistics.nan,
            inf: statistics.inf,
            file: tensor.file().map(Path::to_owned),
        }
    }
}

fn about(dump: &StoredDump) -> Vec<(&'static str, String)> {
    let Some(manifest) = &dump.manifest else { return Vec::new() };
    vec![
        ("Model", format!("{} (xxh3 {})", manifest.model.path, manifest.model.xxh3)),
        ("Engine", format!("{} {}, {}", manifest.engine.name, manifest.engine.version, manifest.fidelity)),
        ("Runs", manifest.runs.len().to_string()),
        ("Contents", manifest.contents.clone()),
    ]
}

fn problems(dump: &StoredDump) -> Vec<String> {
    let mut problems = dump.problems.clone();
    if let Some(manifest) = &dump.manifest {
        problems.extend(manifest.errors.iter().cloned());
        if manifest.missing_count > 0 {
            problems.push(format!("{} tensors are missing; the manifest names them", manifest.missing_count));
        }
        let failed = manifest.runs.iter().filter_map(|run| Some((run.run, run.failure.as_ref()?)));
        problems.extend(failed.map(|(run, failure)| format!("run {run} failed: {failure}")));
        if !manifest.complete && problems.is_empty() {
            problems.push("the dump says that it is incomplete".to_owned());
        }
    }
    problems
}

#[cfg(test)]
mod tests;
