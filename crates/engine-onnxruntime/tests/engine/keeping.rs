//! Values that an observer keeps for another thread.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use opscope_model::{Action, Dispatch, Fidelity, Interest, KeptTensor, KernelSet, NoObserver, Plan, RunId};
use opscope_tensor::{DType, Tensor, TensorView};

use crate::support::{Answering, beside, engine, inner, load, models, outputs, tensor};

/// What was computed and, if the engine could keep it, a handle to read it.
type Seen = (String, Vec<u8>, Option<Box<dyn KeptTensor>>);

fn keeping<'a>(after: impl Fn(&Dispatch<'_>, &[TensorView<'_>], Seen) -> Action + Sync + 'a) -> Answering<'a> {
    Answering {
        after: Box::new(move |dispatch, views| {
            let mut action = Action::Continue;
            for (values, view) in dispatch.kernel.outputs.iter().zip(views) {
                let bytes = view.bytes().map(<[u8]>::to_vec).unwrap_or_default();
                let seen = (dispatch.kernel.name.clone(), bytes, dispatch.live.keep(values[0]));
                action = after(dispatch, views, seen);
            }
            action
        }),
        interest: Interest { before: KernelSet::All, after: KernelSet::All, keeps: true, ..Interest::default() },
        ..Answering::default()
    }
}

fn read(kept: &dyn KeptTensor) -> Vec<u8> {
    let mut found = Vec::new();
    kept.read(&mut |bytes| found.extend_from_slice(bytes));
    found
}

fn planned(name: &str) -> Option<(Arc<dyn Plan>, Vec<Tensor>)> {
    let path = models().join(name);
    let model = load(&engine()?, &path, Fidelity::Exact);
    let inputs: Vec<Tensor> = beside(&path, "input", model.graph()).into_iter().flatten().collect();
    Some((model.plan(&inputs).unwrap(), inputs))
}

#[test]
fn what_is_kept_is_what_was_computed_whenever_it_is_read() {
    for name in ["digits_cnn.onnx", "tiny_transformer.onnx", "token_classifier.onnx"] {
        let Some((plan, inputs)) = planned(name) else { return };
        let plain = outputs(&*plan, &inputs, &NoObserver);
        // Read during the run, and after it has ended and another run has reused the memory.
        let (sender, receiver) = mpsc::channel::<Seen>();
        let reader = thread::spawn(move || {
            let check = |(name, computed, kept): Seen| assert_eq!(read(&*kept.unwrap()), computed, "{name}");
            receiver.into_iter().map(check).count()
        });
        let (late, count) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
        let observer = keeping(|_, _, seen| {
            let is_late = count.fetch_add(1, Ordering::Relaxed) % 3 == 0;
            match seen.2 {
                Some(_) if is_late => late.lock().unwrap().push(seen),
                Some(_) => sender.send(seen).unwrap(),
                None => {}
            }
            Action::Continue
        });
        assert_eq!(outputs(&*plan, &inputs, &observer), plain, "keeping changes nothing");
        assert_eq!(outputs(&*plan, &inputs, &observer), plain);
        drop(observer);
        drop(sender);
        let late = late.into_inner().unwrap();
        let (beside, late_count) = (reader.join().unwrap(), late.len());
        for (name, computed, kept) in late {
            assert_eq!(read(&*kept.unwrap()), computed, "{name}");
        }
        let all = count.into_inner();
        assert!(beside + late_count > all * 3 / 4, "{name}: {beside} and {late_count} of {all} were kept");
    }
}

#[test]
fn a_value_that_is_kept_and_then_replaced_stays_what_it_was() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("branches"), Fidelity::Exact);
    let input = tensor(&[4, 3], &[0.5; 12]);
    let plan = model.plan(std::slice::from_ref(&input)).unwrap();
    let kept = Mutex::new(Vec::new());
    let observer = keeping(|_, views, seen| {
        kept.lock().unwrap().push(seen);
        Action::Replace(
            views.iter().map(|view| tensor(view.shape(), &vec![9.0; view.shape().iter().product()])).collect(),
        )
    });
    outputs(&*plan, &[input], &observer);
    drop(observer);
    let kept: Vec<Seen> = kept.into_inner().unwrap().into_iter().filter(|seen| seen.2.is_some()).collect();
    assert!(kept.len() > 3, "{}", kept.len());
    for (name, computed, kept) in kept {
        assert_eq!(read(&*kept.unwrap()), computed, "{name}");
    }
}

/// A reshape shares the memory of its input.
#[test]
fn a_value_whose_memory_another_one_shares_stays_what_it_was_when_that_is_replaced() {
    let Some((plan, inputs)) = planned("tiny_transformer.onnx") else { return };
    let (kept, replaced) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let observer = keeping(|dispatch, views, seen| {
        kept.lock().unwrap().push(seen);
        if !matches!(dispatch.kernel.op.as_str(), "Reshape" | "Unsqueeze" | "Squeeze" | "Identity" | "Flatten") {
            return Action::Continue;
        }
        replaced.fetch_add(1, Ordering::Relaxed);
        let other = |view: &TensorView<'_>| {
            let bytes: Vec<u8> = view.bytes().unwrap().iter().map(|byte| byte ^ 1).collect();
            Tensor::new(view.dtype(), view.shape().to_vec(), bytes).unwrap()
        };
        let is_float = views.iter().all(|view| view.dtype() == DType::F32);
        if is_float { Action::Replace(views.iter().map(other).collect()) } else { Action::Continue }
    });
    outputs(&*plan, &inputs, &observer);
    drop(observer);
    assert!(replaced.into_inner() > 0);
    for (name, computed, kept) in kept.into_inner().unwrap() {
        if let Some(kept) = kept {
            assert_eq!(read(&*kept), computed, "{name}");
        }
    }
}

#[test]
fn what_was_kept_of_a_run_that_ends_early_can_still_be_read() {
    let Some((plan, inputs)) = planned("tiny_transformer.onnx") else { return };
    let (kept, count) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let observer = keeping(|_, _, seen| {
        kept.lock().unwrap().push(seen);
        match count.fetch_add(1, Ordering::Relaxed) {
            20 => Action::Stop("enough".into()),
            _ => Action::Continue,
        }
    });
    let resident = plan.upload(&inputs).unwrap();
    assert!(plan.run(RunId(0), &*resident, &observer).is_err());
    drop(observer);
    outputs(&*plan, &inputs, &keeping(|_, _, _| Action::Continue));
    for (name, computed, kept) in kept.into_inner().unwrap() {
        if let Some(kept) = kept {
            assert_eq!(read(&*kept), computed, "{name}");
        }
    }
}

#[test]
fn of_two_runs_at_once_one_keeps_and_the_other_one_is_not_disturbed() {
    let Some((plan, inputs)) = planned("tiny_transformer.onnx") else { return };
    let plain = outputs(&*plan, &inputs, &NoObserver);
    let run = || {
        let (mut is_equal, kept) = (true, Mutex::new(Vec::new()));
        for _ in 0..20 {
            let observer = keeping(|_, _, seen| {
                kept.lock().unwrap().push(seen);
                Action::Continue
            });
            is_equal &= outputs(&*plan, &inputs, &observer) == plain;
        }
        let seen = kept.into_inner().unwrap();
        is_equal && seen.iter().all(|(_, computed, kept)| kept.as_ref().is_none_or(|kept| read(&**kept) == *computed))
    };
    thread::scope(|scope| {
        let other = scope.spawn(run);
        assert!(run());
        assert!(other.join().unwrap());
    });
}
