//! The state of a run: which iteration each body is in, and which values the library still holds.

use std::ops::Range;

use opscope_model::Iteration;
use opscope_onnx::{OperatorId, ValueId};

use super::layout::Layout;
use super::values::LibraryTensor;

/// The state of one run.
pub(crate) struct State {
    bodies: Vec<BodyState>,
    /// For each operator, the iteration of its body in which it was dispatched last.
    dispatched: Vec<Option<u32>>,
    /// For each value, its location as long as the library holds it.
    held: Vec<Option<LibraryTensor>>,
    /// For each value, how many operators have yet to take it.
    takers: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct BodyState {
    /// How many iterations have begun since the body's operator was dispatched.
    begun: u32,
}

impl State {
    pub fn new(layout: &Layout) -> Self {
        let graph = &layout.graph;
        Self {
            bodies: vec![BodyState::default(); graph.bodies.len()],
            dispatched: vec![None; graph.operators.len() + graph.inner_operators.len()],
            held: vec![None; layout.takers.len()],
            takers: layout.takers.clone(),
        }
    }

    /// Notes that an operator is dispatched. Called once per dispatch, at its first tap.
    pub fn enter(&mut self, layout: &Layout, operator: OperatorId) {
        let iteration = match layout.body_of(operator) {
            None => 0,
            Some(body) => {
                // Each operator of a body is dispatched once per iteration, so the first one that is dispatched again
                // begins a new iteration.
                let current = self.bodies[body].begun.checked_sub(1);
                match current {
                    Some(current) if self.dispatched[operator.index()] != Some(current) => current,
                    _ => self.begin_iteration(layout, body),
                }
            }
        };
        self.dispatched[operator.index()] = Some(iteration);
        self.reset_bodies(layout, operator);
    }

    fn begin_iteration(&mut self, layout: &Layout, body: usize) -> u32 {
        let Range { start, end } = layout.graph.bodies[body].values.clone();
        for index in start.index()..end.index() {
            self.held[index] = None;
            self.takers[index] = layout.takers[index];
        }
        let iteration = self.bodies[body].begun;
        self.bodies[body].begun += 1;
        iteration
    }

    /// Resets the iterations of an operator's bodies: its next dispatch begins with the first one.
    pub fn reset_bodies(&mut self, layout: &Layout, operator: OperatorId) {
        for body in layout.bodies_of(operator) {
            self.bodies[body].begun = 0;
            let Range { start, end } = layout.graph.bodies[body].operators.clone();
            self.dispatched[start.index()..end.index()].fill(None);
            let Range { start, end } = layout.graph.bodies[body].values.clone();
            self.held[start.index()..end.index()].fill(None);
        }
    }

    /// Returns whether an operator was dispatched.
    pub fn was_dispatched(&self, operator: OperatorId) -> bool {
        self.dispatched[operator.index()].is_some()
    }

    /// Returns the iterations of bodies that the current dispatch of an operator is part of, outermost first.
    pub fn path(&self, layout: &Layout, operator: OperatorId) -> Vec<Iteration> {
        let mut path = Vec::new();
        let mut inner = operator;
        while let Some(body) = layout.body_of(inner) {
            let owner = layout.graph.bodies[body].owner;
            path.push(Iteration { operator: owner, index: self.bodies[body].begun.saturating_sub(1) });
            inner = owner;
        }
        path.reverse();
        path
    }

    /// Notes that an operator has taken its inputs. Values that no operator has yet to take are dropped, because the
    /// library may reuse their memory.
    pub fn took(&mut self, layout: &Layout, operator: OperatorId) {
        for value in &layout.taken[operator.index()] {
            let takers = &mut self.takers[value.index()];
            *takers = takers.saturating_sub(1);
            if *takers == 0 {
                self.held[value.index()] = None;
            }
        }
    }

    /// Notes the location of a value.
    pub fn hold(&mut self, value: ValueId, held: LibraryTensor) {
        if self.takers[value.index()] > 0 {
            self.held[value.index()] = Some(held);
        }
    }

    pub fn held(&self, value: ValueId) -> Option<&LibraryTensor> {
        self.held.get(value.index())?.as_ref()
    }
}
