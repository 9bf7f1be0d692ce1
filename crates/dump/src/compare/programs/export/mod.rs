//! A model that was exported from a program: which of its values are what the program computed.

mod composites;
mod covered;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use opscope_onnx::{Graph, Operator, path_of_operator};

use crate::compare::criteria::Criteria;
use crate::compare::programs::ModuleMap;
use crate::compare::programs::pairs::align;
use crate::compare::programs::place::{Call, base};
use crate::compare::{MatchedBy, Outcome, Summary, elements};
use crate::{IndexStatistics, StoredDump, StoredOrigin, StoredTensor};
use composites::{is_of_composite, is_of_onnx};
pub(in crate::compare) use covered::covered;

/// The weights that add up for a pair: its tensors agree, its operators are known to give the same result, and they are
/// the same operator.
const AGREE: u32 = 8;
const KNOWN: u32 = 2;
const SAME: u32 = 1;

/// Pairs the values of an exported graph with what the program computed in its first step: in each module by operator and
/// number of elements, in the order of execution. Where several are possible, those that agree are taken. What an
/// exporter has fused agrees with something that the program computes later.
pub(in crate::compare) fn pairs(
    export: &StoredDump,
    graph: &Graph,
    program: &StoredDump,
    map: &ModuleMap,
    agreement: &Agreement<'_>,
) -> Vec<Option<(usize, MatchedBy)>> {
    let results = Results::of(graph);
    let step = program.first_step();
    let mut partners = vec![None; export.tensors.len()];
    let mut used: Vec<bool> = program.tensors.iter().map(|tensor| !is_compared(&tensor.place, step)).collect();
    let mut groups: BTreeMap<String, [Vec<usize>; 2]> = BTreeMap::new();
    for (index, tensor) in export.tensors.iter().enumerate() {
        if let Some((module, _)) = tensor.place.operator.as_deref().and_then(|name| results.get(name)) {
            groups.entry(module.to_owned()).or_default()[0].push(index);
        }
    }
    let calls: Vec<Option<Call>> = program.tensors.iter().map(|tensor| Call::of(&tensor.place)).collect();
    let roots = roots(program, step);
    for (index, call) in calls.iter().enumerate().filter(|(index, _)| !used[*index]) {
        if let Some(call) = call {
            let module = map.name(&call.module);
            let module = if roots.contains(&call.module) { String::new() } else { module };
            groups.entry(module).or_default()[1].push(index);
        }
    }
    let weight = |&ours: &usize, &theirs: &usize| {
        let (one, other) = (&export.tensors[ours].place, &program.tensors[theirs].place);
        let known = one.operator.as_deref().map_or(0, |name| likeness(&results, name, one, other));
        match () {
            () if !agreement.is_of_size(ours, theirs) => 0,
            () if agreement.of(ours, theirs) => AGREE + known,
            () => known,
        }
    };
    for [left, right] in groups.values() {
        for (i, j) in align(left, right, weight).unwrap_or_default() {
            partners[left[i]] = Some((right[j], MatchedBy::Export));
            used[right[j]] = true;
        }
    }
    let of_module: HashMap<usize, &[usize]> =
        groups.values().flat_map(|[left, right]| left.iter().map(|&index| (index, right.as_slice()))).collect();
    let near = |index: usize| of_module.get(&index).copied().unwrap_or_default();
    for (index, partner) in partners.iter_mut().enumerate() {
        if !is_informative(export, index) || partner.is_some_and(|(other, _)| agreement.of(index, other)) {
            continue;
        }
        let free = (0..used.len()).filter(|&other| !used[other] && calls[other].is_some());
        // Some operators change nothing, such as a normalisation whose weights are ones.
        let same = near(index).iter().copied().filter(|_| partner.is_none());
        let fused = free.chain(same).find(|&other| agreement.of(index, other));
        if let Some(fused) = fused {
            if let Some((released, _)) = partner.replace((fused, MatchedBy::Export)) {
                used[released] = false;
            }
            used[fused] = true;
        }
    }
    for (index, partner) in partners.iter_mut().enumerate().filter(|(_, partner)| partner.is_none()) {
        let value = export.tensors[index].place.value.as_deref();
        let is_output = graph.outputs.iter().any(|&output| Some(graph.value(output).name.as_str()) == value);
        // Whatever else it is, a result of the model is what its module computed last.
        let last = near(index).iter().copied().rfind(|&other| is_output && agreement.is_of_size(index, other));
        *partner = last.map(|other| (other, MatchedBy::Export));
    }
    partners
}

/// Returns whether a tensor of a program is one that an exported model can have: of the forward pass of the step.
fn is_compared(place: &StoredOrigin, step: Option<u64>) -> bool {
    place.run == step && place.phase.as_deref() == Some("forward")
}

/// Returns the names of the outermost modules, and of what is outside of modules. The exported model is one of them.
fn roots(program: &StoredDump, step: Option<u64>) -> BTreeSet<String> {
    let is_root = |place: &&StoredOrigin| place.code.as_ref().is_none_or(|code| code.modules.is_empty());
    let places = program.tensors.iter().map(|tensor| &tensor.place).filter(|place| is_compared(place, step));
    places.filter(is_root).filter_map(Call::of).map(|call| call.module).collect()
}

/// Returns how well an operator of the export and one of the program belong together, 0 if they do not.
fn likeness(results: &Results<'_>, name: &str, one: &StoredOrigin, other: &StoredOrigin) -> u32 {
    let Some((_, kind)) = results.get(name) else { return 0 };
    let operator = base(other.op_type.as_deref().unwrap_or_default());
    let is_known = match kind {
        Kind::Inside => false,
        Kind::Traced(target) => target == operator || is_of_composite(target, operator),
        Kind::Onnx(op_type) => is_of_onnx(op_type, operator),
    };
    let is_same = matches!(kind, Kind::Traced(target) if target == operator);
    if is_known && one.slot == other.slot { KNOWN + if is_same { SAME } else { 0 } } else { 0 }
}

/// Returns whether a tensor has several floating-point elements, so that another tensor is unlikely to agree with it by
/// chance.
fn is_informative(export: &StoredDump, index: usize) -> bool {
    let tensor = &export.tensors[index];
    let is_float = tensor.dtype.is_some_and(|dtype| dtype.is_float());
    is_float && tensor.shape.iter().product::<usize>() > 1
}

/// Finds which tensors of two dumps have the same numbers, in any shape.
pub(in crate::compare) struct Agreement<'a> {
    tensors: &'a StoredDump,
    reference: &'a StoredDump,
    criteria: &'a Criteria,
    /// Statistics of both sides, where they could be read.
    known: [Vec<Option<IndexStatistics>>; 2],
    found: RefCell<HashMap<(usize, usize), bool>>,
}

/// How far statistics of tensors that agree may lie apart, as a share of the largest element.
const NEAR: f64 = 0.02;

impl<'a> Agreement<'a> {
    /// Prepares the comparison. This reads the tensors that have no statistics yet.
    pub fn new(tensors: &'a StoredDump, reference: &'a StoredDump, criteria: &'a Criteria) -> Self {
        let known = [tensors, reference].map(|dump| dump.tensors.iter().map(statistics).collect());
        Self { tensors, reference, criteria, known, found: RefCell::default() }
    }

    /// Returns whether two tensors have the same number of elements, and the same elements within the tolerance.
    pub fn of(&self, index: usize, other: usize) -> bool {
        if !self.is_near(index, other) {
            return false;
        }
        if let Some(found) = self.found.borrow().get(&(index, other)) {
            return *found;
        }
        let (tensor, reference) = (&self.tensors.tensors[index], &self.reference.tensors[other]);
        let outcome = elements::difference(tensor, reference, self.criteria);
        let agrees = match outcome {
            Ok(Outcome::Compared { within, .. }) => within,
            Ok(Outcome::Summarised(summary)) => summary != Summary::Different,
            _ => false,
        };
        self.found.borrow_mut().insert((index, other), agrees);
        agrees
    }

    /// Returns whether two tensors have the same number of elements.
    pub fn is_of_size(&self, index: usize, other: usize) -> bool {
        count(&self.tensors.tensors[index]) == count(&self.reference.tensors[other])
    }

    /// Returns whether the statistics allow that the numbers agree.
    fn is_near(&self, index: usize, other: usize) -> bool {
        let (tensor, reference) = (&self.tensors.tensors[index], &self.reference.tensors[other]);
        let is_float = |tensor: &StoredTensor| tensor.dtype.is_some_and(|dtype| dtype.is_float());
        if !self.is_of_size(index, other) || is_float(tensor) != is_float(reference) {
            return false;
        }
        let (Some(ours), Some(theirs)) = (&self.known[0][index], &self.known[1][other]) else { return true };
        let extremes = [theirs.min, theirs.max].into_iter().flatten();
        let largest = extremes.fold(0.0, |largest: f64, extreme| largest.max(extreme.abs()));
        let near = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => (one - other).abs() <= NEAR * largest + 1e-6,
            (one, other) => one.is_none() == other.is_none(),
        };
        (ours.nan, ours.inf) == (theirs.nan, theirs.inf) && near(ours.min, theirs.min) && near(ours.max, theirs.max)
    }
}

fn statistics(tensor: &StoredTensor) -> Option<IndexStatistics> {
    tensor.noted.clone().or_else(|| tensor.summary().ok())
}

fn count(tensor: &StoredTensor) -> usize {
    tensor.shape.iter().product()
}

/// What a value of an exported graph stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// The result of this operator of the traced program, such as `aten.linear`.
    Traced(String),
    /// It is within an operator that the exporter has expanded.
    Inside,
    /// The exporter did not say. This is the operator of ONNX.
    Onnx(String),
}

/// The results of an exported graph, by the names of operators.
struct Results<'g> {
    of: HashMap<&'g str, (String, Kind)>,
}

impl<'g> Results<'g> {
    pub fn of(graph: &'g Graph) -> Self {
        // The last operator of a traced call gives its result.
        let mut last: HashMap<&str, &str> = HashMap::new();
        for operator in graph.all_operators() {
            if let Some(traced) = operator.origin.as_ref().and_then(|origin| origin.traced.as_ref()) {
                last.insert(&traced.name, &operator.name);
            }
        }
        let kind = |operator: &Operator| match operator.origin.as_ref().and_then(|origin| origin.traced.as_ref()) {
            Some(traced) if last.get(traced.name.as_str()) == Some(&operator.name.as_str()) => {
                Kind::Traced(super::place::base(&traced.target).to_owned())
            }
            Some(_) => Kind::Inside,
            None => Kind::Onnx(operator.op_type.clone()),
        };
        let of = graph.all_operators().map(|operator| (operator.name.as_str(), (module(operator), kind(operator))));
        Self { of: of.collect() }
    }

    /// Returns the path of an operator's module and what its outputs stand for.
    pub fn get(&self, operator: &str) -> Option<(&str, &Kind)> {
        self.of.get(operator).map(|(module, kind)| (module.as_str(), kind))
    }
}

/// Returns the path of the module that an operator is in, as the program has it; empty for the outermost one.
fn module(operator: &Operator) -> String {
    if let Some(module) = operator.origin.as_ref().and_then(|origin| origin.module()) {
        return module.path.clone();
    }
    let mut path: Vec<String> = Vec::new();
    for part in path_of_operator(&operator.name, None) {
        let part = part.trim_matches('/').to_owned();
        // The path of a module in a list repeats the name of the list: `/layers/layers.0`.
        if path
            .last()
            .is_some_and(|around| part.strip_prefix(around.as_str()).is_some_and(|rest| rest.starts_with('.')))
        {
            path.pop();
        }
        path.push(part);
    }
    path.join(".")
}

#[cfg(test)]
mod tests {
    use opscope_model::testing::GraphBuilder;
    use opscope_tensor::DType;

    use super::*;

    #[test]
    fn the_names_of_the_older_exporter_give_the_module() {
        let graph = GraphBuilder::new("old")
            .input("x", &[1])
            .operator("/layers/layers.0/attention/MatMul", "Relu", &["x"], &["a"])
            .operator("/layers.1/q/Add", "Relu", &["a"], &["b"])
            .operator("Constant_3", "Relu", &["b"], &["y"])
            .output("y")
            .build();
        let results = Results::of(&graph);
        let module = |name: &str| results.get(name).unwrap().0.to_owned();
        assert_eq!(module("/layers/layers.0/attention/MatMul"), "layers.0.attention");
        assert_eq!((module("/layers.1/q/Add").as_str(), module("Constant_3").as_str()), ("layers.1.q", ""));
        assert_eq!(results.get("Constant_3").unwrap().1, &Kind::Onnx("Relu".to_owned()));
    }

    #[test]
    fn a_tensor_of_several_floating_point_elements_is_informative() {
        let is_informative = |dtype, shape: &[usize]| {
            let mut tensor = crate::StoredTensor::without_data(StoredOrigin::default(), dtype);
            tensor.shape = shape.to_vec();
            is_informative(&StoredDump { tensors: vec![tensor], ..StoredDump::default() }, 0)
        };
        assert!(is_informative(DType::F32, &[2]) && is_informative(DType::F16, &[1, 3]));
        assert!(!is_informative(DType::F32, &[1, 1]) && !is_informative(DType::F32, &[]));
        assert!(!is_informative(DType::F32, &[0]) && !is_informative(DType::I64, &[2]));
    }
}
