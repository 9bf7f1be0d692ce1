use std::collections::HashMap;

use opscope_onnx::{Graph, OnnxError, Operator, Producer, ValueId};

use super::fingerprint::Fingerprint;

/// The steps in which a value is computed, where they are coarser than the rounding of its type.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Steps {
    /// How far an element may be off.
    pub size: f64,
    /// The largest share of the elements that are off.
    pub share: f64,
}

impl Steps {
    /// Of a value whose elements are right within the rounding of their type.
    pub const NONE: Self = Self { size: 0.0, share: 0.0 };

    /// Of a Sigmoid: engines approximate it with about the same error over its whole range from 0 to 1, also where the
    /// result is almost 0.
    const SIGMOID: Self = Self { size: 1e-6, share: 1.0 };

    /// Of numbers that were rounded to few integers: one that lies between two of them may come to lie on either. Those are
    /// few, and about as many up as down: real models shift the mean by less than a hundredth of a step.
    const fn quantised(size: f64) -> Self {
        Self { size, share: 0.05 }
    }
}

/// The steps in which the values of a file are computed. By default none has any.
#[derive(Debug, Clone, Default)]
pub struct ValueSteps {
    /// What the operators say that make them.
    made: HashMap<ValueId, Steps>,
    /// Of all other integers of 8 bits.
    of_8_bits: Steps,
}

impl ValueSteps {
    /// Steps for Sigmoids, integers of 8 bits, and what is dequantised by a scale that the file gives.
    ///
    /// # Errors
    /// When the file's initializers cannot be read.
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

    /// The steps of a value that looks like this.
    pub(super) fn of_value(&self, value: ValueId, looks: &Fingerprint) -> Steps {
        let by_type = if looks.has_8_bits() { self.of_8_bits } else { Steps::NONE };
        self.made.get(&value).copied().unwrap_or(by_type)
    }
}

/// The largest scale of each initializer by which something is dequantised.
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
            scales.extend(Fingerprint::of(&scale.view()).map(|looks| (value, looks.greatest())));
            Ok::<_, OnnxError>(())
        },
    )?;
    Ok(scales)
}

fn scale(dequantise: &Operator) -> Option<ValueId> {
    dequantise.inputs.get(1).copied().flatten()
}
