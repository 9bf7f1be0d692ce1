//! The outputs of an operator that is skipped.

use opscope_model::{Kernel, KernelId};
use opscope_onnx::ValueId;
use opscope_tensor::Tensor;

use super::{Slot, Stopped};
use crate::error::DebugError;
use crate::event::Moment;

impl Stopped<'_> {
    /// Returns whether the engine executes an operator even if it is skipped, and then replaces its outputs.
    pub fn executes_skipped(&self) -> bool {
        self.plan.executes_skipped
    }

    /// Checks that tensors fit the outputs of the operator that is about to be executed.
    ///
    /// # Errors
    /// Returns an error that says what does not fit.
    pub fn check_outputs(&self, tensors: &[Tensor]) -> Result<(), DebugError> {
        let refuse = |reason: String| Err(DebugError::Resume(reason));
        if self.plan.is_open() {
            return refuse("an operator of a program, such as one of PyTorch's, cannot be skipped here".into());
        }
        if self.moment == Moment::After {
            return refuse("the operator was executed already; it can be skipped before that".into());
        }
        let outputs: Vec<(usize, Slot<'_>)> =
            (0..self.output_count()).filter_map(|slot| Some((slot, self.output(slot)?))).collect();
        if tensors.len() != outputs.len() {
            let (takes, given) = (outputs.len(), tensors.len());
            return refuse(format!("the operator has {takes} outputs, and {given} tensors were given"));
        }
        for (tensor, (slot, output)) in tensors.iter().zip(&outputs) {
            let expected = output.form.and_then(|form| Some((form.dtype?, form.shape.as_slice())));
            // An engine that executes the operator knows its outputs and checks them itself.
            if expected.is_none() && self.plan.executes_skipped {
                continue;
            }
            if expected != Some((tensor.dtype(), tensor.shape())) {
                let wanted = output.form.map_or("a type of the engine's own".to_owned(), |form| {
                    let dtype = form.dtype.map_or("a type of the engine's own".to_owned(), |dtype| dtype.to_string());
                    format!("{dtype} {:?}", form.shape)
                });
                let (dtype, shape) = (tensor.dtype(), tensor.shape());
                return refuse(format!("output[{slot}] is {wanted}, and {dtype} {shape:?} was given"));
            }
        }
        let given: usize = self.skipped(tensors.to_vec()).iter().map(|(_, outputs)| outputs.len()).sum();
        match given == tensors.len() {
            true => Ok(()),
            false => {
                refuse("the engine executes it in kernels that have other outputs, too, and cannot skip them".into())
            }
        }
    }

    /// Returns the kernels that are not executed if the operator is skipped, each with its outputs, which are taken
    /// from the outputs of the operator.
    pub(crate) fn skipped(&self, outputs: Vec<Tensor>) -> Vec<(KernelId, Vec<Tensor>)> {
        if self.operator_kernels.is_none() {
            return vec![(self.last_kernel().id, outputs)];
        }
        let own: Vec<ValueId> = self.dispatch.operator().outputs.iter().flatten().copied().collect();
        let given = |kernel: &Kernel| {
            let output = |values: &Vec<ValueId>| {
                let at = own.iter().position(|value| values.contains(value))?;
                outputs.get(at).cloned()
            };
            let outputs: Vec<Tensor> = kernel.outputs.iter().map(output).collect::<Option<_>>()?;
            (!outputs.is_empty()).then_some((kernel.id, outputs))
        };
        self.plan
            .kernels
            .iter()
            .filter(|kernel| kernel.operator() == self.dispatch.kernel.operator())
            .filter_map(given)
            .collect()
    }
}
