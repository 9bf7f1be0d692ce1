//! How far apart numbers of each type may be.

use opscope_tensor::DType::{self, *};
use opscope_tensor::{Difference, DifferenceAccumulator, Tensor, Tolerance};

/// Absolute, relative, and of the largest element: those of docs/dump.md.
const TOLERANCES: [(DType, f64, f64, f64); 23] = [
    (F32, 1e-7, 1e-4, 5e-5),
    (U8, 0.0, 0.0, 0.0),
    (I8, 0.0, 0.0, 0.0),
    (U16, 0.0, 0.0, 0.0),
    (I16, 0.0, 0.0, 0.0),
    (I32, 0.0, 0.0, 0.0),
    (I64, 0.0, 0.0, 0.0),
    (String, 0.0, 0.0, 0.0),
    (Bool, 0.0, 0.0, 0.0),
    (F16, 1e-4, 1e-2, 2e-3),
    (F64, 1e-14, 1e-9, 1e-9),
    (U32, 0.0, 0.0, 0.0),
    (U64, 0.0, 0.0, 0.0),
    (Complex64, 1e-7, 1e-4, 5e-5),
    (Complex128, 1e-14, 1e-9, 1e-9),
    (Bf16, 1e-3, 5e-2, 1e-2),
    (F8E4M3Fn, 1e-2, 0.25, 0.1),
    (F8E4M3FnUz, 1e-2, 0.25, 0.1),
    (F8E5M2, 1e-2, 0.25, 0.1),
    (F8E5M2FnUz, 1e-2, 0.25, 0.1),
    (U4, 0.0, 0.0, 0.0),
    (I4, 0.0, 0.0, 0.0),
    (F4E2M1, 1e-2, 0.25, 0.1),
];

#[test]
fn every_type_has_its_tolerance() {
    assert_eq!(DType::all().count(), TOLERANCES.len());
    for (dtype, absolute, relative, of_max) in TOLERANCES {
        assert_eq!(Tolerance::of(dtype), Tolerance { absolute, relative, of_max }, "{dtype}");
    }
    assert_eq!(Tolerance::EXACT, Tolerance { absolute: 0.0, relative: 0.0, of_max: 0.0 });
}

/// Compares numbers of one type with the relative part of a tolerance.
fn difference(dtype: DType, found: &[f64], expected: &[f64], relative: f64) -> Difference {
    let doubles = |values: &[f64]| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Tensor::new(F64, vec![values.len()], bytes).unwrap().cast(dtype).unwrap()
    };
    let mut accumulator = DifferenceAccumulator::new(dtype, dtype, found.len(), relative).unwrap();
    accumulator.update(doubles(found).bytes(), doubles(expected).bytes());
    accumulator.finish()
}

#[test]
fn a_difference_is_within_a_tolerance_up_to_its_last_part() {
    // Each part of a tolerance alone, and all of them together: two numbers, and what they are compared with.
    let cases = [
        (F64, [0.0, 0.9e-14], [0.0, 0.0], true),
        (F64, [0.0, 1.1e-14], [0.0, 0.0], false),
        (F64, [1e6, 0.99e-3], [1e6, 0.0], true),
        (F64, [1e6, 1.01e-3], [1e6, 0.0], false),
        (F64, [1.0, 1.0 + 1.99e-9], [1.0, 1.0], true),
        (F64, [1.0, 1.0 - 2.01e-9], [1.0, 1.0], false),
        (F32, [0.0, 0.99e-7], [0.0, 0.0], true),
        (F32, [0.0, -1.01e-7], [0.0, 0.0], false),
        (F32, [1000.0, 0.0499], [-1000.0, 0.0], false),
        (F32, [1000.0, 0.0499], [1000.0, 0.0], true),
        (F32, [1000.0, 0.0501], [1000.0, 0.0], false),
        (F32, [1.0, 1.0001499], [1.0, 1.0], true),
        (F32, [1.0, 1.0001504], [1.0, 1.0], false),
        (F16, [0.0, 0.99e-4], [0.0, 0.0], true),
        (F16, [0.0, 1.01e-4], [0.0, 0.0], false),
        (F16, [1000.0, 2.0], [1000.0, 0.0], true),
        (F16, [1000.0, 2.002], [1000.0, 0.0], false),
        // 12 and 13 steps of 2^-10; 0.0121 is allowed.
        (F16, [1.0, 1.0 + 12.0 / 1024.0], [1.0, 1.0], true),
        (F16, [1.0, 1.0 + 13.0 / 1024.0], [1.0, 1.0], false),
        (Bf16, [0.0, 0.99e-3], [0.0, 0.0], true),
        (Bf16, [0.0, 1.01e-3], [0.0, 0.0], false),
        (Bf16, [1024.0, 10.1875], [1024.0, 0.0], true),
        (Bf16, [1024.0, 10.25], [1024.0, 0.0], false),
        // 7 and 8 steps of 2^-7; 0.061 is allowed.
        (Bf16, [1.0, 1.0 + 7.0 / 128.0], [1.0, 1.0], true),
        (Bf16, [1.0, 1.0 + 8.0 / 128.0], [1.0, 1.0], false),
    ];
    for (dtype, found, expected, is_within) in cases {
        let tolerance = Tolerance::of(dtype);
        let difference = difference(dtype, &found, &expected, tolerance.relative);
        assert_eq!(difference.is_within(&tolerance), is_within, "{dtype} {found:?} {difference:?}");
    }
}

#[test]
fn the_parts_of_a_tolerance_add_up() {
    let two = difference(F64, &[10.0, 1.75], &[10.0, 1.0], 0.25);
    assert_eq!((two.excess, two.max_reference), (0.5, 10.0));
    let of = |absolute, of_max| Tolerance { absolute, relative: 0.25, of_max };
    for (tolerance, is_within) in [
        (of(0.5, 0.0), true),
        (of(0.499, 0.0), false),
        (of(0.0, 0.05), true),
        (of(0.0, 0.049), false),
        (of(0.25, 0.025), true),
        (of(0.25, 0.024), false),
        (of(0.24, 0.025), false),
    ] {
        assert_eq!(two.is_within(&tolerance), is_within, "{tolerance:?}");
    }
    // A number below the reference counts as one above it, and the excess of equal numbers is not negative.
    assert_eq!(difference(F64, &[0.25], &[1.0], 0.25).excess, 0.5);
    assert_eq!(difference(F64, &[0.9], &[-1.0], 0.25).excess, 1.65);
    assert_eq!(difference(F64, &[1.1], &[1.0], 0.25).excess, 0.0);
}
