use std::collections::{BTreeMap, BTreeSet, HashMap};

use opscope_onnx::Graph;

use super::agreement::Agreement;
use super::composites::{is_of_composite, is_of_onnx};
use super::results::{Kind, Results};
use crate::compare::MatchedBy;
use crate::compare::programs::ModuleMap;
use crate::compare::programs::align::align;
use crate::compare::programs::place::{Call, base};
use crate::{StoredDump, StoredOrigin};

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
pub(super) fn is_compared(place: &StoredOrigin, step: Option<u64>) -> bool {
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
