use opscope_tensor::Tensor;

use crate::Target;

/// How a stopped run goes on. Tensors that were replaced while it was stopped are what it goes on with.
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
    /// Without executing the operator that it is before: these are its outputs, one for each slot. Of an operator that the
    /// engine executes in several steps, it is the last one that is left out.
    Skip(Vec<Tensor>),
    /// To its end at once: the run fails with this reason.
    Abort(String),
}
