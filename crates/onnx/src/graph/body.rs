//! The bodies of a graph's operators, and the attributes of operators.

use std::ops::Range;

use crate::{Attribute, Graph, Operator, OperatorId, Value, ValueId};

/// A graph inside an operator: a branch of an `If`, or the body of a `Loop` or a `Scan`.
///
/// The ids of its operators and values are consecutive, after those of the main graph and of the bodies around it.
/// Their names begin with that of the operator: `Loop_3/Add_0`.
#[derive(Debug, Clone)]
pub struct Body {
    /// The operator that it belongs to, which may itself be part of a body.
    pub owner: OperatorId,
    /// The attribute that holds it, such as `then_branch` or `body`.
    pub attribute: String,
    /// The inputs, which the owner passes to it in each iteration. Initializers that the file also lists as inputs are
    /// not included.
    pub inputs: Vec<ValueId>,
    /// The outputs. They may include values of a graph around it.
    pub outputs: Vec<ValueId>,
    /// The ids of its operators, in order of execution.
    pub operators: Range<OperatorId>,
    /// The ids of its values, without the captured ones.
    pub values: Range<ValueId>,
}

impl Graph {
    /// Returns every operator of the file: those of the main graph, then those of the bodies, in the order of their
    /// ids.
    pub fn all_operators(&self) -> impl Iterator<Item = &Operator> + Clone {
        self.operators.iter().chain(&self.inner_operators)
    }

    /// Returns every value of the file: those of the main graph, then those of the bodies, in the order of their ids.
    pub fn all_values(&self) -> impl Iterator<Item = &Value> + Clone {
        self.values.iter().chain(&self.inner_values)
    }

    /// Returns the bodies of an operator, in the order in which its node in the file holds them.
    pub fn bodies_of(&self, owner: OperatorId) -> &[Body] {
        let start = self.bodies.partition_point(|body| body.owner < owner);
        let count = self.bodies[start..].iter().take_while(|body| body.owner == owner).count();
        &self.bodies[start..start + count]
    }

    /// Returns the body that an operator is part of, or `None` for an operator of the main graph.
    pub fn body_of(&self, operator: OperatorId) -> Option<&Body> {
        let next = self.bodies.partition_point(|body| body.operators.end <= operator);
        self.bodies.get(next).filter(|body| body.operators.contains(&operator))
    }

    /// Returns the operators of a body, in order of execution.
    pub fn operators_of(&self, body: &Body) -> &[Operator] {
        let place = |id: OperatorId| id.index() - self.operators.len();
        &self.inner_operators[place(body.operators.start)..place(body.operators.end)]
    }

    /// Returns the operators whose bodies an operator is part of, outermost first. Empty for an operator of the main
    /// graph.
    pub fn owners_of(&self, operator: OperatorId) -> Vec<OperatorId> {
        let owner = |id: &OperatorId| self.body_of(*id).map(|body| body.owner);
        let mut owners: Vec<_> = std::iter::successors(owner(&operator), owner).collect();
        owners.reverse();
        owners
    }
}

impl Operator {
    /// Returns an attribute that is an integer.
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.attributes.get(name)? {
            Attribute::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns an attribute that is a list of integers.
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        match self.attributes.get(name)? {
            Attribute::Ints(numbers) => Some(numbers),
            _ => None,
        }
    }

    /// Returns an attribute that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.attributes.get(name)? {
            Attribute::String(text) => Some(text),
            _ => None,
        }
    }
}
