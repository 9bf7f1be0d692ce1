use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use opscope_model::{Action, Fidelity, Interest, KernelSet, NoObserver};
use opscope_onnx::Producer;
use opscope_tensor::{DType, Tensor};

use crate::support::{Answering, Recorder, engine, inner, load, models, outputs, tensor};

#[test]
fn nothing_is_executed_between_before_and_its_operator_where_branches_lie_side_by_side() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("branches"), Fidelity::Exact);
    let input = tensor(&[4, 3], &[0.5; 12]);
    let plan = model.plan(std::slice::from_ref(&input)).unwrap();
    let recorder = Recorder::default();
    outputs(&*plan, &[input], &recorder);
    let seen = recorder.0.into_inner().unwrap();
    for pair in seen.chunks(2) {
        assert!(pair[0].before && !pair[1].before && pair[0].operator == pair[1].operator, "{pair:?}");
    }
    let kernels: Vec<_> = plan.kernels().iter().map(|kernel| kernel.name.clone()).collect();
    let executed: Vec<_> = seen.iter().filter(|seen| seen.before).map(|seen| seen.operator.clone()).collect();
    assert_eq!(executed, kernels, "kernels are listed in the order in which they are executed");
}

#[test]
fn an_operator_whose_outputs_have_unknown_ranks_ends_before_the_next_one_begins() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("unknown_ranks"), Fidelity::Exact);
    let numbers: Vec<f32> = (0..12).map(|number| number as f32 / 4.0 - 1.0).collect();
    for sizes in [vec![2i64, 6], vec![2, 2, 3]] {
        let bytes: Vec<u8> = sizes.iter().flat_map(|size| size.to_le_bytes()).collect();
        let inputs = [tensor(&[4, 3], &numbers), Tensor::new(DType::I64, vec![sizes.len()], bytes).unwrap()];
        let plan = model.plan(&inputs).unwrap();
        let recorder = Recorder::default();
        let watched = outputs(&*plan, &inputs, &recorder);
        assert_eq!(watched, outputs(&*plan, &inputs, &NoObserver), "watching changes nothing");
        let seen = recorder.0.into_inner().unwrap();
        assert_eq!(seen.len(), 2 * model.graph().operators.len());
        for pair in seen.chunks(2) {
            assert!(pair[0].before && !pair[1].before && pair[0].operator == pair[1].operator, "{seen:#?}");
        }
        let top_k = seen.iter().find(|seen| !seen.before && seen.operator == "top_k").unwrap();
        let types: Vec<_> = top_k.tensors.iter().map(|tensor| tensor.as_ref().unwrap().dtype()).collect();
        assert_eq!(types, [DType::F32, DType::I64]);
    }
}

#[test]
fn an_observer_sees_the_values_that_later_operators_still_take() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("branches"), Fidelity::Exact);
    let input = tensor(&[4, 3], &[0.25; 12]);
    let plan = model.plan(std::slice::from_ref(&input)).unwrap();
    let computed = Mutex::new(std::collections::HashMap::new());
    let checked = AtomicU32::new(0);
    let observer = Answering {
        after: Box::new(|dispatch, views| {
            let mut computed = computed.lock().unwrap();
            for (values, view) in dispatch.kernel.outputs.iter().zip(views) {
                computed.insert(values[0], view.to_tensor().unwrap());
            }
            for value in &dispatch.graph.values {
                if let (Some(view), Some(known)) = (dispatch.live.value(value.id), computed.get(&value.id)) {
                    assert!(matches!(value.producer, Producer::Operator(..)));
                    assert_eq!(view.to_tensor().unwrap(), *known, "{}", value.name);
                    checked.fetch_add(1, Ordering::Relaxed);
                }
            }
            Action::Continue
        }),
        ..Answering::default()
    };
    outputs(&*plan, &[input], &observer);
    assert!(checked.load(Ordering::Relaxed) > 40);
}

#[test]
fn inputs_that_are_kept_are_those_that_the_operator_was_executed_with() {
    let Some(engine) = engine() else { return };
    let path = models().join("digits_cnn.onnx");
    let model = load(&engine, &path, Fidelity::Exact);
    let inputs: Vec<_> = crate::support::beside(&path, "input", model.graph()).into_iter().flatten().collect();
    let plan = model.plan(&inputs).unwrap();
    let before = Mutex::new(Vec::new());
    let observer = Answering {
        before: Box::new(|_, views| {
            before.lock().unwrap().push(views.iter().map(|view| view.to_tensor().unwrap()).collect::<Vec<_>>());
            Action::Continue
        }),
        after: Box::new(|dispatch, _| {
            let kept: Vec<_> = dispatch.inputs.iter().map(|view| view.to_tensor().unwrap()).collect();
            assert_eq!(Some(&kept), before.lock().unwrap().last());
            Action::Continue
        }),
        interest: Interest {
            before: KernelSet::All,
            after: KernelSet::All,
            keep_inputs: KernelSet::All,
            ..Interest::default()
        },
    };
    outputs(&*plan, &inputs, &observer);
    assert!(before.lock().unwrap().len() > 10);
}
