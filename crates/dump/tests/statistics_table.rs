//! The numbers in `statistics.csv` are those that numpy computes for the same elements, which are listed here.

use std::path::Path;
use std::sync::Arc;

use opscope_dump::{Contents, DirectorySink, DumpInfo, Dumper, Request};
use opscope_model::Fidelity;
use opscope_model::testing::{FakePlan, GraphBuilder, kernels};
use opscope_tensor::{DType, Tensor};

/// Writes the table of a model that returns its input, with a run for each of these inputs.
fn table(root: &Path, inputs: &[Tensor]) -> Vec<csv::StringRecord> {
    let graph = GraphBuilder::new("same").input("x", &[1]).operator("same", "Identity", &["x"], &["y"]).output("y");
    let graph = Arc::new(graph.build());
    let plan = FakePlan::new(&graph, kernels(&graph, &[&["same"]]), Fidelity::Exact, |_, inputs| Ok(inputs.to_vec()));
    let info = DumpInfo::new(&plan.graph, Fidelity::Exact, "fake", "1.0");
    let dumper = Dumper::new();
    let sink = DirectorySink::create(root, Contents::Statistics, &info).unwrap();
    dumper.subscribe(Box::new(sink), Request::default()).unwrap();
    dumper.add_plan(&plan, &plan).unwrap();
    for (run, input) in inputs.iter().enumerate() {
        plan.run_on(&dumper, run as u64, std::slice::from_ref(input)).unwrap();
    }
    assert!(dumper.finish().unwrap().is_complete());
    let mut table = csv::Reader::from_path(root.join("statistics.csv")).unwrap();
    assert_eq!(
        table.headers().unwrap(),
        "Run,Op Name,Op Type,Value,Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,\
         Nan Count,Negative Inf Count,Positive Inf Count,L2norm,Std,Zero Count,XXH3,Iteration"
            .split(',')
            .collect::<Vec<_>>()
    );
    table.records().map(|row| row.unwrap()).collect()
}

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

/// A row: maximum, minimum, mean, count, NaN, negative and positive infinities, L2 norm, standard deviation, zeros.
type Numbers = (&'static str, &'static str, &'static str, [u64; 4], &'static str, &'static str, u64);

/// Computed by numpy: maximum and minimum of the elements that are not NaN; mean, norm and deviation of the finite
/// ones, in double precision. `NA` if there are no such elements.
const ROWS: [(&[f32], Numbers); 8] = [
    (&[1.5, -2.25, 0.0, 0.5], ("1.5", "-2.25", "-0.0625", [4, 0, 0, 0], "2.75", "1.3735788109897444", 1)),
    (
        &[1.5, INF, NAN, -2.25, 0.0, 3.0],
        ("inf", "-2.25", "0.5625", [6, 1, 0, 1], "4.038873605350878", "1.9395150811478625", 1),
    ),
    (&[-INF, 2.0, -0.75, NAN], ("2.0", "-inf", "0.625", [4, 1, 1, 0], "2.1360009363293826", "1.375", 0)),
    (&[INF, -INF, 1.0], ("inf", "-inf", "1.0", [3, 0, 1, 1], "1.0", "0.0", 0)),
    (&[NAN, NAN], ("NA", "NA", "NA", [2, 2, 0, 0], "NA", "NA", 0)),
    (&[INF, INF, NAN], ("inf", "inf", "NA", [3, 1, 0, 2], "NA", "NA", 0)),
    (&[-INF], ("-inf", "-inf", "NA", [1, 0, 1, 0], "NA", "NA", 0)),
    (
        &[3e38, 3e38, -1e-38, 0.1],
        (
            "3.0000000054977558e+38",
            "-9.999999350456404e-39",
            "1.5000000027488779e+38",
            [4, 0, 0, 0],
            "4.2426406948942856e+38",
            "1.5000000027488779e+38",
            0,
        ),
    ),
];

#[track_caller]
fn is(column: &str, found: &str, expected: &str, of: &[f32]) {
    if found == expected {
        return;
    }
    let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
    let (found, expected) = (number(found), number(expected));
    let apart = (found - expected).abs();
    assert!(found == expected || apart <= 1e-14 * expected.abs(), "{column} of {of:?}: {found}, not {expected}");
}

#[test]
fn the_numbers_of_the_table_are_those_of_numpy_also_with_infinities_and_nan() {
    let dir = tempfile::tempdir().unwrap();
    let inputs = ROWS.map(|(elements, _)| Tensor::from_f32(vec![elements.len()], elements).unwrap());
    let table = table(&dir.path().join("dump"), &inputs);
    assert_eq!(table.len(), ROWS.len());
    for (run, (row, (elements, numbers))) in table.iter().zip(ROWS).enumerate() {
        let (max, min, mean, counts, l2, std, zeros) = numbers;
        let of: Vec<&str> = row.iter().take(10).collect();
        let (bytes, shape) = ((elements.len() * 4).to_string(), elements.len().to_string());
        let run = run.to_string();
        assert_eq!(of, [&*run, "same", "Identity", "y", "Output", "0", &bytes, "DT_FLOAT", "ND", &shape]);
        is("Max Value", &row[10], max, elements);
        is("Min Value", &row[11], min, elements);
        is("Avg Value", &row[12], mean, elements);
        let found: Vec<u64> = (13..17).map(|column| row[column].parse().unwrap()).collect();
        assert_eq!(found, counts, "Count, Nan, Negative Inf, Positive Inf of {elements:?}");
        is("L2norm", &row[17], l2, elements);
        is("Std", &row[18], std, elements);
        assert_eq!(row[19], zeros.to_string(), "Zero Count of {elements:?}");
        assert_eq!(&row[21], "NA");
    }
}

#[test]
fn infinities_of_half_precision_and_integers_have_numbers_too() {
    let dir = tempfile::tempdir().unwrap();
    let halves = Tensor::from_f32(vec![2, 2], &[65504.0, -INF, 0.5, -1.0]).unwrap().cast(DType::F16).unwrap();
    let integers = Tensor::from_i64(vec![3], &[-7, 2, 0]).unwrap();
    let table = table(&dir.path().join("dump"), &[halves, integers]);
    let columns = |row: &csv::StringRecord| [6, 7, 9, 10, 11, 12, 13, 15, 16, 19].map(|column| row[column].to_owned());
    // According to numpy, the mean of 65504, 0.5 and -1 is 21834.5.
    assert_eq!(columns(&table[0]), ["8", "DT_FLOAT16", "2x2", "65504", "-inf", "21834.5", "4", "1", "0", "0"]);
    let [mean, others @ ..] = [12, 6, 7, 9, 10, 11, 13, 15, 16, 19].map(|column| &table[1][column]);
    is("Avg Value", mean, "-1.6666666666666667", &[-7.0, 2.0, 0.0]);
    assert_eq!(others, ["24", "DT_INT64", "3", "2", "-7", "3", "0", "0", "1"]);
}
