//! What taps do in an observed run.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::{
    Action, DeviceTensors, Dispatch, Interest, Iteration, KeptTensor, Kernel, KernelId, LiveValues, RunId, RunObserver,
};
use opscope_onnx::{OperatorId, Producer, ValueId};
use opscope_tensor::{DType, Tensor, TensorView};

use super::kept_values::{Keeping, Spare};
use super::layout::Layout;
use super::state::State;
use super::values::{Passed, TapCall};
use crate::errors::Refusal;
use crate::rewrite::{Holds, Slot, Source, Tap};

/// What an observer may do with the values of a run, beside looking at them.
pub(crate) enum Access<'a> {
    /// Replace outputs.
    Look,
    /// Also keep outputs: the values that the library holds, and buffers for those that have to be copied.
    Keep(&'a Holds, &'a Arc<Spare>),
    /// Also replace inputs.
    Replace,
}

/// An observed run.
pub(crate) struct Watched<'a> {
    layout: &'a Layout,
    kernels: &'a [Kernel],
    run: RunId,
    observer: &'a dyn RunObserver,
    interest: &'a Interest,
    inputs: &'a dyn DeviceTensors,
    /// Whether an operator's inputs may be replaced.
    writable: bool,
    /// The values that the library holds for readers on other threads.
    holds: Option<&'a Holds>,
    keeping: RefCell<Keeping>,
    state: RefCell<State>,
    current: RefCell<Current>,
    /// The kernel that the run has reached, for messages.
    place: Cell<Option<KernelId>>,
    stopped: RefCell<Option<String>>,
}

/// The dispatches that have begun but not ended: that of an operator, and inside it those of operators in its bodies.
#[derive(Default)]
struct Current {
    /// The values that passed through the first of several taps on one side of an operator.
    arriving: HashMap<(OperatorId, bool), Vec<(usize, Passed)>>,
    begun: Vec<(OperatorId, BegunDispatch)>,
    /// When the last tap returned.
    left: Option<Ticks>,
}

#[derive(Default)]
struct BegunDispatch {
    start: Option<Ticks>,
    kept: Vec<Tensor>,
    skipped: Option<Vec<Tensor>>,
}

impl<'a> Watched<'a> {
    pub fn new(
        layout: &'a Layout,
        kernels: &'a [Kernel],
        run: RunId,
        observer: &'a dyn RunObserver,
        interest: &'a Interest,
        inputs: &'a dyn DeviceTensors,
        access: Access<'a>,
    ) -> Self {
        let (holds, keeping) = match access {
            Access::Keep(holds, spare) => (Some(holds), Keeping::new(Arc::clone(spare))),
            Access::Look | Access::Replace => (None, Keeping::default()),
        };
        Self {
            layout,
            kernels,
            run,
            observer,
            interest,
            inputs,
            writable: matches!(access, Access::Replace),
            holds,
            keeping: RefCell::new(keeping),
            state: RefCell::new(State::new(layout)),
            current: RefCell::default(),
            place: Cell::new(None),
            stopped: RefCell::new(None),
        }
    }

    /// Returns the observer's reason if it stopped the run.
    pub fn stopped(&self) -> Option<String> {
        self.stopped.borrow().clone()
    }

    /// Returns the kernel that the run has reached.
    pub fn place(&self) -> Option<&'a Kernel> {
        self.place.get().and_then(|id| self.kernels.get(id.index()))
    }

    /// Calls the observer for the operators of the main graph without taps, which neither take nor compute tensors.
    pub fn finish(&self) -> Result<(), Refusal> {
        for kernel in self.kernels {
            let Some(part) = kernel.operators.first() else { continue };
            let in_main_graph = self.layout.body_of(part.operator).is_none();
            if in_main_graph && !self.state.borrow().was_dispatched(part.operator) {
                self.begin(part.operator, kernel, None)?;
                self.end(part.operator, kernel, None, None)?;
            }
        }
        Ok(())
    }

    /// Called when a tap is executed.
    pub(super) fn at(&self, number: usize, call: &TapCall) -> Result<(), Refusal> {
        let outcome = self.passed(number, call);
        if let Some(values) = self.holds.and_then(|holds| holds.until.get(number)).filter(|values| !values.is_empty()) {
            self.keeping.borrow_mut().give_up(values);
        }
        outcome
    }

    fn passed(&self, number: usize, call: &TapCall) -> Result<(), Refusal> {
        let arrived = Ticks::now();
        let layout = self.layout;
        let tap = layout.taps.taps.get(number).ok_or("it has an unknown number")?;
        let Some(kernel) = layout.kernel_of[tap.operator.index()].and_then(|id| self.kernels.get(id.index())) else {
            return call.hand_on();
        };
        let passed = if tap.in_front && tap.values.len() == tap.of && !self.shows_inputs(kernel) {
            call.hand_on()?;
            None
        } else {
            let passed = self.arrived(tap, call.values()?);
            if passed.is_none() {
                return Ok(());
            }
            passed
        };
        if tap.in_front {
            self.arrive(tap.operator, kernel, passed.as_ref())?;
        } else {
            self.leave(tap.operator, kernel, passed.as_ref(), arrived)?;
        }
        if let Some(next) = tap.next
            && let Some(kernel) = layout.kernel_of[next.index()].and_then(|id| self.kernels.get(id.index()))
        {
            self.arrive(next, kernel, passed.as_ref())?;
        }
        if self.interest.times {
            self.current.borrow_mut().left = Some(Ticks::now());
        }
        Ok(())
    }

    /// Called at the tap in front of an operator.
    fn arrive(&self, id: OperatorId, kernel: &Kernel, passed: Option<&Passed>) -> Result<(), Refusal> {
        self.place.set(Some(kernel.id));
        self.begin(id, kernel, passed)?;
        // If its outputs cannot be seen, it makes no difference that `after` is called now.
        if self.layout.tapped[id.index()].1 { Ok(()) } else { self.end(id, kernel, None, None) }
    }

    /// Called at the tap behind an operator.
    fn leave(&self, id: OperatorId, kernel: &Kernel, passed: Option<&Passed>, at: Ticks) -> Result<(), Refusal> {
        self.place.set(Some(kernel.id));
        if !self.layout.tapped[id.index()].0 {
            self.begin(id, kernel, None)?;
            let start = self.current.borrow().left.unwrap_or(at);
            if let Some((_, begun)) = self.current.borrow_mut().begun.last_mut() {
                begun.start = Some(start);
            }
        }
        self.end(id, kernel, passed, Some(at))
    }

    /// Returns whether the observer sees the inputs of a kernel.
    fn shows_inputs(&self, kernel: &Kernel) -> bool {
        self.interest.before.contains(kernel.id) || self.interest.keep_inputs.contains(kernel.id)
    }

    /// Returns what passed through all taps on one side of an operator, by slots, if this is the last of them.
    fn arrived(&self, tap: &Tap, mut passed: Passed) -> Option<Passed> {
        if tap.values.len() == tap.of {
            return Some(passed);
        }
        let mut current = self.current.borrow_mut();
        let key = (tap.operator, tap.in_front);
        let all = current.arriving.entry(key).or_default();
        let is_last = all.len() + 1 == tap.of;
        if !is_last && !tap.in_front {
            // SAFETY: the call of the tap that holds it is in progress. It is copied because its consumers may have
            // finished with this output before the last tap is called.
            unsafe { passed.copy() };
        }
        all.push((tap.first, passed));
        if !is_last {
            return None;
        }
        let mut all = current.arriving.remove(&key)?;
        all.sort_by_key(|(first, _)| *first);
        let mut whole = Passed::default();
        all.into_iter().for_each(|(_, passed)| whole.add(passed));
        Some(whole)
    }

    /// Calls `before`, directly in front of an operator.
    fn begin(&self, id: OperatorId, kernel: &Kernel, passed: Option<&Passed>) -> Result<(), Refusal> {
        self.state.borrow_mut().enter(self.layout, id);
        let path = self.path(id);
        let mut begun = BegunDispatch::default();
        // From now on, the current inputs are those of the next operator.
        let is_shown = passed.is_some() || !self.layout.tapped[id.index()].0;
        if is_shown && self.interest.before.contains(kernel.id) {
            let action = {
                let inputs = self.inputs_of(id, passed);
                self.observer
                    .before(&self.dispatch(kernel, &path, &[], &RunValues { watched: self, computed: &[] }), &inputs)
            };
            match action {
                Action::Stop(reason) => return Err(self.stop(reason)),
                Action::ReplaceInputs(tensors) => self.replace_inputs(id, &tensors, passed)?,
                Action::Skip(tensors) => begun.skipped = Some(tensors),
                Action::Continue | Action::Replace(_) => {}
            }
        }
        if is_shown && self.interest.keep_inputs.contains(kernel.id) {
            // The library may compute in the memory of an input, so a copy is kept.
            let kept = self.inputs_of(id, passed);
            begun.kept = kept.iter().map(|view| view.to_tensor().unwrap_or_else(|_| empty())).collect();
        }
        if self.interest.starts {
            self.observer.started(kernel.id, &path);
        }
        begun.start = self.interest.times.then(Ticks::now);
        self.current.borrow_mut().begun.push((id, begun));
        Ok(())
    }

    /// Calls `after`, directly behind an operator.
    fn end(&self, id: OperatorId, kernel: &Kernel, passed: Option<&Passed>, at: Option<Ticks>) -> Result<(), Refusal> {
        let begun = self.ended(id);
        let path = self.path(id);
        if let (true, Some(start), Some(end)) = (self.interest.times, begun.start, at) {
            self.observer.timed(kernel.id, &path, start, end);
        }
        if let Some(tensors) = &begun.skipped {
            self.replace_outputs(id, tensors, passed)?;
        }
        {
            let mut state = self.state.borrow_mut();
            state.took(self.layout, id);
            state.reset_bodies(self.layout, id);
            for slot in self.outputs(id) {
                if let (Source::Tap(index), Some(passed)) = (slot.source, passed) {
                    let held = passed.held[index].clone();
                    if held.is_own {
                        state.hold(slot.value, held);
                    }
                }
            }
        }
        if !self.interest.after.contains(kernel.id) {
            return Ok(());
        }
        let action = {
            let outputs: Vec<TensorView<'_>> =
                self.outputs(id).iter().map(|slot| self.seen(slot, passed).unwrap_or_else(hidden)).collect();
            let kept: Vec<TensorView<'_>> = begun.kept.iter().map(Tensor::view).collect();
            let live = RunValues { watched: self, computed: self.outputs(id) };
            self.observer.after(&self.dispatch(kernel, &path, &kept, &live), &outputs)
        };
        match action {
            Action::Stop(reason) => Err(self.stop(reason)),
            Action::Replace(tensors) => self.replace_outputs(id, &tensors, passed),
            Action::Continue | Action::ReplaceInputs(_) | Action::Skip(_) => Ok(()),
        }
    }

    /// Returns what was noted when the dispatch that ends now began.
    fn ended(&self, id: OperatorId) -> BegunDispatch {
        let begun = &mut self.current.borrow_mut().begun;
        let place = begun.iter().rposition(|(operator, _)| *operator == id);
        place.map(|place| begun.swap_remove(place).1).unwrap_or_default()
    }

    fn path(&self, id: OperatorId) -> Vec<Iteration> {
        match self.layout.body_of(id) {
            None => Vec::new(),
            Some(_) => self.state.borrow().path(self.layout, id),
        }
    }

    fn dispatch<'d>(
        &'d self,
        kernel: &'d Kernel,
        path: &'d [Iteration],
        inputs: &'d [TensorView<'d>],
        live: &'d RunValues<'d>,
    ) -> Dispatch<'d> {
        Dispatch { run: self.run, kernel, graph: &self.layout.graph, path, inputs, live }
    }

    fn outputs(&self, id: OperatorId) -> &[Slot] {
        &self.layout.slots[id.index()].outputs
    }

    fn inputs(&self, id: OperatorId) -> &[Slot] {
        &self.layout.slots[id.index()].inputs
    }

    fn inputs_of<'p>(&'p self, id: OperatorId, passed: Option<&'p Passed>) -> Vec<TensorView<'p>> {
        let view = |slot: &Slot| self.seen(slot, passed).unwrap_or_else(hidden);
        self.inputs(id).iter().map(view).collect()
    }

    /// Returns what is in a slot of an operator whose tap passed `passed` on. `None` if it is not a tensor.
    fn seen<'p>(&'p self, slot: &Slot, passed: Option<&'p Passed>) -> Option<TensorView<'p>> {
        match slot.source {
            // SAFETY: the library holds the values of a tap during its call, which outlives this view; only
            // `replace_inputs` and `replace_outputs` write to them, when there is no view.
            Source::Tap(index) => passed?.held.get(index).map(|held| unsafe { held.view() }),
            Source::Constant => self.layout.constants().get(&slot.value).map(Tensor::view),
            Source::Hidden => None,
        }
    }

    fn stop(&self, reason: String) -> Refusal {
        *self.stopped.borrow_mut() = Some(reason.clone());
        reason.into()
    }

    fn replace_inputs(&self, id: OperatorId, tensors: &[Tensor], passed: Option<&Passed>) -> Result<(), Refusal> {
        if !self.writable {
            return Err("the run began before its inputs could be replaced; they can be in the next run".into());
        }
        let slots = self.inputs(id);
        if tensors.len() != slots.len() {
            return Err(format!("{} tensors were given for {} inputs", tensors.len(), slots.len()).into());
        }
        for (index, (slot, tensor)) in slots.iter().zip(tensors).enumerate() {
            let what = format!("input {index}");
            match (slot.source, passed) {
                (Source::Tap(tap), Some(passed)) => {
                    // SAFETY: the tap's call is in progress, and there is no view of the input.
                    unsafe { passed.held[tap].replace(tensor, &what) }?;
                }
                _ => {
                    let is_same = self.layout.constants().get(&slot.value).is_some_and(|constant| constant == tensor);
                    if !is_same {
                        let name = &self.layout.graph.value(slot.value).name;
                        return Err(format!(
                            "{what}, '{name}', is a constant of the file, which cannot be replaced here"
                        )
                        .into());
                    }
                }
            }
        }
        Ok(())
    }

    fn replace_outputs(&self, id: OperatorId, tensors: &[Tensor], passed: Option<&Passed>) -> Result<(), Refusal> {
        let slots = self.outputs(id);
        if tensors.len() != slots.len() {
            return Err(format!("{} tensors were given for {} outputs", tensors.len(), slots.len()).into());
        }
        // Other values may share the memory.
        self.keeping.borrow_mut().give_up_all();
        for (index, (slot, tensor)) in slots.iter().zip(tensors).enumerate() {
            match (slot.source, passed) {
                (Source::Tap(tap), Some(passed)) => {
                    // SAFETY: the tap's call is in progress, there is no view of the output, and nothing is kept.
                    unsafe { passed.held[tap].replace(tensor, &format!("output {index}")) }?;
                }
                _ => return Err(format!("output {index} is not a tensor, so it cannot be replaced").into()),
            }
        }
        Ok(())
    }
}

/// The values that the library still holds.
struct RunValues<'a> {
    watched: &'a Watched<'a>,
    /// The outputs that were computed just now.
    computed: &'a [Slot],
}

impl LiveValues for RunValues<'_> {
    fn value(&self, id: ValueId) -> Option<TensorView<'_>> {
        let watched = self.watched;
        let graph = &watched.layout.graph;
        if let Some(slot) = graph.inputs.iter().position(|input| *input == id) {
            return Some(watched.inputs.view(slot));
        }
        if graph.value(id).producer == Producer::Initializer {
            return None;
        }
        let state = watched.state.borrow();
        // SAFETY: the library holds the value until the last operator that takes it was executed; at that point the
        // state drops it. The view lives during the call of a tap, in which no operator is executed.
        state.held(id).map(|held| unsafe { held.view() }).or_else(|| Some(watched.layout.constants().get(&id)?.view()))
    }

    fn keep(&self, id: ValueId) -> Option<Box<dyn KeptTensor>> {
        let watched = self.watched;
        let is_held = self.computed.iter().any(|slot| slot.value == id) && watched.holds?.values.contains(&id);
        let (data, length) = if is_held { watched.state.borrow().held(id)?.memory()? } else { return None };
        // SAFETY: it was computed just now. The library holds it until the tap that holds it is executed, and at that
        // point it is given up. Or it holds it until the run ends, and then keeps the memory for the next run, which
        // waits until all values are given up.
        Some(unsafe { watched.keeping.borrow_mut().keep(id, data, length) })
    }
}

/// Returns a view for something that is not a tensor.
fn hidden<'a>() -> TensorView<'a> {
    TensorView::opaque(DType::String, Vec::new())
}

/// Returns a placeholder for a tensor without bytes, where a copy is kept.
fn empty() -> Tensor {
    Tensor::new(DType::U8, vec![0], Vec::new()).unwrap_or_else(|_| unreachable!("an empty tensor needs no bytes"))
}
