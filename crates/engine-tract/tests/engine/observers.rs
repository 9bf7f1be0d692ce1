//! When an observer is called, and the effects of its actions.

use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use opscope_clock::Ticks;
use opscope_model::{
    Action, Dispatch, EngineError, Fidelity, Interest, Iteration, KernelId, KernelSet, NoObserver, Plan, RunId,
    RunObserver,
};
use opscope_tensor::{Tensor, TensorView};

use crate::builder::{Builder, D};
use crate::files::{FIDELITIES, load, mismatch, planned, run};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Call {
    Before(KernelId),
    Started(KernelId),
    Timed(KernelId),
    After(KernelId),
    Finished { well: bool },
}

/// Records every call, and acts through a closure.
struct Recorder<F> {
    interest: Interest,
    calls: Mutex<Vec<Call>>,
    times: Mutex<Vec<(Ticks, Ticks)>>,
    act: F,
}

impl<F: Fn(&Dispatch<'_>, bool) -> Action> Recorder<F> {
    fn new(interest: Interest, act: F) -> Self {
        Self { interest, calls: Mutex::default(), times: Mutex::default(), act }
    }

    fn note(&self, call: Call) {
        self.calls.lock().unwrap().push(call);
    }

    fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }
}

impl<F: Fn(&Dispatch<'_>, bool) -> Action + Sync> RunObserver for Recorder<F> {
    fn interest(&self) -> Interest {
        self.interest.clone()
    }

    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        assert_eq!(inputs.len(), dispatch.kernel.inputs.len());
        assert_eq!(dispatch.path, []);
        self.note(Call::Before(dispatch.kernel.id));
        (self.act)(dispatch, true)
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        assert_eq!(outputs.len(), dispatch.kernel.outputs.len());
        self.note(Call::After(dispatch.kernel.id));
        (self.act)(dispatch, false)
    }

    fn started(&self, kernel: KernelId, path: &[Iteration]) {
        assert_eq!(path, []);
        self.note(Call::Started(kernel));
    }

    fn timed(&self, kernel: KernelId, path: &[Iteration], start: Ticks, end: Ticks) {
        assert_eq!(path, []);
        self.times.lock().unwrap().push((start, end));
        self.note(Call::Timed(kernel));
    }

    fn finished(&self, outcome: Result<(Ticks, Ticks), &EngineError>) {
        if let Ok(span) = outcome {
            self.times.lock().unwrap().push(span);
        }
        self.note(Call::Finished { well: outcome.is_ok() });
    }
}

fn everything() -> Interest {
    Interest { before: KernelSet::All, after: KernelSet::All, times: true, starts: true, ..Interest::default() }
}

fn watch(plan: &dyn Plan, inputs: &[Tensor], observer: &dyn RunObserver) -> Result<Vec<Tensor>, EngineError> {
    let outputs = plan.run(RunId(7), &*plan.upload(inputs)?, observer)?;
    Ok((0..outputs.len()).map(|index| outputs.view(index).to_tensor().unwrap()).collect())
}

#[test]
fn every_kernel_is_called_for_once_and_in_order() {
    for fidelity in FIDELITIES {
        let (_, inputs, plan) = planned("token_classifier", fidelity);
        let recorder = Recorder::new(everything(), |dispatch, _| {
            assert_eq!(dispatch.run, RunId(7));
            Action::Continue
        });
        let outputs = watch(&*plan, &inputs, &recorder).unwrap();
        let calls = plan.kernels().iter().flat_map(|kernel| {
            let id = kernel.id;
            [Call::Before(id), Call::Started(id), Call::Timed(id), Call::After(id)]
        });
        assert_eq!(recorder.calls(), calls.chain([Call::Finished { well: true }]).collect::<Vec<_>>());

        let times = recorder.times.into_inner().unwrap();
        let (&(run_start, run_end), kernels) = times.split_last().unwrap();
        let mut last = run_start;
        for &(start, end) in kernels {
            assert!(last <= start && start <= end && end <= run_end, "times overlap");
            last = end;
        }
        assert_eq!(mismatch(&outputs[0], &run(&*plan, &inputs).unwrap()[0]), None, "watching changes nothing");
    }
}

#[test]
fn only_what_is_asked_for_is_called() {
    let (_, inputs, plan) = planned("digits_cnn", Fidelity::Optimised);
    let only_times = Recorder::new(Interest { times: true, ..Interest::default() }, |_, _| Action::Continue);
    watch(&*plan, &inputs, &only_times).unwrap();
    let timed = plan.kernels().iter().map(|kernel| Call::Timed(kernel.id));
    assert_eq!(only_times.calls(), timed.chain([Call::Finished { well: true }]).collect::<Vec<_>>());

    let starts = Interest { starts: true, times: true, ..Interest::default() };
    let around = Recorder::new(starts.clone(), |_, _| Action::Continue);
    watch(&*plan, &inputs, &around).unwrap();
    let pairs = plan.kernels().iter().flat_map(|kernel| [Call::Started(kernel.id), Call::Timed(kernel.id)]);
    assert_eq!(around.calls(), pairs.chain([Call::Finished { well: true }]).collect::<Vec<_>>());
    let only_starts = Recorder::new(Interest { times: false, ..starts }, |_, _| Action::Continue);
    watch(&*plan, &inputs, &only_starts).unwrap();
    let started = plan.kernels().iter().map(|kernel| Call::Started(kernel.id));
    assert_eq!(only_starts.calls(), started.chain([Call::Finished { well: true }]).collect::<Vec<_>>());

    let mask: Vec<bool> = (0..plan.kernels().len()).map(|index| index == 1 || index == 3).collect();
    let interest = Interest { after: KernelSet::Mask(Arc::from(mask)), ..Interest::default() };
    let masked = Recorder::new(interest, |_, _| Action::Continue);
    watch(&*plan, &inputs, &masked).unwrap();
    let wanted = [1, 3].map(|index| Call::After(KernelId::new(index)));
    assert_eq!(masked.calls(), [wanted[0], wanted[1], Call::Finished { well: true }]);

    let nothing = Recorder::new(Interest::default(), |_, _| Action::Continue);
    watch(&*plan, &inputs, &nothing).unwrap();
    assert_eq!(nothing.calls(), [Call::Finished { well: true }]);
}

#[test]
fn stop_ends_the_run_with_its_reason_and_the_next_run_works() {
    for (fidelity, at_start) in [(Fidelity::Exact, true), (Fidelity::Optimised, false)] {
        let (_, inputs, plan) = planned("digits_cnn", fidelity);
        let expected = run(&*plan, &inputs).unwrap();
        let recorder = Recorder::new(everything(), |dispatch, before| {
            if dispatch.kernel.id == KernelId::new(2) && before == at_start {
                return Action::Stop("seen enough".to_owned());
            }
            Action::Continue
        });
        match watch(&*plan, &inputs, &recorder) {
            Err(EngineError::Stopped(reason)) => assert_eq!(reason, "seen enough"),
            other => panic!("{other:?}"),
        }
        let calls = recorder.calls();
        assert_eq!(calls.last(), Some(&Call::Finished { well: false }));
        assert!(!calls.contains(&Call::Before(KernelId::new(3))));
        assert_eq!(run(&*plan, &inputs).unwrap(), expected);
    }
}

/// `y = -(x * x)`, whose two steps are easy to check by hand.
fn square_and_negate() -> (Arc<dyn Plan>, Vec<Tensor>) {
    let graph = Builder::default()
        .input("x", tract_onnx::pb::tensor_proto::DataType::Float, &[D::N(2)])
        .node("square", "Mul", &["x", "x"], &["s"])
        .node("negate", "Neg", &["s"], &["y"])
        .output("y")
        .graph();
    let inputs = vec![floats(&[2.0, 3.0])];
    let plan = load(&graph, Fidelity::Exact).unwrap().plan(&inputs).unwrap();
    (plan, inputs)
}

fn floats(values: &[f32]) -> Tensor {
    Tensor::from_f32(vec![values.len()], values).unwrap()
}

#[test]
fn inputs_and_outputs_can_be_replaced_and_a_kernel_can_be_skipped() {
    let (plan, inputs) = square_and_negate();
    assert_eq!(run(&*plan, &inputs).unwrap(), [floats(&[-4.0, -9.0])]);
    let with = |name: &'static str, at_start: bool, action: Action| {
        let recorder = Recorder::new(everything(), |dispatch, before| {
            if dispatch.operator().name == name && before == at_start { action.clone() } else { Action::Continue }
        });
        let outputs = watch(&*plan, &inputs, &recorder).unwrap();
        (outputs, recorder.calls())
    };
    let five = || vec![floats(&[5.0, 6.0])];
    let (outputs, _) = with("negate", true, Action::ReplaceInputs(five()));
    assert_eq!(outputs, [floats(&[-5.0, -6.0])]);
    let (outputs, _) = with("square", false, Action::Replace(five()));
    assert_eq!(outputs, [floats(&[-5.0, -6.0])]);
    let (outputs, calls) = with("negate", true, Action::Skip(five()));
    assert_eq!(outputs, five());
    let negate = plan.kernels().last().unwrap().id;
    assert!(calls.contains(&Call::After(negate)), "what a skip gives is seen, too");
    assert!(!calls.contains(&Call::Started(negate)), "what was not executed did not start");
    assert!(!calls.contains(&Call::Timed(negate)), "what was not executed has no time");
    assert_eq!(run(&*plan, &inputs).unwrap(), [floats(&[-4.0, -9.0])], "nothing stays replaced");
}

#[test]
fn a_replacement_that_does_not_fit_is_an_error_and_the_next_run_works() {
    let (plan, inputs) = square_and_negate();
    for action in [Action::ReplaceInputs(vec![]), Action::Skip(vec![]), Action::Skip(vec![floats(&[1.0]); 3])] {
        let recorder = Recorder::new(everything(), |dispatch, before| {
            if before && dispatch.operator().name == "square" { action.clone() } else { Action::Continue }
        });
        assert!(watch(&*plan, &inputs, &recorder).is_err(), "{action:?}");
    }
    let after = Recorder::new(everything(), |_, before| match before {
        true => Action::Continue,
        false => Action::Replace(vec![]),
    });
    assert!(watch(&*plan, &inputs, &after).is_err());
    assert_eq!(run(&*plan, &inputs).unwrap(), [floats(&[-4.0, -9.0])]);
}

#[test]
fn a_panic_of_an_observer_ends_one_run_and_no_other() {
    let (plan, inputs) = square_and_negate();
    let recorder = Recorder::new(everything(), |dispatch, _| {
        assert!(dispatch.operator().name != "negate", "the observer is broken");
        Action::Continue
    });
    match watch(&*plan, &inputs, &recorder) {
        Err(EngineError::Panic { node, reason }) => {
            assert_eq!(node.as_deref(), Some("negate"));
            assert!(reason.contains("the observer is broken"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(run(&*plan, &inputs).unwrap(), [floats(&[-4.0, -9.0])]);
}

#[test]
fn threads_run_one_plan_at_once_each_with_its_own_values() {
    let (_, inputs, plan) = planned("digits_cnn", Fidelity::Optimised);
    let [image] = &inputs[..] else { panic!("one input") };
    let blank = Tensor::new(image.dtype(), image.shape().to_vec(), vec![0u8; image.bytes().len()]).unwrap();
    let sets = [inputs.clone(), vec![blank]];
    let expected = sets.each_ref().map(|inputs| run(&*plan, inputs).unwrap());
    assert_ne!(expected[0], expected[1]);
    let start = Barrier::new(4);
    thread::scope(|scope| {
        for worker in 0..4 {
            let (plan, start, inputs, expected) = (&plan, &start, &sets[worker % 2], &expected[worker % 2]);
            scope.spawn(move || {
                let resident = plan.upload(inputs).unwrap();
                start.wait();
                for id in 0..50 {
                    let outputs = plan.run(RunId(id), &*resident, &NoObserver).unwrap();
                    assert_eq!(&outputs.view(0).to_tensor().unwrap(), &expected[0]);
                }
            });
        }
    });
}
