use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::ModuleMap;
use super::place::{Call, base};
use crate::compare::MatchedBy;
use crate::{StoredDump, StoredTensor};

/// The partner of each tensor in the reference, and how it was found.
type Partners = Vec<Option<(usize, MatchedBy)>>;

/// Pairs the tensors of two programs, one call of a module after the other, and within a call by operator and shape in
/// the order of execution. Then the last tensors that both programs computed in a module are paired, if neither has a
/// partner. Names are those of the first program, and `map` gives those of the second one.
pub fn pairs(tensors: &StoredDump, reference: &StoredDump, map: &ModuleMap) -> Partners {
    let map = with_root(map.clone(), tensors, reference);
    let ours: Vec<Option<Call>> = calls(tensors)
        .into_iter()
        .map(|call| call.map(|call| Call { module: map.name(&call.module), ..call }))
        .collect();
    let theirs = calls(reference);
    let mut groups: BTreeMap<&Call, [Vec<usize>; 2]> = BTreeMap::new();
    for (side, calls) in [&ours, &theirs].into_iter().enumerate() {
        for (index, call) in calls.iter().enumerate() {
            if let Some(call) = call {
                groups.entry(call).or_default()[side].push(index);
            }
        }
    }
    let mut partners: Partners = vec![None; tensors.tensors.len()];
    let mut used = vec![false; reference.tensors.len()];
    for [left, right] in groups.values() {
        for (ours, theirs) in paired(&tensors.tensors, left, &reference.tensors, right) {
            let value = tensors.tensors[ours].place.value.as_deref().map(|value| map.name(value));
            let is_named = value.is_some() && value == reference.tensors[theirs].place.value;
            partners[ours] = Some((theirs, if is_named { MatchedBy::Value } else { MatchedBy::Structure }));
            used[theirs] = true;
        }
    }
    for (index, other) in module_ends(&ours, &theirs) {
        let is_free = partners[index].is_none() && !used[other];
        if is_free && tensors.tensors[index].shape == reference.tensors[other].shape {
            partners[index] = Some((other, MatchedBy::ModuleEnd));
            used[other] = true;
        }
    }
    partners
}

fn calls(dump: &StoredDump) -> Vec<Option<Call>> {
    dump.tensors.iter().map(|tensor| Call::of(&tensor.place)).collect()
}

/// Adds the rule that the outermost modules, which are named after their classes, belong together, if each side has
/// one.
fn with_root(mut map: ModuleMap, tensors: &StoredDump, reference: &StoredDump) -> ModuleMap {
    let [ours, theirs] = [tensors, reference].map(roots);
    if let ([ours], [theirs]) = (&ours.into_iter().collect::<Vec<_>>()[..], &theirs.into_iter().collect::<Vec<_>>()[..])
        && map.name(ours) != *theirs
    {
        map.rename(&map.name(ours), theirs);
    }
    map
}

/// Returns the names of the outermost modules.
fn roots(dump: &StoredDump) -> BTreeSet<String> {
    let is_root = |tensor: &&StoredTensor| {
        let place = &tensor.place;
        place.code.as_ref().is_none_or(|code| code.modules.is_empty()) && place.phase.as_deref() != Some("optimizer")
    };
    let calls = dump.tensors.iter().filter(is_root).filter_map(|tensor| Call::of(&tensor.place));
    calls.map(|call| call.module).filter(|module| module != "script").collect()
}

/// Pairs the tensors of one call of a module.
fn paired(
    tensors: &[StoredTensor],
    left: &[usize],
    reference: &[StoredTensor],
    right: &[usize],
) -> Vec<(usize, usize)> {
    let is_like = |&ours: &usize, &theirs: &usize| is_alike(&tensors[ours], &reference[theirs]);
    if left.len() == right.len() && left.iter().zip(right).all(|(ours, theirs)| is_like(ours, theirs)) {
        return left.iter().copied().zip(right.iter().copied()).collect();
    }
    let weight = |&ours: &usize, &theirs: &usize| weight(&tensors[ours], &reference[theirs]);
    let is_same = |(ours, theirs): &(&usize, &usize)| {
        is_like(ours, theirs) && has_same_data(&tensors[**ours], &reference[**theirs])
    };
    let head = left.iter().zip(right).take_while(is_same).count();
    let (left, right) = (left.split_at(head), right.split_at(head));
    let mut pairs: Vec<(usize, usize)> = left.0.iter().copied().zip(right.0.iter().copied()).collect();
    match align(left.1, right.1, weight) {
        Some(found) => pairs.extend(found.into_iter().map(|(i, j)| (left.1[i], right.1[j]))),
        None => pairs.extend(by_ordinal(tensors, left.1, reference, right.1)),
    }
    pairs
}

/// Pairs the first of each kind of operator with the first of the other side, and so on.
fn by_ordinal(
    tensors: &[StoredTensor],
    left: &[usize],
    reference: &[StoredTensor],
    right: &[usize],
) -> Vec<(usize, usize)> {
    fn key(tensor: &StoredTensor) -> (Option<&str>, Option<usize>) {
        (tensor.place.op_type.as_deref(), tensor.place.slot)
    }
    let mut waiting: HashMap<_, Vec<usize>> = HashMap::new();
    for &index in right.iter().rev() {
        waiting.entry(key(&reference[index])).or_default().push(index);
    }
    let partner = |&index: &usize| Some((index, waiting.get_mut(&key(&tensors[index]))?.pop()?));
    left.iter().filter_map(partner).collect()
}

/// Returns whether two tensors are of the same kind of operator, in the same slot and of the same shape.
fn is_alike(ours: &StoredTensor, theirs: &StoredTensor) -> bool {
    let (one, other) = (&ours.place, &theirs.place);
    (&one.op_type, one.slot, &ours.shape) == (&other.op_type, other.slot, &theirs.shape)
}

fn has_same_data(ours: &StoredTensor, theirs: &StoredTensor) -> bool {
    let hashes = ours.noted.as_ref().zip(theirs.noted.as_ref()).map(|(one, other)| (&one.xxh3, &other.xxh3));
    ours.dtype == theirs.dtype && hashes.is_some_and(|(one, other)| one.is_some() && one == other)
}

/// Returns how well two tensors of a module's call belong together. Their operators must be the same. Equal shapes
/// count most, then equal data, then the same form of the operator.
fn weight(ours: &StoredTensor, theirs: &StoredTensor) -> u32 {
    let (one, other) = (&ours.place, &theirs.place);
    let (Some(op), Some(other_op)) = (&one.op_type, &other.op_type) else { return 0 };
    if one.slot != other.slot || base(op) != base(other_op) {
        return 0;
    }
    let form = if op == other_op { 2 } else { 0 };
    let data = if has_same_data(ours, theirs) { 4 } else { 0 };
    // A batch of another size.
    let is_like = ours.shape.len() == theirs.shape.len() && ours.shape.get(1..) == theirs.shape.get(1..);
    match () {
        () if ours.shape == theirs.shape => 6 + form + data,
        () if is_like => 4 + form,
        () => 1 + form,
    }
}

/// Returns, for the modules that both sides called once in a step, what each computed last in them, inner modules
/// first.
fn module_ends(ours: &[Option<Call>], theirs: &[Option<Call>]) -> Vec<(usize, usize)> {
    let [mut ours, theirs] = [ours, theirs].map(ends);
    let mut pairs: Vec<(&End, (usize, usize))> = Vec::new();
    for (end, index) in &mut ours {
        if let (Some(index), Some(Some(other))) = (*index, theirs.get(end)) {
            pairs.push((end, (index, *other)));
        }
    }
    pairs.sort_by_key(|((module, ..), _)| std::cmp::Reverse(module.len()));
    pairs.into_iter().map(|(_, pair)| pair).collect()
}

/// A module, the step and the phase.
type End<'c> = (&'c str, Option<u64>, &'c str);

/// Returns the last tensor of each module, including those of the modules in it; `None` if the module was called
/// several times.
fn ends(calls: &[Option<Call>]) -> BTreeMap<End<'_>, Option<usize>> {
    let mut ends: BTreeMap<End<'_>, Option<usize>> = BTreeMap::new();
    for (index, call) in calls.iter().enumerate() {
        let Some(call) = call.as_ref().filter(|call| matches!(call.phase.as_str(), "forward" | "recompute")) else {
            continue;
        };
        let dots = call.module.match_indices('.').map(|(at, _)| at).chain([call.module.len()]);
        for end in dots {
            let entry = ends.entry((&call.module[..end], call.run, &call.phase)).or_insert(Some(index));
            *entry = if call.number > 0 { None } else { entry.map(|_| index) };
        }
    }
    ends
}

/// How many cells a table has at most. Longer sequences are paired in their order, kind by kind.
const MOST_CELLS: usize = 1 << 24;

/// Returns the pairs of the alignment of two sequences with the largest sum of weights, in order. `weight` says how
/// well two items belong together, 0 if they do not. Of equal sums, the one with the earliest pairs is taken.
pub(super) fn align<L, R>(left: &[L], right: &[R], weight: impl Fn(&L, &R) -> u32) -> Option<Vec<(usize, usize)>> {
    let (rows, columns) = (left.len() + 1, right.len() + 1);
    if rows.checked_mul(columns)? > MOST_CELLS {
        return None;
    }
    // The best sum for the items from each pair of positions on.
    let mut best = vec![0u32; rows * columns];
    for i in (0..left.len()).rev() {
        for j in (0..right.len()).rev() {
            let here = weight(&left[i], &right[j]);
            let both = if here > 0 { here + best[(i + 1) * columns + j + 1] } else { 0 };
            best[i * columns + j] = both.max(best[(i + 1) * columns + j]).max(best[i * columns + j + 1]);
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while i < left.len() && j < right.len() {
        let here = weight(&left[i], &right[j]);
        if here > 0 && best[i * columns + j] == here + best[(i + 1) * columns + j + 1] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if best[i * columns + j] == best[(i + 1) * columns + j] {
            i += 1;
        } else {
            j += 1;
        }
    }
    Some(pairs)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use opscope_onnx::{CodeOrigin, Module};
    use opscope_tensor::{DType, Digest};

    use super::*;
    use crate::{IndexStatistics, StoredOrigin};

    fn tensor(module: &str, op_type: &str, ordinal: u32, shape: &[usize]) -> StoredTensor {
        let end = if ordinal > 0 { format!("#{ordinal}") } else { String::new() };
        let operator = format!("{module}/{op_type}{end}");
        let modules = vec![Module { path: module.to_owned(), class: String::new() }];
        let is_root = module.starts_with(char::is_uppercase);
        let code = CodeOrigin { modules: if is_root { Vec::new() } else { modules }, ..CodeOrigin::default() };
        let place = StoredOrigin {
            run: Some(0),
            operator: Some(operator.clone()),
            value: Some(operator),
            op_type: Some(op_type.to_owned()),
            slot: Some(0),
            phase: Some("forward".to_owned()),
            code: Some(Arc::new(code)),
            ..StoredOrigin::default()
        };
        let mut tensor = StoredTensor::without_data(place, DType::F32);
        tensor.shape = shape.to_vec();
        tensor
    }

    fn found(ours: Vec<StoredTensor>, theirs: Vec<StoredTensor>, rules: &[&str]) -> Vec<Option<(usize, MatchedBy)>> {
        let mut map = ModuleMap::default();
        rules.iter().for_each(|rule| map.push(rule.parse().unwrap()));
        let [ours, theirs] = [ours, theirs].map(|tensors| StoredDump { tensors, ..StoredDump::default() });
        pairs(&ours, &theirs, &map)
    }

    #[test]
    fn an_operator_more_shifts_no_other() {
        use MatchedBy::{Structure, Value};
        let ours = vec![tensor("a", "aten.mul.Tensor", 0, &[9]), tensor("a", "aten.mm.default", 0, &[2])];
        let theirs = vec![
            tensor("a", "aten.mul.Tensor", 0, &[2]),
            tensor("a", "aten.mul.Tensor", 1, &[9]),
            tensor("a", "aten.mm.default", 0, &[2]),
        ];
        assert_eq!(found(ours.clone(), theirs, &[]), [Some((1, Structure)), Some((2, Value))]);
        // An operator that writes in place counts as the same operator.
        let in_place = vec![tensor("a", "aten.mul_.Tensor", 0, &[9])];
        assert_eq!(found(ours, in_place, &[]), [Some((0, Structure)), None]);
    }

    #[test]
    fn modules_are_renamed_and_the_outermost_ones_belong_together() {
        let ours = vec![tensor("Net", "aten.add.Tensor", 0, &[2]), tensor("layers.1", "aten.mm.default", 0, &[2])];
        let theirs = vec![tensor("Other", "aten.add.Tensor", 0, &[2]), tensor("h.1", "aten.mm.default", 0, &[2])];
        assert_eq!(found(ours.clone(), theirs.clone(), &[]), [Some((0, MatchedBy::Value)), None]);
        let both = [Some((0, MatchedBy::Value)), Some((1, MatchedBy::Value))];
        assert_eq!(found(ours, theirs, &[r"layers\.(\d+)=h.$1"]), both);
    }

    #[test]
    fn the_ends_of_a_module_are_paired_if_nothing_else_is() {
        let ours = vec![tensor("a", "aten.bmm.default", 0, &[2, 3]), tensor("a.o", "aten.softmax.int", 0, &[2, 2])];
        let fused = |shape: &[usize]| vec![tensor("a", "aten._scaled_dot_product.default", 0, shape)];
        assert_eq!(found(ours.clone(), fused(&[2, 2]), &[]), [None, Some((0, MatchedBy::ModuleEnd))]);
        assert_eq!(found(ours, fused(&[3, 2]), &[]), [None, None], "it has another shape");
    }

    #[test]
    fn very_long_calls_are_paired_in_their_order() {
        let ours: Vec<StoredTensor> = (0..5_000).map(|n| tensor("a", "aten.mm.default", n, &[n as usize])).collect();
        let mut theirs = ours.clone();
        theirs.push(tensor("a", "aten.mul.Tensor", 0, &[1]));
        let found = found(ours, theirs, &[]);
        assert!(found.iter().enumerate().all(|(index, partner)| partner.is_some_and(|(other, _)| other == index)));
    }

    fn same(left: &str, right: &str) -> Vec<(usize, usize)> {
        let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
        align(&left, &right, |l, r| u32::from(l == r)).unwrap()
    }

    #[test]
    fn the_longest_common_subsequence_is_found_in_order() {
        assert_eq!(same("abcd", "abcd"), [(0, 0), (1, 1), (2, 2), (3, 3)]);
        assert_eq!(same("abcd", "axcd"), [(0, 0), (2, 2), (3, 3)]);
        assert_eq!(same("xab", "abab"), [(1, 0), (2, 1)], "the earliest of equal ones");
        assert_eq!(same("aab", "ab"), [(0, 0), (2, 1)]);
        assert_eq!(same("abc", ""), []);
        assert_eq!(same("ab", "ba").len(), 1);
    }

    #[test]
    fn a_larger_weight_outweighs_an_earlier_pair() {
        let weight = |l: &u32, r: &u32| if l == r { 3 } else { u32::from(l.abs_diff(*r) == 1) };
        assert_eq!(align(&[1], &[2, 1], weight).unwrap(), [(0, 1)]);
        assert_eq!(align(&[1, 9], &[2, 9], weight).unwrap(), [(0, 0), (1, 1)]);
    }

    #[test]
    fn a_table_has_16_million_cells_at_most() {
        let long = vec![0u8; 1 << 12];
        assert!(align(&long, &long, |_, _| 1).is_none());
    }

    #[test]
    fn two_tensors_have_the_same_data_if_both_have_its_hash_and_are_of_one_type() {
        let with = |dtype: DType, xxh3: Option<Option<u64>>| {
            let noted = xxh3.map(|xxh3| IndexStatistics {
                xxh3: xxh3.map(Digest),
                min: None,
                max: None,
                mean: None,
                nan: 0,
                inf: 0,
            });
            let mut tensor = tensor("Net", "add", 0, &[2]);
            (tensor.dtype, tensor.noted) = (Some(dtype), noted);
            tensor
        };
        let seven = || with(DType::F32, Some(Some(7)));
        assert!(has_same_data(&seven(), &seven()));
        let unlike = [
            with(DType::F32, Some(Some(8))),
            with(DType::F16, Some(Some(7))),
            with(DType::F32, Some(None)),
            with(DType::F32, None),
        ];
        assert!(unlike.iter().all(|other| !has_same_data(&seven(), other)));
        assert!(!has_same_data(&unlike[2], &unlike[2]), "two hashes that are not known");
    }
}
