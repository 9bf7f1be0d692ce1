//! tract's rewrites of a model, from the operators of the file to its own kernels.

use tract_onnx::prelude::{TractResult, TypedModel};
use tract_onnx::tract_core::optim::Optimizer;

use crate::provenance::Followed;

/// Runs tract's passes, following the values of the file through them.
pub(crate) fn optimise(model: &mut TypedModel) -> TractResult<()> {
    for optimizer in [Optimizer::declutter(), Optimizer::codegen()] {
        let passes = optimizer.passes.into_iter().map(|pass| Box::new(Followed::new(pass)) as _).collect();
        Optimizer { passes, steps: None }.optimize(model)?;
    }
    Ok(())
}
