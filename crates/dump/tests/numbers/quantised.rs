//! Comparisons with a quantised model: its noise, in decibels.

use std::path::{Path, PathBuf};

use opscope_dump::{CompareOptions, Comparison, Contents, DirectorySink, DumpInfo, StoredDump};
use opscope_model::Fidelity;

use crate::{floats, giving, run_into};

fn dump(root: PathBuf, op_type: &str, values: &[f32], contents: Contents) -> PathBuf {
    let plan = giving(op_type, vec![floats(values)]);
    let info = DumpInfo::new(&plan.graph, Fidelity::Exact, "fake", "1.0");
    run_into(&plan, Box::new(DirectorySink::create(&root, contents, &info).unwrap()), 1);
    root
}

fn compare(values: &[f32], expected: &[f32], contents: Contents, least_sqnr: Option<f64>) -> Comparison {
    let dir = tempfile::tempdir().unwrap();
    let open = |path: &Path| StoredDump::open(path).unwrap();
    let found = open(&dump(dir.path().join("found"), "DequantizeLinear", values, contents));
    let original = open(&dump(dir.path().join("original"), "Mul", expected, contents));
    let options = CompareOptions { least_sqnr, ..CompareOptions::default() };
    let comparison = Comparison::of(&found, &original, &options);
    assert!(comparison.is_quantised);
    comparison
}

#[test]
fn a_quantised_tensor_is_right_from_10_decibels_on_or_from_what_was_chosen() {
    // The signal consists of ones, so with a noise of d the ratio is -20 log10(d).
    for (noise, least, same) in [
        (0.3162, None, true),
        (0.3163, None, false),
        (0.0999, Some(20.0), true),
        (0.1001, Some(20.0), false),
        (0.9, Some(0.0), true),
        (1.1, Some(0.0), false),
    ] {
        let ones = [1.0f32; 4];
        let comparison = compare(&ones.map(|one| one + noise), &ones, Contents::Tensors, least);
        assert_eq!(comparison.is_same(), same, "{noise} {least:?}");
        let sqnr = comparison.json()["rows"][0]["sqnr_db"].as_f64().unwrap();
        assert!((sqnr + 20.0 * f64::from(noise).log10()).abs() < 1e-4, "{sqnr}");
    }
    assert!(!compare(&[1.0, f32::NAN], &[1.0, 1.0], Contents::Tensors, None).is_same());
}

#[test]
fn statistics_of_a_quantised_tensor_may_be_apart_by_what_so_much_noise_can_do() {
    let expected = [-1.0, 0.0, 0.5, 1.0];
    let is_alike = |values: [f32; 4]| {
        let comparison = compare(&values, &expected, Contents::Statistics, None);
        match comparison.json()["rows"][0]["outcome"].as_str().unwrap() {
            "alike" => true,
            "statistics_differ" => false,
            other => panic!("{other}"),
        }
    };
    // The noise is 10^(-10/20) of the largest element: 0.3162 in the mean, and twice that in one of four elements.
    assert!(is_alike(expected.map(|value| value + 0.316)));
    assert!(!is_alike(expected.map(|value| value + 0.3165)));
    assert!(is_alike([-1.0, 0.0, 0.5, 1.632]) && !is_alike([-1.0, 0.0, 0.5, 1.633]));
    assert!(is_alike([-1.632, 0.0, 0.5, 1.0]) && !is_alike([-1.633, 0.0, 0.5, 1.0]));
}
