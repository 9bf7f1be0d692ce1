use std::any::Any;

use opscope_onnx::Graph;
use opscope_tensor::TensorView;

use opscope_sys::memory;

use crate::{EngineError, Kernel, KernelId};

/// The memory that tensors take during one run of a plan, as far as it is known before the run.
///
/// It counts the model's inputs, which are held until the end, and the outputs of kernels, each from the kernel that
/// computes it to the last one that takes it. It does not count weights, which the plan holds, nor what a kernel
/// allocates for itself. A kernel that computes in place needs less than its inputs and outputs together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunMemory {
    /// The most bytes that are held at once.
    pub peak: u64,
    /// The first kernel at this peak, or `None` if the inputs alone are the peak.
    pub at: Option<KernelId>,
    /// The number of tensors that are not counted, because their sizes depend on what a run computes.
    pub unknown: usize,
}

impl RunMemory {
    /// Checks that this process can get the memory. An engine calls this when it has made a plan, because an allocation
    /// that fails during a run ends the process. If the system runs out of memory, it may end any process.
    ///
    /// # Errors
    /// Returns an error with the operator that is executed at the peak.
    pub fn check(&self, graph: &Graph, kernels: &[Kernel]) -> Result<(), EngineError> {
        let available = memory::available();
        if self.peak <= available {
            return Ok(());
        }
        let operator = self.at.and_then(|kernel| kernels.get(kernel.index())?.operator());
        let node = operator.map(|operator| graph.operator(operator).name.clone());
        Err(EngineError::Memory { node, needed: self.peak, available })
    }
}

/// Memory that an engine holds for a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TensorMemory {
    /// The address. If the engine does not show the memory itself, this is an address that identifies it while it is
    /// held.
    pub address: u64,
    /// The number of bytes, above 0.
    pub bytes: u64,
}

/// Tensors in the memory in which an engine computes.
pub trait DeviceTensors: Any + Send + Sync {
    /// Returns the number of tensors.
    fn len(&self) -> usize;

    /// Returns a view of one tensor.
    fn view(&self, index: usize) -> TensorView<'_>;

    /// Returns the tensors as `Any`, so that the engine that made them can downcast them.
    fn as_any(&self) -> &dyn Any;

    /// Returns whether there are no tensors.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
