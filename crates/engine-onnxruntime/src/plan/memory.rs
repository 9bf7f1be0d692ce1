//! The memory that tensors take during one run.

use std::collections::HashMap;

use opscope_model::{Kernel, RunMemory, TensorType};
use opscope_onnx::{Graph, Producer, ValueId};
use opscope_tensor::Tensor;

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
