use std::collections::{HashMap, HashSet};

use opscope_tensor::DType;

use super::{Typed, bytes_of, movement};
use crate::types::ValueTypes;
use crate::{Graph, Operator, OperatorId, Producer, ValueId};

/// A graph that answers queries for the costs of its operators.
#[derive(Debug)]
pub struct CostGraph<'a> {
    graph: &'a Graph,
    types: &'a ValueTypes,
    /// The operators that take each value, including those in bodies.
    takers: HashMap<ValueId, Vec<OperatorId>>,
    /// The outputs of the main graph and of the bodies.
    given: HashSet<ValueId>,
}

/// The cost of operators that are executed as one, so that intermediate values are neither read nor written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupCost {
    /// Floating-point operations; a multiplication and an addition are two. `None` if those of any operator are
    /// unknown.
    pub flops: Option<u64>,
    /// Bytes of the tensors that the operators take, each counted once. `None` if any is unknown.
    pub bytes_read: Option<u64>,
    /// Bytes of the tensors that the operators compute. `None` if any is unknown.
    pub bytes_written: Option<u64>,
    /// The type of most of the computation: that of the first input of the operator with the most operations.
    pub dtype: Option<DType>,
}

impl<'a> CostGraph<'a> {
    /// Takes a graph and the types of its values.
    pub fn new(graph: &'a Graph, types: &'a ValueTypes) -> Self {
        let mut takers: HashMap<ValueId, Vec<OperatorId>> = HashMap::new();
        for operator in graph.all_operators() {
            for value in operator.inputs.iter().flatten().chain(&operator.captures) {
                takers.entry(*value).or_default().push(operator.id);
            }
        }
        let of_bodies = graph.bodies.iter().flat_map(|body| &body.outputs);
        Self { graph, types, takers, given: graph.outputs.iter().chain(of_bodies).copied().collect() }
    }

    /// Returns the operations of one operator, or `None` if they are unknown.
    pub fn flops(&self, operator: OperatorId) -> Option<u64> {
        self.typed(self.graph.operator(operator)).flops()
    }

    /// Returns the cost of operators that are executed as one.
    pub fn cost(&self, operators: &[OperatorId]) -> GroupCost {
        let inside: HashSet<OperatorId> = operators.iter().copied().collect();
        let all: Vec<Typed<'_>> = operators.iter().map(|id| self.typed(self.graph.operator(*id))).collect();
        let flops: Vec<Option<u64>> = all.iter().map(Typed::flops).collect();
        let most = all.iter().zip(&flops).max_by_key(|(_, flops)| **flops).map(|(typed, _)| typed);
        GroupCost {
            flops: flops.iter().copied().try_fold(0u64, |sum, flops| sum.checked_add(flops?)),
            bytes_read: self.bytes_read(&all, &inside),
            bytes_written: self.bytes_written(&all, &inside),
            dtype: most.and_then(|typed| typed.input(0).or(typed.output())?.dtype),
        }
    }

    fn typed(&self, operator: &'a Operator) -> Typed<'a> {
        let types = |values: &[Option<ValueId>]| values.iter().map(|value| self.types.get((*value)?)).collect();
        Typed { operator, inputs: types(&operator.inputs), outputs: types(&operator.outputs) }
    }

    /// Returns the bytes that the operators read from tensors of other operators. Each tensor counts once, with the
    /// largest part that any operator reads.
    fn bytes_read(&self, all: &[Typed<'_>], inside: &HashSet<OperatorId>) -> Option<u64> {
        let mut read: HashMap<ValueId, u64> = HashMap::new();
        for typed in all {
            for (slot, value) in typed.operator.inputs.iter().enumerate() {
                let Some(value) = value else { continue };
                let source = self.source(*value);
                let is_inside = match self.graph.value(source).producer {
                    Producer::Operator(id, _) => inside.contains(&id),
                    _ => false,
                };
                if !is_inside {
                    let bytes = movement::bytes_read(typed, slot)?;
                    let most = read.entry(source).or_default();
                    *most = bytes.max(*most);
                }
            }
        }
        read.values().try_fold(0u64, |sum, bytes| sum.checked_add(*bytes))
    }

    fn bytes_written(&self, all: &[Typed<'_>], inside: &HashSet<OperatorId>) -> Option<u64> {
        let mut sum = 0u64;
        for typed in all.iter().filter(|typed| !self.is_view(typed.operator.id)) {
            for value in typed.operator.outputs.iter().flatten().filter(|value| self.leaves(**value, inside)) {
                sum = sum.checked_add(bytes_of(self.types.get(*value)?)?)?;
            }
        }
        Some(sum)
    }

    fn is_view(&self, operator: OperatorId) -> bool {
        let operator = self.graph.operator(operator);
        movement::is_view(&operator.domain, &operator.op_type)
    }

    /// Returns the value whose elements a chain of views presents as this one, or the value itself.
    fn source(&self, value: ValueId) -> ValueId {
        let mut source = value;
        while let Producer::Operator(id, _) = self.graph.value(source).producer
            && self.is_view(id)
            && let Some(Some(before)) = self.graph.operator(id).inputs.first()
        {
            source = *before;
        }
        source
    }

    /// Returns whether an operator outside of the group takes the elements of a value, or whether they are an output of
    /// the graph.
    fn leaves(&self, value: ValueId, inside: &HashSet<OperatorId>) -> bool {
        let mut values = vec![value];
        while let Some(value) = values.pop() {
            if self.given.contains(&value) {
                return true;
            }
            for &taker in self.takers.get(&value).into_iter().flatten() {
                match self.is_view(taker) {
                    // Otherwise it takes the value as the shape of a view.
                    true if self.graph.operator(taker).inputs.first() == Some(&Some(value)) => {
                        values.extend(self.graph.operator(taker).outputs.iter().flatten());
                    }
                    _ if inside.contains(&taker) => {}
                    _ => return true,
                }
            }
        }
        false
    }
}
