//! Making the lines.

use std::io::{self, Write};

use opscope_model::{Attribution, Dispatch, Fidelity, Kernel, TensorType, kernel_costs};
use opscope_onnx::{Dim, Graph, GroupCost, Operator, Value, ValueId};
use opscope_trace::NameId;

use super::{
    Extent, KernelCost, NamedAttribution, NamedKernel, NamedOperator, NamedValue, NamesLine, SCHEMA, TensorKind,
};

impl NamesLine {
    pub(crate) fn header() -> Self {
        Self::Header { schema: SCHEMA.to_owned() }
    }

    pub(crate) fn graph(number: usize, graph: &Graph) -> Self {
        let operators = graph.all_operators().map(|operator| NamedOperator::of(operator, graph));
        Self::Graph { graph: number, operators: operators.collect() }
    }

    /// Creates the line of a kernel of an open model.
    pub(crate) fn found(plan: usize, dispatch: &Dispatch<'_>) -> Self {
        let operator = Box::new(NamedOperator::of(dispatch.operator(), dispatch.graph));
        Self::Found { plan, operator, kernel: Box::new(NamedKernel::of(dispatch.kernel)) }
    }

    /// Creates the line of a plan. The costs of the kernels are computed here, where types and shapes are known.
    pub(crate) fn plan(plan: usize, number: usize, graph: &Graph, fidelity: Fidelity, kernels: &[Kernel]) -> Self {
        let costs = kernel_costs(graph, kernels);
        let named = |(kernel, cost): (&Kernel, &Option<GroupCost>)| NamedKernel {
            cost: cost.as_ref().map(KernelCost::of),
            ..NamedKernel::of(kernel)
        };
        Self::Plan { plan, graph: number, fidelity, kernels: kernels.iter().zip(&costs).map(named).collect() }
    }

    /// Creates the line of a counter. Its text may end with the unit of its values, as in `queue [requests]`.
    pub(crate) fn counter(id: NameId, text: &str) -> Self {
        let parts = text.strip_suffix(']').and_then(|text| text.rsplit_once(" ["));
        let (name, unit) = parts.unwrap_or((text, ""));
        Self::Counter { counter: id.0, name: name.to_owned(), unit: unit.to_owned() }
    }

    pub(crate) fn marker(id: NameId, text: &str) -> Self {
        Self::Marker { marker: id.0, name: text.to_owned() }
    }

    /// Writes the line with one call, so that a reader finds complete lines.
    pub(crate) fn write(&self, mut into: impl Write) -> io::Result<()> {
        let mut text = serde_json::to_vec(self)?;
        text.push(b'\n');
        into.write_all(&text)
    }
}

impl NamedKernel {
    pub(super) fn of(kernel: &Kernel) -> Self {
        let attribution = |part: &Attribution| NamedAttribution { operator: part.operator.index(), exact: part.exact };
        Self {
            name: kernel.name.clone(),
            op: kernel.op.clone(),
            operators: kernel.operators.iter().map(attribution).collect(),
            inputs: kernel.input_types.iter().map(TensorKind::of).collect(),
            outputs: kernel.output_types.iter().map(TensorKind::of).collect(),
            cost: None,
        }
    }
}

impl NamedOperator {
    fn of(operator: &Operator, graph: &Graph) -> Self {
        let value = |id: &Option<ValueId>| id.map(|id| NamedValue::of(graph.value(id)));
        Self {
            name: operator.name.clone(),
            op_type: operator.op_type.clone(),
            domain: operator.domain.clone(),
            inputs: operator.inputs.iter().map(value).collect(),
            outputs: operator.outputs.iter().map(value).collect(),
            origin: operator.origin.clone(),
        }
    }
}

impl NamedValue {
    fn of(value: &Value) -> Self {
        let extent = |dim: &Dim| match dim {
            Dim::Fixed(number) => Extent::Fixed(*number),
            Dim::Symbol(_) => Extent::Symbol(dim.to_string()),
        };
        Self {
            name: value.name.clone(),
            dtype: value.dtype,
            shape: value.shape.as_ref().map(|shape| shape.iter().map(extent).collect()),
        }
    }
}

impl TensorKind {
    fn of(kind: &TensorType) -> Self {
        Self { dtype: kind.dtype, shape: kind.shape.clone() }
    }
}
