use std::collections::BTreeMap;
use std::sync::Arc;

use opscope_model::{Dispatch, Kernel, KernelInput};
use opscope_onnx::Graph;
use opscope_tensor::{Tensor, TensorView};

use crate::expression::{TensorRef, Tensors};
use crate::plan::PlanInfo;
use crate::{DebugError, Location, Moment, Place, Sequence, TensorInfo};

/// Work that a thread does for the client while it is stopped at an operator.
pub(crate) type Job = Box<dyn FnOnce(&mut Stopped<'_>) + Send>;

/// A run that is stopped at an operator, seen from its own thread: the tensors are the engine's, borrowed.
pub struct Stopped<'a> {
    plan: &'a PlanInfo,
    dispatch: Dispatch<'a>,
    place: Place,
    event: Sequence,
    /// By slot. Before the operator what it takes; after it what was kept.
    inputs: &'a [TensorView<'a>],
    outputs: &'a [TensorView<'a>],
    /// By slot, of inputs before and of outputs after the operator.
    replaced: BTreeMap<usize, Tensor>,
}

impl<'a> Stopped<'a> {
    pub(crate) fn before(
        plan: &'a PlanInfo,
        dispatch: &Dispatch<'a>,
        place: Place,
        inputs: &'a [TensorView<'a>],
    ) -> Self {
        Self { plan, dispatch: *dispatch, place, event: Sequence(0), inputs, outputs: &[], replaced: BTreeMap::new() }
    }

    pub(crate) fn after(
        plan: &'a PlanInfo,
        dispatch: &Dispatch<'a>,
        place: Place,
        outputs: &'a [TensorView<'a>],
    ) -> Self {
        let inputs = dispatch.inputs;
        Self { plan, dispatch: *dispatch, place, event: Sequence(0), inputs, outputs, replaced: BTreeMap::new() }
    }

    pub(crate) fn set_event(&mut self, event: Sequence) {
        self.event = event;
    }

    pub(crate) fn graph(&self) -> Arc<Graph> {
        Arc::clone(&self.plan.graph)
    }

    /// The execution that it is stopped at.
    pub fn dispatch(&self) -> &Dispatch<'a> {
        &self.dispatch
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Where it is, and what can be looked at.
    pub fn location(&self) -> Location {
        let kernel = self.dispatch.kernel;
        let slots = |count: usize, reference: fn(usize) -> TensorRef| {
            (0..count).map(|slot| self.describe(reference(slot))).collect::<Vec<_>>()
        };
        let operator = self.dispatch.operator();
        Location {
            event: self.event,
            model: self.plan.model,
            place: self.place.clone(),
            kernel: self.plan.kernel_info(kernel),
            operators: self.dispatch.graph.operators.len() as u32,
            kernels: self.plan.kernels.len() as u32,
            inputs: slots(kernel.inputs.len(), TensorRef::Input),
            outputs: slots(self.giver().outputs.len(), TensorRef::Output),
            weights: slots(self.weights().count(), TensorRef::Weight),
            attributes: operator.attributes.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
        }
    }

    /// A tensor: what it was replaced with, where it was.
    ///
    /// # Errors
    /// When there is none of this name here, or not any more, or not yet.
    pub fn tensor(&self, reference: &TensorRef) -> Result<TensorView<'_>, DebugError> {
        if let Some(slot) = self.replaceable(reference)
            && let Some(tensor) = self.replaced.get(&slot)
        {
            return Ok(tensor.view());
        }
        let missing = |reason: String| DebugError::NoSuchTensor { reference: reference.to_string(), reason };
        let kernel = self.dispatch.kernel;
        match reference {
            TensorRef::Input(slot) => match self.inputs.get(*slot) {
                Some(view) => Ok(view.clone()),
                None if *slot < kernel.inputs.len() => Err(missing("the engine did not keep it".to_owned())),
                None => Err(missing(there_are("input", kernel.inputs.len()))),
            },
            TensorRef::Output(slot) => match self.outputs.get(*slot) {
                Some(view) => Ok(view.clone()),
                None if *slot < self.giver().outputs.len() => {
                    Err(missing("the operator was not executed; use 'finish' to stop after it".to_owned()))
                }
                None => Err(missing(there_are("output", self.giver().outputs.len()))),
            },
            TensorRef::Weight(number) => {
                let (slot, _) =
                    self.weights().nth(*number).ok_or_else(|| missing(there_are("weight", self.weights().count())))?;
                self.tensor(&TensorRef::Input(slot))
            }
            TensorRef::Value(name) => self.value(name).ok_or_else(|| {
                let known = self.dispatch.graph.values.iter().any(|value| value.name == *name);
                missing(if known {
                    "the run does not hold this value now: it was not computed yet, or is not needed any more"
                        .to_owned()
                } else {
                    "the model has no value of this name".to_owned()
                })
            }),
        }
    }

    /// Puts another tensor in the place of an input before the operator, or of an output after it. The run goes on with
    /// it.
    ///
    /// # Errors
    /// When that tensor cannot be replaced at this moment, or the type or the shape differs.
    pub fn replace(&mut self, reference: &TensorRef, tensor: Tensor) -> Result<(), DebugError> {
        let refuse = |reason: String| DebugError::Replacement { reference: reference.to_string(), reason };
        let slot = self.replaceable(reference).ok_or_else(|| {
            refuse(match self.place.moment {
                Moment::Before => "before an operator its inputs can be replaced".to_owned(),
                Moment::After => "after an operator its outputs can be replaced".to_owned(),
            })
        })?;
        let now = self.tensor(reference)?;
        if (now.dtype(), now.shape()) != (tensor.dtype(), tensor.shape()) {
            let (dtype, shape) = (tensor.dtype(), tensor.shape());
            return Err(refuse(format!("it is {} {:?}, and {dtype} {shape:?} was given", now.dtype(), now.shape())));
        }
        if let Some(opaque) = self.side().iter().position(|view| view.byte_len().is_none()) {
            return Err(refuse(format!("the engine holds slot {opaque} in a form of its own")));
        }
        self.replaced.insert(slot, tensor);
        Ok(())
    }

    /// Whether tensors fit as the outputs of the operator that is about to be executed.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check_outputs(&self, tensors: &[Tensor]) -> Result<(), DebugError> {
        let kernel = self.giver();
        if self.place.moment == Moment::After {
            return Err(DebugError::Resume("the operator was executed already; it can be skipped before that".into()));
        }
        if tensors.len() != kernel.outputs.len() {
            let (takes, given) = (kernel.outputs.len(), tensors.len());
            return Err(DebugError::Resume(format!(
                "the operator has {takes} outputs, and {given} tensors were given"
            )));
        }
        for (slot, (tensor, expected)) in tensors.iter().zip(&kernel.output_types).enumerate() {
            let fits = expected.dtype.is_none_or(|dtype| dtype == tensor.dtype()) && expected.shape == tensor.shape();
            if !fits || expected.dtype.is_none() {
                let wanted = expected.dtype.map_or("a type of the engine's own".to_owned(), |dtype| dtype.to_string());
                return Err(DebugError::Resume(format!(
                    "output[{slot}] is {wanted} {:?}, and {} {:?} was given",
                    expected.shape,
                    tensor.dtype(),
                    tensor.shape()
                )));
            }
        }
        Ok(())
    }

    /// What the run goes on with, by slot, where a tensor was replaced; none where none was. The engine is given all of
    /// a side, so the others are copied.
    pub(crate) fn into_replacements(mut self) -> Option<Vec<Tensor>> {
        if self.replaced.is_empty() {
            return None;
        }
        let side = self.side();
        side.iter()
            .enumerate()
            .map(|(slot, view)| self.replaced.remove(&slot).or_else(|| view.to_tensor().ok()))
            .collect()
    }

    /// The kernel whose outputs are the operator's: before an operator that the engine executes in several steps, the last.
    pub(crate) fn giver(&self) -> &'a Kernel {
        let kernel = self.dispatch.kernel;
        if self.plan.is_bound(kernel.id, self.place.moment) {
            return self.plan.kernel_for(kernel.operator(), Moment::After).unwrap_or(kernel);
        }
        kernel
    }

    /// The tensors that can be replaced at this moment.
    fn side(&self) -> &'a [TensorView<'a>] {
        match self.place.moment {
            Moment::Before => self.inputs,
            Moment::After => self.outputs,
        }
    }

    fn describe(&self, reference: TensorRef) -> TensorInfo {
        let kernel = self.dispatch.kernel;
        let name = |id| self.dispatch.graph.value(id).name.clone();
        let (slot, of_output) = match &reference {
            TensorRef::Input(slot) => (*slot, false),
            TensorRef::Output(slot) => (*slot, true),
            TensorRef::Weight(number) => (self.weights().nth(*number).map_or(0, |(slot, _)| slot), false),
            TensorRef::Value(_) => (0, false),
        };
        let (value, expected, constant) = if of_output {
            let value = self.giver().outputs.get(slot).and_then(|values| values.first()).copied();
            (value, self.giver().output_types.get(slot), false)
        } else {
            let input = kernel.inputs.get(slot);
            let constant = input.is_some_and(|input| input.constant);
            (input.and_then(|input| input.value), kernel.input_types.get(slot), constant)
        };
        let held = || self.giver().holds.get(slot).copied().flatten();
        let holds = if of_output && value.is_none() { held() } else { None };
        let view = self.tensor(&reference).ok();
        TensorInfo {
            value: value.map(name),
            holds: holds.map(name),
            dtype: expected.and_then(|expected| expected.dtype).map(|dtype| dtype.name().to_owned()),
            shape: view
                .as_ref()
                .map(|view| view.shape().to_vec())
                .unwrap_or_else(|| expected.map(|expected| expected.shape.clone()).unwrap_or_default()),
            readable: view.is_some_and(|view| view.byte_len().is_some()),
            constant,
            replaced: self.replaceable(&reference).is_some_and(|slot| self.replaced.contains_key(&slot)),
            reference: reference.to_string(),
        }
    }

    /// The slot of a tensor that can be replaced at this moment.
    fn replaceable(&self, reference: &TensorRef) -> Option<usize> {
        match (reference, self.place.moment) {
            (TensorRef::Input(slot), Moment::Before) | (TensorRef::Output(slot), Moment::After) => Some(*slot),
            (TensorRef::Weight(number), Moment::Before) => self.weights().nth(*number).map(|(slot, _)| slot),
            _ => None,
        }
    }

    /// The inputs that are the same in every run, with their slots.
    fn weights(&self) -> impl Iterator<Item = (usize, &KernelInput)> {
        self.dispatch.kernel.inputs.iter().enumerate().filter(|(_, input)| input.constant)
    }

    /// A value of the file: one at this operator, or one that the engine still holds.
    fn value(&self, name: &str) -> Option<TensorView<'_>> {
        let kernel = self.dispatch.kernel;
        let is = |id| self.dispatch.graph.value(id).name == name;
        let input = kernel.inputs.iter().position(|input| input.value.is_some_and(is));
        let output = kernel.outputs.iter().position(|values| values.iter().any(|&id| is(id)));
        let here = input.map(TensorRef::Input).into_iter().chain(output.map(TensorRef::Output));
        if let Some(view) = here.filter_map(|reference| self.tensor(&reference).ok()).next() {
            // Its borrow is of self, as is wanted.
            return Some(view);
        }
        let value = self.dispatch.graph.values.iter().find(|value| value.name == name)?;
        self.dispatch.live.value(value.id)
    }
}

/// Which tensors of a kind there are.
fn there_are(kind: &str, count: usize) -> String {
    match count {
        0 => format!("there are no {kind}s"),
        1 => format!("there is {kind}[0] only"),
        count => format!("there are {kind}[0] to {kind}[{}]", count - 1),
    }
}

impl Tensors for Stopped<'_> {
    fn view(&self, reference: &TensorRef) -> Option<TensorView<'_>> {
        self.tensor(reference).ok()
    }

    fn subjects(&self) -> &[TensorView<'_>] {
        self.side()
    }
}
