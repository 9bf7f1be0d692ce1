//! Moments, and what began at them.

use std::sync::Arc;

use opscope::clock::Ticks;
use opscope::model::{Iteration, OpenOperator};
use opscope_torch::Place;
use pyo3::prelude::*;

/// A moment: on the processor, and in the order of the device's work.
#[derive(Clone)]
pub struct Mark {
    pub ticks: Ticks,
    pub event: Option<Arc<Py<PyAny>>>,
}

/// An operator or a module that is being executed.
pub struct Timed {
    pub operator: Arc<OpenOperator>,
    pub start: Mark,
}

/// The call of a module whose inputs and outputs have hooks.
pub struct Hooked {
    pub place: Place,
    /// The numbers of the calls around it, and its own.
    pub chain: Vec<u64>,
    /// How many of its inputs have a hook.
    pub inputs: usize,
}

impl Hooked {
    pub fn number(&self) -> u64 {
        self.chain.last().copied().unwrap_or(0)
    }

    pub fn is_in(&self, other: &Self) -> bool {
        self.chain.contains(&other.number())
    }
}

impl Mark {
    /// Returns whether the moment is on the device's clock as well.
    pub fn is_on_device_clock(&self) -> bool {
        self.event.is_some()
    }
}

impl Timed {
    pub fn new(operator: Arc<OpenOperator>, start: Mark) -> Self {
        Self { operator, start }
    }

    /// Returns when it began.
    pub fn start(&self) -> &Mark {
        &self.start
    }

    /// Returns its level in the path of what is executed within it.
    pub fn level(&self) -> Iteration {
        Iteration { operator: self.operator.operator().id, index: 0 }
    }
}
