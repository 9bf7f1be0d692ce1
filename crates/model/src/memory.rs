use crate::KernelId;

/// The memory that tensors take during one run of a plan, as far as it is known before the run.
///
/// It counts the model's inputs, which are held until the end, and the outputs of kernels, each from the kernel that
/// computes it to the last one that takes it. It does not count weights, which the plan holds, nor what a kernel
/// allocates for itself. A kernel that computes in place needs less than its inputs and outputs together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunMemory {
    /// The most bytes that are held at once.
    pub peak: u64,
    /// The first kernel during which so many bytes are held, or `None` if the inputs alone take the most.
    pub at: Option<KernelId>,
    /// The number of tensors that are not counted, because their sizes depend on what a run computes.
    pub unknown: usize,
}
