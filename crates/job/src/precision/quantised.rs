//! What quantisation does to single operators: one run of the reference, and one of the quantised model beside it.

use std::collections::HashMap;

use opscope_model::{Action, Dispatch, EngineError, Interest, KernelSet, Plan, RunObserver};
use opscope_onnx::{Graph, OperatorId};
use opscope_sys::Mutex;
use opscope_tensor::{Tensor, TensorView};

use super::beside::{Measured, ReferenceOutputs, beside};
use super::limits::Limits;

/// Runs the original and the quantised model on the same inputs. Adds to `measured`, by operator of the original, how far
/// each operator's output is from the reference, given the reference's inputs, and its time in the reference. Values are
/// found by their names. Returns the reference's outputs.
///
/// # Errors
/// Returns an error if the engine fails, or stops because the search is over.
pub(super) fn measure_quantised(
    (original, quantised): (&dyn Plan, &dyn Plan),
    (graph, quantised_graph): (&Graph, &Graph),
    inputs: &[Tensor],
    operators: &[OperatorId],
    measured: &mut [Measured],
    limits: Limits<'_>,
) -> Result<Vec<Tensor>, EngineError> {
    let name_of = |operator: &OperatorId| {
        let output = graph.operator(*operator).outputs.iter().flatten().next()?;
        Some((graph.value(*output).name.as_str(), *operator))
    };
    let names: HashMap<&str, OperatorId> = operators.iter().filter_map(name_of).collect();
    let in_quantised = quantised.kernels().iter().map(|kernel| {
        let output = kernel.outputs.first()?.first()?;
        let operator = names.get(quantised_graph.value(*output).name.as_str()).copied()?;
        // The quantizer removes some operators, and their outputs are then those of others.
        let computes = quantised_graph.operator(kernel.operator()?);
        (computes.op_type == graph.operator(operator).op_type).then_some(operator)
    });
    let in_quantised: Vec<Option<OperatorId>> = in_quantised.collect();
    let shown: Vec<OperatorId> = in_quantised.iter().flatten().copied().collect();
    let wanted: Vec<bool> = original
        .kernels()
        .iter()
        .map(|kernel| {
            let is_named = |value| names.contains_key(graph.value(value).name.as_str());
            let first = kernel.outputs.first().and_then(|values| values.first());
            first.is_some_and(|value| is_named(*value)) && kernel.operator().is_some_and(|id| shown.contains(&id))
        })
        .collect();
    let kernels = original.kernels().clone();
    let operator_of = |kernel: &opscope_model::Kernel| kernel.operator();
    let errors = Mutex::new(vec![super::errors::OperatorError::default(); measured.len()]);
    let outputs = beside((original, quantised), inputs, &wanted, measured, limits, |reference| Quantised {
        reference,
        operators: &in_quantised,
        errors: &errors,
    })?;
    for (measured, error) in measured.iter_mut().zip(errors.into_inner()) {
        measured.error.join(&error);
    }
    for id in kernels.iter().filter_map(operator_of).filter(|id| shown.contains(id)) {
        measured[id.index()].is_shown = true;
    }
    Ok(outputs)
}

/// The observer of the quantised model's run.
struct Quantised<'a> {
    reference: ReferenceOutputs,
    /// The operator of the original whose output each kernel computes.
    operators: &'a [Option<OperatorId>],
    errors: &'a Mutex<Vec<super::errors::OperatorError>>,
}

impl RunObserver for Quantised<'_> {
    fn interest(&self) -> Interest {
        let after = KernelSet::Mask(self.operators.iter().map(Option::is_some).collect());
        Interest { after, ..Interest::default() }
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        let Some(operator) = self.operators[dispatch.kernel.id.index()] else { return Action::Continue };
        let reference = match self.reference.of(operator) {
            Ok(reference) => reference,
            Err(alone) => return Action::Stop(alone.to_string()),
        };
        let both = outputs.first().and_then(TensorView::bytes).zip(reference.first());
        if let Some((computed, reference)) =
            both.filter(|(computed, reference)| computed.len() == reference.bytes().len())
        {
            self.errors.lock()[operator.index()].add_quantised(computed, reference.bytes());
        }
        match reference.iter().zip(outputs).all(|(theirs, ours)| theirs.shape() == ours.shape()) {
            true if reference.len() == outputs.len() => Action::Replace(reference),
            _ => Action::Continue,
        }
    }
}
