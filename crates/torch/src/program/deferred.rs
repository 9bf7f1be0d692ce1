//! Outputs that are shown when the step ends.

use std::sync::Arc;

use opscope_model::{OpenOperator, RunId, TensorType};
use opscope_tensor::Statistics;

use super::{Observer, Program, dispatch_of};
use crate::Shown;
use crate::execution::{Deferred, DeferredOutput};

impl Program {
    /// Keeps the outputs of an operator until the device has computed the statistics of all that are deferred.
    pub(super) fn defer(&mut self, operator: &Arc<OpenOperator>, outputs: &[Shown<'_>]) {
        for (slot, output) in outputs.iter().enumerate() {
            let output = match output {
                Shown::Deferred { tensor, .. } => DeferredOutput::Awaited(tensor.clone()),
                Shown::Tensor { tensor, .. } => {
                    let view = tensor.view();
                    let known = TensorType { dtype: Some(view.dtype()), shape: view.shape().to_vec() };
                    match Statistics::of(&view) {
                        Ok(statistics) => DeferredOutput::Known(known, statistics),
                        Err(error) => DeferredOutput::Hidden(error.to_string()),
                    }
                }
                Shown::Finite { .. } => continue,
                Shown::Hidden(reason) => DeferredOutput::Hidden(reason.clone()),
            };
            self.deferred.push(Deferred { operator: Arc::clone(operator), slot, output });
        }
    }

    /// The tensors whose statistics a device is computing, in their order.
    pub(super) fn awaited(&self) -> impl Iterator<Item = &TensorType> {
        self.deferred.iter().filter_map(|deferred| match &deferred.output {
            DeferredOutput::Awaited(tensor) => Some(tensor),
            DeferredOutput::Known(..) | DeferredOutput::Hidden(_) => None,
        })
    }

    /// Returns the numbers of elements of the tensors whose statistics a device is computing, in their order.
    pub fn deferred_elements(&self) -> Vec<u64> {
        self.awaited().map(|tensor| tensor.shape.iter().product::<usize>() as u64).collect()
    }

    /// Shows what was deferred, with the statistics that a device has computed, in their order. Those that are not given,
    /// or `None`, are missing.
    pub fn resolve(&mut self, statistics: impl IntoIterator<Item = Option<Statistics>>) {
        let mut computed = statistics.into_iter();
        let run = RunId(self.steps.current());
        for Deferred { operator, slot, output } in std::mem::take(&mut self.deferred) {
            let dispatch = dispatch_of(run, &operator);
            let output = match output {
                DeferredOutput::Awaited(tensor) => match computed.next().flatten() {
                    Some(statistics) => DeferredOutput::Known(tensor, statistics),
                    None => DeferredOutput::Hidden("the device did not return its statistics".to_owned()),
                },
                output => output,
            };
            for Observer { observer, .. } in self.observers.iter().flatten() {
                match &output {
                    DeferredOutput::Known(tensor, statistics) => {
                        observer.summarised(&dispatch, slot, tensor, statistics);
                    }
                    DeferredOutput::Hidden(reason) => observer.not_shown(&dispatch, slot, reason),
                    DeferredOutput::Awaited(_) => {}
                }
            }
        }
    }
}
