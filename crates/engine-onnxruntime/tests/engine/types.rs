use opscope_model::{Fidelity, NoObserver};
use opscope_tensor::DType;

use crate::support::{Recorder, engine, inner, load, outputs, tensor};

#[test]
fn types_that_numpy_lacks_are_shown_as_their_bits() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("low_bits"), Fidelity::Exact);
    let input = tensor(&[5], &[0.0, 1.0, -2.0, 3.0, 1.5]);
    let plan = model.plan(std::slice::from_ref(&input)).unwrap();
    let recorder = Recorder::default();
    outputs(&*plan, &[input], &recorder);
    let seen = recorder.0.into_inner().unwrap();
    let shown = |name: &str| {
        let seen = seen.iter().find(|seen| !seen.before && seen.operator == name).unwrap();
        let tensor = seen.tensors[0].as_ref().unwrap();
        assert_eq!(tensor.shape(), [5]);
        (tensor.dtype(), tensor.bytes().to_vec())
    };
    let (dtype, bits) = shown("to_bf16");
    assert_eq!((dtype, &bits[2..4]), (DType::Bf16, &0x3f80u16.to_le_bytes()[..]));
    assert_eq!(shown("to_e4m3fn"), (DType::F8E4M3Fn, vec![0x00, 0x38, 0xc0, 0x44, 0x3c]));
    assert_eq!(shown("to_e5m2"), (DType::F8E5M2, vec![0x00, 0x3c, 0xc0, 0x42, 0x3e]));
    // Two elements in a byte, the first in the low half: 0 and 1, -2 and 3, 2.
    assert_eq!(shown("to_int4"), (DType::I4, vec![0x10, 0x3e, 0x02]));
    assert_eq!(shown("to_uint4").0, DType::U4);
}

#[test]
fn sequences_optionals_and_strings_are_shown_as_what_has_no_bytes() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("sequences"), Fidelity::Exact);
    let input = tensor(&[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let plan = model.plan(std::slice::from_ref(&input)).unwrap();
    let recorder = Recorder::default();
    let found = outputs(&*plan, std::slice::from_ref(&input), &recorder);
    assert_eq!(found, outputs(&*plan, &[input], &NoObserver));
    let seen = recorder.0.into_inner().unwrap();
    for operator in ["split", "take", "insert", "join", "wrap", "unwrap", "print", "parse"] {
        let calls: Vec<bool> = seen.iter().filter(|seen| seen.operator == operator).map(|seen| seen.before).collect();
        assert_eq!(calls, [true, false], "{operator}");
        let after = seen.iter().find(|seen| seen.operator == operator && !seen.before).unwrap();
        let has_bytes = ["take", "join", "unwrap", "parse"].contains(&operator);
        assert_eq!(after.tensors[0].is_some(), has_bytes, "{operator}");
    }
}

#[test]
fn a_batch_normalization_shows_its_five_inputs() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("batch_norm"), Fidelity::Exact);
    let input = tensor(&[1, 1, 8, 8], &[1.0; 64]);
    let plan = model.plan(std::slice::from_ref(&input)).unwrap();
    let recorder = Recorder::default();
    outputs(&*plan, &[input], &recorder);
    let seen = recorder.0.into_inner().unwrap();
    let norm = seen.iter().find(|seen| seen.before && seen.operator == "norm").unwrap();
    let shapes: Vec<_> = norm.tensors.iter().map(|tensor| tensor.as_ref().unwrap().shape().to_vec()).collect();
    assert_eq!(shapes, [vec![1, 4, 6, 6], vec![4], vec![4], vec![4], vec![4]]);
}

#[test]
fn operators_that_take_only_constants_or_nothing_are_shown_and_constants_are_listed() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("constant_operators"), Fidelity::Exact);
    let input = tensor(&[4], &[1.0; 4]);
    let plan = model.plan(std::slice::from_ref(&input)).unwrap();
    let recorder = Recorder::default();
    outputs(&*plan, std::slice::from_ref(&input), &recorder);
    let seen = recorder.0.into_inner().unwrap();
    for operator in ["range", "cast", "products", "none", "some", "length", "add"] {
        let calls: Vec<bool> = seen.iter().filter(|seen| seen.operator == operator).map(|seen| seen.before).collect();
        assert_eq!(calls, [true, false], "{operator}");
    }
    let mut constants = Vec::new();
    let collect = &mut |value, view: opscope_tensor::TensorView<'_>| {
        constants.push((model.graph().value(value).name.clone(), view.to_tensor().unwrap()));
        Ok(())
    };
    plan.constants(collect).unwrap();
    assert_eq!(constants, [("held".to_owned(), tensor(&[4], &[1.0, 2.0, 3.0, 4.0]))]);
}
