//! The operands of a kernel that stand for inputs of operators in the file, and the outputs of an operator that is
//! skipped.

use std::collections::BTreeSet;

use opscope_model::{Kernel, KernelId, KernelInput};
use opscope_onnx::{Graph, ValueId};
use opscope_tensor::Tensor;

use super::{Slot, Stopped};
use crate::error::DebugError;
use crate::event::Moment;

/// Returns whether an operand is the engine's own: a constant that stands for no input of the operators in the file,
/// such as the zero if a Relu is computed as a maximum. Operands in another form, such as packed weights, are not
/// values of the file either, but there are at most as many of them as there are inputs without an operand.
pub(super) fn is_engines_own(kernel: &Kernel, graph: &Graph, slot: usize) -> bool {
    let is_nameless = |input: &&KernelInput| input.value.is_none() && input.constant;
    if !kernel.inputs.get(slot).is_some_and(|operand| is_nameless(&operand)) {
        return false;
    }
    let operators = || kernel.operators.iter().map(|attribution| graph.operator(attribution.operator));
    let inside: BTreeSet<ValueId> =
        operators().flat_map(|operator| operator.outputs.iter().flatten().copied()).collect();
    let taken = operators().flat_map(|operator| operator.inputs.iter().flatten().copied());
    let taken: BTreeSet<ValueId> = taken.filter(|value| !inside.contains(value)).collect();
    let found: BTreeSet<ValueId> = kernel.inputs.iter().filter_map(|input| input.value).collect();
    let in_another_form = taken.difference(&found).count();
    let computed = kernel.inputs.iter().filter(|input| input.value.is_none() && !input.constant).count();
    let before = kernel.inputs[..slot].iter().filter(is_nameless).count();
    before >= in_another_form.saturating_sub(computed)
}

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

#[cfg(test)]
mod tests {
    use opscope_model::testing::{GraphBuilder, kernels};

    use super::*;

    const OWN: KernelInput = KernelInput { value: None, constant: true };
    const COMPUTED: KernelInput = KernelInput { value: None, constant: false };

    /// Returns which operands are the engine's own in a kernel for the operators of `x -> product -> relu`.
    fn own(operators: &[&str], operands: impl Fn(&Kernel) -> Vec<KernelInput>) -> Vec<bool> {
        let graph = GraphBuilder::new("own")
            .input("x", &[4])
            .initializer("w", &[4])
            .operator("product", "Mul", &["x", "w"], &["p"])
            .operator("relu", "Relu", &["p"], &["y"])
            .output("y")
            .build();
        let mut kernel = kernels(&graph, &[operators])[0].clone();
        kernel.inputs = operands(&kernel);
        (0..kernel.inputs.len()).map(|slot| is_engines_own(&kernel, &graph, slot)).collect()
    }

    #[test]
    fn a_constant_beside_all_inputs_of_the_operator_is_the_engines_own() {
        assert_eq!(own(&["relu"], |kernel| [&kernel.inputs[..], &[OWN]].concat()), [false, true]);
        assert_eq!(own(&["relu"], |_| vec![COMPUTED, OWN]), [false, true], "p is in another form");
        assert_eq!(own(&["relu"], |kernel| [&[OWN], &kernel.inputs[..]].concat()), [true, false]);
        assert_eq!(own(&["product", "relu"], |_| vec![COMPUTED, OWN, OWN]), [false, false, true]);
    }

    #[test]
    fn a_weight_in_another_form_is_not() {
        assert_eq!(own(&["product"], |kernel| vec![kernel.inputs[0].clone(), OWN]), [false, false]);
        assert_eq!(own(&["product"], |_| vec![COMPUTED, OWN]), [false, false]);
        assert_eq!(own(&["product"], |_| vec![OWN, OWN]), [false, false], "an input that is known before the run");
    }
}
