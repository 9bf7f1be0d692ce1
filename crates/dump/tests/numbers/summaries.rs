//! Tensors with only hashes and statistics.

use std::path::{Path, PathBuf};

use opscope_dump::{CompareOptions, Comparison, Contents, DirectorySink, DumpInfo, Outcome, StoredDump, Summary};
use opscope_model::Fidelity;
use opscope_tensor::{DType, Tensor};

use crate::{floats, giving, run_into};

fn dump(root: PathBuf, tensor: Tensor) -> StoredDump {
    let plan = giving("Mul", vec![tensor]);
    let info = DumpInfo::new(&plan.graph, Fidelity::Exact, "fake", "1.0");
    run_into(&plan, Box::new(DirectorySink::create(&root, Contents::Statistics, &info).unwrap()), 1);
    StoredDump::open(Path::new(&root)).unwrap()
}

fn outcome(found: Tensor, expected: Tensor) -> Summary {
    let dir = tempfile::tempdir().unwrap();
    let (found, expected) = (dump(dir.path().join("found"), found), dump(dir.path().join("expected"), expected));
    match Comparison::of(&found, &expected, &CompareOptions::default()).rows[0].outcome {
        Outcome::Summarised(summary) => summary,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn statistics_agree_if_they_are_no_further_apart_than_every_element_may_be() {
    use Summary::{Alike, Different, Same};
    let of = |found: &[f32], expected: &[f32]| outcome(floats(found), floats(expected));
    // For float32 and a largest element of 1: 1e-7 + 1e-4 + 5e-5. For -2: twice that, except for the absolute part.
    let expected = [-1.0, 0.0, 0.0, 1.0];
    assert_eq!(of(&expected, &expected), Same);
    assert_eq!(of(&[-1.0, 0.0, 0.0, 1.00015], &expected), Alike);
    assert_eq!(of(&[-1.0, 0.0, 0.0, 1.000152], &expected), Different);
    assert_eq!(of(&[-1.00015, 0.0, 0.0, 1.0], &expected), Alike);
    assert_eq!(of(&[-1.000152, 0.0, 0.0, 1.0], &expected), Different);
    assert_eq!(of(&[-2.0, 0.0, 0.0, 1.0003], &[-2.0, 0.0, 0.0, 1.0]), Alike);
    assert_eq!(of(&[-2.0, 0.0, 0.0, 1.000302], &[-2.0, 0.0, 0.0, 1.0]), Different);
    // Only the mean differs.
    assert_eq!(of(&[-1.0, 0.0003, 0.0003, 1.0], &expected), Alike);
    assert_eq!(of(&[-1.0, 0.000302, 0.000302, 1.0], &expected), Different);
    // Only elements that are not finite differ.
    assert_eq!(of(&[-1.0, f32::INFINITY, 0.0, 1.0], &expected), Different);
    assert_eq!(of(&[f32::NAN; 2], &[f32::INFINITY; 2]), Different);
    assert_eq!(of(&[f32::INFINITY; 2], &[f32::NEG_INFINITY; 2]), Alike, "an index counts them together");
}

#[test]
fn means_of_large_integers_may_be_rounded_and_are_not_the_same_otherwise() {
    let of = |values: &[i64]| Tensor::from_i64(vec![values.len()], values).unwrap();
    // A billionth of the largest element would be 1, and the means are a quarter apart; a billionth of a thousandth is
    // allowed.
    assert_eq!(outcome(of(&[0, 1_000_000_000, 5, 6]), of(&[0, 1_000_000_000, 5, 5])), Summary::Different);
    assert_eq!(outcome(of(&[0, 1_000_000_000, 5, 6]), of(&[0, 1_000_000_000, 6, 5])), Summary::Alike);
    let mut many = vec![0; 2000];
    many[1] = 1_000_000_000;
    let mut other = many.clone();
    other[2] = 1;
    assert_eq!(outcome(of(&other), of(&many)), Summary::Alike, "0.0005 apart, and 0.001 is rounding");
    other[2] = 3;
    assert_eq!(outcome(of(&other), of(&many)), Summary::Different);
}

#[test]
fn a_hash_says_nothing_of_tensors_of_two_types() {
    let zero = |dtype| Tensor::new(dtype, vec![1], vec![0; 4]).unwrap();
    assert_eq!(outcome(zero(DType::I32), zero(DType::F32)), Summary::Alike);
    assert_eq!(outcome(zero(DType::I32), zero(DType::I32)), Summary::Same);
}
