//! Inputs for the library: copied, or lent.

use opscope_model::{DeviceTensors, EngineError, check_inputs, resized_inputs};
use opscope_onnx::Graph;
use opscope_tensor::Tensor;

use crate::api::{Api, Value, Values};
use crate::errors::Refusal;

/// The types and shapes that a plan was made for.
pub(super) struct Expected(Vec<Vec<usize>>);

impl Expected {
    pub fn of(inputs: &[Tensor]) -> Self {
        Self(inputs.iter().map(|input| input.shape().to_vec()).collect())
    }

    /// Copies inputs of these types and shapes into the library's memory. This is for runs whose observer may replace
    /// values, possibly in place.
    pub fn copy(&self, api: Api, graph: &Graph, inputs: &[Tensor]) -> Result<Box<dyn DeviceTensors>, EngineError> {
        self.upload(graph, inputs, |input| Value::copied(api, input))
    }

    /// Lends the memory of inputs of these types and shapes to the library.
    pub fn lend(&self, api: Api, graph: &Graph, inputs: &[Tensor]) -> Result<Box<dyn DeviceTensors>, EngineError> {
        self.upload(graph, inputs, |input| Value::lent(api, input))
    }

    fn upload(
        &self,
        graph: &Graph,
        inputs: &[Tensor],
        value: impl Fn(&Tensor) -> Result<Value, Refusal>,
    ) -> Result<Box<dyn DeviceTensors>, EngineError> {
        check_inputs(graph, inputs)?;
        for (slot, (tensor, expected)) in inputs.iter().zip(&self.0).enumerate() {
            if tensor.shape() != expected {
                return Err(EngineError::InputShape {
                    name: graph.value(graph.inputs[slot]).name.clone(),
                    expected: format!("{expected:?}, for which this plan was made"),
                    found: tensor.shape().to_vec(),
                });
            }
        }
        let failed = |refusal: Refusal| EngineError::Run { node: None, reason: refusal.to_string() };
        let values = inputs.iter().map(value).collect::<Result<_, _>>().map_err(failed)?;
        Ok(Box::new(Values(values)))
    }
}

/// Refuses inputs that differ from the sizes that the file declares, because the library runs only with those.
pub(super) fn takes_as_declared(graph: &Graph, inputs: &[Tensor]) -> Result<(), EngineError> {
    resized_inputs(graph, inputs).next().map_or(Ok(()), |(error, _)| Err(error))
}

/// Returns the values that an engine of this crate uploaded.
pub(super) fn uploaded(inputs: &dyn DeviceTensors) -> Result<&Values, EngineError> {
    let foreign = || EngineError::Run { node: None, reason: "the inputs belong to another engine".to_owned() };
    inputs.as_any().downcast_ref().ok_or_else(foreign)
}
