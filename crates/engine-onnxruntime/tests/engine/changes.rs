use std::sync::atomic::{AtomicU32, Ordering};

use opscope_model::{Action, DeviceTensors, EngineError, Fidelity, Interest, KernelSet, NoObserver, Plan, RunId};
use opscope_tensor::{Tensor, TensorView};

use crate::support::{Answering, engine, floats, inner, load, outputs, tensor};

fn all(replaces_inputs: bool) -> Interest {
    Interest { before: KernelSet::All, after: KernelSet::All, replaces_inputs, ..Interest::default() }
}

fn doubled(view: &TensorView<'_>) -> Tensor {
    let tensor = view.to_tensor().unwrap();
    let numbers: Vec<f32> = floats(&tensor).iter().map(|number| number * 2.0).collect();
    Tensor::from_f32(tensor.shape().to_vec(), &numbers).unwrap()
}

fn run(plan: &dyn Plan, inputs: &[Tensor], observer: &Answering<'_>) -> Result<Box<dyn DeviceTensors>, EngineError> {
    let resident = plan.upload(inputs)?;
    plan.run(RunId(0), &*resident, observer)
}

#[test]
fn a_run_continues_with_outputs_that_an_observer_replaces() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("branches"), Fidelity::Exact);
    let input = tensor(&[4, 3], &[0.5; 12]);
    let plan = model.plan(std::slice::from_ref(&input)).unwrap();
    let observer = Answering {
        after: Box::new(|dispatch, views| match dispatch.kernel.name.as_str() {
            "right" => Action::Replace(vec![doubled(&views[0])]),
            _ => Action::Continue,
        }),
        ..Answering::default()
    };
    let plain = outputs(&*plan, std::slice::from_ref(&input), &NoObserver);
    let changed = outputs(&*plan, &[input], &observer);
    let twice: Vec<f32> = floats(plain[0].as_ref().unwrap()).iter().map(|number| number * 2.0).collect();
    assert_eq!(floats(changed[0].as_ref().unwrap()), twice);
}

#[test]
fn inputs_are_replaced_for_one_operator_and_not_for_the_others_that_take_them() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("branches"), Fidelity::Exact);
    let input = tensor(&[4, 3], &[0.5; 12]);
    let plan = model.plan(std::slice::from_ref(&input)).unwrap();
    // `b0_0` and the other three branches take `shared`, and so does the sum.
    let observer = |factor: f32| Answering {
        before: Box::new(move |dispatch, views| match dispatch.kernel.name.as_str() {
            "b0_0" => {
                let tensor = views[0].to_tensor().unwrap();
                let numbers: Vec<f32> = floats(&tensor).iter().map(|number| number * factor).collect();
                Action::ReplaceInputs(vec![Tensor::from_f32(tensor.shape().to_vec(), &numbers).unwrap()])
            }
            _ => Action::Continue,
        }),
        interest: all(true),
        ..Answering::default()
    };
    let numbers =
        |factor: f32| floats(outputs(&*plan, std::slice::from_ref(&input), &observer(factor))[0].as_ref().unwrap())[0];
    let x = 0.5f64;
    let branch = |x: f64| (-x).exp().sqrt();
    let expected = |factor: f64| (branch(x) + x + branch(factor * x)) * (2.0 * branch(x) + x);
    for factor in [1.0f32, 2.0, 5.0] {
        let (found, expected) = (f64::from(numbers(factor)), expected(f64::from(factor)));
        assert!((found - expected).abs() < 1e-5, "{found} and not {expected}");
    }
    assert_eq!(
        numbers(1.0),
        floats(outputs(&*plan, std::slice::from_ref(&input), &NoObserver)[0].as_ref().unwrap())[0]
    );
}

#[test]
fn a_replacement_reaches_neither_the_inputs_of_a_model_nor_its_constants() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("constant_operators"), Fidelity::Exact);
    let input = tensor(&[4], &[1.0; 4]);
    let plan = model.plan(std::slice::from_ref(&input)).unwrap();
    let resident = plan.upload(&[input]).unwrap();
    let first = |replacing: &'static str, with: fn(&TensorView<'_>) -> Tensor| {
        let observer = Answering {
            before: Box::new(move |dispatch, views| {
                if dispatch.kernel.name != replacing {
                    return Action::Continue;
                }
                let mut inputs: Vec<Tensor> = views.iter().map(|view| view.to_tensor().unwrap()).collect();
                inputs[0] = with(&views[0]);
                Action::ReplaceInputs(inputs)
            }),
            interest: all(true),
            ..Answering::default()
        };
        let outputs = plan.run(RunId(0), &*resident, &observer)?;
        Ok::<_, EngineError>(floats(&outputs.view(0).to_tensor().unwrap()))
    };
    let plain = || first("nothing", doubled).unwrap();
    let expected = plain();
    // `add` takes the input of the model.
    assert_eq!(first("add", doubled).unwrap()[0], expected[0] + 1.0);
    assert_eq!(plain(), expected);
    // `range` takes only constants. From 1 it computes three numbers, which `products` cannot take.
    assert!(first("range", |_| Tensor::from_i64(Vec::new(), &[1]).unwrap()).is_err());
    assert_eq!(plain(), expected);
}

#[test]
fn inputs_cannot_be_replaced_in_a_run_that_did_not_announce_it() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("branches"), Fidelity::Exact);
    let input = tensor(&[4, 3], &[0.5; 12]);
    let plan = model.plan(std::slice::from_ref(&input)).unwrap();
    let observer = Answering {
        before: Box::new(|_, views| Action::ReplaceInputs(vec![doubled(&views[0])])),
        ..Answering::default()
    };
    let error = run(&*plan, &[input], &observer).err().unwrap();
    assert!(error.to_string().contains("they can be in the next run"), "{error}");
}

#[test]
fn an_operator_that_is_skipped_gives_the_outputs_of_the_observer() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("branches"), Fidelity::Exact);
    let input = tensor(&[4, 3], &[0.5; 12]);
    let plan = model.plan(std::slice::from_ref(&input)).unwrap();
    let observer = Answering {
        before: Box::new(|dispatch, _| match dispatch.kernel.name.as_str() {
            "join" => Action::Skip(vec![tensor(&[4, 3], &[7.0; 12])]),
            _ => Action::Continue,
        }),
        ..Answering::default()
    };
    assert_eq!(floats(outputs(&*plan, &[input], &observer)[0].as_ref().unwrap()), [7.0; 12]);
}

#[test]
fn a_replacement_of_another_type_or_shape_ends_the_run_and_names_the_operator() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("branches"), Fidelity::Exact);
    let input = tensor(&[4, 3], &[0.5; 12]);
    let plan = model.plan(std::slice::from_ref(&input)).unwrap();
    for wrong in [tensor(&[3, 4], &[0.0; 12]), Tensor::from_i64(vec![4, 3], &[0; 12]).unwrap()] {
        let observer = Answering {
            after: Box::new(move |dispatch, _| match dispatch.kernel.name.as_str() {
                "left" => Action::Replace(vec![wrong.clone()]),
                _ => Action::Continue,
            }),
            ..Answering::default()
        };
        let error = run(&*plan, std::slice::from_ref(&input), &observer).err().unwrap();
        assert!(matches!(&error, EngineError::Run { node: Some(node), .. } if node == "left"), "{error}");
        assert!(error.to_string().contains("output 0"), "{error}");
    }
}

#[test]
fn a_stop_ends_the_run_at_once_and_the_plan_runs_again() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("nested_loops"), Fidelity::Exact);
    let input = tensor(&[2], &[1.0, 2.0]);
    let plan = model.plan(std::slice::from_ref(&input)).unwrap();
    for in_front in [true, false] {
        let calls = AtomicU32::new(0);
        let stop = |name: &str| {
            // The third time that the inner loop's addition is dispatched, which is in the second iteration of the
            // outer one.
            if name != "outer/inner/add" || calls.fetch_add(1, Ordering::Relaxed) < 2 {
                return Action::Continue;
            }
            Action::Stop("enough".to_owned())
        };
        let observer = Answering {
            before: Box::new(|dispatch, _| if in_front { stop(&dispatch.operator().name) } else { Action::Continue }),
            after: Box::new(|dispatch, _| if in_front { Action::Continue } else { stop(&dispatch.operator().name) }),
            ..Answering::default()
        };
        let error = run(&*plan, std::slice::from_ref(&input), &observer).err().unwrap();
        assert!(matches!(&error, EngineError::Stopped(reason) if reason == "enough"), "{error}");
        assert_eq!(calls.load(Ordering::Relaxed), 3);
    }
    outputs(&*plan, &[input], &NoObserver);
}

#[test]
fn a_panic_of_an_observer_is_an_error_of_the_run() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("branches"), Fidelity::Exact);
    let input = tensor(&[4, 3], &[0.5; 12]);
    let plan = model.plan(std::slice::from_ref(&input)).unwrap();
    let observer = Answering { after: Box::new(|_, _| panic!("an observer's mistake")), ..Answering::default() };
    let error = run(&*plan, std::slice::from_ref(&input), &observer).err().unwrap();
    assert!(error.to_string().contains("panicked"), "{error}");
    outputs(&*plan, &[input], &NoObserver);
}

#[test]
fn an_observer_may_run_the_same_plan_within_a_run() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("branches"), Fidelity::Exact);
    let input = tensor(&[4, 3], &[0.5; 12]);
    let plan = model.plan(std::slice::from_ref(&input)).unwrap();
    let calls = AtomicU32::new(0);
    let observer = Answering {
        before: Box::new(|dispatch, _| {
            calls.fetch_add(1, Ordering::Relaxed);
            if dispatch.kernel.name == "left" {
                outputs(&*plan, std::slice::from_ref(&input), &NoObserver);
            }
            Action::Continue
        }),
        ..Answering::default()
    };
    outputs(&*plan, std::slice::from_ref(&input), &observer);
    assert_eq!(calls.load(Ordering::Relaxed) as usize, plan.kernels().len());
}

#[test]
fn runs_on_several_threads_do_not_see_each_other() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("branches"), Fidelity::Exact);
    let plan = model.plan(&[tensor(&[4, 3], &[0.0; 12])]).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let plan = &plan;
            scope.spawn(move || {
                let number = thread as f32 + 1.0;
                for _ in 0..50 {
                    let observer = Answering {
                        before: Box::new(move |dispatch, views| {
                            if dispatch.kernel.name == "shared" {
                                assert_eq!(floats(&views[0].to_tensor().unwrap()), [number; 12]);
                            }
                            Action::Continue
                        }),
                        ..Answering::default()
                    };
                    outputs(&**plan, &[tensor(&[4, 3], &[number; 12])], &observer);
                }
            });
        }
    });
}
