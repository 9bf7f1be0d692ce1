//! Inputs whose memory is lent to the library.

use std::sync::Arc;

use opscope_model::{Fidelity, NoObserver, RunId};
use opscope_tensor::{DType, Tensor};

use crate::support::{engine, inner, load, models, outputs, tensor};

/// Bytes that begin at an address that is `behind` bytes after a multiple of 16.
struct Placed {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl AsRef<[u8]> for Placed {
    fn as_ref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length]
    }
}

fn placed(tensor: &Tensor, behind: usize) -> Tensor {
    let length = tensor.bytes().len();
    let mut memory = vec![0; length + 32];
    let start = 16 - memory.as_ptr().addr() % 16 + behind;
    memory[start..start + length].copy_from_slice(tensor.bytes());
    Tensor::from_owner(tensor.dtype(), tensor.shape().to_vec(), Arc::new(Placed { memory, start, length })).unwrap()
}

#[test]
fn an_optimised_run_reads_inputs_where_they_are_and_an_exact_one_copies_them() {
    let Some(engine) = engine() else { return };
    let input = placed(&tensor(&[4, 3], &[0.5; 12]), 0);
    for (fidelity, is_lent) in [(Fidelity::Optimised, true), (Fidelity::Exact, false)] {
        let model = load(&engine, &inner("branches"), fidelity);
        let plan = model.plan(std::slice::from_ref(&input)).unwrap();
        let resident = plan.upload(std::slice::from_ref(&input)).unwrap();
        let bytes = resident.view(0).into_bytes().unwrap();
        assert_eq!(bytes.as_ptr() == input.bytes().as_ptr(), is_lent, "{fidelity:?}");
        assert_eq!(*bytes, *input.bytes());
    }
}

#[test]
fn an_input_lives_as_long_as_it_is_lent() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &models().join("digits_cnn.onnx"), Fidelity::Optimised);
    let owner = Arc::new(placed(&tensor(&[1, 1, 8, 8], &[0.5; 64]), 0).bytes().to_vec());
    let input = Tensor::from_owner(DType::F32, vec![1, 1, 8, 8], Arc::clone(&owner) as _).unwrap();
    let plan = model.plan(std::slice::from_ref(&input)).unwrap();
    let resident = plan.upload(std::slice::from_ref(&input)).unwrap();
    drop(input);
    assert_eq!(Arc::strong_count(&owner), 2);
    let outputs = plan.run(RunId(0), &*resident, &NoObserver).unwrap();
    drop(resident);
    assert_eq!(Arc::strong_count(&owner), 1, "the outputs do not need it");
    assert_eq!(outputs.view(0).shape(), [1, 10]);
}

/// An output that is an input has memory of its own, because the caller that lent the input may write to it after the
/// run.
#[test]
fn no_output_has_the_memory_of_an_input() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &models().join("fixtures/passthrough.onnx"), Fidelity::Optimised);
    let input = placed(&tensor(&[4], &[1.0, -2.0, 3.0, 0.5]), 0);
    let plan = model.plan(std::slice::from_ref(&input)).unwrap();
    let resident = plan.upload(std::slice::from_ref(&input)).unwrap();
    let outputs = plan.run(RunId(0), &*resident, &NoObserver).unwrap();
    assert_eq!(resident.view(0).into_bytes().unwrap().as_ptr(), input.bytes().as_ptr());
    let passed = outputs.view(0).into_bytes().unwrap();
    assert_eq!(*passed, *input.bytes());
    assert_ne!(passed.as_ptr(), input.bytes().as_ptr());
}

#[test]
fn inputs_that_are_not_aligned_are_copied() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("branches"), Fidelity::Optimised);
    let aligned = placed(&tensor(&[4, 3], &[0.25; 12]), 0);
    let shifted = placed(&aligned, 1);
    let plan = model.plan(std::slice::from_ref(&aligned)).unwrap();
    let resident = plan.upload(std::slice::from_ref(&shifted)).unwrap();
    assert_ne!(resident.view(0).into_bytes().unwrap().as_ptr(), shifted.bytes().as_ptr());
    assert_eq!(outputs(&*plan, &[shifted], &NoObserver), outputs(&*plan, &[aligned], &NoObserver));
}

#[test]
fn booleans_of_other_bytes_than_0_and_1_are_copied_as_1() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &models().join("fixtures/bool.onnx"), Fidelity::Optimised);
    let bools = |bytes: [u8; 4]| Tensor::new(DType::Bool, vec![4], bytes.to_vec()).unwrap();
    let x = tensor(&[4], &[1.0, 2.0, 3.0, 4.0]);
    let plain = [bools([1, 1, 0, 0]), bools([1, 0, 1, 0]), x.clone()];
    let odd = [bools([2, 255, 0, 0]), bools([4, 0, 128, 0]), x];
    let plan = model.plan(&plain).unwrap();
    let lent = |inputs: &[Tensor]| {
        let resident = plan.upload(inputs).unwrap();
        resident.view(0).into_bytes().unwrap().as_ptr() == inputs[0].bytes().as_ptr()
    };
    assert!(lent(&plain) && !lent(&odd));
    assert_eq!(outputs(&*plan, &odd, &NoObserver), outputs(&*plan, &plain, &NoObserver));
}
