mod operands;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use opscope_model::{Dispatch, Kernel, KernelInput, LoopIteration, TensorType};
use opscope_onnx::{Graph, Producer, ValueId};
use opscope_tensor::{Tensor, TensorView};

use super::location::{Location, TensorInfo};
use super::plan::PlanInfo;
use crate::error::DebugError;
use crate::event::{Moment, RunPosition, Sequence};
use crate::expression::{TensorRef, Tensors};
use operands::is_engines_own;

/// A job that a stopped thread carries out for the client.
pub(crate) type Job = Box<dyn FnOnce(&mut Stopped<'_>) + Send>;

/// A run that is stopped at an operator, as its own thread sees it: the tensors are borrowed from the engine.
pub struct Stopped<'a> {
    plan: &'a PlanInfo,
    dispatch: Dispatch<'a>,
    moment: Moment,
    /// Computed on demand, because most runs that are checked here do not stop.
    position: OnceCell<RunPosition>,
    event: Sequence,
    /// The kernel's inputs by slot; after the kernel, those that the engine kept.
    inputs: &'a [TensorView<'a>],
    outputs: &'a [TensorView<'a>],
    /// The replaced inputs (before the kernel) or outputs (after it), by the kernel's slot.
    replaced: BTreeMap<usize, Tensor>,
    /// How many kernels the operator has, if the slots are those of the operator and not of the kernel.
    operator_kernels: Option<u32>,
    /// The initializers that the operator takes, as they are in the file.
    initializers: OnceCell<BTreeMap<ValueId, Arc<Tensor>>>,
}

/// A slot of the operator, or of the kernel.
struct Slot<'a> {
    value: Option<ValueId>,
    /// The slot of the kernel, if the kernel has this tensor.
    slot: Option<usize>,
    form: Option<&'a TensorType>,
    /// Whether it is the same in every run.
    constant: bool,
    /// If it is not itself a value of the file, the value whose elements it has in another form.
    holds: Option<ValueId>,
}

impl<'a> Stopped<'a> {
    pub(crate) fn before(plan: &'a PlanInfo, dispatch: &Dispatch<'a>, inputs: &'a [TensorView<'a>]) -> Self {
        Self::new(plan, dispatch, Moment::Before, inputs, &[])
    }

    pub(crate) fn after(plan: &'a PlanInfo, dispatch: &Dispatch<'a>, outputs: &'a [TensorView<'a>]) -> Self {
        Self::new(plan, dispatch, Moment::After, dispatch.inputs, outputs)
    }

    fn new(
        plan: &'a PlanInfo,
        dispatch: &Dispatch<'a>,
        moment: Moment,
        inputs: &'a [TensorView<'a>],
        outputs: &'a [TensorView<'a>],
    ) -> Self {
        let kernel = dispatch.kernel;
        let is_bound = plan.is_bound(kernel.id, moment);
        let operator_kernels = if is_bound { plan.kernels_of(dispatch.operator().id) } else { None };
        Self {
            plan,
            dispatch: *dispatch,
            moment,
            position: OnceCell::new(),
            event: Sequence(0),
            inputs,
            outputs,
            replaced: BTreeMap::new(),
            operator_kernels,
            initializers: OnceCell::new(),
        }
    }

    pub(crate) fn set_event(&mut self, event: Sequence) {
        self.event = event;
    }

    pub(crate) fn graph(&self) -> Arc<Graph> {
        Arc::clone(&self.plan.graph)
    }

    /// Returns the dispatch at which it is stopped.
    pub fn dispatch(&self) -> &Dispatch<'a> {
        &self.dispatch
    }

    /// Returns its position.
    pub fn position(&self) -> &RunPosition {
        self.position.get_or_init(|| self.plan.position(&self.dispatch, self.moment))
    }

    /// Returns its location, and the tensors that it has there.
    pub fn location(&self) -> Location {
        let kernel = self.dispatch.kernel;
        let slots = |count: usize, reference: fn(usize) -> TensorRef| {
            (0..count).filter_map(|slot| self.describe(reference(slot))).collect::<Vec<_>>()
        };
        let operator = self.dispatch.operator();
        Location {
            event: self.event,
            model: self.plan.model,
            place: self.position().clone(),
            origin: operator.origin.clone(),
            kernel: self.plan.kernel_info(kernel),
            operators: self.dispatch.graph.all_operators().count() as u32,
            kernels: self.plan.kernels.len() as u32,
            operator_kernels: self.operator_kernels,
            executes_skipped: self.plan.executes_skipped,
            inputs: slots(self.input_count(), TensorRef::Input),
            outputs: slots(self.output_count(), TensorRef::Output),
            weights: slots(self.weights().len(), TensorRef::Weight),
            attributes: operator.attributes.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
        }
    }

    /// Returns a tensor. If it was replaced, this is the replacement.
    ///
    /// # Errors
    /// Returns an error if the tensor does not exist here, either not yet or no longer.
    pub fn tensor(&self, reference: &TensorRef) -> Result<TensorView<'_>, DebugError> {
        let missing = |reason: String| DebugError::NoSuchTensor { reference: reference.to_string(), reason };
        let left_out = || missing("the operator leaves it out".to_owned());
        match reference {
            TensorRef::Input(slot) if *slot >= self.input_count() => {
                Err(missing(there_are("input", self.input_count())))
            }
            TensorRef::Input(slot) => {
                let input = self.input(*slot).ok_or_else(|| match self.operator_kernels {
                    Some(_) => left_out(),
                    None => {
                        missing("it is an operand of the engine's own, which the operator does not take".to_owned())
                    }
                })?;
                let kept = || missing("the engine did not keep it".to_owned());
                self.view_of(&input, Moment::Before, self.inputs).ok_or_else(kept)
            }
            TensorRef::Output(slot) if *slot >= self.output_count() => {
                Err(missing(there_are("output", self.output_count())))
            }
            TensorRef::Output(_) if self.moment == Moment::Before => {
                Err(missing("the operator was not executed; use 'finish' to stop after it".to_owned()))
            }
            TensorRef::Output(slot) => {
                let output = self.output(*slot).ok_or_else(left_out)?;
                let kept = || missing("the engine did not keep it".to_owned());
                self.view_of(&output, Moment::After, self.outputs).ok_or_else(kept)
            }
            TensorRef::Weight(number) => {
                let weights = self.weights();
                let slot = weights.get(*number).ok_or_else(|| missing(there_are("weight", weights.len())))?;
                self.tensor(&TensorRef::Input(*slot))
            }
            TensorRef::Value(name) => self.value(name).ok_or_else(|| {
                let known = self.dispatch.graph.value_named(name).is_some();
                missing(if known {
                    "the run does not hold this value now: it was not computed yet, or is not needed any more"
                        .to_owned()
                } else {
                    "the model has no value of this name".to_owned()
                })
            }),
        }
    }

    /// Replaces an input before the operator, or an output after it. The run continues with it.
    ///
    /// # Errors
    /// Returns an error if the tensor cannot be replaced at this moment, or its type or shape differs.
    pub fn replace(&mut self, reference: &TensorRef, tensor: Tensor) -> Result<(), DebugError> {
        let refuse = |reason: String| DebugError::Replacement { reference: reference.to_string(), reason };
        let Some(replaced) = self.replaceable(reference) else {
            let is_input = matches!(reference, TensorRef::Input(_) | TensorRef::Weight(_));
            let is_output = matches!(reference, TensorRef::Output(_));
            return Err(match self.moment {
                Moment::Before if !is_input => refuse("before an operator its inputs can be replaced".to_owned()),
                Moment::After if !is_output => refuse("after an operator its outputs can be replaced".to_owned()),
                // The error for a tensor that does not exist says which ones do.
                _ => self.tensor(reference).err().unwrap_or_else(|| refuse("the operator leaves it out".to_owned())),
            });
        };
        let elsewhere = |how: &str| {
            let kernel = &self.dispatch.kernel.op;
            refuse(format!(
                "the engine executes the operator in several kernels, and {how} '{kernel}', the one here; set it where it \
                 is computed"
            ))
        };
        let slot = replaced.slot.ok_or_else(|| elsewhere("it does not reach"))?;
        let is_taken_again = |value| self.plan.is_taken_again(self.dispatch.kernel, value);
        if self.moment == Moment::Before
            && self.operator_kernels.is_some()
            && replaced.value.is_some_and(is_taken_again)
        {
            return Err(elsewhere("another one takes it after"));
        }
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

    /// Returns the inputs (before the kernel) or outputs (after it) with which the run continues; `None` if no tensor
    /// was replaced. The engine takes all tensors of a side, so those that were not replaced are copied.
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

    /// Returns the kernel whose outputs are the operator's: the last of its kernels.
    pub(crate) fn last_kernel(&self) -> &'a Kernel {
        let kernel = self.dispatch.kernel;
        if self.plan.is_bound(kernel.id, self.moment) {
            return self.plan.kernel_for(self.dispatch.operator().id, Moment::After).unwrap_or(kernel);
        }
        kernel
    }

    /// Returns the tensors that can be replaced at this moment.
    fn side(&self) -> &'a [TensorView<'a>] {
        match self.moment {
            Moment::Before => self.inputs,
            Moment::After => self.outputs,
        }
    }

    /// Describes a tensor. Returns `None` if the operator omits the slot.
    fn describe(&self, reference: TensorRef) -> Option<TensorInfo> {
        let slot = match &reference {
            TensorRef::Input(slot) => self.input(*slot),
            TensorRef::Output(slot) => self.output(*slot),
            TensorRef::Weight(number) => self.input(*self.weights().get(*number)?),
            TensorRef::Value(_) => None,
        }?;
        let name = |id| self.dispatch.graph.value(id).name.clone();
        let view = self.tensor(&reference).ok();
        // A plan may not know the types of all values before they are computed.
        let has_bytes = view.as_ref().filter(|view| view.byte_len().is_some() || slot.form.is_none());
        let dtype = has_bytes.map(TensorView::dtype).or_else(|| slot.form.and_then(|form| form.dtype));
        let shape = view.as_ref().map(|view| view.shape().to_vec());
        Some(TensorInfo {
            value: slot.value.map(name),
            holds: slot.holds.map(name),
            dtype,
            shape: shape.or_else(|| slot.form.map(|form| form.shape.clone())).unwrap_or_default(),
            readable: view.is_some_and(|view| view.byte_len().is_some()),
            constant: slot.constant,
            replaced: self
                .replaceable(&reference)
                .and_then(|slot| slot.slot)
                .is_some_and(|slot| self.replaced.contains_key(&slot)),
            reference: reference.to_string(),
        })
    }

    fn input_count(&self) -> usize {
        if self.operator_kernels.is_some() {
            self.dispatch.operator().inputs.len()
        } else {
            self.dispatch.kernel.inputs.len()
        }
    }

    fn output_count(&self) -> usize {
        if self.operator_kernels.is_some() {
            self.dispatch.operator().outputs.len()
        } else {
            self.last_kernel().outputs.len()
        }
    }

    /// Returns an input by its slot; `None` if the operator omits it.
    fn input(&self, slot: usize) -> Option<Slot<'a>> {
        let kernel = self.dispatch.kernel;
        if self.operator_kernels.is_none() {
            let KernelInput { value, constant } = *kernel.inputs.get(slot)?;
            if is_engines_own(kernel, self.dispatch.graph, slot) {
                return None;
            }
            return Some(Slot { value, slot: Some(slot), form: kernel.input_types.get(slot), constant, holds: None });
        }
        let value = (*self.dispatch.operator().inputs.get(slot)?)?;
        let here = kernel.inputs.iter().position(|input| input.value == Some(value));
        let is_constant = here.is_some_and(|slot| kernel.inputs[slot].constant);
        Some(Slot {
            value: Some(value),
            slot: here,
            form: self.plan.type_of(value),
            constant: is_constant || self.dispatch.graph.value(value).producer == Producer::Initializer,
            holds: None,
        })
    }

    /// Returns an output by its slot; `None` if the operator omits it.
    fn output(&self, slot: usize) -> Option<Slot<'a>> {
        let last_kernel = self.last_kernel();
        if self.operator_kernels.is_none() {
            let value = last_kernel.outputs.get(slot)?.first().copied();
            let holds = last_kernel.holds.get(slot).copied().flatten().filter(|_| value.is_none());
            let form = last_kernel.output_types.get(slot);
            return Some(Slot { value, slot: Some(slot), form, constant: false, holds });
        }
        let value = (*self.dispatch.operator().outputs.get(slot)?)?;
        let here = last_kernel.outputs.iter().position(|values| values.contains(&value));
        Some(Slot { value: Some(value), slot: here, form: self.plan.type_of(value), constant: false, holds: None })
    }

    /// Returns the tensor of a slot, if it can be read: from the kernel on this side, from the run, or from the file.
    fn view_of<'s>(&'s self, slot: &Slot<'_>, side: Moment, views: &'s [TensorView<'s>]) -> Option<TensorView<'s>> {
        if let Some(here) = slot.slot {
            let replaced = self.replaced.get(&here).filter(|_| self.moment == side);
            if let Some(view) = replaced.map(Tensor::view).or_else(|| views.get(here).cloned()) {
                return Some(view);
            }
        }
        let value = slot.value.filter(|_| self.operator_kernels.is_some())?;
        self.dispatch.live.value(value).or_else(|| Some(self.initializers().get(&value)?.view()))
    }

    /// Returns the initializers that the operator takes, as the file has them.
    fn initializers(&self) -> &BTreeMap<ValueId, Arc<Tensor>> {
        self.initializers.get_or_init(|| {
            let inputs = self.dispatch.operator().inputs.iter().flatten();
            let is_initializer =
                |value: &&ValueId| self.dispatch.graph.value(**value).producer == Producer::Initializer;
            inputs.filter(is_initializer).filter_map(|&value| Some((value, self.plan.initializer(value)?))).collect()
        })
    }

    /// Returns the slot of a tensor that can be replaced at this moment.
    fn replaceable(&self, reference: &TensorRef) -> Option<Slot<'a>> {
        match (reference, self.moment) {
            (TensorRef::Input(slot), Moment::Before) => self.input(*slot),
            (TensorRef::Output(slot), Moment::After) => self.output(*slot),
            (TensorRef::Weight(number), Moment::Before) => self.input(*self.weights().get(*number)?),
            _ => None,
        }
    }

    /// Returns the slots of the inputs that are the same in every run.
    fn weights(&self) -> Vec<usize> {
        let is_constant = |slot: &usize| self.input(*slot).is_some_and(|input| input.constant);
        (0..self.input_count()).filter(is_constant).collect()
    }

    /// Returns a value of the file, either at this operator or among those that the engine still holds.
    fn value(&self, name: &str) -> Option<TensorView<'_>> {
        let value = self.dispatch.graph.value_named(name)?.id;
        let is = |slot: Option<Slot<'_>>| slot.is_some_and(|slot| slot.value == Some(value));
        let input = (0..self.input_count()).find(|slot| is(self.input(*slot))).map(TensorRef::Input);
        // An output of the kernel may stand for several values of the file.
        let given = self.last_kernel().outputs.iter().position(|values| values.contains(&value));
        let own = || (0..self.output_count()).find(|slot| is(self.output(*slot)));
        let output = if self.operator_kernels.is_some() { own() } else { given }.map(TensorRef::Output);
        let here = input.into_iter().chain(output).find_map(|reference| self.tensor(&reference).ok());
        here.or_else(|| self.dispatch.live.value(value))
    }
}

/// Says which tensors of a kind exist.
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

    fn iterations(&self) -> &[LoopIteration] {
        &self.position().iterations
    }
}
