use std::collections::{HashMap, HashSet};

use opscope_model::LoopIteration;
use opscope_onnx::Graph;

use super::CompareOptions;
use super::criteria::{Criteria, Quantised};
use crate::{Io, Mapping, StoredOrigin};

/// How tensors of the two sides are matched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MatchBy {
    /// By the names of values and operators.
    #[default]
    Name,
    /// By the operator's position in the graph, its type, and the slot. This is meant for a model whose values were
    /// renamed.
    Position,
}

impl MatchBy {
    /// All ways to match.
    pub const ALL: [MatchBy; 2] = [MatchBy::Name, MatchBy::Position];

    /// Returns `name` or `position`.
    pub fn name(self) -> &'static str {
        match self {
            MatchBy::Name => "name",
            MatchBy::Position => "position",
        }
    }
}

/// How a tensor and its reference were matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchedBy {
    /// By the mapping.
    Mapping,
    /// By the name of the value.
    Value,
    /// By the operator's name and the slot.
    Operator,
    /// By the names that a quantiser derives from those of the original.
    Quantised,
    /// By names that are equal except for characters that a file name cannot contain.
    Spelling,
    /// By the operator's position in the graph.
    Position,
    /// By the operator and the shape, in the order of execution within a call of a module.
    Structure,
    /// Both are what a module computes last.
    ModuleEnd,
    /// One was computed by a program, and the other by a model that was exported from it.
    Export,
    /// Each side is a single file.
    SingleFile,
}

impl MatchedBy {
    /// Returns the name for tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            MatchedBy::Mapping => "mapping",
            MatchedBy::Value => "value",
            MatchedBy::Operator => "operator",
            MatchedBy::Quantised => "quantised",
            MatchedBy::Spelling => "spelling",
            MatchedBy::Position => "position",
            MatchedBy::Structure => "structure",
            MatchedBy::ModuleEnd => "module_end",
            MatchedBy::Export => "export",
            MatchedBy::SingleFile => "single_file",
        }
    }
}

/// Finds the tensors of a reference by their origins.
pub(super) struct Matcher {
    places: Vec<StoredOrigin>,
    by_value: HashMap<String, Vec<usize>>,
    by_operator: HashMap<(String, Io, usize), Vec<usize>>,
    by_spelling: HashMap<String, Vec<usize>>,
    by_position: HashMap<(usize, Io, usize), Vec<usize>>,
    mapping: Mapping,
    match_by: MatchBy,
    quantised: Option<Quantised>,
    folded: Folded,
}

/// The values of the original for which the quantised model has no operator, because a `Relu` or a `Clip` became part
/// of the range of a quantisation: from the input of that operator to its output.
#[derive(Debug, Default)]
pub(super) struct Folded {
    given: HashMap<String, String>,
}

impl Folded {
    /// Finds the folded values in the original's graph, if it is known. `values` are the names of the values of the
    /// quantised model.
    pub fn of<'v>(options: &CompareOptions, values: impl Iterator<Item = &'v str>) -> Self {
        let Some(graph) = options.reference_graph.as_deref().or(options.graph.as_deref()) else {
            return Self::default();
        };
        let values: HashSet<&str> = values.collect();
        let activations = graph.all_operators().filter(|one| matches!(one.op_type.as_str(), "Relu" | "Clip"));
        let pair = |operator: &opscope_onnx::Operator| {
            let name = |slots: &[Option<opscope_onnx::ValueId>], graph: &Graph| {
                Some(graph.value(slots.first().copied().flatten()?).name.clone())
            };
            let (taken, given) = (name(&operator.inputs, graph)?, name(&operator.outputs, graph)?);
            (!values.contains(given.as_str())).then_some((taken, given))
        };
        Self { given: activations.filter_map(pair).collect() }
    }
}

impl Matcher {
    pub fn new<'p>(
        reference: impl Iterator<Item = &'p StoredOrigin>,
        options: &CompareOptions,
        criteria: &Criteria,
        folded: Folded,
    ) -> Self {
        let places: Vec<StoredOrigin> = reference.cloned().collect();
        let (mut by_value, mut by_operator, mut by_spelling) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut by_position = HashMap::new();
        for (index, place) in places.iter().enumerate() {
            if let Some(value) = &place.value {
                by_value.entry(value.clone()).or_insert_with(Vec::new).push(index);
                by_spelling.entry(spelling(value)).or_insert_with(Vec::new).push(index);
            }
            if let Some(key) = operator_key(place) {
                by_operator.entry(key).or_insert_with(Vec::new).push(index);
            }
            if let Some(key) = position_key(place) {
                by_position.entry(key).or_insert_with(Vec::new).push(index);
            }
        }
        let (mapping, match_by) = (options.mapping.clone(), options.match_by);
        let quantised = criteria.quantised;
        Self { places, by_value, by_operator, by_spelling, by_position, mapping, match_by, quantised, folded }
    }

    /// Returns the tensor of the reference that the mapping names. Returns `None` if the mapping has no entry for this
    /// tensor, and `Some(None)` if the reference lacks the tensor that the entry names.
    pub fn mapped(&self, place: &StoredOrigin) -> Option<Option<(usize, MatchedBy)>> {
        let mapped = place.value.as_deref().and_then(|value| self.mapping.of(value));
        let name = mapped.or_else(|| self.mapping.of(&operator_label(place)?))?;
        let found = self.by_value.get(name).or_else(|| self.by_operator.get(&parse_label(name)?));
        Some(found.and_then(|found| self.nearest(place, found)).map(|index| (index, MatchedBy::Mapping)))
    }

    /// Returns the tensor of the reference that matches, and how it matched.
    pub fn find(&self, place: &StoredOrigin) -> Option<(usize, MatchedBy)> {
        if let Some(mapped) = self.mapped(place) {
            return mapped;
        }
        if self.match_by == MatchBy::Position {
            let of_type = |index: &usize| self.places[*index].op_type == place.op_type;
            let found: Vec<usize> =
                self.by_position.get(&position_key(place)?)?.iter().copied().filter(of_type).collect();
            return self.nearest(place, &found).map(|index| (index, MatchedBy::Position));
        }
        match self.quantised.map(|side| self.find_quantised(place, side)) {
            Some(Partner::Pair(index, by)) => return Some((index, by)),
            Some(Partner::Nothing) => return None,
            Some(Partner::Unknown) | None => {}
        }
        let value = place.value.as_ref();
        let by_value = || self.nearest(place, self.by_value.get(value?)?);
        let by_operator = || self.nearest(place, self.by_operator.get(&operator_key(place)?)?);
        let by_spelling = || self.nearest(place, self.by_spelling.get(&spelling(value?))?);
        by_value()
            .map(|index| (index, MatchedBy::Value))
            .or_else(|| by_operator().map(|index| (index, MatchedBy::Operator)))
            .or_else(|| by_spelling().map(|index| (index, MatchedBy::Spelling)))
    }

    /// Returns the matching tensor of the reference if one of the two models is a quantised form of the other.
    /// Quantisers keep the names of operators, but may give the value before a folded activation the name of the value
    /// after it.
    fn find_quantised(&self, place: &StoredOrigin, side: Quantised) -> Partner {
        let same_type = |index: &usize| self.places[*index].op_type == place.op_type;
        let by_operator = || -> Option<usize> {
            let found: Vec<usize> =
                self.by_operator.get(&operator_key(place)?)?.iter().copied().filter(same_type).collect();
            self.nearest(place, &found)
        };
        let by_value = |name: &str| self.nearest(place, self.by_value.get(name)?);
        let Some(value) = place.value.as_deref() else { return Partner::Unknown };
        match side {
            Quantised::Tensors => {
                if let Some(original) = dequantised(value) {
                    let behind = self.folded.given.get(original).and_then(|behind| by_value(behind));
                    let found = behind.or_else(|| by_value(original));
                    return found.map_or(Partner::Nothing, |index| Partner::Pair(index, MatchedBy::Quantised));
                }
                if let Some(index) = by_operator() {
                    return Partner::Pair(index, MatchedBy::Operator);
                }
                match value.strip_suffix(QUANTISED_INPUT).and_then(by_value) {
                    Some(index) => Partner::Pair(index, MatchedBy::Quantised),
                    None => Partner::Unknown,
                }
            }
            Quantised::Reference => {
                let is_dequantised = |index: &usize| self.places[*index].op_type.as_deref() == Some("DequantizeLinear");
                let output = by_value(value).filter(is_dequantised).map(|index| (index, MatchedBy::Value));
                let behind = || by_operator().map(|index| (index, MatchedBy::Operator));
                let dequantised = || Some((by_value(&format!("{value}{DEQUANTISED}"))?, MatchedBy::Quantised));
                match output.or_else(behind).or_else(dequantised) {
                    Some((index, by)) => Partner::Pair(index, by),
                    None => Partner::Unknown,
                }
            }
        }
    }

    /// Returns the tensor of the same run and iteration, preferably of the same operator, or the first one if one side
    /// does not distinguish runs. Prefers outputs to inputs, unless `place` is an input.
    fn nearest(&self, place: &StoredOrigin, found: &[usize]) -> Option<usize> {
        let fits = |index: &&usize| {
            let other = &self.places[**index];
            let is_run = other.run == place.run || other.run.is_none() || place.run.is_none();
            // A loop takes values from outside that may be the same in all its iterations.
            is_run && (other.is_around(place) || place.is_around(other))
        };
        let likeness = |index: &&usize| {
            let other = &self.places[**index];
            (
                other.run != place.run,
                other.iterations != place.iterations,
                other.operator != place.operator,
                other.io != place.io,
                other.slot != place.slot,
                **index,
            )
        };
        found.iter().filter(fits).min_by_key(likeness).copied()
    }
}

/// What the names say about the partner of a tensor.
enum Partner {
    Pair(usize, MatchedBy),
    /// It has none.
    Nothing,
    /// The names say nothing.
    Unknown,
}

/// The suffix that ONNX Runtime's quantiser appends to the names of values.
const DEQUANTISED: &str = "_DequantizeLinear_Output";
const QUANTISED_INPUT: &str = "_QuantizeLinear_Input";

/// Returns the name of the original's value of which this one is the dequantised form. A value that several operators
/// take may be dequantised for each of them. Then a number follows the suffix.
fn dequantised(value: &str) -> Option<&str> {
    let numbered = || {
        let (rest, number) = value.rsplit_once('_')?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then(|| rest.strip_suffix(DEQUANTISED))?
    };
    value.strip_suffix(DEQUANTISED).or_else(numbered)
}

/// Returns the tensors that were not matched, except those whose values were matched elsewhere in the same run, in the
/// same iteration or an enclosing one: an operator's input is often another one's output.
pub(super) fn unused<'p>(places: impl Iterator<Item = &'p StoredOrigin> + Clone, used: &[bool]) -> Vec<StoredOrigin> {
    let both = places.zip(used);
    let compared: HashSet<_> =
        both.clone().filter(|(_, used)| **used).filter_map(|(place, _)| value_key(place)).collect();
    let is_left = |place: &StoredOrigin| {
        let around = |depth| value_key(place).map(|(run, value, iterations)| (run, value, &iterations[..depth]));
        !(0..=place.iterations.len()).filter_map(around).any(|value| compared.contains(&value))
    };
    both.filter(|(place, used)| !**used && is_left(place)).map(|(place, _)| place.clone()).collect()
}

fn value_key(place: &StoredOrigin) -> Option<(Option<u64>, &str, &[LoopIteration])> {
    Some((place.run, place.value.as_deref()?, &place.iterations))
}

fn operator_key(place: &StoredOrigin) -> Option<(String, Io, usize)> {
    Some((place.operator.clone()?, place.io?, place.slot?))
}

fn position_key(place: &StoredOrigin) -> Option<(usize, Io, usize)> {
    Some((place.position?, place.io?, place.slot?))
}

/// `operator:output0`.
fn operator_label(place: &StoredOrigin) -> Option<String> {
    operator_key(place).map(|(operator, io, slot)| format!("{operator}:{io}{slot}"))
}

fn parse_label(label: &str) -> Option<(String, Io, usize)> {
    let (operator, position) = label.rsplit_once(':')?;
    let position: crate::Position = position.parse().ok()?;
    Some((operator.into(), position.io, position.slot))
}

/// Returns the letters and digits of a name, which are the characters that a file name keeps.
fn spelling(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;

    fn model(name: &str) -> Arc<Graph> {
        let models = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models"));
        Arc::new(Graph::load(&models.join(name)).expect("a model"))
    }

    #[test]
    fn an_activation_that_a_quantiser_removed_gives_what_the_value_before_it_becomes() {
        let options = CompareOptions { reference_graph: Some(model("digits_cnn.onnx")), ..CompareOptions::default() };
        let quantised = model("precision/digits_qoperator.onnx");
        let folded = Folded::of(&options, quantised.all_values().map(|value| value.name.as_str()));
        let pair = ("/fc1/Gemm_output_0".to_owned(), "/relu4/Relu_output_0".to_owned());
        assert_eq!(folded.given, HashMap::from([pair]));
    }

    #[test]
    fn the_names_of_dequantised_values_lead_to_the_original() {
        for (name, original) in [
            ("/a/Conv_output_0_DequantizeLinear_Output", Some("/a/Conv_output_0")),
            ("x_DequantizeLinear_Output_12", Some("x")),
            ("x_QuantizeLinear_Output", None),
            ("x_12", None),
        ] {
            assert_eq!(dequantised(name), original);
        }
    }

    fn place(value: &str, operator: &str, io: Io, slot: usize, run: Option<u64>) -> StoredOrigin {
        StoredOrigin {
            value: Some(value.to_owned()),
            operator: Some(operator.to_owned()),
            io: Some(io),
            slot: Some(slot),
            run,
            ..StoredOrigin::default()
        }
    }

    fn within(place: StoredOrigin, indices: &[u32]) -> StoredOrigin {
        let level = |&index: &u32| LoopIteration { operator: "Loop".to_owned(), index };
        StoredOrigin { iterations: indices.iter().map(level).collect(), ..place }
    }

    fn find(places: &[StoredOrigin], place: &StoredOrigin) -> Option<(usize, MatchedBy)> {
        let options = CompareOptions::default();
        let criteria = Criteria::new(&options, None, &crate::StoredDump::default());
        Matcher::new(places.iter(), &options, &criteria, Folded::default()).find(place)
    }

    #[test]
    fn of_several_places_of_a_value_the_most_alike_is_taken() {
        use Io::{Input, Output};
        let places = [
            place("v", "b", Input, 0, Some(0)),
            place("v", "a", Output, 0, Some(0)),
            place("v", "b", Input, 1, Some(0)),
            place("v", "a", Output, 0, Some(1)),
            place("w", "c", Output, 0, Some(1)),
        ];
        let by_value = |place: &StoredOrigin| match find(&places, place) {
            Some((index, MatchedBy::Value)) => Some(index),
            None => None,
            other => panic!("{other:?}"),
        };
        for (index, own) in places.iter().enumerate() {
            assert_eq!(by_value(own), Some(index));
        }
        // For another operator, the same side is preferred, then the same slot, then the first tensor.
        assert_eq!(by_value(&place("v", "z", Output, 7, Some(0))), Some(1));
        assert_eq!(by_value(&place("v", "z", Input, 1, Some(0))), Some(2));
        assert_eq!(by_value(&place("v", "b", Output, 9, Some(0))), Some(0), "its operator counts before its side");
        // Another run has no such tensor, and a tensor without a run matches the first one.
        assert_eq!(by_value(&place("w", "c", Output, 0, Some(0))), None);
        assert_eq!(by_value(&place("v", "a", Output, 0, None)), Some(1));
        let without = [place("v", "a", Output, 0, None)];
        assert_eq!(find(&without, &place("v", "a", Output, 0, Some(5))), Some((0, MatchedBy::Value)));
        // That of its own run is nearer than one without a run, such as a constant.
        let both = [place("v", "a", Output, 0, None), place("v", "a", Output, 0, Some(5))];
        assert_eq!(find(&both, &both[1]), Some((1, MatchedBy::Value)));
    }

    #[test]
    fn a_value_is_matched_in_its_iteration_or_in_one_around_it() {
        let at = |indices: &[u32]| within(place("v", "a", Io::Output, 0, Some(0)), indices);
        let places = [at(&[]), at(&[1]), at(&[1, 2]), at(&[3])];
        let index = |indices: &[u32]| find(&places, &at(indices)).map(|(index, _)| index);
        assert_eq!([index(&[]), index(&[1]), index(&[1, 2]), index(&[3])], [Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(index(&[2]), Some(0), "what is outside of the loop");
        assert_eq!(find(&places[1..], &at(&[2])), None);
    }

    #[test]
    fn names_are_tried_as_values_then_as_operators_then_by_their_letters() {
        let places = [place("/a/b.c", "op", Io::Output, 1, None)];
        let by = |value: &str, operator: &str, slot| find(&places, &place(value, operator, Io::Output, slot, None));
        assert_eq!(by("/a/b.c", "other", 0), Some((0, MatchedBy::Value)));
        assert_eq!(by("renamed", "op", 1), Some((0, MatchedBy::Operator)));
        assert_eq!(by("renamed", "op", 0), None);
        assert_eq!(by("a_b_c", "other", 0), Some((0, MatchedBy::Spelling)));
        assert_eq!(by("a_b_d", "other", 0), None);
        assert_eq!(parse_label("layer:0:output12"), Some(("layer:0".to_owned(), Io::Output, 12)));
        assert_eq!([parse_label("op"), parse_label("op:out1"), parse_label("op:input")], [None, None, None]);
        assert_eq!(operator_label(&places[0]).as_deref(), Some("op:output1"));
    }

    #[test]
    fn what_was_compared_elsewhere_in_its_run_is_not_unused() {
        use Io::{Input, Output};
        let places = [
            place("v", "a", Output, 0, Some(0)),
            place("v", "b", Input, 0, Some(0)),
            place("v", "b", Input, 0, Some(1)),
            place("w", "c", Output, 0, Some(0)),
            within(place("v", "d", Input, 0, Some(0)), &[4]),
            within(place("w", "d", Input, 0, Some(0)), &[4]),
        ];
        let left = |used: [bool; 6]| -> Vec<(String, Option<u64>)> {
            let left = unused(places.iter(), &used);
            left.into_iter().map(|place| (place.operator.unwrap_or_default(), place.run)).collect()
        };
        let of = |names: &[(&str, u64)]| -> Vec<_> {
            names.iter().map(|(operator, run)| ((*operator).to_owned(), Some(*run))).collect()
        };
        let found = left([true, false, false, false, false, false]);
        assert_eq!(found, of(&[("b", 1), ("c", 0), ("d", 0)]), "the first of a loop is that around it");
        assert_eq!(left([true; 6]), []);
        assert_eq!(left([false; 6]).len(), 6);
        // A match in an iteration says nothing about tensors around the loop.
        assert_eq!(left([false, false, false, false, true, true]), of(&[("a", 0), ("b", 0), ("b", 1), ("c", 0)]));
    }
}
