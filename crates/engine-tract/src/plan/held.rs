//! How many bytes of tensors a run holds at once.

use opscope_model::{KernelId, RunMemory};
use tract_onnx::prelude::{TVec, TypedFact, TypedModel};
use tract_onnx::tract_core::ops::source::TypedSource;

use super::kernels::NO_KERNEL;

/// Returns the memory of a run that executes these nodes in order and forgets the nodes of `flushed[step]` in each
/// step.
pub(crate) fn run_memory(
    model: &TypedModel,
    order: &[usize],
    flushed: &[TVec<usize>],
    kernel_of: &[KernelId],
) -> RunMemory {
    let is_input = |node: usize| model.node(node).op_is::<TypedSource>();
    let mut unknown = 0;
    let mut sizes = vec![0u64; model.nodes().len()];
    let inputs = model.inputs.iter().map(|input| input.node);
    for node in inputs.clone().chain(order.iter().copied().filter(|&node| !is_input(node))) {
        for output in &model.node(node).outputs {
            match bytes(&output.fact) {
                Some(bytes) => sizes[node] = sizes[node].saturating_add(bytes),
                None => unknown += 1,
            }
        }
    }
    let mut held: u64 = inputs.map(|node| sizes[node]).sum();
    let mut memory = RunMemory { peak: held, at: None, unknown };
    for (&node, flushed) in order.iter().zip(flushed) {
        // Whoever starts the run holds its inputs before the first step and after the last.
        if !is_input(node) {
            held = held.saturating_add(sizes[node]);
        }
        if held > memory.peak {
            memory.peak = held;
            memory.at = Some(kernel_of[node]).filter(|kernel| *kernel != NO_KERNEL);
        }
        let forgotten = flushed.iter().filter(|node| !is_input(**node)).map(|&node| sizes[node]);
        held = forgotten.fold(held, u64::saturating_sub);
    }
    memory
}

/// Returns the bytes of a tensor; `None` where its shape depends on what a run computes.
fn bytes(fact: &TypedFact) -> Option<u64> {
    fact.mem_size().to_i64().ok().and_then(|bytes| u64::try_from(bytes).ok())
}
