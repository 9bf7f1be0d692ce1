//! Types and shapes of all values of a graph, for inputs of given shapes.
//!
//! An engine knows the shapes of its kernels' inputs and outputs. Between the operators of a fused kernel are values
//! that no kernel returns. Their types follow from those of the inputs by the rules of ONNX. If they depend on the data
//! of a run, they are unknown.

mod contents;
mod layout;
mod operator_inputs;
mod rules;
mod windows;

use std::collections::HashMap;

use self::contents::Contents;
use crate::{Dim, Graph, Operator, Producer, TensorInfo, ValueId};

/// The types and shapes of the values of a graph, as far as they are known.
#[derive(Debug, Clone)]
pub struct ValueTypes {
    types: Vec<Option<TensorInfo>>,
}

impl ValueTypes {
    /// Returns the types of the values of a graph. `known` are types from an engine, which take precedence. Next come
    /// those of initializers, those that follow from the operators, and last those that the file declares, if it fits
    /// the inputs.
    pub fn infer(graph: &Graph, known: impl IntoIterator<Item = (ValueId, TensorInfo)>) -> Self {
        let mut types = vec![None; graph.all_values().count()];
        for (value, known) in known {
            if let Some(place) = types.get_mut(value.index()) {
                *place = Some(known);
            }
        }
        let mut inference = Inference { declared: Declared::of(graph, &types), contents: Contents::of(graph), types };
        for value in graph.all_values().filter(|value| !matches!(value.producer, Producer::Operator(..))) {
            inference.complete(value.id, None);
        }
        graph.all_operators().for_each(|operator| inference.operator(operator));
        Self { types: inference.types }
    }

    /// Returns the type of a value, or `None` if it is unknown.
    pub fn get(&self, value: ValueId) -> Option<&TensorInfo> {
        self.types.get(value.index())?.as_ref()
    }
}

struct Inference<'a> {
    types: Vec<Option<TensorInfo>>,
    declared: Declared<'a>,
    contents: Contents,
}

impl Inference<'_> {
    fn operator(&mut self, operator: &Operator) {
        let inputs: Vec<Option<TensorInfo>> =
            operator.inputs.iter().map(|input| self.types.get((*input)?.index())?.clone()).collect();
        let inferred =
            rules::outputs(operator, &inputs, |slot| self.contents.get(operator.inputs.get(slot).copied()??));
        let mut inferred = inferred.unwrap_or_default().into_iter();
        for output in &operator.outputs {
            let inferred = inferred.next().flatten();
            if let Some(output) = output {
                self.complete(*output, inferred);
            }
        }
        self.contents.add(operator, &inputs);
    }

    /// Completes what is known about a value with the inferred type, and with the declared one.
    fn complete(&mut self, value: ValueId, inferred: Option<TensorInfo>) {
        let declared = self.declared.of_value(value);
        let dtype = [&inferred, &declared].into_iter().flatten().find_map(|info| info.dtype);
        let found = self.types[value.index()].take().or(inferred).or(declared);
        self.types[value.index()] = found.map(|info| TensorInfo { dtype: info.dtype.or(dtype), ..info });
    }
}

/// The types that the file declares, with this plan's sizes for the dimensions that it leaves open.
struct Declared<'a> {
    graph: &'a Graph,
    sizes: HashMap<&'a str, usize>,
    /// Whether the inputs have the declared shapes.
    fits: bool,
}

impl<'a> Declared<'a> {
    fn of(graph: &'a Graph, types: &[Option<TensorInfo>]) -> Self {
        let mut declared = Self { graph, sizes: HashMap::new(), fits: true };
        for input in &graph.inputs {
            let (Some(dims), Some(found)) = (&graph.value(*input).shape, &types[input.index()]) else { continue };
            declared.fits &= dims.len() == found.shape.len();
            for (dim, &size) in dims.iter().zip(&found.shape) {
                declared.fits &= match dim {
                    Dim::Fixed(fixed) => *fixed == size,
                    Dim::Symbol(name) => name.is_empty() || *declared.sizes.entry(name).or_insert(size) == size,
                };
            }
        }
        declared
    }

    fn of_value(&self, value: ValueId) -> Option<TensorInfo> {
        let value = self.graph.value(value);
        if !self.fits && value.producer != Producer::Initializer {
            return None;
        }
        let size = |dim: &Dim| match dim {
            Dim::Fixed(size) => Some(*size),
            Dim::Symbol(name) => self.sizes.get(name.as_str()).copied(),
        };
        let shape = value.shape.as_ref()?.iter().map(size).collect::<Option<_>>()?;
        Some(TensorInfo { dtype: value.dtype, shape })
    }
}
