use std::sync::Arc;

use opscope_model::KernelId;
use opscope_onnx::OperatorId;
use opscope_tensor::Tensor;

use super::stop_table::StopTable;
use crate::breakpoint::Target;

/// Where a run stops, and decisions about operators that it has not reached yet.
#[derive(Default)]
pub(crate) struct RunControl {
    /// `None` while no client is attached.
    pub table: Option<Arc<StopTable>>,
    pub step: Option<Step>,
    pub pause: Option<Pause>,
    /// Why the run has to end at its next operator. It is set if the run was stopped at a point where it could not end.
    /// The client that requested it may be gone by then.
    pub abort: Option<String>,
    /// The remaining kernels of a skipped operator, with the outputs that they will have.
    pub skip: Vec<(KernelId, Vec<Tensor>)>,
    /// Whether any mask may be on.
    pub(super) was_changed: bool,
}

/// A request that a run stops at its next operator.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The request was for this run.
    This,
    /// The request was for all runs. If this run ends first, the next run stops.
    Any,
}

/// Where a run stops next, apart from breakpoints.
pub(crate) enum Step {
    /// Before the next operator.
    Next,
    /// After this operator and everything in its bodies. `None` for the operator that ends next.
    Finish(Option<OperatorId>),
    /// Before one of these kernels, which are those of a target.
    Until(Box<[bool]>, Target),
}
