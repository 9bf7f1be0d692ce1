use std::collections::HashMap;

use opscope_onnx::{Graph, OnnxError, Operator, Producer, ValueId};

use super::fingerprint::Fingerprint;
use super::steps::Steps;

/// The steps in which the values of a file are computed. By default no value has steps.
#[derive(Debug, Clone, Default)]
pub struct ValueSteps {
    /// The steps that follow from the producing operators.
    made: HashMap<ValueId, Steps>,
    /// The steps of all other integers of 8 bits.
    of_8_bits: Steps,
}

impl ValueSteps {
    /// Returns steps for Sigmoids, integers of 8 bits, and values that are dequantised by a scale of the file.
    ///
    /// # Errors
    /// Returns an error if the file's initializers cannot be read.
    pub fn of(graph: &Graph) -> Result<Self, OnnxError> {
        let scales = scales(graph)?;
        let steps = |value: ValueId| {
            let Producer::Operator(operator, _) = graph.value(value).producer else { return None };
            let operator = graph.operator(operator);
            match operator.op_type.as_str() {
                "Sigmoid" => Some(Steps::SIGMOID),
                "DequantizeLinear" => scales.get(&scale(operator)?).copied().map(Steps::quantised),
                _ => None,
            }
        };
        let made = graph.values.iter().filter_map(|value| Some((value.id, steps(value.id)?))).collect();
        Ok(Self { made, of_8_bits: Steps::quantised(1.0) })
    }

    /// Returns the steps of a value with this fingerprint.
    pub(super) fn of_value(&self, value: ValueId, fingerprint: &Fingerprint) -> Steps {
        let by_type = if fingerprint.has_8_bits() { self.of_8_bits } else { Steps::NONE };
        self.made.get(&value).copied().unwrap_or(by_type)
    }
}

/// Returns the largest scale in each initializer that values are dequantised with.
fn scales(graph: &Graph) -> Result<HashMap<ValueId, f64>, OnnxError> {
    let operators = graph.operators.iter().filter(|operator| operator.op_type == "DequantizeLinear");
    let wanted: Vec<ValueId> = operators.filter_map(scale).collect();
    let mut scales = HashMap::new();
    if wanted.is_empty() {
        return Ok(scales);
    }
    graph.initializers(
        |value| wanted.contains(&value),
        |value, scale| {
            scales.extend(Fingerprint::of(&scale.view()).map(|fingerprint| (value, fingerprint.greatest())));
            Ok::<_, OnnxError>(())
        },
    )?;
    Ok(scales)
}

fn scale(dequantise: &Operator) -> Option<ValueId> {
    dequantise.inputs.get(1).copied().flatten()
}
