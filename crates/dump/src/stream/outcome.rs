//! What became of the tensors of a dump, what was seen of an open model, and the inputs of its runs.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use opscope_model::{Iteration, RunId};
use opscope_onnx::{Graph, OperatorId};
use opscope_tensor::{DType, Digest, Tensor};
use serde::{Deserialize, Serialize};

use crate::Missing;

/// The outcome of a subscription: how its runs ended, and which tensors did not reach the sink. A sink gets it when it
/// is closed.
#[derive(Debug, Clone, Default)]
pub struct Ending {
    /// The runs of the subscription, in the order in which they ended.
    pub runs: Vec<RunOutcome>,
    /// The tensors that were selected and not delivered.
    pub losses: Losses,
    /// Why the sink stopped early, if it did.
    pub stopped: Option<String>,
    /// The tensors that were delivered completely.
    pub delivered: Delivered,
    /// What was seen of an open model: see [`Dumper::set_coverage`](crate::Dumper::set_coverage).
    pub coverage: Option<Coverage>,
    /// Other reasons why the dump is incomplete: see [`Dumper::set_incomplete`](crate::Dumper::set_incomplete).
    pub shortfalls: Vec<String>,
}

/// Counts of the tensors that a sink took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Tensors.
    pub tensors: u64,
    /// The bytes of these tensors.
    pub bytes: u64,
}

/// How a run ended.
#[derive(Debug, Clone)]
pub struct RunOutcome {
    /// The run.
    pub run: RunId,
    /// The graph that ran.
    pub graph: Arc<Graph>,
    /// Its inputs: see [`Dumper::set_inputs`](crate::Dumper::set_inputs).
    pub inputs: Option<Arc<[InputEntry]>>,
    /// Why it failed, if it did.
    pub failure: Option<String>,
    /// For a run that failed: the operators whose kernels had begun but not ended, with the iterations of the bodies
    /// around them.
    pub in_flight: Vec<(OperatorId, Box<[Iteration]>)>,
}

/// Tensors that were selected and not delivered. All are counted, and the first [`Losses::NAMED`] are listed.
#[derive(Debug, Clone, Default)]
pub struct Losses {
    named: Vec<Missing>,
    count: u64,
}

impl Losses {
    /// The maximum number of tensors that are listed, so that the list does not grow without bound if a sink takes
    /// nothing.
    pub const NAMED: usize = 100_000;

    /// Returns how many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the tensors that are listed.
    pub fn named(&self) -> &[Missing] {
        &self.named
    }

    /// Adds a tensor that was not delivered.
    pub fn add(&mut self, missing: Missing) {
        self.count += 1;
        if self.named.len() < Self::NAMED {
            self.named.push(missing);
        }
    }
}

/// The report of a dumper.
#[derive(Debug, Clone, Default)]
pub struct DumpReport {
    /// A report for each remaining subscription, in the order of their creation.
    pub subscriptions: Vec<SubscriptionReport>,
}

/// The report of a subscription.
#[derive(Debug, Clone, Default)]
pub struct SubscriptionReport {
    /// The directory that its sink wrote.
    pub directory: Option<PathBuf>,
    /// The tensors that its sink took.
    pub delivered: Delivered,
    /// The tensors that the sink did not get.
    pub losses: Losses,
    /// Other errors: a sink that failed or panicked, runs that failed or did not take place.
    pub errors: Vec<String>,
}

impl DumpReport {
    /// Returns whether all selected tensors were delivered.
    pub fn is_complete(&self) -> bool {
        self.subscriptions.iter().all(SubscriptionReport::is_complete)
    }
}

impl SubscriptionReport {
    /// Returns whether all selected tensors were delivered, from runs that succeeded.
    pub fn is_complete(&self) -> bool {
        self.losses.count() == 0 && self.errors.is_empty()
    }
}

/// What was seen of an open model, whose operators are found while it runs, and what could not be seen. Reasons why a
/// dump is incomplete are among its errors as well.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// What was looked at: `module` or `op`.
    pub level: String,
    /// Whether the backward pass was looked at.
    pub backward: bool,
    /// How compiled code was executed: `eager`, as it was written; `interpret`, one captured operator after the other;
    /// or `outside`, as it was compiled, without being watched.
    #[serde(default)]
    pub compiled: String,
    /// The number of executions of operators or modules that were seen.
    pub seen: u64,
    /// The number of modules that were called.
    pub modules_called: u64,
    /// The modules that were never called, by path, without those that only contain others.
    pub modules_not_called: Vec<String>,
    /// The modules whose parameters were read although they were not called, by path.
    pub read_without_call: Vec<String>,
    /// The number of executions whose outputs were deliberately not captured, by reason: views of values that were
    /// captured, or memory that holds nothing yet.
    pub skipped: BTreeMap<String, u64>,
    /// The number of times that something was not looked at, by its name.
    pub not_seen: BTreeMap<String, u64>,
}

/// An input of the model in the manifest, with enough information to tell whether two runs had the same data.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct InputEntry {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<usize>,
    /// XXH3 (64 bit) of its data, as 16 hexadecimal digits.
    pub xxh3: Digest,
    /// The file that has its data, relative to the manifest. Dumps of programs have it for what the first step was
    /// given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl InputEntry {
    /// Describes the inputs of a run, by the slots of the model's inputs. Reads all of the data once.
    pub fn of(graph: &Graph, inputs: &[Tensor]) -> Arc<[InputEntry]> {
        let entry = |(&id, tensor): (_, &Tensor)| InputEntry {
            name: graph.value(id).name.clone(),
            dtype: tensor.dtype(),
            shape: tensor.shape().to_vec(),
            xxh3: Digest::of(tensor.bytes()),
            file: None,
        };
        graph.inputs.iter().zip(inputs).map(entry).collect()
    }
}

/// Returns the distinct sets of inputs, and for each run the index of its set; `None` if its inputs are not known.
pub(crate) fn sets(runs: &[RunOutcome]) -> (Vec<Vec<InputEntry>>, Vec<Option<usize>>) {
    let mut sets = Vec::new();
    let mut places: HashMap<&[InputEntry], usize> = HashMap::new();
    let mut place = |inputs| {
        *places.entry(inputs).or_insert_with(|| {
            sets.push(inputs.to_vec());
            sets.len() - 1
        })
    };
    let of_runs = runs.iter().map(|run| run.inputs.as_deref().map(&mut place)).collect();
    (sets, of_runs)
}

#[cfg(test)]
mod tests {
    use opscope_model::Fidelity;
    use opscope_model::testing::GraphBuilder;
    use opscope_onnx::ValueId;

    use super::*;
    use crate::{DumpInfo, Io, Manifest, Origin};

    #[test]
    fn all_losses_are_counted_and_the_first_100_000_are_named() {
        let graph =
            GraphBuilder::new("one").input("x", &[1]).operator("op", "Relu", &["x"], &["y"]).output("y").build();
        let graph = Arc::new(graph);
        let missing = |slot| Missing {
            origin: Origin {
                graph: Arc::clone(&graph),
                plan: 0,
                run: None,
                operator: OperatorId::new(0),
                path: Box::default(),
                io: Io::Output,
                slot,
                value: ValueId::new(1),
            },
            reason: String::new(),
        };
        let mut losses = Losses::default();
        (0..100_000).for_each(|slot| losses.add(missing(slot)));
        assert_eq!((losses.count(), losses.named().len()), (100_000, 100_000));
        losses.add(missing(100_000));
        losses.add(missing(100_001));
        assert_eq!((losses.count(), losses.named().len()), (100_002, 100_000));
        assert_eq!(losses.named().last().map(|missing| missing.origin.slot), Some(99_999));
        let mut manifest = Manifest::begun(&DumpInfo::new(&graph, Fidelity::Exact, "an engine", "1"), "tensors");
        manifest.end(&Ending { losses: losses.clone(), ..Ending::default() }, &[]);
        assert_eq!((manifest.missing_count, manifest.missing.len()), (100_002, 100_000));
        assert_eq!(manifest.errors, ["only the first 100000 missing tensors are named"]);
        let report = SubscriptionReport { losses, ..SubscriptionReport::default() };
        assert!(!report.is_complete() && SubscriptionReport::default().is_complete());
        let failed = SubscriptionReport { errors: vec!["it failed".into()], ..SubscriptionReport::default() };
        assert!(!failed.is_complete());
        assert!(!DumpReport { subscriptions: vec![SubscriptionReport::default(), failed] }.is_complete());
    }
}
