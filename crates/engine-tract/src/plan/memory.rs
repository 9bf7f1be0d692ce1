//! The memory that a run holds for tensors: its peak, predicted in advance, and its changes during the run.

use std::collections::HashMap;

use opscope_clock::Ticks;
use opscope_model::{KernelId, RunMemory, RunObserver, TensorMemory};
use tract_onnx::prelude::{TValue, TVec, TypedFact, TypedModel};
use tract_onnx::tract_core::ops::source::TypedSource;

use super::TractPlan;
use super::kernels::NO_KERNEL;

/// Returns the memory of a run that executes the nodes of `order` in sequence, and after each of them drops the values
/// of the nodes in `flushed` at the same index.
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
        // The caller of the run holds its inputs from before the first node until after the last one.
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

/// Returns the size of a tensor in bytes; `None` if its shape depends on what a run computes.
fn bytes(fact: &TypedFact) -> Option<u64> {
    fact.mem_size().to_i64().ok().and_then(|bytes| u64::try_from(bytes).ok())
}

/// Reports the memory that a run holds for tensors, as it changes.
///
/// A value is held from the node that computes it to the last node that takes it. Several values may share memory,
/// because a node may compute in place, or pass its input on.
pub(crate) struct HeldMemory<'a> {
    plan: &'a TractPlan,
    observer: &'a dyn RunObserver,
    /// For each node, the values that no node takes after it.
    last_taken_by: HashMap<usize, &'a [usize]>,
    /// For each node, the addresses of its outputs.
    outputs: Vec<TVec<u64>>,
    /// For each address that is held, its size and the number of values there.
    held: HashMap<u64, (u64, usize)>,
}

impl<'a> HeldMemory<'a> {
    /// Starts with the inputs, which the caller of the engine holds until the end of the run. They are not reported.
    pub fn new(plan: &'a TractPlan, observer: &'a dyn RunObserver, inputs: &[TValue]) -> Self {
        let model = plan.model();
        let facts = model.inputs.iter().map(|input| model.outlet_fact(*input).ok());
        let given = inputs.iter().zip(facts).filter_map(|(input, fact)| memory(input, fact));
        let steps = plan.order().iter().zip(plan.flushed());
        Self {
            plan,
            observer,
            last_taken_by: steps.map(|(&node, flushed)| (node, &**flushed)).collect(),
            outputs: vec![TVec::new(); model.nodes().len()],
            held: given.map(|memory| (memory.address, (memory.bytes, 1))).collect(),
        }
    }

    /// Reports what changed when a node computed its outputs.
    pub fn computed(&mut self, node: usize, outputs: &[TValue]) {
        let now = Ticks::now();
        let mut leaving = self.release(node);
        let facts = self.plan.model().node(node).outputs.iter().map(|output| Some(&output.fact));
        for memory in outputs.iter().zip(facts).filter_map(|(output, fact)| memory(output, fact)) {
            self.outputs[node].push(memory.address);
            if let Some((_, values)) = self.held.get_mut(&memory.address) {
                *values += 1;
                continue;
            }
            self.held.insert(memory.address, (memory.bytes, 1));
            let before = leaving.iter().position(|other| other.address == memory.address);
            let before = before.map(|index| leaving.swap_remove(index));
            // The node computed in place, or freed its input and received memory at the same address.
            if before != Some(memory) {
                before.into_iter().for_each(|before| self.observer.freed(before, now));
                self.observer.allocated(memory, now);
            }
        }
        leaving.into_iter().for_each(|memory| self.observer.freed(memory, now));
    }

    /// Drops the values that no node takes after this one, and returns the memory that holds no value any more.
    fn release(&mut self, node: usize) -> TVec<TensorMemory> {
        let mut leaving = TVec::new();
        for &value in self.last_taken_by.get(&node).copied().unwrap_or_default() {
            for address in std::mem::take(&mut self.outputs[value]) {
                let Some((bytes, values)) = self.held.get_mut(&address) else { continue };
                *values -= 1;
                if *values == 0 {
                    leaving.push(TensorMemory { address, bytes: *bytes });
                    self.held.remove(&address);
                }
            }
        }
        leaving
    }
}

/// Returns the memory of a tensor, or `None` if it has no bytes. If the tensor is in a form of tract's whose bytes are
/// hidden, the size is the one that the plan knows, and the address is that of the tensor object.
fn memory(tensor: &TValue, fact: Option<&TypedFact>) -> Option<TensorMemory> {
    let (address, bytes) = match tensor.as_plain_ram() {
        Some(plain) => (plain.as_bytes().as_ptr().addr() as u64, plain.as_bytes().len() as u64),
        None => (std::ptr::from_ref(&**tensor).addr() as u64, bytes(fact?)?),
    };
    (bytes > 0).then_some(TensorMemory { address, bytes })
}
