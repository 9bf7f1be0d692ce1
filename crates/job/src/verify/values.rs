//! Finds which values of the file the kernels of an optimised plan compute: runs it and the exact plan on the same
//! inputs, and compares the outputs of every kernel.

use std::collections::{BTreeMap, HashMap};

use opscope::Session;
use opscope_model::{Action, Dispatch, EngineError, Interest, Kernel, KernelId, KernelSet, Plan, RunId, RunObserver};
use opscope_onnx::{Graph, OperatorId, Producer, ValueId};
use opscope_sys::Mutex;
use opscope_tensor::{DType, Tensor, TensorView};

use super::KernelOutput;
use super::fingerprint::Fingerprint;
use super::steps::Steps;
use super::value_steps::ValueSteps;

/// An output of a kernel of the optimised plan, and the values of the file that it may be.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundOutput {
    /// The kernel.
    pub kernel: KernelId,
    /// The output, by the engine's slot.
    pub slot: usize,
    /// The values that have the same elements in all runs.
    pub values: Vec<FoundValue>,
    /// Whether its elements differ from each other by more than the steps in which they are computed. An output for
    /// which this is false cannot be distinguished from others.
    pub distinctive: bool,
}

/// A value of the file that equals an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundValue {
    /// The value.
    pub value: ValueId,
    /// Whether its elements are also in the same order.
    pub same_order: bool,
}

/// Runs the plan of `optimised` and that of `exact` on each of the inputs, and finds the values of the file that each
/// kernel computes. If the engine itself names a value for a kernel, the elements may differ by the value's `steps`.
/// Other values have to agree more closely, so that a number is not confused with its rounded form. Returns the kernels
/// and their outputs, in order of execution.
///
/// # Errors
/// Returns an error if one of the two cannot run.
pub fn find_values(
    optimised: &Session,
    exact: &Session,
    inputs: &[Vec<Tensor>],
    steps: &ValueSteps,
) -> Result<(Vec<Kernel>, Vec<FoundOutput>), EngineError> {
    let mut found: Option<Vec<FoundOutput>> = None;
    let mut kernels = Vec::new();
    for inputs in inputs {
        let exact_plan = exact.model().plan(inputs)?;
        let by_value = values(&*exact_plan, inputs)?;
        let plan = optimised.model().plan(inputs)?;
        let outputs = fingerprints(&*plan, inputs)?;
        kernels = plan.kernels().to_vec();
        let matched = outputs.iter().map(|(&(kernel, slot), output)| {
            let named = &kernels[kernel.index()].outputs[slot];
            let steps_of = |value: ValueId, expected: &Fingerprint| {
                if named.contains(&value) { steps.of_value(value, expected) } else { Steps::NONE }
            };
            let same = by_value.iter().filter_map(|(&value, expected)| {
                let same_order = output.matches(expected, steps_of(value, expected))?;
                Some(FoundValue { value, same_order })
            });
            let mut expected = named.iter().filter_map(|value| Some(steps_of(*value, by_value.get(value)?)));
            let distinctive = output.is_distinctive(Steps::NONE) && expected.all(|steps| output.is_distinctive(steps));
            let mut values: Vec<FoundValue> = same.collect();
            values.sort_by_key(|found| found.value);
            FoundOutput { kernel, slot, values, distinctive }
        });
        let mut matched: Vec<FoundOutput> = matched.collect();
        matched.sort_by_key(|output| (output.kernel, output.slot));
        found = Some(match found {
            None => matched,
            Some(before) => before.into_iter().zip(matched).map(|(before, now)| before.and(&now)).collect(),
        });
    }
    Ok((kernels, found.unwrap_or_default()))
}

impl FoundOutput {
    /// Returns the values and properties that hold in both runs.
    fn and(self, other: &Self) -> Self {
        let both = |found: FoundValue| {
            let same = other.values.iter().find(|other| other.value == found.value)?;
            Some(FoundValue { same_order: found.same_order && same.same_order, ..found })
        };
        let values = self.values.into_iter().filter_map(both).collect();
        Self { values, distinctive: self.distinctive && other.distinctive, ..self }
    }
}

/// Returns the inputs with random numbers in place of floating-point numbers.
pub fn with_random_numbers(inputs: &[Tensor], seed: u64) -> Vec<Tensor> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut bytes = |input: &Tensor| -> Option<Vec<u8>> {
        let elements = 0..input.elements();
        match input.dtype() {
            DType::F32 => Some(elements.flat_map(|_| random.f32().to_le_bytes()).collect()),
            DType::F64 => Some(elements.flat_map(|_| random.f64().to_le_bytes()).collect()),
            DType::F16 => Some(elements.flat_map(|_| half::f16::from_f32(random.f32()).to_le_bytes()).collect()),
            _ => None,
        }
    };
    let other = |input: &Tensor| {
        let other = bytes(input).and_then(|bytes| Tensor::new(input.dtype(), input.shape().to_vec(), bytes).ok());
        other.unwrap_or_else(|| input.clone())
    };
    inputs.iter().map(other).collect()
}

/// Returns the values of the file that each kernel computes. Values may be equal because an operator between them
/// changes nothing. They are assigned in order if as many kernels compute them as there are values, or if only one
/// kernel does.
pub(super) fn kernel_outputs(graph: &Graph, kernels: &[Kernel], outputs: &[FoundOutput]) -> Vec<KernelOutput> {
    let mut alike: BTreeMap<Vec<ValueId>, Vec<&FoundOutput>> = BTreeMap::new();
    for output in outputs.iter().filter(|output| output.distinctive && !output.values.is_empty()) {
        alike.entry(output.values.iter().map(|found| found.value).collect()).or_default().push(output);
    }
    let mut found = Vec::new();
    for (values, outputs) in alike {
        let mut ordered = values.clone();
        ordered.sort_by_key(|&value| made_by(graph, value));
        // A kernel that only reshapes the output before it has the same value.
        let mut groups: Vec<Vec<&FoundOutput>> = Vec::new();
        for output in outputs {
            match groups.last_mut() {
                Some(group) if kernels[output.kernel.index()].op == "IntoShape" => group.push(output),
                _ => groups.push(vec![output]),
            }
        }
        let shares: Vec<&[ValueId]> = match (groups.len(), ordered.len()) {
            (1, _) => vec![&ordered],
            (kernels, values) if kernels == values => ordered.chunks(1).collect(),
            _ => continue,
        };
        for (group, share) in groups.iter().zip(shares) {
            let Some(first) = group.first() else { continue };
            for found_value in first.values.iter().filter(|found| share.contains(&found.value)) {
                found.push(KernelOutput {
                    kernel: kernels[first.kernel.index()].name.clone(),
                    slot: first.slot,
                    value: graph.value(found_value.value).name.clone(),
                    same_order: found_value.same_order,
                });
            }
        }
    }
    found
}

fn made_by(graph: &Graph, value: ValueId) -> (Option<OperatorId>, usize) {
    match graph.value(value).producer {
        Producer::Operator(operator, slot) => (Some(operator), slot),
        Producer::Input | Producer::Initializer => (None, 0),
    }
}

/// Returns the fingerprints of the exact plan's values.
fn values(plan: &dyn Plan, inputs: &[Tensor]) -> Result<HashMap<ValueId, Fingerprint>, EngineError> {
    let by_output = fingerprints(plan, inputs)?;
    let mut values = HashMap::new();
    for kernel in plan.kernels().iter() {
        for (slot, named) in kernel.outputs.iter().enumerate() {
            if let Some(fingerprint) = by_output.get(&(kernel.id, slot)) {
                values.extend(named.iter().map(|&value| (value, fingerprint.clone())));
            }
        }
    }
    Ok(values)
}

/// Returns the fingerprints of every kernel's outputs in one run.
fn fingerprints(plan: &dyn Plan, inputs: &[Tensor]) -> Result<HashMap<(KernelId, usize), Fingerprint>, EngineError> {
    let resident = plan.upload(inputs)?;
    let observer = FingerprintObserver::default();
    plan.run(RunId(0), &*resident, &observer)?;
    Ok(observer.0.into_inner())
}

#[derive(Default)]
struct FingerprintObserver(Mutex<HashMap<(KernelId, usize), Fingerprint>>);

impl RunObserver for FingerprintObserver {
    fn interest(&self) -> Interest {
        Interest { after: KernelSet::All, ..Interest::default() }
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        let mut taken = self.0.lock();
        for (slot, output) in outputs.iter().enumerate() {
            if let Some(fingerprint) = Fingerprint::of(output) {
                taken.insert((dispatch.kernel.id, slot), fingerprint);
            }
        }
        Action::Continue
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::testing::{GraphBuilder, kernels};

    use super::*;

    #[test]
    fn values_that_are_alike_are_given_to_as_many_kernels_in_the_order_of_the_file() {
        // Both operators return the same elements, and the values are listed in the opposite order.
        let graph = GraphBuilder::new("alike")
            .input("x", &[4])
            .operator("first", "Relu", &["x"], &["a"])
            .operator("second", "Relu", &["a"], &["b"])
            .output("b")
            .build();
        let kernels = kernels(&graph, &[&["first"], &["second"]]);
        let value = |name: &str| FoundValue { value: graph.value_named(name).unwrap().id, same_order: name == "a" };
        let output = |index: usize| FoundOutput {
            kernel: kernels[index].id,
            slot: 0,
            values: vec![value("b"), value("a")],
            distinctive: true,
        };
        let found = |outputs: &[FoundOutput]| -> Vec<(String, String, bool)> {
            let found = kernel_outputs(&graph, &kernels, outputs);
            found.into_iter().map(|output| (output.kernel, output.value, output.same_order)).collect()
        };
        let named = |index: usize, value: &str| (kernels[index].name.clone(), value.to_owned(), value == "a");
        assert_eq!(found(&[output(0), output(1)]), [named(0, "a"), named(1, "b")]);
        // One kernel has both values, and a kernel whose output cannot be distinguished has none.
        assert_eq!(found(&[output(1)]), [named(1, "b"), named(1, "a")]);
        assert_eq!(found(&[FoundOutput { distinctive: false, ..output(1) }]), []);
    }

    #[test]
    fn values_that_are_alike_are_given_to_no_kernel_if_there_are_more_values_than_several_kernels() {
        let graph = GraphBuilder::new("alike").input("x", &[4]).operator("first", "Relu", &["x"], &["a"]);
        let graph = graph.operator("second", "Relu", &["a"], &["b"]).operator("third", "Relu", &["b"], &["c"]);
        let graph = graph.output("c").build();
        let kernels = kernels(&graph, &[&["first"], &["second"], &["third"]]);
        let value = |name: &&str| FoundValue { value: graph.value_named(name).unwrap().id, same_order: true };
        let found = |computing: &[usize], values: &[&str]| -> Vec<String> {
            let output = |index: &usize| FoundOutput {
                kernel: kernels[*index].id,
                slot: 0,
                values: values.iter().map(value).collect(),
                distinctive: true,
            };
            let outputs: Vec<FoundOutput> = computing.iter().map(output).collect();
            kernel_outputs(&graph, &kernels, &outputs).into_iter().map(|output| output.value).collect()
        };
        assert_eq!(found(&[0, 1, 2], &["a", "b", "c"]), ["a", "b", "c"]);
        assert_eq!(found(&[0, 1], &["a", "b", "c"]), Vec::<String>::new());
        assert_eq!(found(&[0, 1, 2], &["a", "b"]), Vec::<String>::new());
    }
}
