//! Runs in which some operators compute in a narrower type.
//!
//! The model runs exactly, in float32. An operator that is lowered gets its inputs rounded to the narrower type, and its
//! outputs are rounded, too. This is what an exact run of the converted file computes, for any type, and the model is
//! loaded only once.

use std::collections::{HashMap, HashSet};

use opscope_model::{Action, Dispatch, Interest, Kernel, KernelInput, KernelSet, Plan, RunObserver};
use opscope_onnx::{Lowering, OperatorId};
use opscope_tensor::{Tensor, TensorError, TensorView};

use super::beginnings::{Start, copies};
use super::rounding::rounded;

/// What is rounded at a kernel of a lowered operator.
#[derive(Debug, Clone, Default)]
pub(super) struct RoundedSlots {
    /// The input slots.
    pub inputs: Vec<bool>,
    /// The output slots.
    pub outputs: Vec<bool>,
}

impl RoundedSlots {
    /// Returns what is rounded at each kernel of a plan. It is `None` for kernels of operators that cannot be lowered.
    /// `constants` says whether constants are rounded, too.
    pub fn of(
        plan: &dyn Plan,
        lowering: &Lowering<'_>,
        candidates: &HashSet<OperatorId>,
        constants: bool,
    ) -> Vec<Option<Self>> {
        let kernels = plan.kernels();
        let mut parts: HashMap<OperatorId, usize> = HashMap::new();
        kernels.iter().filter_map(Kernel::operator).for_each(|id| *parts.entry(id).or_default() += 1);
        let is_whole = |kernel: &Kernel| kernel.operator().is_some_and(|id| parts[&id] == 1);
        let of = |kernel: &Kernel| Self::of_kernel(kernel, lowering, candidates, constants, is_whole(kernel));
        kernels.iter().map(of).collect()
    }

    fn of_kernel(
        kernel: &Kernel,
        lowering: &Lowering<'_>,
        candidates: &HashSet<OperatorId>,
        constants: bool,
        is_whole: bool,
    ) -> Option<Self> {
        let operator = lowering.graph().operator(kernel.operator().filter(|id| candidates.contains(id))?);
        // A kernel may be a part of its operator. What it passes to another part is not rounded.
        let is_lowered_input = |value| {
            let slots = operator.inputs.iter().enumerate().filter(|(_, input)| **input == Some(value));
            slots.into_iter().any(|(slot, _)| lowering.lowers_input(operator, slot))
        };
        // An engine may have brought a constant into another shape, and then it is no value of the file.
        let is_unnamed = |input: &&KernelInput| input.value.is_none() && input.constant;
        let is_named = |value| kernel.inputs.iter().any(|input| input.value == Some(value));
        let others =
            operator.inputs.iter().enumerate().filter(|(_, input)| input.is_some_and(|input| !is_named(input)));
        let others: Vec<usize> = others.map(|(slot, _)| slot).collect();
        let are_others = is_whole
            && others.len() == kernel.inputs.iter().filter(is_unnamed).count()
            && others.iter().all(|slot| lowering.lowers_input(operator, *slot));
        let is_rounded = |input: &KernelInput| match input.value {
            Some(value) => (constants || !input.constant) && is_lowered_input(value),
            None => constants && input.constant && are_others,
        };
        let inputs = kernel.inputs.iter().map(is_rounded).collect();
        let is_output = |values: &Vec<_>| values.iter().any(|value| operator.outputs.contains(&Some(*value)));
        Some(Self { inputs, outputs: kernel.outputs.iter().map(is_output).collect() })
    }

    /// Returns these tensors, those in the chosen slots rounded. Returns `None` if none is chosen.
    pub fn rounded(
        chosen: &[bool],
        tensors: &[TensorView<'_>],
        lowering: &Lowering<'_>,
    ) -> Result<Option<Vec<Tensor>>, TensorError> {
        if !chosen.contains(&true) {
            return Ok(None);
        }
        let round = |(slot, tensor): (usize, &TensorView<'_>)| match chosen.get(slot) {
            Some(true) => rounded(tensor, lowering.dtype()),
            _ => tensor.to_tensor(),
        };
        tensors.iter().enumerate().map(round).collect::<Result<_, _>>().map(Some)
    }
}

/// Returns why a run stops at a value that cannot be rounded.
pub(super) fn cannot_round(error: &TensorError) -> String {
    format!("a value cannot be rounded: {error}")
}

/// The observer of a run in which operators are lowered.
pub(super) struct LoweredRun<'a> {
    /// What is rounded at each kernel.
    pub slots: &'a [Option<RoundedSlots>],
    pub lowering: &'a Lowering<'a>,
    /// The operators that are kept in float32, of those that could be lowered.
    pub kept: &'a HashSet<OperatorId>,
    /// The kernels of the plan.
    pub kernels: &'a [Kernel],
    /// Where the run begins.
    pub start: &'a Start<'a>,
}

impl LoweredRun<'_> {
    fn slots_of(&self, kernel: &Kernel) -> Option<&RoundedSlots> {
        let slots = self.slots[kernel.id.index()].as_ref()?;
        kernel.operator().is_some_and(|operator| !self.kept.contains(&operator)).then_some(slots)
    }
}

impl RunObserver for LoweredRun<'_> {
    fn interest(&self) -> Interest {
        let is_seen = |kernel: &Kernel| self.slots[kernel.id.index()].is_some() || self.start.watches(kernel);
        let set = KernelSet::Mask(self.kernels.iter().map(is_seen).collect());
        Interest { before: set.clone(), after: set, replaces_inputs: true, ..Interest::default() }
    }

    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        if let Some(outputs) = self.start.outputs(dispatch.kernel) {
            return Action::Skip(outputs);
        }
        let Some(slots) = self.slots_of(dispatch.kernel) else { return Action::Continue };
        match RoundedSlots::rounded(&slots.inputs, inputs, self.lowering) {
            Ok(None) => Action::Continue,
            Ok(Some(tensors)) => Action::ReplaceInputs(tensors),
            Err(error) => Action::Stop(cannot_round(&error)),
        }
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        if dispatch.kernel.id.index() < self.start.first {
            return Action::Continue;
        }
        let rounded = match self.slots_of(dispatch.kernel) {
            Some(slots) => RoundedSlots::rounded(&slots.outputs, outputs, self.lowering),
            None => Ok(None),
        };
        match rounded {
            Ok(None) => {
                self.start.keep(dispatch.kernel, || copies(outputs));
                Action::Continue
            }
            Ok(Some(tensors)) => {
                self.start.keep(dispatch.kernel, || Some(tensors.clone()));
                Action::Replace(tensors)
            }
            Err(error) => Action::Stop(cannot_round(&error)),
        }
    }
}
