//! What enters a run without an operator of it having made it: inputs, initializers, constants.

use std::collections::BTreeMap;

use opscope_model::{Dispatch, Kernel, KernelId};
use opscope_onnx::{Graph, OnnxError, Operator, OperatorId, Producer, ValueId};

use crate::first::{Counts, look};
use crate::{NonFiniteInput, Origin};

/// What each kernel of a plan is the first to take of what enters the runs.
pub(crate) struct Entering(Vec<Taken>);

/// What a kernel takes.
#[derive(Default)]
struct Taken {
    /// Inputs of the model that no kernel before takes.
    inputs: Vec<ValueId>,
    /// Initializers that are not finite, and that no kernel before takes.
    initializers: Vec<(ValueId, Counts)>,
    /// Slots of constants that were computed when the model was loaded, and that no kernel before takes.
    constants: Vec<usize>,
    /// Outputs of the model that were computed when it was loaded, and that no kernel takes; the last kernel has them.
    outputs: Vec<ValueId>,
    /// What there is in all initializers that it takes.
    known: Counts,
}

impl Entering {
    /// `begins` gives the kernel with which an operator begins, if any is executed
    /// for it; what the others take counts for the kernels that take what they give.
    pub fn new(
        graph: &Graph,
        flawed: &Flawed,
        kernels: &[Kernel],
        begins: impl Fn(OperatorId) -> Option<KernelId>,
    ) -> Self {
        let is_folded = |operator: &Operator| begins(operator.id).is_none() && !gives_sizes(operator);
        let known = known_values(graph, flawed, is_folded);
        // Whatever these values are made of.
        let follow = |mut left: Vec<ValueId>, seen: &mut [bool], taken: &mut Taken| {
            while let Some(value) = left.pop() {
                if std::mem::replace(&mut seen[value.index()], true) {
                    continue;
                }
                match graph.value(value).producer {
                    Producer::Input => taken.inputs.push(value),
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
        // The run meets what it gives and has not computed at its end.
        let is_given = |value: &ValueId| match graph.value(*value).producer {
            Producer::Operator(operator, _) => is_folded(graph.operator(operator)),
            Producer::Initializer => true,
            Producer::Input => false,
        };
        let given: Vec<ValueId> = graph.outputs.iter().copied().filter(is_given).collect();
        let last = kernels.last().map(|kernel| kernel.id);
        let mut seen = vec![false; graph.values.len()];
        let taken = kernels.iter().map(|kernel| {
            let mut taken = Taken::default();
            let of_the_engine = kernel.inputs.iter().filter_map(|input| input.value);
            let mut left: Vec<ValueId> = of_the_engine.collect();
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
                // One that was made of an initializer has what that one has.
                if is_new && !is_of_the_file && taken.known.is_nothing() {
                    taken.constants.push(slot);
                }
            }
            follow(left, &mut seen, &mut taken);
            if last == Some(kernel.id) {
                let left: Vec<ValueId> = given.iter().copied().filter(|value| !seen[value.index()]).collect();
                taken.outputs.extend(left.iter().filter(|value| known[value.index()].is_nothing()));
                follow(left, &mut seen, &mut taken);
            }
            taken
        });
        Self(taken.collect())
    }

    /// What is not finite of what enters the run at this kernel.
    pub fn at(&self, dispatch: &Dispatch<'_>) -> Vec<NonFiniteInput> {
        let Some(taken) = self.0.get(dispatch.kernel.id.index()) else { return Vec::new() };
        let name = |value: ValueId| dispatch.graph.value(value).name.clone();
        let tell = |origin, value: Option<ValueId>, counts: Counts| NonFiniteInput {
            origin,
            value: value.map(name),
            nan: counts.nan,
            infinite: counts.infinite,
        };
        let inputs = taken.inputs.iter().filter_map(|&value| {
            let slot = || dispatch.kernel.inputs.iter().position(|input| input.value == Some(value));
            let view = dispatch.live.value(value).or_else(|| dispatch.inputs.get(slot()?).cloned())?;
            Some(tell(Origin::Input, Some(value), look(&view)?))
        });
        let initializers =
            taken.initializers.iter().map(|(value, counts)| tell(Origin::Initializer, Some(*value), *counts));
        let constants = taken.constants.iter().filter_map(|&slot| {
            let counts = look(dispatch.inputs.get(slot)?)?;
            Some(tell(Origin::Constant, dispatch.kernel.inputs[slot].value, counts))
        });
        let outputs = taken.outputs.iter().filter_map(|&value| {
            let counts = look(&dispatch.live.value(value)?)?;
            Some(tell(Origin::Constant, Some(value), counts))
        });
        inputs.chain(initializers).chain(constants).chain(outputs).collect()
    }

    /// What there is in the initializers that a kernel takes, whether or not one before has taken them, too.
    pub fn known(&self, dispatch: &Dispatch<'_>) -> Counts {
        self.0.get(dispatch.kernel.id.index()).map(|taken| taken.known).unwrap_or_default()
    }
}

/// The initializers of a file that are not finite.
pub(crate) type Flawed = BTreeMap<ValueId, Counts>;

/// Looks through the initializers of a file. Data that cannot be read has none: the engine has refused it before.
pub(crate) fn flawed_initializers(graph: &Graph) -> Flawed {
    let mut flawed = Flawed::new();
    let _ = graph.initializers(
        |_| true,
        |value, tensor| {
            flawed.extend(look(&tensor.view()).map(|counts| (value, counts)));
            Ok::<(), OnnxError>(())
        },
    );
    flawed
}

/// What there is in each value that is an initializer, or was computed of some when the model was loaded.
fn known_values(graph: &Graph, flawed: &Flawed, is_folded: impl Fn(&Operator) -> bool) -> Vec<Counts> {
    let mut known = vec![Counts::default(); graph.values.len()];
    flawed.iter().for_each(|(value, counts)| known[value.index()] = *counts);
    for operator in graph.operators.iter().filter(|operator| is_folded(operator)) {
        let inputs = operator.inputs.iter().flatten().chain(&operator.captures);
        let all = inputs.fold(Counts::default(), |all, value| all.and(known[value.index()]));
        operator.outputs.iter().flatten().for_each(|output| known[output.index()] = all);
    }
    known
}

/// Whether an operator gives the sizes of what it takes, whatever the elements are.
fn gives_sizes(operator: &Operator) -> bool {
    matches!(operator.op_type.as_str(), "Shape" | "Size")
}
