use std::collections::{HashMap, HashSet};

use opscope_model::{Model, Plan, RunId, TensorType};
use opscope_onnx::{Dim, Graph, ValueId};

use super::routes::{Route, Routes};
use crate::{DumpError, Selection};

/// An estimate of the size of a dump, before anything runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Estimate {
    /// The number of tensors.
    pub tensors: u64,
    /// The bytes of these tensors.
    pub bytes: u64,
    /// The number of tensors whose size the engine does not know in advance. They are not included in the bytes.
    /// Tensors of operators in bodies count once, however often a run executes them.
    pub unknown: u64,
    /// The number of tensors that the engine cannot provide.
    pub missing: u64,
    /// Whether the dump may be smaller, because the selection depends on the data or has a limit.
    pub at_most: bool,
}

impl Estimate {
    /// Returns what a selection will capture in the first `runs` runs of a plan.
    ///
    /// # Errors
    /// Returns an error if the values that the engine computed at load cannot be read.
    pub fn of(selection: &Selection, model: &dyn Model, plan: &dyn Plan, runs: u64) -> Result<Self, DumpError> {
        let mut constants = HashMap::new();
        plan.constants(&mut |value, tensor| {
            constants.insert(value, tensor.byte_len().map(|bytes| bytes as u64));
            Ok(())
        })
        .map_err(DumpError::Constants)?;
        let known: HashSet<ValueId> = constants.keys().copied().collect();
        let routes = Routes::new(model.graph(), 0, plan.kernels(), &known).selected(selection, false);

        let mut once = Self { missing: routes.absent.len() as u64, ..Self::default() };
        for route in &routes.constant {
            let weight = || weight_bytes(model.graph(), route.value);
            once.add(constants.get(&route.value).copied().unwrap_or_else(weight));
        }
        let mut each = Self::default();
        for kernel in plan.kernels().iter() {
            let [before, after] = [&routes.before, &routes.after].map(|routes| &routes[kernel.id.index()]);
            if kernel.operator().is_some_and(|operator| model.graph().body_of(operator).is_some()) {
                // The number of iterations of a body is known only in the run.
                before.iter().chain(after).for_each(|_| each.add(None));
            } else {
                each.add_all(before, &kernel.input_types);
                each.add_all(after, &kernel.output_types);
            }
        }
        let runs = (0..runs).filter(|&run| selection.runs.contains(RunId(run))).count() as u64;
        let mut all = Self {
            tensors: once.tensors + runs * each.tensors,
            bytes: once.bytes.saturating_add(runs.saturating_mul(each.bytes)),
            unknown: once.unknown + runs * each.unknown,
            missing: once.missing,
            at_most: selection.only_non_finite || selection.first.is_some() || selection.byte_budget.is_some(),
        };
        all.tensors = all.tensors.min(selection.first.unwrap_or(u64::MAX));
        all.bytes = all.bytes.min(selection.byte_budget.unwrap_or(u64::MAX));
        Ok(all)
    }

    fn add_all(&mut self, routes: &[Route], types: &[TensorType]) {
        for route in routes {
            self.add(types.get(route.engine_slot).and_then(bytes_of));
        }
    }

    fn add(&mut self, bytes: Option<u64>) {
        self.tensors += 1;
        self.unknown += u64::from(bytes.is_none());
        self.bytes = self.bytes.saturating_add(bytes.unwrap_or(0));
    }
}

fn bytes_of(tensor: &TensorType) -> Option<u64> {
    let elements = tensor.shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim))?;
    tensor.dtype?.bytes_of(elements).map(|bytes| bytes as u64)
}

/// Returns the size of a weight in the file, in bytes.
fn weight_bytes(graph: &Graph, value: ValueId) -> Option<u64> {
    let value = graph.value(value);
    let number = |dim: &Dim| match dim {
        Dim::Fixed(number) => Some(*number),
        Dim::Symbol(_) => None,
    };
    let elements: Option<usize> = value.shape.as_ref()?.iter().map(number).product();
    value.dtype?.bytes_of(elements?).map(|bytes| bytes as u64)
}
