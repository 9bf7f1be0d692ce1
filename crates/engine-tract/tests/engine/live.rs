//! What an observer may switch on during a run, and what it then sees of that run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use opscope_model::{Action, Dispatch, EngineError, Fidelity, Interest, KernelSet, LiveMask, Plan, RunId, RunObserver};
use opscope_onnx::{Graph, ValueId};
use opscope_tensor::{Tensor, TensorView};
use tract_onnx::pb::tensor_proto::DataType::Float;

use crate::builder::{Builder, D};
use crate::files::{FIDELITIES, MODELS, load, planned};
use crate::values::Keep;

/// Calls closures.
struct Calls<B, A> {
    interest: Interest,
    before: B,
    after: A,
}

impl<B, A> RunObserver for Calls<B, A>
where
    B: Fn(&Dispatch<'_>, &[TensorView<'_>]) -> Action + Sync,
    A: Fn(&Dispatch<'_>, &[TensorView<'_>]) -> Action + Sync,
{
    fn interest(&self) -> Interest {
        self.interest.clone()
    }

    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        assert!(dispatch.inputs.is_empty(), "they are the argument");
        (self.before)(dispatch, inputs)
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        (self.after)(dispatch, outputs)
    }
}

fn go_on(_: &Dispatch<'_>, _: &[TensorView<'_>]) -> Action {
    Action::Continue
}

fn copies(views: &[TensorView<'_>]) -> Vec<Tensor> {
    views.iter().map(|view| view.to_tensor().unwrap()).collect()
}

fn watch(plan: &dyn Plan, inputs: &[Tensor], observer: &dyn RunObserver) -> Result<Vec<Tensor>, EngineError> {
    let outputs = plan.run(RunId(0), &*plan.upload(inputs)?, observer)?;
    Ok((0..outputs.len()).map(|index| outputs.view(index).to_tensor().unwrap()).collect())
}

fn floats(values: &[f32]) -> Tensor {
    Tensor::from_f32(vec![values.len()], values).unwrap()
}

#[test]
fn a_mask_that_is_switched_in_the_middle_of_a_run_is_obeyed_from_the_next_dispatch_on() {
    for fidelity in FIDELITIES {
        let (_, inputs, plan) = planned("digits_cnn", fidelity);
        let kernels = plan.kernels();
        let (before, after) = (Arc::new(LiveMask::new(kernels.len())), Arc::new(LiveMask::new(kernels.len())));
        before.set(kernels[1].id, true);
        let calls = Mutex::new(Vec::new());
        let note = |side: &'static str, dispatch: &Dispatch<'_>| {
            calls.lock().unwrap().push((side, dispatch.kernel.id.index()));
            match (side, dispatch.kernel.id.index()) {
                // The interest in `after` of the same dispatch is also queried again.
                ("before", 1) => after.set_all(true),
                ("after", 2) => {
                    after.set_all(false);
                    before.set(kernels[3].id, true);
                }
                _ => {}
            }
            Action::Continue
        };
        let observer = Calls {
            interest: Interest {
                before: KernelSet::Live(Arc::clone(&before)),
                after: KernelSet::Live(Arc::clone(&after)),
                ..Interest::default()
            },
            before: |dispatch: &Dispatch<'_>, _: &[TensorView<'_>]| note("before", dispatch),
            after: |dispatch: &Dispatch<'_>, _: &[TensorView<'_>]| note("after", dispatch),
        };
        watch(&*plan, &inputs, &observer).unwrap();
        let expected = [("before", 1), ("after", 1), ("after", 2), ("before", 3)];
        assert_eq!(*calls.lock().unwrap(), expected, "{fidelity}");
    }
}

/// `y = -(x * x) + 1 / (x * x)`: the quotient is the last operator that takes the square.
fn shared_square(fidelity: Fidelity) -> (Arc<Graph>, Arc<dyn Plan>, Vec<Tensor>) {
    let graph = Builder::default()
        .input("x", Float, &[D::N(2)])
        .node("square", "Mul", &["x", "x"], &["s"])
        .node("negate", "Neg", &["s"], &["n"])
        .node("invert", "Reciprocal", &["s"], &["r"])
        .node("add", "Add", &["n", "r"], &["y"])
        .output("y")
        .graph();
    let inputs = vec![floats(&[2.0, 4.0])];
    let plan = load(&graph, fidelity).unwrap().plan(&inputs).unwrap();
    (graph, plan, inputs)
}

#[test]
fn kept_inputs_are_what_the_kernel_was_given_although_the_engine_would_write_over_them() {
    let (_, plan, inputs) = shared_square(Fidelity::Exact);
    let in_place = |keep: bool| {
        let mask = Arc::new(LiveMask::new(plan.kernels().len()));
        let seen = Mutex::new(None);
        let overwritten = Mutex::new(0);
        let observer = Calls {
            interest: Interest {
                before: KernelSet::All,
                after: KernelSet::All,
                keep_inputs: KernelSet::Live(Arc::clone(&mask)),
                ..Interest::default()
            },
            before: |dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]| {
                // Queried after this, because a debugger that stopped here may have switched it on.
                mask.set(dispatch.kernel.id, keep);
                let addresses: Vec<_> = inputs.iter().map(|input| input.bytes().unwrap().as_ptr() as usize).collect();
                *seen.lock().unwrap() = Some((copies(inputs), addresses));
                Action::Continue
            },
            after: |dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]| {
                let (inputs, addresses) = seen.lock().unwrap().take().unwrap();
                let output = outputs[0].bytes().unwrap().as_ptr() as usize;
                *overwritten.lock().unwrap() += usize::from(addresses.contains(&output));
                assert_eq!(copies(dispatch.inputs), if keep { inputs } else { vec![] });
                Action::Continue
            },
        };
        assert_eq!(watch(&*plan, &inputs, &observer).unwrap(), [floats(&[-3.75, -15.9375])]);
        overwritten.into_inner().unwrap()
    };
    assert!(in_place(false) > 0, "the engine does not compute in place, so this test shows nothing");
    assert_eq!(in_place(true), 0);
}

#[test]
fn inputs_that_are_kept_are_those_that_replaced_the_runs() {
    let (_, plan, inputs) = shared_square(Fidelity::Exact);
    let observer = Calls {
        interest: Interest {
            before: KernelSet::All,
            after: KernelSet::All,
            keep_inputs: KernelSet::All,
            ..Interest::default()
        },
        before: |dispatch: &Dispatch<'_>, _: &[TensorView<'_>]| match dispatch.operator().name.as_str() {
            "invert" => Action::ReplaceInputs(vec![floats(&[0.5, 0.25])]),
            _ => Action::Continue,
        },
        after: |dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]| {
            if dispatch.operator().name == "invert" {
                assert_eq!(copies(dispatch.inputs), [floats(&[0.5, 0.25])]);
                assert_eq!(copies(outputs), [floats(&[2.0, 4.0])]);
                let s = dispatch.graph.value_named("s").unwrap().id;
                assert!(dispatch.live.value(s).is_none(), "what replaced a value here is not the value");
            }
            Action::Continue
        },
    };
    assert_eq!(watch(&*plan, &inputs, &observer).unwrap(), [floats(&[-2.0, -12.0])]);
}

#[test]
fn values_are_live_from_their_kernel_until_the_last_that_takes_them_has_begun() {
    let (_, plan, inputs) = shared_square(Fidelity::Exact);
    let seen = Mutex::new(Vec::new());
    let names = |dispatch: &Dispatch<'_>| -> String {
        let live = |value: &&opscope_onnx::Value| dispatch.live.value(value.id).is_some();
        dispatch.graph.values.iter().filter(live).map(|value| value.name.as_str()).collect()
    };
    let note = |side: char, dispatch: &Dispatch<'_>| {
        seen.lock().unwrap().push(format!("{side}{} {}", dispatch.operator().name, names(dispatch)));
        Action::Continue
    };
    let observer = Calls {
        interest: Interest { before: KernelSet::All, after: KernelSet::All, ..Interest::default() },
        before: |dispatch: &Dispatch<'_>, _: &[TensorView<'_>]| note('<', dispatch),
        after: |dispatch: &Dispatch<'_>, _: &[TensorView<'_>]| note('>', dispatch),
    };
    watch(&*plan, &inputs, &observer).unwrap();
    let mut seen = seen.into_inner().unwrap();
    // The engine may take the two branches in either order.
    if seen[2].starts_with("<invert") {
        seen = seen.iter().map(|line| line.replace("invert", "negate*").replace(" xsr", " xsn")).collect();
    }
    let heads: Vec<&str> = seen.iter().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(heads[..4], ["x", "xs", "xs", "xsn"], "{seen:?}");
    assert_eq!(heads[5..], ["xnr", "xnr", "xy"], "{seen:?}");
}

#[test]
fn live_values_of_every_model_are_what_its_kernels_computed() {
    for model in MODELS {
        let (graph, inputs, plan) = planned(model, Fidelity::Exact);
        let keep = Keep::default();
        plan.run(RunId(0), &*plan.upload(&inputs).unwrap(), &keep).unwrap();
        let mut computed: BTreeMap<ValueId, Tensor> = keep.0.into_inner().unwrap();
        plan.constants(&mut |value, view| {
            computed.insert(value, view.to_tensor().unwrap());
            Ok(())
        })
        .unwrap();
        computed.extend(graph.inputs.iter().copied().zip(inputs.iter().cloned()));

        let found = Mutex::new(0usize);
        let compare = |dispatch: &Dispatch<'_>, side: &str| {
            for (&id, expected) in &computed {
                let Some(value) = dispatch.live.value(id) else { continue };
                let name = &graph.value(id).name;
                assert!(value.to_tensor().unwrap() == *expected, "{model}, '{name}' {side} {}", dispatch.kernel.name);
                *found.lock().unwrap() += 1;
            }
            Action::Continue
        };
        let observer = Calls {
            interest: Interest { before: KernelSet::All, after: KernelSet::All, ..Interest::default() },
            before: |dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]| {
                for (input, view) in dispatch.kernel.inputs.iter().zip(inputs) {
                    let live = input.value.and_then(|value| dispatch.live.value(value));
                    let is_weight = input.value.is_none_or(|value| !computed.contains_key(&value));
                    assert!(is_weight || live.is_some_and(|live| live.to_tensor() == view.to_tensor()));
                }
                compare(dispatch, "before")
            },
            after: |dispatch: &Dispatch<'_>, _: &[TensorView<'_>]| {
                for value in dispatch.kernel.outputs.iter().flatten() {
                    assert!(dispatch.live.value(*value).is_some(), "{model}: {}", graph.value(*value).name);
                }
                compare(dispatch, "after")
            },
        };
        plan.run(RunId(1), &*plan.upload(&inputs).unwrap(), &observer).unwrap();
        let found = found.into_inner().unwrap();
        assert!(found > 2 * plan.kernels().len(), "{model}: {found}");
    }
}

#[test]
fn a_run_whose_shapes_depend_on_its_data_is_watched_like_any_other() {
    let graph = Builder::default()
        .input("x", Float, &[D::N(3)])
        .node("where", "NonZero", &["x"], &["places"])
        .node("turn", "Transpose", &["places"], &["rows"])
        .output("rows")
        .graph();
    let inputs = vec![floats(&[0.0, 5.0, 7.0])];
    let plan = load(&graph, Fidelity::Exact).unwrap().plan(&inputs).unwrap();
    let seen = Mutex::new(Vec::new());
    let observer = Calls {
        interest: Interest {
            before: KernelSet::All,
            after: KernelSet::All,
            keep_inputs: KernelSet::All,
            ..Interest::default()
        },
        before: go_on,
        after: |dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]| {
            let x = dispatch.live.value(dispatch.graph.inputs[0]).unwrap();
            assert_eq!(x.to_tensor().unwrap(), floats(&[0.0, 5.0, 7.0]), "what the run was given is always held");
            let (inputs, outputs) = (copies(dispatch.inputs), copies(outputs));
            seen.lock().unwrap().push((dispatch.operator().name.clone(), inputs.len(), outputs[0].shape().to_vec()));
            Action::Continue
        },
    };
    let outputs = watch(&*plan, &inputs, &observer).unwrap();
    assert_eq!(outputs[0].shape(), [2, 1]);
    let expected = [("where", 1, vec![1, 2]), ("turn", 1, vec![2, 1])];
    assert_eq!(*seen.lock().unwrap(), expected.map(|(name, inputs, shape)| (name.to_owned(), inputs, shape)));
}

#[test]
fn a_replacement_of_another_type_or_shape_is_refused_by_name() {
    let (_, plan, inputs) = shared_square(Fidelity::Exact);
    let wide = Tensor::from_f32(vec![1, 2], &[1.0, 1.0]).unwrap();
    let integers = Tensor::new(opscope_tensor::DType::I64, vec![2], vec![0u8; 16]).unwrap();
    for (action, words) in [
        (Action::ReplaceInputs(vec![wide.clone()]), "input 0 has shape [2], [1, 2] was given"),
        (Action::Skip(vec![integers]), "output 0 is of float32, int64 was given"),
        (Action::Skip(vec![wide.clone(), wide]), "2 tensors were given for 1 outputs"),
    ] {
        let observer = Calls {
            interest: Interest { before: KernelSet::All, ..Interest::default() },
            before: |dispatch: &Dispatch<'_>, _: &[TensorView<'_>]| match dispatch.operator().name.as_str() {
                "negate" => action.clone(),
                _ => Action::Continue,
            },
            after: go_on,
        };
        match watch(&*plan, &inputs, &observer) {
            Err(EngineError::Run { node, reason }) => {
                assert_eq!(node.as_deref(), Some("negate"));
                assert_eq!(reason, words);
            }
            other => panic!("{other:?}"),
        }
    }
}
