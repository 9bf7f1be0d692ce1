//! The comparison of two dumps of a model, tensor by tensor.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use opscope_dump::{Blame, CompareOptions, Comparison, Io, Outcome, Row, StoredDump, StoredOrigin, Summary, Verdict};
use opscope_onnx::{CodeOrigin, Graph};

use crate::ReportError;

/// How many rows the table has at most; those that differ are chosen first.
const MOST_ROWS: usize = 1_000;
/// How many names of tensors that were not compared are listed at most.
const MOST_NAMES: usize = 10;

/// How much the tensors of a dump differ from those of another one, the reference.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ValuesComparison {
    /// The dump's run, and the path of the dump.
    pub run: (String, PathBuf),
    /// The same for the reference.
    pub reference: (String, PathBuf),
    /// Whether all tensors agree, and all were compared.
    pub verdict: Verdict,
    /// The number of pairs that were compared, of those that differ, and of those that are undecided.
    pub compared: usize,
    pub different: usize,
    pub unknown: usize,
    /// The first tensor that differs, in the order of execution.
    pub first: Option<FirstDifference>,
    /// The pairs in the order of execution.
    pub rows: Vec<ValueDifference>,
    /// How many pairs have no row.
    pub left: usize,
    /// The tensors that were not compared, one sentence each.
    pub not_compared: Vec<String>,
    /// The limits of the comparison, one sentence each.
    pub notes: Vec<String>,
    /// How much the outputs of operators differ from the reference, by the operators' names.
    pub errors: HashMap<String, f64>,
}

/// The first tensor that differs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FirstDifference {
    pub value: String,
    pub operator: Option<(String, Option<String>)>,
    /// Whether the difference arose earlier and the operator is only the first that shows it: the operators in between
    /// only move values.
    pub is_before: bool,
    pub code: Option<CodeOrigin>,
    pub run: Option<u64>,
    /// The difference, in words.
    pub outcome: String,
    /// Where the difference comes from, as a sentence.
    pub blame: String,
}

/// A pair of tensors.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ValueDifference {
    pub value: String,
    /// The name of the reference's tensor, if it differs.
    pub reference: Option<String>,
    pub operator: String,
    pub op_type: String,
    pub code: Option<Arc<CodeOrigin>>,
    pub run: Option<u64>,
    pub verdict: Verdict,
    /// The result, in words.
    pub outcome: String,
    /// The largest difference relative to the reference's largest element: infinite if it has no magnitude.
    pub error: Option<f64>,
    pub cosine: Option<f64>,
}

impl ValuesComparison {
    /// Compares the dump of a run with that of another one. `graphs` are their models, if they are known; they provide
    /// the order of execution.
    pub(crate) fn of(
        (name, path): (&str, &PathBuf),
        (other_name, other_path): (&str, &PathBuf),
        graphs: [Option<Arc<Graph>>; 2],
    ) -> Result<Self, ReportError> {
        let [dump, other] = [StoredDump::open(path)?, StoredDump::open(other_path)?];
        let [graph, reference_graph] = graphs;
        let options = CompareOptions { graph, reference_graph, ..CompareOptions::default() };
        let comparison = Comparison::of(&dump, &other, &options);
        let of = |verdict: Verdict| comparison.rows.iter().filter(|row| row.verdict() == verdict).count();
        let mut rows: Vec<&Row> = comparison.rows.iter().collect();
        let left = rows.len().saturating_sub(MOST_ROWS);
        if left > 0 {
            // The first pairs that differ matter most, and then those that agree least.
            let mut chosen: Vec<usize> = (0..rows.len()).collect();
            chosen.sort_by_key(|index| std::cmp::Reverse(rows[*index].verdict()));
            chosen.truncate(MOST_ROWS);
            chosen.sort_unstable();
            rows = chosen.into_iter().map(|index| rows[index]).collect();
        }
        Ok(Self {
            run: (name.to_owned(), path.clone()),
            reference: (other_name.to_owned(), other_path.clone()),
            verdict: match comparison.rows.is_empty() {
                true => Verdict::Unknown,
                false => comparison.verdict(),
            },
            compared: comparison.rows.len(),
            different: of(Verdict::Different),
            unknown: of(Verdict::Unknown),
            first: first(&comparison),
            rows: rows.into_iter().map(ValueDifference::of).collect(),
            left,
            not_compared: not_compared(&comparison, [name, other_name]),
            notes: comparison.notes.iter().chain(&comparison.problems).cloned().chain(given(&comparison)).collect(),
            errors: errors(&comparison),
        })
    }
}

/// Returns a sentence if the two sides had different inputs.
fn given(comparison: &Comparison) -> Option<String> {
    (!comparison.inputs.is_empty())
        .then(|| format!("The two runs were given different inputs: {}.", comparison.inputs.join(", ")))
}

fn first(comparison: &Comparison) -> Option<FirstDifference> {
    let divergence = comparison.divergence.as_ref()?;
    let row = &divergence.tensor;
    let operator = divergence.operator.as_ref();
    let blame = match &divergence.blame {
        Blame::Operator => "What it takes agrees, so the difference arises in it.".to_owned(),
        Blame::Inputs => "What it takes differs already.".to_owned(),
        Blame::Either => {
            "What it takes is within tolerance, but so far apart that it may only hand that on.".to_owned()
        }
        Blame::Initializers(names) => format!("What it takes agrees, but its weights differ: {}.", names.join(", ")),
        Blame::Unknown => "Whether it arises in it cannot be told: not all that it takes is in both dumps.".to_owned(),
    };
    Some(FirstDifference {
        value: row.place.label(),
        operator: operator.map(|operator| (operator.name.clone(), operator.op_type.clone())),
        is_before: operator.is_some_and(|operator| operator.is_before),
        code: divergence.origin.clone(),
        run: row.place.run,
        outcome: outcome(row),
        blame,
    })
}

/// Returns the tensors that only one side has, one sentence each.
fn not_compared(comparison: &Comparison, [name, other]: [&str; 2]) -> Vec<String> {
    let sentence = |places: &[StoredOrigin], only: &str| -> Option<String> {
        let (first, more) = (places.iter().take(MOST_NAMES), places.len().saturating_sub(MOST_NAMES));
        let names: Vec<String> = first.map(StoredOrigin::label).collect();
        let tensors =
            if places.len() == 1 { "1 tensor is".to_owned() } else { format!("{} tensors are", places.len()) };
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!places.is_empty()).then(|| format!("{tensors} {only}: {}{more}.", names.join(", ")))
    };
    let mut sentences: Vec<String> = [
        sentence(&comparison.only_in_tensors, &format!("only in {name}")),
        sentence(&comparison.only_in_reference, &format!("only in {other}")),
        sentence(&comparison.fused, "only on one side, because the other one's plan is fused"),
        sentence(&comparison.quantised_only, "only on one side, because one of them is quantised"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !comparison.only_in_tensors.is_empty() && !comparison.only_in_reference.is_empty() {
        sentences.push(
            "Tensors that were renamed are compared by opscope compare --match position, or --mapping.".to_owned(),
        );
    }
    sentences
}

/// Returns for each operator how much its worst output differs from the reference; nothing for one that was not
/// compared.
fn errors(comparison: &Comparison) -> HashMap<String, f64> {
    let mut errors: HashMap<String, f64> = HashMap::new();
    for row in comparison.rows.iter().filter(|row| row.place.io == Some(Io::Output)) {
        let (Some(operator), Some(error)) = (&row.place.operator, error(row)) else { continue };
        let known = errors.entry(operator.clone()).or_default();
        *known = known.max(error);
    }
    errors
}

/// Returns how much a tensor differs from the reference, relative to the reference's largest element. It is infinite if
/// the difference has no magnitude, as with a NaN on one side only; `None` if nothing is known.
fn error(row: &Row) -> Option<f64> {
    match &row.outcome {
        Outcome::Compared { difference, .. } if difference.mismatches() > 0 => Some(f64::INFINITY),
        // Nothing is relatively close to zero: a value that differs from all zeros differs completely.
        Outcome::Compared { difference, .. } => Some(match difference.max_reference {
            largest if largest > 0.0 => difference.max_absolute / largest,
            _ => f64::from(difference.max_absolute > 0.0),
        }),
        Outcome::Shapes | Outcome::Summarised(Summary::Different) => Some(f64::INFINITY),
        Outcome::Summarised(Summary::Same) => Some(0.0),
        Outcome::Summarised(Summary::Alike) | Outcome::Unreadable(_) => None,
    }
}

/// Returns the result for a pair, in words.
fn outcome(row: &Row) -> String {
    match &row.outcome {
        Outcome::Compared { difference, .. } => {
            let apart = format!("at most {} apart", crate::units::value(difference.max_absolute));
            match (difference.mismatches(), difference.max_absolute) {
                (0, 0.0) => "the same".to_owned(),
                (0, _) => apart,
                (elements, most) => {
                    let elements =
                        if elements == 1 { "1 element is".to_owned() } else { format!("{elements} elements are") };
                    let rest =
                        if most == 0.0 { "the rest is the same".to_owned() } else { format!("the rest is {apart}") };
                    format!("{elements} NaN or infinite on one side only, {rest}")
                }
            }
        }
        Outcome::Shapes => {
            let shape = |sizes: &[usize]| sizes.iter().map(usize::to_string).collect::<Vec<_>>().join("×");
            format!("the shape is {} instead of {}", shape(&row.shapes.0), shape(&row.shapes.1))
        }
        Outcome::Summarised(Summary::Same) => "the same, by their hashes".to_owned(),
        Outcome::Summarised(Summary::Alike) => {
            "not known: the statistics agree and the hashes do not, and the data is not there".to_owned()
        }
        Outcome::Summarised(Summary::Different) => "the statistics differ".to_owned(),
        Outcome::Unreadable(reason) => format!("not read: {reason}"),
    }
}

impl ValueDifference {
    fn of(row: &Row) -> Self {
        let (value, reference) = (row.place.label(), row.reference.label());
        Self {
            reference: Some(reference).filter(|reference| *reference != value),
            value,
            operator: row.place.operator.clone().unwrap_or_default(),
            op_type: row.place.op_type.clone().unwrap_or_default(),
            code: row.place.code.clone(),
            run: row.place.run,
            verdict: row.verdict(),
            outcome: outcome(row),
            error: error(row),
            cosine: row.difference().and_then(|difference| difference.cosine),
        }
    }
}

#[cfg(test)]
mod tests {
    use opscope_dump::{MatchedBy, StoredOrigin};
    use opscope_tensor::{DType, DifferenceAccumulator};

    use super::*;

    fn row(outcome: Outcome) -> Row {
        Row {
            place: StoredOrigin::default(),
            reference: StoredOrigin::default(),
            matched_by: MatchedBy::Value,
            dtypes: (Some(DType::F64), Some(DType::F64)),
            shapes: (vec![2], vec![2]),
            outcome,
            drop: None,
        }
    }

    /// Returns a comparison of nothing.
    fn comparison() -> Comparison {
        Comparison {
            tensors: String::new(),
            reference: String::new(),
            rows: Vec::new(),
            only_in_tensors: Vec::new(),
            only_in_reference: Vec::new(),
            fused: Vec::new(),
            only_in_export: Vec::new(),
            only_in_program: Vec::new(),
            quantised_only: Vec::new(),
            is_quantised: false,
            is_selection: false,
            input_sets: Vec::new(),
            notes: Vec::new(),
            initializers: Vec::new(),
            inputs: Vec::new(),
            divergence: None,
            problems: Vec::new(),
        }
    }

    fn compared(found: [f64; 2], expected: [f64; 2]) -> Row {
        let bytes = |numbers: [f64; 2]| numbers.map(f64::to_le_bytes).concat();
        let mut accumulator = DifferenceAccumulator::new(DType::F64, DType::F64, 2, 0.0).expect("floats");
        accumulator.update(&bytes(found), &bytes(expected));
        row(Outcome::Compared { difference: accumulator.finish(), within: true })
    }

    #[test]
    fn what_was_found_of_a_pair_is_said_in_words() {
        let of = |found, expected| outcome(&compared(found, expected));
        assert_eq!(of([1.0, 2.0], [1.0, 2.0]), "the same");
        assert_eq!(of([1.0, 2.5], [1.0, 2.0]), "at most 0.5000 apart");
        let nan = f64::NAN;
        assert_eq!(of([nan, 2.0], [1.0, 2.0]), "1 element is NaN or infinite on one side only, the rest is the same");
        assert_eq!(
            of([nan, 3.0], [1.0, 2.0]),
            "1 element is NaN or infinite on one side only, the rest is at most 1.000 apart"
        );
        assert_eq!(of([nan, nan], [1.0, 2.0]), "2 elements are NaN or infinite on one side only, the rest is the same");
        let shapes = Row { shapes: (vec![2, 3], vec![6]), ..row(Outcome::Shapes) };
        assert_eq!(outcome(&shapes), "the shape is 2×3 instead of 6");
        assert_eq!(outcome(&row(Outcome::Unreadable("gone".to_owned()))), "not read: gone");
    }

    #[test]
    fn a_pair_says_the_references_name_if_it_is_another_one() {
        let named = |value: &str| StoredOrigin { value: Some(value.to_owned()), ..StoredOrigin::default() };
        let pair = |place, reference| {
            let row = Row { place: named(place), reference: named(reference), ..row(Outcome::Shapes) };
            let difference = ValueDifference::of(&row);
            (difference.value, difference.reference)
        };
        assert_eq!(pair("y", "y"), ("y".to_owned(), None));
        assert_eq!(pair("y", "z"), ("y".to_owned(), Some("z".to_owned())));
    }

    #[test]
    fn an_operator_is_as_far_off_as_its_worst_output() {
        let of = |operator: Option<&str>, io, row: Row| Row {
            place: StoredOrigin { operator: operator.map(str::to_owned), io: Some(io), ..StoredOrigin::default() },
            ..row
        };
        let rows = vec![
            of(Some("/a"), Io::Output, compared([1.25, 1.0], [1.0, 1.0])),
            of(Some("/a"), Io::Output, compared([1.0, 1.5], [1.0, 1.0])),
            of(Some("/a"), Io::Output, compared([1.0, 1.0], [1.0, 1.0])),
            of(Some("/a"), Io::Input, compared([9.0, 1.0], [1.0, 1.0])),
            of(Some("/b"), Io::Output, row(Outcome::Unreadable("gone".to_owned()))),
            of(None, Io::Output, compared([9.0, 1.0], [1.0, 1.0])),
        ];
        let found = errors(&Comparison { rows, ..comparison() });
        assert_eq!(found, HashMap::from([("/a".to_owned(), 0.5)]));
    }

    #[test]
    fn ten_tensors_that_were_not_compared_are_named() {
        let places = |number: usize| -> Vec<StoredOrigin> {
            let place = |index| StoredOrigin { value: Some(format!("v{index}")), ..StoredOrigin::default() };
            (0..number).map(place).collect()
        };
        let of = |only_in_tensors, only_in_reference| {
            not_compared(&Comparison { only_in_tensors, only_in_reference, ..comparison() }, ["new", "old"])
        };
        let label = |index: usize| places(index + 1)[index].label();
        assert_eq!(of(places(0), places(0)), Vec::<String>::new());
        assert_eq!(of(places(1), vec![]), [format!("1 tensor is only in new: {}.", label(0))]);
        let ten: Vec<String> = (0..10).map(label).collect();
        assert_eq!(of(vec![], places(10)), [format!("10 tensors are only in old: {}.", ten.join(", "))]);
        assert_eq!(of(vec![], places(12)), [format!("12 tensors are only in old: {} and 2 more.", ten.join(", "))]);
        assert!(of(places(1), places(1))[2].starts_with("Tensors that were renamed are compared by"));
    }

    #[test]
    fn an_error_is_a_part_of_the_largest_element_and_has_no_size_where_there_is_none() {
        assert_eq!(error(&compared([1.5, -4.0], [1.0, -4.0])), Some(0.125));
        assert_eq!(error(&compared([1.0, -4.0], [1.0, -4.0])), Some(0.0));
        assert_eq!(error(&compared([0.0, 1e-9], [0.0, 0.0])), Some(1.0), "what differs from zeros");
        assert_eq!(error(&compared([0.0, 0.0], [0.0, 0.0])), Some(0.0));
        assert_eq!(error(&compared([f64::NAN, 1.0], [1.0, 1.0])), Some(f64::INFINITY));
        assert_eq!(error(&row(Outcome::Shapes)), Some(f64::INFINITY));
        assert_eq!(error(&row(Outcome::Summarised(Summary::Different))), Some(f64::INFINITY));
        assert_eq!(error(&row(Outcome::Summarised(Summary::Same))), Some(0.0));
        assert_eq!(error(&row(Outcome::Summarised(Summary::Alike))), None);
        assert_eq!(error(&row(Outcome::Unreadable("gone".to_owned()))), None);
    }

    /// Writes the index of a dump with a value for each of these hashes. Values of other hashes have other extremes.
    fn dump(directory: &std::path::Path, hashes: impl Iterator<Item = u64>) -> PathBuf {
        let line = |(index, hash): (usize, u64)| {
            let line = serde_json::json!({
                "run": 0, "operator": format!("/{index}"), "op_type": "Add", "position": index, "io": "output", "slot": 0,
                "value": format!("v{index}"), "dtype": "float32", "shape": [2, 3], "file": null, "bytes": 24,
                "xxh3": format!("{hash:016x}"), "min": hash, "max": hash, "mean": hash, "nan": 0, "inf": 0,
                "state": "statistics",
            });
            format!("{line}\n")
        };
        std::fs::create_dir(directory).unwrap();
        std::fs::write(directory.join("index.jsonl"), hashes.enumerate().map(line).collect::<String>()).unwrap();
        directory.to_owned()
    }

    #[test]
    fn of_more_pairs_than_rows_those_that_differ_stay_in_their_order() {
        let compared = |pairs: usize, different: &[usize]| {
            let root = tempfile::tempdir().unwrap();
            let hash = |index: usize| if different.contains(&index) { 7 } else { 5 };
            let dumps = [
                dump(&root.path().join("new"), (0..pairs).map(hash)),
                dump(&root.path().join("old"), (0..pairs).map(|_| 5)),
            ];
            ValuesComparison::of(("new", &dumps[0]), ("old", &dumps[1]), [None, None]).unwrap()
        };
        let all = compared(1_000, &[999]);
        assert_eq!((all.compared, all.different, all.rows.len(), all.left), (1_000, 1, 1_000, 0));
        let cut = compared(1_003, &[1, 1_002]);
        assert_eq!((cut.compared, cut.different, cut.rows.len(), cut.left), (1_003, 2, 1_000, 3));
        // Of those that agree, the last three have no row.
        let named = |index: usize| cut.rows[index].value.as_str();
        assert_eq!([0, 1, 998, 999].map(named), ["v0", "v1", "v998", "v1002"]);
    }
}
