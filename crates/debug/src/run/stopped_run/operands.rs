//! Which operands of a kernel stand for inputs of the operators in the file.

use std::collections::BTreeSet;

use opscope_model::{Kernel, KernelInput};
use opscope_onnx::{Graph, ValueId};

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
