//! The location of a stopped run, and the kernels that are executed for an operator.

use opscope_model::{Kernel, KernelId};
use opscope_onnx::{CodeOrigin, Graph, Operator, ValueId};
use opscope_tensor::DType;
use serde::{Deserialize, Serialize};

use crate::event::{ModelId, RunPosition, Sequence};

/// The location of a stopped run, and the tensors that it has there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Location {
    /// The event that stopped it.
    pub event: Sequence,
    /// The model.
    pub model: ModelId,
    /// Where.
    pub place: RunPosition,
    /// The operator's position in the program that the file was exported from, if the file has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<CodeOrigin>,
    /// The current kernel.
    pub kernel: KernelInfo,
    /// How many operators the model has.
    pub operators: u32,
    /// How many kernels the engine's plan has.
    pub kernels: u32,
    /// How many kernels the engine executes for the operator, if the inputs and outputs here are those of the operator;
    /// `None` if they are those of the kernel.
    #[serde(rename = "steps", default, skip_serializing_if = "Option::is_none")]
    pub operator_kernels: Option<u32>,
    /// Whether the engine executes an operator even if it is skipped, and then replaces its outputs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executes_skipped: bool,
    /// The inputs by slot.
    pub inputs: Vec<TensorInfo>,
    /// The outputs by slot.
    pub outputs: Vec<TensorInfo>,
    /// The inputs that are weights, in order.
    pub weights: Vec<TensorInfo>,
    /// The attributes of the operator: name and value as text.
    pub attributes: Vec<(String, String)>,
}

/// A kernel of an engine's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelInfo {
    /// The engine's name for it.
    pub name: String,
    /// What it executes, in the engine's words.
    pub op: String,
    /// The operators of the file that it stands for. Its time counts for the first one.
    pub operators: Vec<FusedOperator>,
}

/// An operator that a kernel stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FusedOperator {
    /// Its index in the graph.
    pub operator: u32,
    /// Its name.
    pub name: String,
    /// Its type.
    pub op_type: String,
    /// Whether the engine states this; if not, it was inferred from the graph.
    pub exact: bool,
}

/// A tensor at a stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorInfo {
    /// The reference to it in commands: `input[0]`.
    pub reference: String,
    /// The value's name, if it is a value of the file.
    pub value: Option<String>,
    /// If it is not itself a value of the file, the value whose elements it has in another shape or order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<String>,
    /// The type of its elements; `None` if the engine has a type of its own.
    pub dtype: Option<DType>,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Whether its data can be read now.
    pub readable: bool,
    /// Whether it is the same in every run.
    pub constant: bool,
    /// Whether the debugger replaced it at this stop.
    pub replaced: bool,
}

/// The kernels that are executed for an operator.
#[derive(Clone)]
pub(super) struct Span {
    pub first: KernelId,
    pub last: KernelId,
    /// How many kernels count for it.
    pub kernels: u32,
    /// Whether the operator has several kernels of its own that compute its outputs.
    pub is_split: bool,
}

/// Returns the kernels of each operator of the file; `None` if no kernel is executed for it. An operator in a body that
/// the engine does not show has the kernels of the operator around it.
pub(super) fn spans(graph: &Graph, kernels: &[Kernel]) -> Vec<Option<Span>> {
    let mut spans: Vec<Option<Span>> = graph.all_operators().map(|_| None).collect();
    let mut begins = vec![false; spans.len()];
    for kernel in kernels {
        let Some(operator) = kernel.operator() else { continue };
        // An operator begins with the first kernel that takes an input that differs from run to run.
        let is_first = !begins[operator.index()] && takes_inputs(graph.operator(operator), kernel);
        begins[operator.index()] |= is_first;
        match &mut spans[operator.index()] {
            Some(span) => {
                span.last = kernel.id;
                span.kernels += 1;
                if is_first {
                    span.first = kernel.id;
                }
            }
            none => *none = Some(Span { first: kernel.id, last: kernel.id, kernels: 1, is_split: false }),
        }
    }
    for (span, operator) in spans.iter_mut().zip(graph.all_operators()) {
        let Some(span) = span.as_mut().filter(|span| span.kernels > 1) else { continue };
        let own = || kernels.iter().filter(|kernel| kernel.operator() == Some(operator.id));
        let is_given = |value: &ValueId| own().any(|kernel| kernel.outputs.iter().any(|values| values.contains(value)));
        span.is_split =
            own().all(|kernel| kernel.operators.len() == 1) && operator.outputs.iter().flatten().all(is_given);
    }
    // The rest are operators that no kernel counts for.
    let counted: Vec<bool> = spans.iter().map(Option::is_some).collect();
    for kernel in kernels {
        for part in kernel.operators.iter().filter(|part| !counted[part.operator.index()]) {
            spans[part.operator.index()]
                .get_or_insert(Span { first: kernel.id, last: kernel.id, kernels: 0, is_split: false })
                .last = kernel.id;
        }
    }
    for body in &graph.bodies {
        for inner in graph.operators_of(body).iter().map(|inner| inner.id.index()) {
            if spans[inner].is_none() {
                let owner = spans[body.owner.index()].clone();
                spans[inner] = owner.map(|owner| Span { kernels: 0, is_split: false, ..owner });
            }
        }
    }
    spans
}

/// Returns whether a kernel takes an input of its operator that differs from run to run.
fn takes_inputs(operator: &Operator, kernel: &Kernel) -> bool {
    kernel.inputs.iter().any(|input| !input.constant && input.value.is_some() && operator.inputs.contains(&input.value))
}
