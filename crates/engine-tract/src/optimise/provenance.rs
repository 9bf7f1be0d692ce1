//! Which values of the file a plan still computes after the engine has rewritten it, and where.
//!
//! Every rewrite of tract is a patch that says which new outlets replace which old ones. Following the patches shows,
//! for each outlet of the result, which values of the file it carries. The notes are stored as the labels of tract's
//! outlets, because these survive the renumbering between passes.

use std::collections::{HashMap, HashSet};

use opscope_model::KnownOutputs;
use opscope_onnx::{Graph, ValueId};
use tract_onnx::prelude::{TractResult, TypedModel};
use tract_onnx::tract_core::internal::{OutletId, TypedModelPatch};
use tract_onnx::tract_core::ops::konst::Const;
use tract_onnx::tract_core::optim::{OptimizerSession, TypedPass};

use crate::{budget, names};

/// A value of the file that an outlet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CarriedValue {
    pub value: ValueId,
    /// Whether the engine may have changed the order of its axes.
    pub reordered: bool,
}

/// The values that outlets carry, except those that are computed at load.
pub(crate) type Provenance = HashMap<OutletId, Vec<CarriedValue>>;

/// Labels the outlets with their values, before the engine rewrites anything.
pub(crate) fn mark(model: &mut TypedModel, values: &HashMap<OutletId, Vec<ValueId>>) {
    model.outlet_labels.clear();
    for (outlet, values) in values {
        let carried: Vec<CarriedValue> = values.iter().map(|&value| CarriedValue { value, reordered: false }).collect();
        model.outlet_labels.insert(*outlet, write(&carried));
    }
}

/// Returns where the values are after the engine's rewrites.
pub(crate) fn read(model: &TypedModel) -> Provenance {
    let computed = model.outlet_labels.iter().filter(|(outlet, _)| !model.node(outlet.node).op_is::<Const>());
    computed.map(|(outlet, label)| (*outlet, parse(label))).collect()
}

/// Adds values that were found earlier by comparing outputs, for outlets where following the patches found none.
pub(crate) fn add(carried: &mut Provenance, model: &TypedModel, graph: &Graph, known: &KnownOutputs) {
    if known.is_empty() {
        return;
    }
    let mut placed: HashSet<ValueId> = carried.values().flatten().map(|carried| carried.value).collect();
    for node in model.nodes() {
        for output in known.get(&names::restore(&node.name, graph)).into_iter().flatten() {
            let Some(value) = graph.value_named(&output.value).filter(|_| output.slot < node.outputs.len()) else {
                continue;
            };
            if placed.insert(value.id) {
                let found = CarriedValue { value: value.id, reordered: !output.same_order };
                carried.entry(OutletId::new(node.id, output.slot)).or_default().push(found);
            }
        }
    }
}

/// A pass of the engine that passes the notes on with each patch.
#[derive(Debug, Clone)]
pub(crate) struct Followed {
    pass: Box<dyn TypedPass>,
    /// The notes that this round's patches have moved. They become labels at the end of the round.
    moved: HashMap<OutletId, Vec<CarriedValue>>,
    /// The last patch, which the engine may not have applied.
    last: Option<Step>,
}

/// The effect of a patch on the notes.
#[derive(Debug, Clone)]
struct Step {
    /// The number of nodes after the patch is applied.
    nodes: usize,
    /// The replaced outlets.
    replaced: Vec<OutletId>,
    carried: Vec<(OutletId, Vec<CarriedValue>)>,
}

impl Followed {
    pub(crate) fn new(pass: Box<dyn TypedPass>) -> Self {
        Self { pass, moved: HashMap::new(), last: None }
    }

    fn carried(&self, model: &TypedModel, outlet: OutletId) -> Vec<CarriedValue> {
        let moved = self.moved.get(&outlet).cloned();
        moved.unwrap_or_else(|| model.outlet_label(outlet).map(parse).unwrap_or_default())
    }

    /// Applies the effect of the last patch if the engine has applied that patch. The engine drops a patch that it has
    /// seen before.
    fn settle(&mut self, model: &TypedModel) {
        let Some(step) = self.last.take() else { return };
        let is_applied = model.nodes().len() == step.nodes
            && step.replaced.iter().all(|outlet| {
                let outputs = &model.node(outlet.node).outputs;
                let unused = outputs.get(outlet.slot).is_none_or(|output| output.successors.is_empty());
                unused && !model.outputs.contains(outlet)
            });
        if is_applied {
            self.moved.extend(step.carried);
        }
    }

    fn step(&self, model: &TypedModel, patch: &TypedModelPatch) -> Step {
        let mut nodes = model.nodes().len();
        let mut placed: HashMap<usize, usize> = HashMap::new();
        for node in patch.model.nodes() {
            if !patch.taps.contains_key(&OutletId::new(node.id, 0)) {
                placed.insert(node.id, nodes);
                nodes += 1;
            }
        }
        let target = |outlet: OutletId| match placed.get(&outlet.node) {
            Some(node) => Some(OutletId::new(*node, outlet.slot)),
            None => patch.taps.get(&outlet).copied(),
        };
        let mut carried: HashMap<OutletId, Vec<CarriedValue>> = HashMap::new();
        let mut hand_on = |from: OutletId, to: OutletId, reordered: bool| {
            let known = carried.entry(to).or_insert_with(|| self.carried(model, to));
            for CarriedValue { value, reordered: before } in self.carried(model, from) {
                if known.iter().all(|known| known.value != value) {
                    known.push(CarriedValue { value, reordered: before || reordered });
                }
            }
        };
        for (&old, &new) in &patch.shunts {
            if let Some(new) = target(new) {
                hand_on(old, new, false);
            }
        }
        // The pass that changes axes replaces whole chains, node by node under the same names, but reports only the
        // ends of a chain.
        if format!("{:?}", self.pass) == "ChangeAxes" {
            let by_name: HashMap<&str, usize> = model.nodes().iter().map(|node| (&*node.name, node.id)).collect();
            for node in patch.model.nodes().iter().filter(|node| placed.contains_key(&node.id)) {
                let Some(&old) = by_name.get(&*node.name) else { continue };
                if model.node(old).outputs.len() == node.outputs.len() {
                    for slot in 0..node.outputs.len() {
                        hand_on(OutletId::new(old, slot), OutletId::new(placed[&node.id], slot), true);
                    }
                }
            }
        }
        Step { nodes, replaced: patch.shunts.keys().copied().collect(), carried: carried.into_iter().collect() }
    }
}

impl TypedPass for Followed {
    fn reset(&mut self) -> TractResult<()> {
        self.moved.clear();
        self.last = None;
        self.pass.reset()
    }

    fn next(&mut self, session: &mut OptimizerSession, model: &TypedModel) -> TractResult<Option<TypedModelPatch>> {
        budget::check()?;
        self.settle(model);
        let patch = self.pass.next(session, model)?;
        if let Some(outlet) = patch.as_ref().and_then(|patch| patch.shunts.keys().next()) {
            budget::at(Some(&model.node(outlet.node).name))?;
        }
        self.last = patch.as_ref().map(|patch| self.step(model, patch));
        Ok(patch)
    }

    fn run_direct(&mut self, model: &mut TypedModel) -> TractResult<bool> {
        self.settle(model);
        for (outlet, carried) in self.moved.drain() {
            model.outlet_labels.insert(outlet, write(&carried));
        }
        self.pass.run_direct(model)
    }
}

/// `12 17~`: the numbers of values, and whether they may be reordered.
fn write(carried: &[CarriedValue]) -> String {
    let one = |carried: &CarriedValue| format!("{}{}", carried.value.index(), if carried.reordered { "~" } else { "" });
    carried.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn parse(label: &str) -> Vec<CarriedValue> {
    let one = |word: &str| {
        let number = word.trim_end_matches('~');
        Some(CarriedValue { value: ValueId::new(number.parse().ok()?), reordered: number.len() < word.len() })
    };
    label.split(' ').filter_map(one).collect()
}
