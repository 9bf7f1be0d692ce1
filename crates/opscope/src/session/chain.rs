//! Several observers of one run, in order.

use opscope_clock::Ticks;
use opscope_model::{
    Action, DeviceTensors, Dispatch, EngineError, Interest, Iteration, KernelId, LiveValues, NoObserver, RunObserver,
    TensorMemory,
};
use opscope_onnx::ValueId;
use opscope_tensor::{Tensor, TensorView};

/// Several observers of one run, which are called in order as if they were one.
///
/// * Each is called only for what its [`Interest`] requests.
/// * If one replaces a value, the observers after it see the new value, and the run continues with it.
/// * If one stops the run, those after it are not called. If one skips a kernel, those after it see only its outputs.
/// * Every observer is notified of the run's end.
///
/// So a debugger belongs before a dumper. The dump then has the values that the run continued with.
pub struct Chain<'a> {
    links: Vec<Link<'a>>,
}

struct Link<'a> {
    observer: Box<dyn RunObserver + 'a>,
    interest: Interest,
}

impl<'a> Chain<'a> {
    /// Creates a chain of these observers, in the order in which they are called.
    pub fn new(observers: impl IntoIterator<Item = Box<dyn RunObserver + 'a>>) -> Self {
        let link = |observer: Box<dyn RunObserver + 'a>| Link { interest: observer.interest(), observer };
        Self { links: observers.into_iter().map(link).collect() }
    }

    /// Returns these observers as one: a chain if there are several. Allocates nothing if there are none.
    pub fn unite(observers: impl IntoIterator<Item = Box<dyn RunObserver + 'a>>) -> Box<dyn RunObserver + 'a> {
        let mut observers = observers.into_iter();
        match (observers.next(), observers.next()) {
            (None, _) => Box::new(NoObserver),
            (Some(only), None) => only,
            (Some(first), Some(second)) => Box::new(Self::new([first, second].into_iter().chain(observers))),
        }
    }
}

impl RunObserver for Chain<'_> {
    fn interest(&self) -> Interest {
        self.links.iter().fold(Interest::default(), |united, link| united.union(link.interest.clone()))
    }

    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        let mut replaced: Option<Vec<Tensor>> = None;
        for link in self.links.iter().filter(|link| link.interest.before.contains(dispatch.kernel.id)) {
            let action = match &replaced {
                None => link.observer.before(dispatch, inputs),
                Some(tensors) => link.observer.before(dispatch, &views(tensors)),
            };
            match action {
                Action::Stop(_) | Action::Skip(_) => return action,
                Action::ReplaceInputs(tensors) => replaced = Some(tensors),
                // Outputs cannot be replaced before there are any.
                Action::Continue | Action::Replace(_) => {}
            }
        }
        replaced.map_or(Action::Continue, Action::ReplaceInputs)
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        let mut replaced: Option<Vec<Tensor>> = None;
        for link in self.links.iter().filter(|link| link.interest.after.contains(dispatch.kernel.id)) {
            let without_inputs = Dispatch { inputs: &[], ..*dispatch };
            let kept = link.interest.keep_inputs.contains(dispatch.kernel.id);
            let dispatch = if kept { dispatch } else { &without_inputs };
            let action = match &replaced {
                None => link.observer.after(dispatch, outputs),
                // The engine could keep only the values from before the replacement.
                Some(tensors) => {
                    let live = WithoutKeeping(dispatch.live);
                    link.observer.after(&Dispatch { live: &live, ..*dispatch }, &views(tensors))
                }
            };
            match action {
                Action::Stop(_) => return action,
                Action::Replace(tensors) => replaced = Some(tensors),
                // These actions are possible only before the kernel.
                Action::Continue | Action::ReplaceInputs(_) | Action::Skip(_) => {}
            }
        }
        replaced.map_or(Action::Continue, Action::Replace)
    }

    fn started(&self, kernel: KernelId, path: &[Iteration]) {
        self.links.iter().filter(|link| link.interest.starts).for_each(|link| link.observer.started(kernel, path));
    }

    fn timed(&self, kernel: KernelId, path: &[Iteration], start: Ticks, end: Ticks) {
        for link in self.links.iter().filter(|link| link.interest.times) {
            link.observer.timed(kernel, path, start, end);
        }
    }

    fn untimed(&self, dispatches: u64) {
        self.links.iter().filter(|link| link.interest.times).for_each(|link| link.observer.untimed(dispatches));
    }

    fn profiled(&self, start: Ticks, end: Ticks) {
        self.links.iter().filter(|link| link.interest.times).for_each(|link| link.observer.profiled(start, end));
    }

    fn allocated(&self, memory: TensorMemory, at: Ticks) {
        self.links.iter().filter(|link| link.interest.memory).for_each(|link| link.observer.allocated(memory, at));
    }

    fn freed(&self, memory: TensorMemory, at: Ticks) {
        self.links.iter().filter(|link| link.interest.memory).for_each(|link| link.observer.freed(memory, at));
    }

    fn finished(&self, outcome: Result<(Ticks, Ticks), &EngineError>) {
        self.links.iter().for_each(|link| link.observer.finished(outcome));
    }

    fn uploaded(&self, inputs: &dyn DeviceTensors, start: Ticks, end: Ticks) {
        self.links.iter().for_each(|link| link.observer.uploaded(inputs, start, end));
    }

    fn downloaded(&self, outputs: &dyn DeviceTensors, start: Ticks, end: Ticks) {
        self.links.iter().for_each(|link| link.observer.downloaded(outputs, start, end));
    }
}

/// The values of a run, none of which can be kept.
struct WithoutKeeping<'a>(&'a dyn LiveValues);

impl LiveValues for WithoutKeeping<'_> {
    fn value(&self, id: ValueId) -> Option<TensorView<'_>> {
        self.0.value(id)
    }
}

fn views(tensors: &[Tensor]) -> Vec<TensorView<'_>> {
    tensors.iter().map(Tensor::view).collect()
}
