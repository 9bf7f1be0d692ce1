//! The positions of a model's taps.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use opscope_model::{Kernel, KernelId};
use opscope_onnx::{Graph, OnnxError, OperatorId, ValueId};
use opscope_tensor::Tensor;

use crate::rewrite::{Slot, Taps};

/// The taps of a model, and the kernels that they belong to.
pub(crate) struct Layout {
    pub graph: Arc<Graph>,
    pub taps: Taps,
    pub kernels: Arc<[Kernel]>,
    /// For each operator, its kernel; `None` for constants.
    pub kernel_of: Vec<Option<KernelId>>,
    /// For each operator, whether it has a tap in front of it, and whether it has one behind it.
    pub tapped: Vec<(bool, bool)>,
    /// For each operator, the body that it is part of.
    body_of: Vec<Option<usize>>,
    /// For each operator, what it takes and what it computes.
    pub slots: Vec<Slots>,
    /// For each operator, the values that it takes, each once.
    pub taken: Vec<Box<[ValueId]>>,
    /// For each value, how many operators take it. The caller of a run takes the outputs, and a body's operator takes
    /// the outputs of the body.
    pub takers: Vec<u32>,
    /// The constants in the file, read at the first use.
    constants: OnceLock<HashMap<ValueId, Tensor>>,
}

/// What an operator takes and computes.
#[derive(Default)]
pub(crate) struct Slots {
    pub inputs: Box<[Slot]>,
    pub outputs: Box<[Slot]>,
}

impl Layout {
    pub fn new(graph: Arc<Graph>, taps: Taps, kernels: Arc<[Kernel]>) -> Self {
        let operators = graph.operators.len() + graph.inner_operators.len();
        let mut kernel_of = vec![None; operators];
        for kernel in kernels.iter() {
            if let Some(part) = kernel.operators.first() {
                kernel_of[part.operator.index()] = Some(kernel.id);
            }
        }
        let mut tapped = vec![(false, false); operators];
        for tap in &taps.taps {
            let (in_front, behind) = &mut tapped[tap.operator.index()];
            *(if tap.in_front { in_front } else { behind }) = true;
            if let Some(next) = tap.next {
                tapped[next.index()].0 = true;
            }
        }
        let mut body_of = vec![None; operators];
        for (index, body) in graph.bodies.iter().enumerate() {
            body_of[body.operators.start.index()..body.operators.end.index()].fill(Some(index));
        }
        let mut takers = vec![0u32; graph.values.len() + graph.inner_values.len()];
        let mut taken_by = vec![Box::default(); operators];
        let mut slots: Vec<Slots> = (0..operators).map(|_| Slots::default()).collect();
        for operator in graph.all_operators() {
            let mut taken: Vec<ValueId> = operator.inputs.iter().flatten().chain(&operator.captures).copied().collect();
            taken.sort_unstable();
            taken.dedup();
            taken.iter().for_each(|value| takers[value.index()] += 1);
            let of =
                |slots: &HashMap<OperatorId, Vec<Slot>>| slots.get(&operator.id).cloned().unwrap_or_default().into();
            slots[operator.id.index()] = Slots { inputs: of(&taps.inputs), outputs: of(&taps.outputs) };
            taken_by[operator.id.index()] = taken.into();
        }
        for value in graph.outputs.iter().chain(graph.bodies.iter().flat_map(|body| &body.outputs)) {
            takers[value.index()] += 1;
        }
        Self {
            graph,
            taps,
            kernels,
            kernel_of,
            tapped,
            body_of,
            slots,
            taken: taken_by,
            takers,
            constants: OnceLock::new(),
        }
    }

    pub fn body_of(&self, operator: OperatorId) -> Option<usize> {
        self.body_of[operator.index()]
    }

    /// Returns the bodies of an operator.
    pub fn bodies_of(&self, operator: OperatorId) -> Range<usize> {
        let start = self.graph.bodies.partition_point(|body| body.owner < operator);
        start..start + self.graph.bodies_of(operator).len()
    }

    /// Returns the constants in the file; none if it cannot be read any more.
    pub fn constants(&self) -> &HashMap<ValueId, Tensor> {
        self.constants.get_or_init(|| {
            let mut found = HashMap::new();
            let _ = self.graph.constants::<OnnxError>(
                |_| true,
                |value, tensor| {
                    found.insert(value, tensor);
                    Ok(())
                },
            );
            found
        })
    }
}
