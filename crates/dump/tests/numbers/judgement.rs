//! When two tensors count as the same, and the messages about those that differ.

use std::path::Path;
use std::sync::Arc;

use opscope_dump::{Blame, CompareOptions, Comparison, Order, StoredDump, Tolerances};
use opscope_model::testing::GraphBuilder;
use opscope_onnx::Graph;
use opscope_tensor::{DType, Tensor, Tolerance};

use crate::{arrays, floats};

fn doubles(values: &[f64]) -> Tensor {
    Tensor::new(DType::F64, vec![values.len()], values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
        .unwrap()
}

fn compare(found: &[(&str, &Tensor)], expected: &[(&str, &Tensor)], options: &CompareOptions) -> Comparison {
    let dir = tempfile::tempdir().unwrap();
    let [ours, theirs] = ["found", "expected"].map(|name| dir.path().join(name));
    arrays(&ours, found);
    arrays(&theirs, expected);
    let open = |path: &Path| StoredDump::open(path).unwrap();
    Comparison::of(&open(&ours), &open(&theirs), options)
}

fn is_same(found: &Tensor, expected: &Tensor) -> bool {
    compare(&[("y", found)], &[("y", expected)], &CompareOptions::default()).is_same()
}

#[test]
fn numbers_are_the_same_up_to_the_tolerance_of_their_type_and_not_beyond() {
    // For float32: 1e-7 + 1e-4 |y| + 5e-5 max |y|.
    for (found, expected, same) in [
        ([0.0, 0.99e-7], [0.0, 0.0], true),
        ([0.0, 1.01e-7], [0.0, 0.0], false),
        ([1000.0, 0.0499], [1000.0, 0.0], true),
        ([1000.0, 0.0501], [1000.0, 0.0], false),
        ([1.0, 1.0001499], [1.0, 1.0], true),
        ([1.0, 1.0001504], [1.0, 1.0], false),
    ] {
        assert_eq!(is_same(&floats(&found), &floats(&expected)), same, "{found:?} {expected:?}");
    }
    // For float64: 1e-14 + 1e-9 |y| + 1e-9 max |y|; with float32, the tolerance of float32.
    let one = doubles(&[1.0]);
    assert!(is_same(&doubles(&[1.0 + 1.99e-9]), &one) && !is_same(&doubles(&[1.0 + 2.01e-9]), &one));
    assert!(is_same(&floats(&[1.000_149]), &one) && !is_same(&floats(&[1.000_151]), &one));
    let integers = |values: &[i64]| Tensor::from_i64(vec![values.len()], values).unwrap();
    assert!(!is_same(&integers(&[1 << 60]), &integers(&[(1 << 60) + 1])));
}

#[test]
fn a_tolerance_of_one_type_counts_before_that_of_all_and_both_before_the_types_own() {
    let tolerance = |absolute| Tolerance { absolute, ..Tolerance::EXACT };
    let set =
        Tolerances { all: Some(tolerance(0.5)), of: vec![(DType::F16, tolerance(0.25)), (DType::F16, tolerance(9.0))] };
    assert_eq!((set.tolerance(DType::F16), set.tolerance(DType::F32)), (tolerance(0.25), tolerance(0.5)));
    let one = Tolerances { all: None, of: vec![(DType::F16, tolerance(0.25))] };
    assert_eq!((one.tolerance(DType::F16), one.tolerance(DType::F32)), (tolerance(0.25), Tolerance::of(DType::F32)));
}

#[test]
fn a_row_has_the_numbers_of_the_formulas() {
    let comparison = compare(
        &[("y", &floats(&[3.0, 4.0])), ("z", &floats(&[f32::NAN, f32::INFINITY, 1.0, f32::NAN, 2.0]))],
        &[("y", &floats(&[3.0, 5.0])), ("z", &floats(&[f32::NAN, 1.0, f32::NEG_INFINITY, 7.0, f32::INFINITY]))],
        &CompareOptions::default(),
    );
    let rows = &comparison.json()["rows"];
    let near = |key: &str, expected: f64| {
        let found = rows[0][key].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-7 * expected, "{key}: {found}, not {expected}");
    };
    near("cosine", 29.0 / (5.0 * 34f64.sqrt()));
    near("max_absolute", 1.0);
    near("max_relative", 0.2);
    near("mean_relative", 0.1);
    near("rmse", 0.5f64.sqrt());
    near("sqnr_db", 10.0 * 34f64.log10());
    // 4 is 0x40800000 and 5 is 0x40a00000.
    for (key, expected) in [("max_ulp", 0x20_0000), ("count", 2), ("equal", 1), ("nan", 0), ("infinite_mismatches", 0)]
    {
        assert_eq!(rows[0][key], expected, "{key}");
    }
    for (key, expected) in [
        ("nan", 2),
        ("reference_nan", 1),
        ("infinite", 1),
        ("reference_infinite", 2),
        ("nan_mismatches", 1),
        ("infinite_mismatches", 3),
        ("count", 5),
        ("equal", 1),
    ] {
        assert_eq!(rows[1][key], expected, "{key}");
    }
    let csv = comparison.csv();
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let (titles, first) = (lines.next().unwrap(), lines.next().unwrap());
    let of = |title: &str| first[titles.iter().position(|known| *known == title).unwrap()];
    assert_eq!((of("max_absolute"), of("max_ulp"), of("count"), of("equal")), ("1.0", "2097152", "2", "1"));
    let text = comparison.text(Order::Graph, 100);
    assert!(text.contains("0.994692    1.000   0.2000  0.7071  2097152  0/0  0/0\n"), "{text}");
    assert!(text.contains("-      NaN        -       -        -  2/1  1/2\n"), "{text}");
    assert!(text.contains("2 tensors compared, 0 within tolerance\n"), "{text}");
    assert!(text.contains("first to diverge: tensor 'y', 1.000 apart at most\n"), "{text}");
}

#[test]
fn a_row_says_the_types_and_shapes_of_either_side() {
    let half = floats(&[1.0, 2.0]).cast(DType::F16).unwrap();
    let comparison = compare(
        &[("y", &half), ("z", &floats(&[1.0, 2.0, 3.0]))],
        &[("y", &floats(&[1.0, 2.0])), ("z", &floats(&[1.0]))],
        &CompareOptions::default(),
    );
    let json = comparison.json();
    let (types, shapes) = (&json["rows"][0], &json["rows"][1]);
    assert_eq!(
        (&types["dtype"], &types["reference_dtype"], &types["within"]),
        (&"float16".into(), &"float32".into(), &true.into())
    );
    let of = |key: &str| shapes[key].clone();
    assert_eq!((of("shape"), of("reference_shape")), (serde_json::json!([3]), serde_json::json!([1])));
    assert_eq!(
        (of("outcome"), of("within"), of("max_absolute")),
        ("shapes".into(), false.into(), serde_json::Value::Null)
    );
    let text = comparison.text(Order::Graph, 9);
    assert!(
        text.contains("shape [3] instead of [1]") && text.contains("2 tensors compared, 1 within tolerance\n"),
        "{text}"
    );
}

#[test]
fn tensors_of_several_pieces_are_compared_to_their_ends() {
    // 65,536 elements are read at once.
    for elements in [65_535, 65_536, 65_537, 200_000] {
        let one = vec![1.0f32; elements];
        let mut other = one.clone();
        other[elements - 1] = 3.0;
        let comparison = compare(&[("y", &floats(&other))], &[("y", &floats(&one))], &CompareOptions::default());
        let difference = *comparison.rows[0].difference().unwrap();
        assert_eq!((difference.count, difference.equal), (elements as u64, elements as u64 - 1));
        assert_eq!((difference.max_absolute, difference.rmse), (2.0, (4.0 / elements as f64).sqrt()));
    }
}

#[test]
fn the_worst_rows_come_first_by_their_share_of_the_largest_element() {
    let expected: [(&str, &Tensor); 5] = [
        ("a", &floats(&[100.0, 1.0])),
        ("b", &floats(&[1.0])),
        ("c", &floats(&[1.0])),
        ("d", &floats(&[1.0])),
        ("e", &floats(&[1.0])),
    ];
    // The differences are 2 of 100, 0.5 of 1, a NaN, another shape, and none.
    let found: [(&str, &Tensor); 5] = [
        ("a", &floats(&[100.0, 3.0])),
        ("b", &floats(&[1.5])),
        ("c", &floats(&[f32::NAN])),
        ("d", &floats(&[1.0, 1.0])),
        ("e", &floats(&[1.0])),
    ];
    let comparison = compare(&found, &expected, &CompareOptions::default());
    let names = |order: Order, most: usize| {
        let text = comparison.text(order, most);
        let rows = text.lines().skip(1).take_while(|line| !line.starts_with("nan and inf"));
        rows.map(|line| line.trim_start_matches('!').split_whitespace().next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(Order::Error, 9), ["d", "c", "b", "a", "e"]);
    assert_eq!(names(Order::Error, 2), ["d", "c"]);
    assert_eq!(names(Order::Graph, 9), ["a", "b", "c", "d", "e"]);
    let text = comparison.text(Order::Graph, 4);
    assert!(!text.contains("\n   e ") && text.contains("... and 1 row more\n"), "{text}");
}

/// Returns a graph of a multiplication, with the output `s`, and a slice of that, `m`.
fn graph() -> Arc<Graph> {
    let graph = GraphBuilder::new("moved").input("x", &[2]).operator("scale", "Mul", &["x"], &["s"]);
    Arc::new(graph.operator("flip", "Slice", &["s"], &["m"]).output("m").build())
}

#[test]
fn an_error_that_16_times_that_of_the_input_explains_may_only_be_handed_on() {
    let step = 1.0 / 1024.0;
    let blame = |x: [f64; 2], s: [f64; 2]| {
        let all = Some(Tolerance { absolute: 2.0 * step, ..Tolerance::EXACT });
        let options = CompareOptions {
            graph: Some(graph()),
            tolerances: Tolerances { all, of: Vec::new() },
            ..CompareOptions::default()
        };
        let found = [("x", &doubles(&[x[0]])), ("s", &doubles(&[s[0]]))];
        compare(&found, &[("x", &doubles(&[x[1]])), ("s", &doubles(&[s[1]]))], &options).divergence.unwrap().blame
    };
    assert_eq!(blame([1.0 + step, 1.0], [1.0 + 16.0 * step, 1.0]), Blame::Either);
    assert_eq!(blame([1.0 + step, 1.0], [1.0 + 17.0 * step, 1.0]), Blame::Operator);
    // The difference is relative to the largest elements, or the same as that of the output.
    assert_eq!(blame([4.0 + step, 4.0], [1.0 + 4.0 * step, 1.0]), Blame::Either);
    assert_eq!(blame([4.0 + step, 4.0], [1.0 + 5.0 * step, 1.0]), Blame::Operator);
    assert_eq!(blame([4096.0 + 2.0 * step, 4096.0], [1.0 + 3.0 * step, 1.0]), Blame::Operator);
    assert_eq!(blame([1.0, 1.0], [1.0 + 3.0 * step, 1.0]), Blame::Operator);
    // Zeros have no largest element.
    assert_eq!(blame([step, 0.0], [16.0 * step, 0.0]), Blame::Either);
    assert_eq!(blame([step, 0.0], [17.0 * step, 0.0]), Blame::Operator);
    assert_eq!(blame([step, 0.0], [f64::NAN, 0.0]), Blame::Operator);
}

#[test]
fn an_operator_that_moves_values_explains_an_error_up_to_a_millionth_or_a_hundredth_of_the_largest() {
    // The inputs are 0.001 apart, which is within the tolerance, and the largest element is 1000.
    let blamed = |m: &Tensor| {
        let all = Some(Tolerance { absolute: 0.0015, ..Tolerance::EXACT });
        let tolerances = Tolerances { all, of: Vec::new() };
        let options = CompareOptions { graph: Some(graph()), tolerances, ..CompareOptions::default() };
        let expected = [("s", &doubles(&[1000.0, 500.0])), ("m", &doubles(&[500.0, 1000.0]))];
        let found = [("s", &doubles(&[1000.0, 500.001])), ("m", m)];
        let divergence = compare(&found, &expected, &options).divergence.unwrap();
        divergence.operator.map_or_else(|| divergence.tensor.place.label(), |operator| operator.name)
    };
    assert_eq!(blamed(&doubles(&[500.00199, 1000.0])), "scale");
    assert_eq!(blamed(&doubles(&[500.00201, 1000.0])), "m");
    // Tensors of two types are rounded to one of them.
    assert_eq!(blamed(&floats(&[509.99, 1000.0])), "scale");
    assert_eq!(blamed(&floats(&[510.02, 1000.0])), "m");
}

#[test]
fn other_indices_explain_whatever_a_gather_gives() {
    let graph = GraphBuilder::new("taken")
        .input("x", &[2])
        .operator("scale", "Mul", &["x"], &["s"])
        .operator("pick", "Add", &["x"], &["i"])
        .operator("take", "Gather", &["s", "i"], &["m"])
        .output("m")
        .build();
    // The indices are 1 apart, which is within the tolerance, and the elements at these indices are 1000 apart.
    let tolerances = Tolerances { all: Some(Tolerance { absolute: 1.5, ..Tolerance::EXACT }), of: Vec::new() };
    let options = CompareOptions { graph: Some(Arc::new(graph)), tolerances, ..CompareOptions::default() };
    let s = doubles(&[1000.0, 0.0]);
    let index = |number: i64| Tensor::from_i64(vec![1], &[number]).unwrap();
    let expected = [("s", &s), ("i", &index(0)), ("m", &doubles(&[1000.0]))];
    let blamed = |i: i64| {
        let found = [("s", &s), ("i", &index(i)), ("m", &doubles(&[0.0]))];
        let divergence = compare(&found, &expected, &options).divergence.unwrap();
        assert_eq!(divergence.tensor.place.label(), "m");
        divergence.operator.map(|operator| (operator.name, operator.is_before))
    };
    assert_eq!(blamed(1), Some(("pick".to_owned(), true)));
    // With the same indices and the same numbers, the operator itself is wrong.
    assert_ne!(blamed(0), Some(("pick".to_owned(), true)));
}

#[test]
fn a_table_has_the_columns_of_which_its_rows_have_something_to_say() {
    let columns = |comparison: &Comparison| -> Vec<String> {
        let text = comparison.text_within(Order::Graph, 9, 300);
        let head = text.lines().find(|line| line.contains("cosine")).unwrap_or_else(|| panic!("{text}"));
        head.split_whitespace().map(str::to_owned).collect()
    };
    let has = |comparison: &Comparison| {
        ["run", "input", "nan", "inf"].map(|name| columns(comparison).iter().any(|column| column == name))
    };
    let of = |values: [f32; 2]| {
        let y = floats(&values);
        compare(&[("y", &y), ("z", &y)], &[("y", &y), ("z", &y)], &CompareOptions::default())
    };
    let mut plain = of([1.0, 2.0]);
    assert_eq!(has(&plain), [false; 4]);
    assert_eq!(has(&of([f32::NAN, 2.0])), [false, false, true, true]);
    assert_eq!(has(&of([f32::INFINITY, 2.0])), [false, false, true, true]);
    plain.rows.iter_mut().for_each(|row| row.place.run = Some(7));
    assert_eq!(has(&plain), [false; 4], "all are of one run");
    plain.rows[1].place.run = Some(8);
    assert_eq!(has(&plain), [true, false, false, false]);
    plain.input_sets = vec![vec!["one.npy".into()]];
    assert_eq!(has(&plain), [true, false, false, false], "one set of inputs is no column");
    plain.input_sets.push(vec!["two.npy".into()]);
    assert_eq!(has(&plain), [false, true, false, false], "each set is a run");
}

#[test]
fn a_divergence_names_the_files_of_its_run_where_there_are_several_sets() {
    let different = [("y", &floats(&[1.0])), ("z", &floats(&[2.0]))];
    let mut comparison =
        compare(&different, &[("y", &floats(&[1.0])), ("z", &floats(&[3.0]))], &CompareOptions::default());
    let divergence = comparison.divergence.as_mut().unwrap();
    divergence.tensor.place.run = Some(1);
    let line = |comparison: &Comparison| {
        let text = comparison.text(Order::Graph, 9);
        text.lines().find(|line| line.starts_with("first to diverge: ")).unwrap().to_owned()
    };
    let plain = line(&comparison);
    assert!(plain.starts_with("first to diverge: tensor 'z', 1") && !plain.contains("npy"), "{plain}");
    comparison.input_sets = vec![vec!["a/one.npy".into()], vec!["b/two.npy".into(), "b/three.npy".into()]];
    let named = line(&comparison);
    assert_eq!(named, plain.replacen("'z',", "'z', with two.npy three.npy,", 1));
    comparison.input_sets.truncate(1);
    comparison.divergence.as_mut().unwrap().tensor.place.run = Some(0);
    assert_eq!(line(&comparison), plain, "there is one set, of which nothing needs to be said");
}

#[test]
fn a_comparison_is_80_columns_wide_or_as_wide_as_is_asked_for() {
    let name = "n".repeat(120);
    let one = floats(&[1.0]);
    let comparison = compare(&[(&name, &floats(&[2.0]))], &[(&name, &one)], &CompareOptions::default());
    let widest = |text: String| text.lines().skip(1).take(1).map(|line| line.chars().count()).max();
    assert_eq!(widest(comparison.text(Order::Graph, 9)), Some(80));
    assert_eq!(widest(comparison.text_within(Order::Graph, 9, 100)), Some(100));
}

#[test]
fn ten_names_of_what_nothing_was_compared_with_are_shown() {
    let one = floats(&[1.0]);
    let names: Vec<String> = (0..11).map(|number| format!("n{number:02}")).collect();
    let unmatched = |count: usize| {
        let mut expected: Vec<(&str, &Tensor)> = names[..count].iter().map(|name| (name.as_str(), &one)).collect();
        expected.push(("y", &one));
        compare(&[("y", &one)], &expected, &CompareOptions::default()).text(Order::Graph, 100)
    };
    let ten = unmatched(10);
    assert!(ten.contains("nothing has the name of: n00, n01, n02, n03, n04, n05, n06, n07, n08, n09\n"), "{ten}");
    let eleven = unmatched(11);
    assert!(eleven.contains("n08, n09, ...\n") && eleven.contains("11 tensors only in"), "{eleven}");
}
