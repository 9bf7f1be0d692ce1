//! The memory that values take during a run, and values that are refused because they would not fit into memory, before
//! they are allocated.
//!
//! The library computes what depends on no input while it loads a model, and the rest in a run. A file of a hundred
//! bytes can request terabytes, and then the system kills the process.

use std::collections::HashMap;

use opscope_model::{EngineError, GeneratedOutputs, Kernel, LoadBudget, RunMemory, TensorType};
use opscope_onnx::{Dim, Graph, Producer, Value, ValueId};
use opscope_tensor::{DType, Tensor};
use opscope_text::shown_size;

/// How many operators a model may have.
const MOST_OPERATORS: usize = 50_000;

/// How many bytes a run may compute from numbers in its file: this many for every model, and as many again for each
/// byte of its weights.
const MADE: u64 = 1 << 30;
const MADE_OF_BYTE: u64 = 8;

/// Refuses a model with so many operators that the library would take too long to load it.
pub(crate) fn check_operators(graph: &Graph, budget: LoadBudget) -> Result<(), EngineError> {
    let operators = graph.operators.len();
    let most = MOST_OPERATORS.saturating_mul(budget.factor() as usize);
    if operators <= most {
        return Ok(());
    }
    let needed = operators.div_ceil(MOST_OPERATORS);
    let reason = format!(
        "it has {operators} operators, and may have {most}, for the time grows with their square; a load budget of {needed} \
         allows them"
    );
    Err(EngineError::OverBudget { node: None, reason })
}

/// Checks every value of the main graph with a known type and shape.
pub(super) fn check(
    graph: &Graph,
    budget: LoadBudget,
    type_of: impl Fn(ValueId) -> TensorType,
) -> Result<(), EngineError> {
    let most = opscope_sys::memory::limit();
    for value in &graph.values {
        let Producer::Operator(operator, _) = value.producer else { continue };
        let found = type_of(value.id);
        if let Some(bytes) = bytes_of(&found).filter(|bytes| *bytes > most) {
            let TensorType { dtype, shape } = found;
            return Err(EngineError::OverBudget {
                node: Some(graph.operator(operator).name.clone()),
                reason: format!(
                    "its output, {} {shape:?}, would take {}, and the machine has {}",
                    dtype.map_or("?", DType::name),
                    shown_size(bytes),
                    shown_size(most)
                ),
            });
        }
    }
    let allowed = MADE.saturating_add(weights(graph).saturating_mul(MADE_OF_BYTE));
    let mut made = GeneratedOutputs::within(allowed.saturating_mul(u64::from(budget.factor())), budget.factor());
    for operator in &graph.operators {
        // Inputs with unknown types are ignored: their sizes are those of data.
        let sum = |values: &mut dyn Iterator<Item = ValueId>, unknown: u64| {
            values.fold(0u64, |all, value| all.saturating_add(bytes_of(&type_of(value)).unwrap_or(unknown)))
        };
        let inputs = sum(&mut operator.inputs.iter().flatten().copied(), u64::MAX);
        let outputs = sum(&mut operator.outputs.iter().flatten().copied(), 0);
        made.add(&operator.op_type, inputs, outputs).map_err(|error| EngineError::OverBudget {
            node: Some(operator.name.clone()),
            reason: error.to_string(),
        })?;
    }
    Ok(())
}

/// Returns the size of a tensor in bytes; `None` if its type is unknown.
fn bytes_of(TensorType { dtype, shape }: &TensorType) -> Option<u64> {
    let dtype = (*dtype)?;
    // Strings have no fixed size, but at least one byte.
    let of = |elements| if dtype == DType::String { Some(elements) } else { dtype.bytes_of(elements) };
    let elements = shape.iter().try_fold(1usize, |all, &size| all.checked_mul(size));
    Some(elements.and_then(of).map_or(u64::MAX, |bytes| bytes as u64))
}

/// Returns the size of a model's weights in bytes, as far as the file states their types and shapes.
pub(super) fn weights(graph: &Graph) -> u64 {
    let bytes = |value: &Value| {
        let size = |dim: &Dim| match dim {
            Dim::Fixed(size) => Some(*size),
            Dim::Symbol(_) => None,
        };
        let elements = value.shape.as_ref()?.iter().try_fold(1usize, |all, dim| all.checked_mul(size(dim)?))?;
        Some(value.dtype?.bytes_of(elements)? as u64)
    };
    let weights = graph.values.iter().filter(|value| value.producer == Producer::Initializer);
    weights.filter_map(bytes).fold(0, u64::saturating_add)
}

/// Returns the memory of a run that executes these kernels in order. Kernels in bodies are not counted, because their
/// outputs are held only while the outer operator is executed.
pub(super) fn run_memory(graph: &Graph, kernels: &[Kernel], inputs: &[Tensor]) -> RunMemory {
    let in_main_graph = |value: ValueId| value.index() < graph.values.len();
    let is_main = |kernel: &&Kernel| kernel.outputs.iter().flatten().all(|&value| in_main_graph(value));
    let kernels: Vec<&Kernel> = kernels.iter().filter(is_main).collect();
    let mut last_taker: HashMap<ValueId, usize> = HashMap::new();
    for (index, kernel) in kernels.iter().enumerate() {
        for value in kernel.inputs.iter().filter_map(|input| input.value) {
            last_taker.insert(value, index);
        }
    }
    for &output in &graph.outputs {
        last_taker.insert(output, usize::MAX);
    }
    let mut held: u64 = inputs.iter().map(|input| input.bytes().len() as u64).sum();
    let mut memory = RunMemory { peak: held, at: None, unknown: 0 };
    let mut sizes: HashMap<ValueId, u64> = HashMap::new();
    for (index, kernel) in kernels.iter().enumerate() {
        for (values, output) in kernel.outputs.iter().zip(&kernel.output_types) {
            let Some(&value) = values.first() else { continue };
            match bytes(output) {
                Some(bytes) => {
                    held = held.saturating_add(bytes);
                    sizes.insert(value, bytes);
                }
                None => memory.unknown += 1,
            }
        }
        if held > memory.peak {
            memory.peak = held;
            memory.at = Some(kernel.id);
        }
        let taken = kernel.inputs.iter().filter_map(|input| input.value);
        let given = kernel.outputs.iter().filter_map(|values| values.first().copied());
        for value in taken.chain(given) {
            let is_computed = matches!(graph.value(value).producer, Producer::Operator(..));
            if is_computed && last_taker.get(&value).is_none_or(|last| *last <= index) {
                held = held.saturating_sub(sizes.remove(&value).unwrap_or(0));
            }
        }
    }
    memory
}

/// Returns the size of a tensor in bytes, or `None` if its shape is unknown before the run.
fn bytes(tensor: &TensorType) -> Option<u64> {
    let elements = tensor.shape.iter().try_fold(1usize, |all, &size| all.checked_mul(size))?;
    Some(tensor.dtype?.bytes_of(elements)? as u64)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_bytes_of_weights_are_those_that_the_file_holds() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/token_classifier.onnx");
        let graph = Graph::load(&path).expect("a model");
        let mut stored = 0;
        let add = |_, tensor: &opscope_tensor::Tensor| {
            stored += tensor.bytes().len() as u64;
            Ok::<(), opscope_onnx::OnnxError>(())
        };
        graph.initializers(|_| true, add).expect("its weights");
        assert!(stored > 1000);
        assert_eq!(weights(&graph), stored);
    }
}
