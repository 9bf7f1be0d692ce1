//! A model whose operators compute in a narrower floating-point type, except some.
//!
//! An operator that computes in the narrower type takes all of its float32 inputs in that type, and gives its float32
//! outputs in it. Values change their type only where such an operator and one that stays meet: there, and nowhere else,
//! the file gets a `Cast`. The model's inputs and outputs, and those of graphs inside operators, stay float32.

mod casts;
mod types;

use std::collections::HashSet;

use opscope_tensor::DType;

use crate::{Graph, Operator, OperatorId, Producer, Value, ValueId, ValueTypes};

/// Which operators of a model can compute in a narrower type, and what that means for their values.
#[derive(Debug, Clone)]
pub struct Lowering<'g> {
    graph: &'g Graph,
    dtype: DType,
    /// The type of each value, as far as it is known.
    types: Vec<Option<DType>>,
    /// For each value, whether it depends on the data of an input.
    depends: Vec<bool>,
}

/// Operators that only move elements, so that rounding before and after them is the same.
const MOVING: &[&str] = &[
    "Concat",
    "Expand",
    "Flatten",
    "Gather",
    "Identity",
    "Reshape",
    "Slice",
    "Split",
    "Squeeze",
    "Tile",
    "Transpose",
    "Unsqueeze",
];

impl<'g> Lowering<'g> {
    /// Looks at a graph. `dtype` is fp16 or bf16; `types` are the types of all values.
    pub fn new(graph: &'g Graph, dtype: DType, types: &ValueTypes) -> Self {
        let known = |value: &Value| types.get(value.id).and_then(|info| info.dtype).or(value.dtype);
        let mut types: Vec<Option<DType>> = graph.all_values().map(known).collect();
        // The outputs of a graph inside an operator are known after those of the graph around it.
        while types::complete(graph, &mut types) {}
        Self { graph, dtype, depends: graph.all_depend_on_input(), types }
    }

    /// Returns the graph.
    pub fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// Returns the type that operators are lowered to.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns whether a value is a float32 tensor.
    pub fn is_float(&self, value: ValueId) -> bool {
        self.type_of(value) == Some(DType::F32)
    }

    fn type_of(&self, value: ValueId) -> Option<DType> {
        self.types[value.index()]
    }

    /// Returns the operators that can be lowered, in order of execution: those that give float32 from the data of inputs,
    /// and that may do so in the narrower type. What depends on shapes and constants alone stays: indices, sizes and
    /// counts are never rounded.
    pub fn candidates(&self) -> impl Iterator<Item = &'g Operator> {
        self.graph.all_operators().filter(|operator| self.can_be_lowered(operator))
    }

    fn can_be_lowered(&self, operator: &Operator) -> bool {
        let Some(fixed) = types::fixed(self.graph, operator, self.dtype) else { return false };
        let present = |slot: usize| operator.outputs.get(slot).copied().flatten();
        operator.outputs.iter().flatten().next().is_some_and(|&output| self.is_float(output))
            && operator.outputs.iter().flatten().any(|output| self.depends[output.index()])
            && !fixed.outputs.iter().any(|slot| present(*slot).is_some())
    }

    /// Returns whether an operator, if it is lowered, takes the input in this slot in the narrower type.
    pub fn lowers_input(&self, operator: &Operator, slot: usize) -> bool {
        let fixed = types::fixed(self.graph, operator, self.dtype);
        fixed.is_some_and(|fixed| !fixed.inputs.contains(&slot))
            && operator.inputs[slot].is_some_and(|input| self.is_float(input))
    }

    /// Returns these operators, and those that move constants for them alone. These need no rounding of their own, and
    /// without them the constants would be stored in float32.
    fn with_moved_constants(&self, lowered: &HashSet<OperatorId>) -> HashSet<OperatorId> {
        let mut all = lowered.clone();
        for operator in self.graph.operators.iter().rev() {
            let [Some(output)] = operator.outputs[..] else { continue };
            let moves = operator.domain.is_empty() && MOVING.contains(&operator.op_type.as_str());
            if !moves || self.depends[output.index()] || !self.is_float(output) || self.graph.outputs.contains(&output)
            {
                continue;
            }
            let value = self.graph.value(output);
            let is_for_lowered = |consumer: &OperatorId| {
                let consumer = self.graph.operator(*consumer);
                let slots = consumer.inputs.iter().enumerate().filter(|(_, input)| **input == Some(output));
                all.contains(&consumer.id)
                    && !consumer.captures.contains(&output)
                    && slots.into_iter().all(|(slot, _)| self.lowers_input(consumer, slot))
            };
            if !value.consumers.is_empty() && value.consumers.iter().all(is_for_lowered) {
                all.insert(operator.id);
            }
        }
        all
    }
}

impl Graph {
    /// Returns for each value, including those of bodies, whether it depends on the data of an input. Depending on an
    /// input's shape does not count. The inputs of a body depend on it, because they change from iteration to iteration.
    pub fn all_depend_on_input(&self) -> Vec<bool> {
        let mut depends = self.depends_on_input();
        depends.resize(depends.len() + self.inner_values.len(), false);
        for body in &self.bodies {
            body.inputs.iter().for_each(|input| depends[input.index()] = true);
        }
        for operator in self.inner_operators.iter().filter(|operator| !matches!(&*operator.op_type, "Shape" | "Size")) {
            if operator.inputs.iter().flatten().chain(&operator.captures).any(|input| depends[input.index()]) {
                operator.outputs.iter().flatten().for_each(|output| depends[output.index()] = true);
            }
        }
        depends
    }
}

/// Returns whether a value is stored in the file: an initializer, or the output of a `Constant`.
fn is_stored(graph: &Graph, value: ValueId) -> bool {
    match graph.value(value).producer {
        Producer::Initializer => true,
        Producer::Operator(operator, _) => graph.operator(operator).is_constant(),
        Producer::Input => false,
    }
}
