use opscope_tensor::Tensor;

use crate::breakpoint::Target;

/// How a stopped run continues. It uses the tensors that were replaced while it was stopped.
#[derive(Debug, Clone, Default)]
pub enum Resume {
    /// Until something stops it.
    #[default]
    Continue,
    /// To the next operator of this run.
    Step,
    /// To the end of this operator; from there, to the end of the next one.
    Finish,
    /// To one of these operators in this run, or to the run's end.
    Until(Target),
    /// Without executing the operator that it is before. The tensors are its outputs, one for each slot. Of an operator
    /// that the engine executes in several kernels, those that compute its outputs are skipped.
    Skip(Vec<Tensor>),
    /// To its end at once: the run fails with this reason.
    Abort(String),
}
