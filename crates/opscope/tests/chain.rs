//! Several observers of one run: which values each sees, and whose action counts.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex};

use opscope::model::{
    Action, Dispatch, EngineError, Fidelity, Interest, Iteration, KeptTensor, KernelId, KernelSet, LiveMask,
    LiveValues, Plan, RunId, RunObserver,
};
use opscope::onnx::ValueId;
use opscope::tensor::{Tensor, TensorView};
use opscope::{Chain, Session};
use opscope_clock::Ticks;

/// The calls: the observer, the method, the kernel, and the tensors of each.
type Log = Arc<Mutex<Vec<(&'static str, &'static str, usize, Vec<Tensor>)>>>;

/// An observer that records its calls, and acts.
struct Scribe<F> {
    name: &'static str,
    interest: Interest,
    log: Log,
    act: F,
}

impl<F> Scribe<F> {
    fn note(&self, what: &'static str, kernel: KernelId, views: &[TensorView<'_>]) {
        let copies = views.iter().map(|view| view.to_tensor().unwrap()).collect();
        self.log.lock().unwrap().push((self.name, what, kernel.index(), copies));
    }
}

impl<F: Fn(&Dispatch<'_>, bool) -> Action + Sync> RunObserver for Scribe<F> {
    fn interest(&self) -> Interest {
        self.interest.clone()
    }

    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        self.note("before", dispatch.kernel.id, inputs);
        (self.act)(dispatch, true)
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        self.note("after", dispatch.kernel.id, outputs);
        if !dispatch.inputs.is_empty() {
            self.note("kept", dispatch.kernel.id, dispatch.inputs);
        }
        (self.act)(dispatch, false)
    }

    fn timed(&self, kernel: KernelId, _: &[Iteration], _: Ticks, _: Ticks) {
        self.note("timed", kernel, &[]);
    }

    fn finished(&self, outcome: Result<(Ticks, Ticks), &EngineError>) {
        self.note(if outcome.is_ok() { "finished" } else { "failed" }, KernelId::new(u32::MAX), &[]);
    }
}

fn go_on(_: &Dispatch<'_>, _: bool) -> Action {
    Action::Continue
}

struct Place {
    plan: Arc<dyn Plan>,
    inputs: Vec<Tensor>,
    log: Log,
}

impl Place {
    fn new() -> Self {
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
        let session = Session::load(&models.join("digits_cnn.onnx"), Fidelity::Exact, NonZeroUsize::MIN).unwrap();
        let inputs = vec![opscope::tensor::npy::read_file(&models.join("digits_cnn.input.image.npy")).unwrap()];
        let plan = session.model().plan(&inputs).unwrap();
        Self { plan, inputs, log: Log::default() }
    }

    fn scribe<'a, F>(&self, name: &'static str, interest: Interest, act: F) -> Box<dyn RunObserver + 'a>
    where
        F: Fn(&Dispatch<'_>, bool) -> Action + Sync + 'a,
    {
        Box::new(Scribe { name, interest, log: Arc::clone(&self.log), act })
    }

    fn run(
        &self,
        first: Box<dyn RunObserver + '_>,
        second: Box<dyn RunObserver + '_>,
    ) -> Result<Vec<Tensor>, EngineError> {
        let resident = self.plan.upload(&self.inputs)?;
        let outputs = self.plan.run(RunId(0), &*resident, &Chain::new([first, second]))?;
        Ok((0..outputs.len()).map(|slot| outputs.view(slot).to_tensor().unwrap()).collect())
    }

    /// Returns the calls of one observer, without the tensors.
    fn calls(&self, name: &str) -> Vec<(&'static str, usize)> {
        let log = self.log.lock().unwrap();
        log.iter().filter(|call| call.0 == name).map(|call| (call.1, call.2)).collect()
    }

    /// Returns the tensors that one observer got.
    fn given(&self, name: &str, what: &str, kernel: usize) -> Vec<Tensor> {
        let log = self.log.lock().unwrap();
        log.iter().find(|call| (call.0, call.1, call.2) == (name, what, kernel)).unwrap().3.clone()
    }
}

fn both_sides() -> Interest {
    Interest { before: KernelSet::All, after: KernelSet::All, ..Interest::default() }
}

const END: usize = u32::MAX as usize;

#[test]
fn each_is_called_only_for_what_it_wanted_also_when_that_changes() {
    let place = Place::new();
    let kernels = place.plan.kernels().len();
    let mask = Arc::new(LiveMask::new(kernels));
    mask.set(KernelId::new(1), true);
    let live = || KernelSet::Live(Arc::clone(&mask));
    let some: Arc<[bool]> = (0..kernels).map(|kernel| kernel == 2).collect();
    let first = Interest { before: live(), after: live(), keep_inputs: live(), ..Interest::default() };
    let second = Interest { before: KernelSet::Mask(some), times: true, ..Interest::default() };
    let first = place.scribe("first", first, |dispatch, before| {
        if !before && dispatch.kernel.id.index() == 1 {
            mask.set_all(false);
            mask.set(KernelId::new(4), true);
        }
        Action::Continue
    });
    place.run(first, place.scribe("second", second, go_on)).unwrap();
    let expected =
        [("before", 1), ("after", 1), ("kept", 1), ("before", 4), ("after", 4), ("kept", 4), ("finished", END)];
    assert_eq!(place.calls("first"), expected);
    let mut expected: Vec<_> = (0..kernels).map(|kernel| ("timed", kernel)).collect();
    expected.insert(2, ("before", 2));
    expected.push(("finished", END));
    assert_eq!(place.calls("second"), expected);
}

#[test]
fn kept_inputs_reach_only_the_observers_that_asked_for_them() {
    let place = Place::new();
    let keeps = Interest { after: KernelSet::All, keep_inputs: KernelSet::All, ..Interest::default() };
    let sees = Interest { after: KernelSet::All, ..Interest::default() };
    place.run(place.scribe("keeps", keeps, go_on), place.scribe("sees", sees, go_on)).unwrap();
    let kept = |name| place.calls(name).iter().filter(|(what, _)| *what == "kept").count();
    assert_eq!((kept("keeps"), kept("sees")), (place.plan.kernels().len(), 0));
}

#[test]
fn what_the_first_replaces_is_what_the_second_sees_and_the_run_continues_with() {
    let place = Place::new();
    let plain = place.run(place.scribe("a", both_sides(), go_on), place.scribe("b", both_sides(), go_on)).unwrap();
    let zeros = |tensor: &Tensor| Tensor::new(tensor.dtype(), tensor.shape().to_vec(), vec![0; tensor.bytes().len()]);
    let blank_in = [zeros(&place.given("b", "before", 0)[0]).unwrap()];
    let blank_out = vec![zeros(&place.given("b", "after", 3)[0]).unwrap()];
    // The inputs that are not replaced are passed as they were.
    let inputs: Vec<Tensor> =
        blank_in.iter().cloned().chain(place.given("b", "before", 0).into_iter().skip(1)).collect();
    let changer =
        place.scribe("changer", both_sides(), |dispatch, before| match (dispatch.kernel.id.index(), before) {
            (0, true) => Action::ReplaceInputs(inputs.clone()),
            (3, false) => Action::Replace(blank_out.clone()),
            _ => Action::Continue,
        });
    let changed = place.run(changer, place.scribe("witness", both_sides(), go_on)).unwrap();
    assert_eq!(place.given("witness", "before", 0), inputs);
    assert_ne!(place.given("witness", "after", 0), place.given("b", "after", 0), "the kernel took them, too");
    assert_ne!(place.given("changer", "after", 3), blank_out);
    assert_eq!(place.given("witness", "after", 3), blank_out);
    assert_ne!(changed, plain);
}

#[test]
fn a_stop_of_either_ends_the_run_and_both_are_notified_of_the_end() {
    for (first_stops, seen_by_second) in [(true, 2), (false, 3)] {
        let place = Place::new();
        let stop = move |stops: bool| {
            move |dispatch: &Dispatch<'_>, before: bool| {
                let here = before && dispatch.kernel.id.index() == 2;
                if here && stops { Action::Stop("enough".into()) } else { Action::Continue }
            }
        };
        let first = place.scribe("first", both_sides(), stop(first_stops));
        let second = place.scribe("second", both_sides(), stop(!first_stops));
        match place.run(first, second) {
            Err(EngineError::Stopped(reason)) => assert_eq!(reason, "enough"),
            other => panic!("{other:?}"),
        }
        assert_eq!(place.calls("first").last(), Some(&("failed", END)));
        assert_eq!(place.calls("second").last(), Some(&("failed", END)));
        let asked = place.calls("second").iter().filter(|(what, _)| *what == "before").count();
        assert_eq!(asked, seen_by_second, "{first_stops}");
    }
}

#[test]
fn what_the_first_skips_the_second_sees_only_as_outputs() {
    let place = Place::new();
    let plain = place.run(place.scribe("a", both_sides(), go_on), place.scribe("b", both_sides(), go_on)).unwrap();
    let outputs = place.given("b", "after", 2);
    let skipper = place.scribe("skipper", both_sides(), |dispatch, before| match dispatch.kernel.id.index() {
        2 if before => Action::Skip(outputs.clone()),
        _ => Action::Continue,
    });
    let same = place.run(skipper, place.scribe("witness", both_sides(), go_on)).unwrap();
    assert_eq!(same, plain);
    let of_it: Vec<_> = place.calls("witness").into_iter().filter(|(_, kernel)| *kernel == 2).collect();
    assert_eq!(of_it, [("after", 2)]);
    assert_eq!(place.given("witness", "after", 2), outputs);
}

/// Live values that can all be kept.
struct Keeper;

impl LiveValues for Keeper {
    fn value(&self, _: ValueId) -> Option<TensorView<'_>> {
        None
    }

    fn keep(&self, _: ValueId) -> Option<Box<dyn KeptTensor>> {
        struct Kept;

        impl KeptTensor for Kept {
            fn read(&self, _: &mut dyn FnMut(&[u8])) {}
        }

        Some(Box::new(Kept))
    }
}

/// An observer that shows a chain values that can be kept.
struct WithKeeper<'a>(Chain<'a>);

impl RunObserver for WithKeeper<'_> {
    fn interest(&self) -> Interest {
        self.0.interest()
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        self.0.after(&Dispatch { live: &Keeper, ..*dispatch }, outputs)
    }
}

#[test]
fn what_one_replaces_the_others_cannot_keep_because_the_engine_still_has_the_value_before() {
    let place = Place::new();
    let interest = || Interest { after: KernelSet::All, ..Interest::default() };
    let replaced = place.plan.kernels().iter().position(|kernel| kernel.op.contains("MaxPool")).unwrap();
    let first = place.scribe("first", interest(), |dispatch, _| match dispatch.kernel.id.index() {
        index if index == replaced => {
            let outputs = dispatch.kernel.output_types.iter();
            let zeros =
                |shape: &Vec<usize>| Tensor::from_f32(shape.clone(), &vec![0.0; shape.iter().product()]).unwrap();
            Action::Replace(outputs.map(|output| zeros(&output.shape)).collect())
        }
        _ => Action::Continue,
    });
    let kept = Mutex::new(Vec::new());
    let second = place.scribe("second", interest(), |dispatch, _| {
        kept.lock().unwrap().push((dispatch.kernel.id.index(), dispatch.live.keep(ValueId::new(0)).is_some()));
        Action::Continue
    });
    let resident = place.plan.upload(&place.inputs).unwrap();
    place.plan.run(RunId(0), &*resident, &WithKeeper(Chain::new([first, second]))).unwrap();
    let kernels = place.plan.kernels().len();
    let expected: Vec<_> = (0..kernels).map(|index| (index, index != replaced)).collect();
    assert_eq!(kept.into_inner().unwrap(), expected);
}
