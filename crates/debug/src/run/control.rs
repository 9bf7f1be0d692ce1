use std::sync::Arc;

use opscope_model::KernelId;
use opscope_onnx::OperatorId;
use opscope_tensor::Tensor;

use super::stop_table::StopTable;

/// Where a run stops, and what was decided for operators that it has not reached yet.
#[derive(Default)]
pub(crate) struct RunControl {
    /// `None` while no client is attached.
    pub table: Option<Arc<StopTable>>,
    pub step: Option<Step>,
    pub pause: Option<Pause>,
    /// Why the run has to end at its next operator, where it was stopped in a place that it could not end at. The client
    /// that asked for it may be gone by then.
    pub abort: Option<String>,
    /// The kernels that are left of a skipped operator, with the outputs that they are to have.
    pub skip: Vec<(KernelId, Vec<Tensor>)>,
    /// Whether any mask may be switched on.
    pub(super) was_changed: bool,
}

/// A request that a run stops at its next operator.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// This run was asked.
    This,
    /// All runs were asked: if this one ends before, the next run stops.
    Any,
}

/// Where a run stops next, breakpoints aside.
pub(crate) enum Step {
    /// Before the next operator.
    Next,
    /// After this operator, and what is executed in its bodies. `None` for the operator that ends next.
    Finish(Option<OperatorId>),
    /// Before one of these kernels.
    Until(Box<[bool]>),
}
