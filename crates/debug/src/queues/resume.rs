use opscope_tensor::Tensor;

use crate::breakpoint::Target;

/// How a stopped run continues. It uses the replacements that were made while it was stopped.
#[derive(Debug, Clone, Default)]
pub enum Resume {
    /// Continue until something stops it.
    #[default]
    Continue,
    /// Continue to the next operator of this run.
    Step,
    /// Continue to the end of this operator or, if the run is there already, of the next one.
    Finish,
    /// Continue to one of these operators in this run, or to the run's end.
    Until(Target),
    /// Skip the operator before which it is stopped. The tensors are the operator's outputs, one for each slot. If the
    /// engine executes the operator in several kernels, those that compute its outputs are skipped.
    Skip(Vec<Tensor>),
    /// End the run at once: it fails with this reason.
    Abort(String),
}
