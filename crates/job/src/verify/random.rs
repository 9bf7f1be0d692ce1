//! Operators that draw random numbers.

use opscope_onnx::{Graph, OnnxError, Operator, ValueId};

/// Returns the first operator of a model that draws random numbers. Its outputs differ from run to run, even with a
/// seed, because an engine continues where its last run ended. The list has ONNX's operators.
pub(super) fn random_operator(graph: &Graph) -> Option<&Operator> {
    graph.all_operators().find(|operator| {
        let is_of_onnx = operator.domain.is_empty() || operator.domain == "ai.onnx";
        is_of_onnx
            && match operator.op_type.as_str() {
                "Bernoulli" | "Multinomial" | "RandomNormal" | "RandomNormalLike" | "RandomUniform"
                | "RandomUniformLike" => true,
                // It drops elements only in training mode, which is its third input.
                "Dropout" => operator.inputs.get(2).copied().flatten().is_some_and(|mode| !is_false(graph, mode)),
                _ => false,
            }
    })
}

/// Returns whether a value is a constant that is false.
fn is_false(graph: &Graph, value: ValueId) -> bool {
    let mut is_false = false;
    let read = graph.constants::<OnnxError>(
        |other| other == value,
        |_, tensor| {
            is_false = tensor.view().bytes() == Some(&[0]);
            Ok(())
        },
    );
    read.is_ok() && is_false
}

#[cfg(test)]
mod tests {
    use opscope_model::testing::GraphBuilder;

    use super::*;

    fn random(op_type: &str, inputs: &[&str]) -> bool {
        let builder = inputs.iter().fold(GraphBuilder::new("graph"), |builder, input| builder.input(input, &[1]));
        let graph = builder.operator("a", op_type, inputs, &["y"]).output("y").build();
        random_operator(&graph).is_some()
    }

    #[test]
    fn only_operators_that_draw_numbers_are_found() {
        assert!(random("RandomNormalLike", &["x"]) && random("Bernoulli", &["x"]));
        assert!(random("Dropout", &["x", "ratio", "training_mode"]));
        assert!(!random("Dropout", &["x", "ratio"]) && !random("Relu", &["x"]));
    }
}
