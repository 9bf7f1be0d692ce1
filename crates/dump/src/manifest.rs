use opscope_model::{Fidelity, LoopIteration};
use opscope_onnx::Graph;
use opscope_tensor::{DType, Digest};
use serde::{Deserialize, Serialize};

use crate::stream::outcome::{self, Ending, RunOutcome};
use crate::{Coverage, InputEntry, Losses, Missing, Origin};

/// The manifest's file name in a dump's directory.
pub const MANIFEST: &str = "manifest.json";

/// The value of the manifest's `schema`.
pub const SCHEMA: &str = "opscope.dump/1";

/// Why a dump that was not closed is not complete.
const NOT_CLOSED: &str = "the dump was not closed: the process that wrote it ended early";

/// `manifest.json`, which describes a dump and says whether it is complete: `complete: false` until the dump is closed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// Whether every selected tensor is there, from runs that succeeded.
    pub complete: bool,
    /// The program that wrote it, with its version.
    pub writer: String,
    /// The model.
    pub model: ModelEntry,
    /// The engine that ran it.
    pub engine: EngineEntry,
    /// How faithfully the engine followed the file.
    pub fidelity: Fidelity,
    /// The contents of the dump: `tensors`, `statistics`, or `ascend` for AscendCL's dump files.
    pub contents: String,
    /// How many tensors there are.
    pub tensors: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The distinct sets of inputs of the runs. Dumps of earlier versions do not have them.
    #[serde(default)]
    pub inputs: Vec<Vec<InputEntry>>,
    /// The runs.
    pub runs: Vec<RunEntry>,
    /// What was seen of a program whose operators were found while it ran, and what was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// Tensors in `.bin` files because the npy format has no type for them.
    pub raw: Vec<RawEntry>,
    /// The number of missing tensors.
    pub missing_count: u64,
    /// The missing tensors that are listed.
    pub missing: Vec<MissingEntry>,
    /// Other errors.
    pub errors: Vec<String>,
}

/// The model of a dump.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelEntry {
    /// Its file, as the user gave it.
    pub path: String,
    /// The graph's name in it.
    pub name: String,
    /// XXH3 (64 bit) of the file, as 16 hexadecimal digits.
    pub xxh3: Digest,
}

/// The engine of a dump.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EngineEntry {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A run of a dump.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEntry {
    /// Its number.
    pub run: u64,
    /// The index of its inputs in [`Manifest::inputs`]; null if they are not known.
    #[serde(default)]
    pub inputs: Option<usize>,
    /// Why it failed, or null.
    pub failure: Option<String>,
    /// For a run that failed: the operators that were being executed.
    pub in_flight: Vec<InFlightEntry>,
}

/// An operator that was being executed when a run failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InFlightEntry {
    /// Its name.
    pub operator: String,
    /// Its type.
    pub op_type: String,
    /// For an operator in a loop, the iterations of the loops around it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub iterations: Vec<LoopIteration>,
    /// The names of its input values, by slot. Their tensors are in the index if they were selected.
    pub inputs: Vec<Option<String>>,
}

/// A tensor that is stored as raw bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RawEntry {
    /// The file, relative to the manifest.
    pub file: String,
    /// The type of its elements.
    pub dtype: DType,
    /// The value's name.
    pub value: String,
}

/// A missing tensor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MissingEntry {
    /// The run; null for a tensor that is missing in every run.
    pub run: Option<u64>,
    /// The operator.
    pub operator: String,
    /// For an operator in a loop, the iterations of the loops around it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub iterations: Vec<LoopIteration>,
    /// `input` or `output`.
    pub io: String,
    /// Its slot.
    pub slot: usize,
    /// The value's name.
    pub value: String,
    /// Why.
    pub reason: String,
}

/// The model and the engine of a dump.
#[derive(Debug, Clone, PartialEq)]
pub struct DumpInfo {
    /// The engine's name.
    pub engine: String,
    /// Its version.
    pub engine_version: String,
    /// How faithfully the engine follows the file.
    pub fidelity: Fidelity,
    /// The model.
    pub model: ModelEntry,
}

impl DumpInfo {
    /// Creates the description of a dump of this graph.
    pub fn new(graph: &Graph, fidelity: Fidelity, engine: &str, engine_version: &str) -> Self {
        let model = ModelEntry {
            path: graph.source.path.display().to_string(),
            name: graph.name.clone(),
            xxh3: graph.source.xxh3,
        };
        Self { engine: engine.into(), engine_version: engine_version.into(), fidelity, model }
    }
}

impl Manifest {
    /// Returns the manifest of a dump that has just begun.
    pub(crate) fn begun(info: &DumpInfo, contents: &str) -> Self {
        Self {
            schema: SCHEMA.into(),
            complete: false,
            writer: format!("opscope {}", env!("CARGO_PKG_VERSION")),
            model: info.model.clone(),
            engine: EngineEntry { name: info.engine.clone(), version: info.engine_version.clone() },
            fidelity: info.fidelity,
            contents: contents.into(),
            tensors: 0,
            bytes: 0,
            inputs: Vec::new(),
            runs: Vec::new(),
            coverage: None,
            raw: Vec::new(),
            missing_count: 0,
            missing: Vec::new(),
            errors: vec![NOT_CLOSED.into()],
        }
    }

    /// Enters the outcome of the dump.
    pub(crate) fn end(&mut self, ending: &Ending, errors: &[String]) {
        let (sets, inputs_of) = outcome::sets(&ending.runs);
        self.inputs = sets;
        self.runs = ending.runs.iter().zip(inputs_of).map(|(run, inputs)| RunEntry::new(run, inputs)).collect();
        self.coverage.clone_from(&ending.coverage);
        self.missing_count = ending.losses.count();
        self.missing = ending.losses.named().iter().map(MissingEntry::new).collect();
        self.errors = errors.iter().chain(&ending.stopped).chain(&ending.shortfalls).cloned().collect();
        self.errors.dedup();
        let failed = ending.runs.iter().any(|run| run.failure.is_some());
        self.complete = self.missing_count == 0 && self.errors.is_empty() && !failed;
        if self.missing_count > self.missing.len() as u64 {
            self.errors.push(format!("only the first {} missing tensors are named", Losses::NAMED));
        }
    }
}

impl Manifest {
    /// Returns whether the dump was not closed.
    pub(crate) fn is_open(&self) -> bool {
        !self.complete && self.errors == [NOT_CLOSED]
    }

    /// Returns the known inputs of runs, each with the number of its run.
    pub fn given(&self) -> impl Iterator<Item = (u64, &[InputEntry])> {
        self.runs.iter().filter_map(|run| Some((run.run, self.inputs.get(run.inputs?)?.as_slice())))
    }
}

impl RunEntry {
    fn new(outcome: &RunOutcome, inputs: Option<usize>) -> Self {
        let in_flight = outcome.in_flight.iter().map(|(id, path)| {
            let operator = outcome.graph.operator(*id);
            let name = |value: &Option<_>| value.map(|value| outcome.graph.value(value).name.clone());
            InFlightEntry {
                operator: operator.name.clone(),
                op_type: operator.op_type.clone(),
                iterations: LoopIteration::on(path, &outcome.graph),
                inputs: operator.inputs.iter().map(name).collect(),
            }
        });
        Self { run: outcome.run.0, inputs, failure: outcome.failure.clone(), in_flight: in_flight.collect() }
    }
}

impl MissingEntry {
    fn new(missing: &Missing) -> Self {
        let Missing { origin, reason } = missing;
        let Origin { run, io, slot, .. } = *origin;
        Self {
            run: run.map(|run| run.0),
            operator: origin.operator().name.clone(),
            iterations: origin.iterations(),
            io: io.name().into(),
            slot,
            value: origin.value_name().into(),
            reason: reason.clone(),
        }
    }
}
