//! Types and shapes of the tensors of a plan.

use opscope_model::TensorType;
use opscope_onnx::{Graph, ValueId};
use opscope_tensor::DType;

use super::carried_values::Carrying;
use super::written_graph::{Node, WrittenGraph};

/// The prefix of names where the library computes in `float32` instead of the file's `float16`.
const SINGLE_PRECISION: &str = "InsertedPrecisionFreeCast_";

/// Derives the types of a plan's tensors from those of the file's values.
pub(super) struct Types<'a, F> {
    pub graph: &'a Graph,
    pub written: &'a WrittenGraph,
    pub carrying: &'a Carrying<'a>,
    pub of_value: F,
}

impl<F: Fn(ValueId) -> TensorType> Types<'_, F> {
    /// Returns the type of a tensor. If the element type is unknown, so is the shape.
    pub fn of(&self, tensor: &str) -> TensorType {
        self.known(tensor).unwrap_or(TensorType { dtype: None, shape: Vec::new() })
    }

    /// Returns the type of a node's output, which may be one of the library's own tensors.
    pub fn of_output(&self, node: &Node, output: &str) -> TensorType {
        self.known(output).or_else(|| self.reshaped(node)).unwrap_or_else(|| self.of(output))
    }

    fn known(&self, tensor: &str) -> Option<TensorType> {
        let kind = (self.of_value)(self.written.value(self.graph, tensor)?);
        kind.dtype.is_some().then_some(kind)
    }

    /// Returns the type of one of the library's own tensors that has the elements of a value in another shape.
    fn reshaped(&self, node: &Node) -> Option<TensorType> {
        let carried = self.carrying.made_by(node)?;
        let whole = (self.of_value)(carried.value);
        let is_single = [&node.name].into_iter().chain(&node.outputs).any(|name| name.contains(SINGLE_PRECISION));
        let dtype = if is_single { DType::F32 } else { whole.dtype? };
        let whole = TensorType { dtype: whole.dtype.and(Some(dtype)), ..whole };
        let Some(sizes) = node.inputs.get(1).filter(|_| node.op_type == "Reshape") else { return Some(whole) };
        let sizes = self.written.shapes.get(sizes)?;
        let count: usize = whole.shape.iter().product();
        let given: usize = sizes.iter().filter(|size| **size > 0).map(|size| *size as usize).product();
        let open = count.checked_div(given)?;
        let shape = sizes.iter().enumerate().map(|(axis, size)| match size {
            -1 => Some(open),
            0 => whole.shape.get(axis).copied(),
            size => usize::try_from(*size).ok(),
        });
        Some(TensorType { dtype: whole.dtype, shape: shape.collect::<Option<_>>()? })
    }
}
