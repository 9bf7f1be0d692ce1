//! A comparison with every kind of row, as text, JSON and CSV, compared with reviewed ones.

use std::collections::BTreeSet;

use opscope_model::Fidelity;
use opscope_model::testing::assert_snapshot;
use opscope_profile::{EngineInfo, Load, ReferenceTimes};
use opscope_tensor::Digest;

use super::comparison::{MeasurementKind, Side, TimesComparison};
use super::measurement::{Executed, ExecutedTimes, Times};
use super::surroundings::Surroundings;

/// An operator whose time in each of these many runs differs a little from the others.
pub(super) fn executed(kernels: &[&[&str]], op_type: &str, nanos: f32, runs: usize) -> Executed {
    let kernels: BTreeSet<BTreeSet<String>> =
        kernels.iter().map(|kernel| kernel.iter().map(|name| (*name).to_owned()).collect()).collect();
    Executed {
        operator: kernels.iter().flatten().next().cloned().unwrap_or_else(|| "reorder".to_owned()),
        op_type: op_type.to_owned(),
        added: kernels.is_empty(),
        times: ExecutedTimes::Runs((0..runs).map(|run| nanos + (run * 617 % 1_000) as f32).collect()),
        kernels,
    }
}

pub(super) fn times(name: &str, threads: usize, reference: f64, operators: Vec<Executed>) -> Times {
    let of = |operator: &Executed, run: usize| match &operator.times {
        ExecutedTimes::Runs(times) => f64::from(times[run]),
        ExecutedTimes::Median(median) => median.median,
    };
    let runs: Vec<f64> =
        (0..1_000).map(|run| 500.0 + operators.iter().map(|operator| of(operator, run)).sum::<f64>()).collect();
    let reference =
        ReferenceTimes { p25_ns: reference * 0.99, median_ns: reference, p75_ns: reference * 1.01, samples: 40 };
    let engine = EngineInfo { threads, ..EngineInfo::new("paper", "0.1", Fidelity::Optimised) };
    let mut surroundings = Surroundings::default();
    surroundings.add("threads", threads);
    let side = Side {
        path: format!("out/{name}").into(),
        kind: MeasurementKind::Recording,
        model: "models/small.onnx".into(),
        xxh3: Digest(0xdead_beef),
        engine,
        complete: name == "a",
        runs: 1_000,
        run_seconds: 10.0,
        start_unix_ns: Some(if name == "a" { 1_700_000_000_000_000_000 } else { 1_700_000_090_000_000_000 }),
    };
    Times {
        side,
        surroundings,
        load: Load { average_start: Some(0.5), average_end: Some(1.0), reference: Some(reference) },
        problems: vec!["2 records were dropped".into()],
        outside: vec![500.0; 1_000],
        operators,
        runs,
        op_types: Vec::new(),
        every: 100,
    }
}

pub(super) fn comparison() -> TimesComparison {
    let a = vec![
        executed(&[&["/conv"]], "Conv", 40_000.0, 1_000),
        executed(&[&["/relu"]], "Relu", 9_000.0, 1_000),
        executed(&[&["=cmd()", "\u{1b}[2J"]], "MatMul", 20_000.0, 1_000),
        executed(&[&["/old"]], "Add", 3_000.0, 1_000),
    ];
    let b = vec![
        executed(&[&["/conv", "/relu"]], "Conv", 42_000.0, 1_000),
        executed(&[&["=cmd()", "\u{1b}[2J"]], "MatMul", 30_000.0, 1_000),
        executed(&[&["/new"]], "Sub", 4_000.0, 1_000),
        executed(&[], "Reorder", 2_000.0, 1_000),
    ];
    let comparison =
        TimesComparison::by_age(&times("b", 2, 1_100.0, b), &times("a", 1, 1_000.0, a)).expect("both have runs");
    let thresholds = ["5%", "10%:MatMul", "10%:Sub"].map(|text| text.parse().expect("a threshold"));
    comparison.with_thresholds(&thresholds).expect("names that are there")
}

#[test]
fn a_comparison_of_every_kind_of_row_is_as_it_was() {
    let comparison = comparison();
    assert_snapshot!("times.txt", comparison.text(10).into_bytes());
    assert_snapshot!("times.json", format!("{:#}\n", comparison.json()).into_bytes());
    assert_snapshot!("times.csv", comparison.csv().into_bytes());
}
