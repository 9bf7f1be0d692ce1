//! External values, which enter a run from outside: inputs, initializers and constants.

use std::collections::BTreeMap;

use opscope_model::{Dispatch, Kernel, KernelId};
use opscope_onnx::{Graph, OnnxError, Operator, OperatorId, Producer, ValueId};

use super::counts::{Counts, count_non_finite};
use crate::event::{NonFiniteInput, Origin};

/// The external values that each kernel of a plan is the first to take.
pub(crate) struct ExternalValues(Vec<TakenValues>);

/// The external values that a kernel takes.
#[derive(Default)]
struct TakenValues {
    /// Inputs of the model that no earlier kernel takes.
    inputs: Vec<ValueId>,
    /// Initializers that are not finite and that no earlier kernel takes.
    initializers: Vec<(ValueId, Counts)>,
    /// Slots of constants that were computed when the model was loaded and that no earlier kernel takes.
    constants: Vec<usize>,
    /// Outputs of the model that were computed when it was loaded and that no kernel takes. They are assigned to the
    /// last kernel.
    outputs: Vec<ValueId>,
    /// The counts of all initializers that it takes.
    known: Counts,
}

impl ExternalValues {
    /// Finds the external values. `begins` returns the kernel with which an operator begins. Inputs of an operator
    /// without a kernel count for the kernels that take its outputs.
    pub fn new(
        graph: &Graph,
        flawed: &FlawedInitializers,
        kernels: &[Kernel],
        begins: impl Fn(OperatorId) -> Option<KernelId>,
    ) -> Self {
        let is_folded = |operator: &Operator| begins(operator.id).is_none() && !gives_sizes(operator);
        let known = known_values(graph, flawed, is_folded);
        // Traces values back to the inputs and initializers that they are computed from.
        let follow = |mut left: Vec<ValueId>, seen: &mut [bool], taken: &mut TakenValues| {
            while let Some(value) = left.pop() {
                if std::mem::replace(&mut seen[value.index()], true) {
                    continue;
                }
                match graph.value(value).producer {
                    // The input of a body comes from the operator around it.
                    Producer::Input => taken.inputs.extend(graph.inputs.contains(&value).then_some(value)),
                    Producer::Initializer => {
                        taken.initializers.extend(flawed.get(&value).map(|counts| (value, *counts)));
                    }
                    Producer::Operator(operator, _) if is_folded(graph.operator(operator)) => {
                        let operator = graph.operator(operator);
                        left.extend(operator.inputs.iter().flatten().chain(&operator.captures));
                    }
                    Producer::Operator(..) => {}
                }
            }
        };
        // An output of the model that no kernel computes is reported at the end of the run.
        let is_given = |value: &ValueId| match graph.value(*value).producer {
            Producer::Operator(operator, _) => is_folded(graph.operator(operator)),
            Producer::Initializer => true,
            Producer::Input => false,
        };
        let given: Vec<ValueId> = graph.outputs.iter().copied().filter(is_given).collect();
        let last = kernels.last().map(|kernel| kernel.id);
        let mut seen = vec![false; graph.all_values().count()];
        let taken = kernels.iter().map(|kernel| {
            let mut taken = TakenValues::default();
            let kernel_inputs = kernel.inputs.iter().filter_map(|input| input.value);
            let mut left: Vec<ValueId> = kernel_inputs.collect();
            for operator in kernel.operators.iter().map(|part| graph.operator(part.operator)) {
                let inputs = operator.inputs.iter().flatten().chain(&operator.captures);
                taken.known = inputs.clone().fold(taken.known, |all, value| all.and(known[value.index()]));
                if begins(operator.id) == Some(kernel.id) {
                    left.extend(inputs);
                }
            }
            for (slot, input) in kernel.inputs.iter().enumerate().filter(|(_, input)| input.constant) {
                let is_new = input.value.is_none_or(|value| !seen[value.index()]);
                let is_of_the_file =
                    input.value.is_some_and(|value| graph.value(value).producer == Producer::Initializer);
                // NaN and infinity in a constant that was computed from initializers come from these.
                if is_new && !is_of_the_file && taken.known.is_zero() {
                    taken.constants.push(slot);
                }
            }
            follow(left, &mut seen, &mut taken);
            if last == Some(kernel.id) {
                let left: Vec<ValueId> = given.iter().copied().filter(|value| !seen[value.index()]).collect();
                taken.outputs.extend(left.iter().filter(|value| known[value.index()].is_zero()));
                follow(left, &mut seen, &mut taken);
            }
            taken
        });
        Self(taken.collect())
    }

    /// Returns the values with NaN or infinity that enter the run at this kernel.
    pub fn at(&self, dispatch: &Dispatch<'_>) -> Vec<NonFiniteInput> {
        let Some(taken) = self.0.get(dispatch.kernel.id.index()) else { return Vec::new() };
        let name = |value: ValueId| dispatch.graph.value(value).name.clone();
        let describe = |origin, value: Option<ValueId>, counts: Counts| NonFiniteInput {
            origin,
            value: value.map(name),
            nan: counts.nan,
            infinite: counts.infinite,
        };
        let inputs = taken.inputs.iter().filter_map(|&value| {
            let slot = || dispatch.kernel.inputs.iter().position(|input| input.value == Some(value));
            let view = dispatch.live.value(value).or_else(|| dispatch.inputs.get(slot()?).cloned())?;
            Some(describe(Origin::Input, Some(value), count_non_finite(&view)?))
        });
        let initializers =
            taken.initializers.iter().map(|(value, counts)| describe(Origin::Initializer, Some(*value), *counts));
        let constants = taken.constants.iter().filter_map(|&slot| {
            let counts = count_non_finite(dispatch.inputs.get(slot)?)?;
            Some(describe(Origin::Constant, dispatch.kernel.inputs[slot].value, counts))
        });
        let outputs = taken.outputs.iter().filter_map(|&value| {
            let counts = count_non_finite(&dispatch.live.value(value)?)?;
            Some(describe(Origin::Constant, Some(value), counts))
        });
        inputs.chain(initializers).chain(constants).chain(outputs).collect()
    }

    /// Returns the counts of all initializers that a kernel takes, including those that an earlier kernel has taken.
    pub fn known(&self, dispatch: &Dispatch<'_>) -> Counts {
        self.0.get(dispatch.kernel.id.index()).map(|taken| taken.known).unwrap_or_default()
    }
}

/// The initializers of a file that have NaN or infinity, with their counts.
pub(crate) type FlawedInitializers = BTreeMap<ValueId, Counts>;

/// Searches the initializers of a file. Data that cannot be read is ignored, because the engine has already refused it.
pub(crate) fn flawed_initializers(graph: &Graph) -> FlawedInitializers {
    let mut flawed = FlawedInitializers::new();
    let _ = graph.initializers(
        |_| true,
        |value, tensor| {
            flawed.extend(count_non_finite(&tensor.view()).map(|counts| (value, counts)));
            Ok::<(), OnnxError>(())
        },
    );
    flawed
}

/// Returns the counts of each value that is an initializer, or was computed from initializers when the model was
/// loaded.
fn known_values(graph: &Graph, flawed: &FlawedInitializers, is_folded: impl Fn(&Operator) -> bool) -> Vec<Counts> {
    let mut known = vec![Counts::default(); graph.all_values().count()];
    flawed.iter().for_each(|(value, counts)| known[value.index()] = *counts);
    for operator in graph.all_operators().filter(|operator| is_folded(operator)) {
        let inputs = operator.inputs.iter().flatten().chain(&operator.captures);
        let all = inputs.fold(Counts::default(), |all, value| all.and(known[value.index()]));
        operator.outputs.iter().flatten().for_each(|output| known[output.index()] = all);
    }
    known
}

/// Returns whether an operator computes only sizes, independent of the elements of its inputs.
fn gives_sizes(operator: &Operator) -> bool {
    matches!(operator.op_type.as_str(), "Shape" | "Size")
}
