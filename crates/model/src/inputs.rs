//! Checks that tensors fit the inputs of a graph.

use std::collections::HashMap;

use opscope_onnx::{Dim, Graph, ValueId};
use opscope_tensor::Tensor;

use crate::EngineError;

/// Checks the number, types and shapes of a model's inputs. A dimension with a name must be the same number wherever
/// the name occurs.
///
/// # Errors
/// Returns an error that names the input that does not fit.
pub fn check_inputs(graph: &Graph, inputs: &[Tensor]) -> Result<(), EngineError> {
    if inputs.len() != graph.inputs.len() {
        let names: Vec<_> = graph.inputs.iter().map(|&input| graph.value(input).name.as_str()).collect();
        return Err(EngineError::InputCount {
            expected: graph.inputs.len(),
            names: names.join(", "),
            found: inputs.len(),
        });
    }
    let mut symbols: HashMap<&str, usize> = HashMap::new();
    for (&id, tensor) in graph.inputs.iter().zip(inputs) {
        check_type(graph, id, tensor)?;
        let Some(shape) = &graph.value(id).shape else { continue };
        let open = Dim::any_open(shape);
        let fits = shape.len() == tensor.shape().len()
            && shape.iter().zip(tensor.shape()).all(|(dim, &found)| match dim {
                Dim::Fixed(expected) => *expected == found || open,
                Dim::Symbol(name) if name.is_empty() => true,
                Dim::Symbol(name) => *symbols.entry(name).or_insert(found) == found,
            });
        if !fits {
            let expected = shape.iter().map(|dim| match dim {
                Dim::Symbol(name) => match symbols.get(name.as_str()) {
                    Some(known) => format!("{name}={known}"),
                    None => dim.to_string(),
                },
                Dim::Fixed(_) => dim.to_string(),
            });
            return Err(wrong_shape(graph, id, &expected.collect::<Vec<_>>(), tensor));
        }
    }
    Ok(())
}

fn wrong_shape(graph: &Graph, id: ValueId, expected: &[String], tensor: &Tensor) -> EngineError {
    EngineError::InputShape {
        name: graph.value(id).name.clone(),
        expected: expected.join(", "),
        found: tensor.shape().to_vec(),
    }
}

/// Returns the inputs whose size differs from the file in a fixed dimension. [`check_inputs`] accepts this if the shape
/// also has an open dimension. Each input comes with the error to return if the graph cannot take it, and the note to
/// give if it can.
pub fn resized_inputs<'a>(graph: &'a Graph, inputs: &'a [Tensor]) -> impl Iterator<Item = (EngineError, String)> + 'a {
    graph.inputs.iter().zip(inputs).filter_map(|(&id, tensor)| {
        let value = graph.value(id);
        let declared = value.shape.as_deref()?;
        let differs = |(dim, found): (&Dim, &usize)| matches!(dim, Dim::Fixed(expected) if expected != found);
        if !declared.iter().zip(tensor.shape()).any(differs) {
            return None;
        }
        let expected: Vec<String> = declared.iter().map(Dim::to_string).collect();
        let note = format!(
            "input '{}' is declared as [{}]; it runs with {:?}, which the graph takes",
            value.name,
            expected.join(", "),
            tensor.shape()
        );
        Some((wrong_shape(graph, id, &expected, tensor), note))
    })
}

fn check_type(graph: &Graph, id: ValueId, tensor: &Tensor) -> Result<(), EngineError> {
    match graph.value(id).dtype {
        Some(expected) if expected != tensor.dtype() => {
            Err(EngineError::InputType { name: graph.value(id).name.clone(), expected, found: tensor.dtype() })
        }
        _ => Ok(()),
    }
}
