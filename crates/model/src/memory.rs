use crate::KernelId;

/// The memory that tensors take during one run of a plan, as far as it is known before the run.
///
/// Counted are the model's inputs, which are held to the end, and what kernels give, from the kernel that gives it to the
/// last one that takes it. Not counted are weights, which the plan holds, and what a kernel allocates for itself. A kernel
/// that computes in place needs less than its inputs and outputs side by side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunMemory {
    /// The most bytes that are held at once.
    pub peak: u64,
    /// The kernel during which that is first so; none where the inputs alone are the most.
    pub at: Option<KernelId>,
    /// How many tensors are not counted, because their sizes depend on what a run computes.
    pub unknown: usize,
}
