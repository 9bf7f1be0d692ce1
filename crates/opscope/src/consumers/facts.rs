use opscope_model::{Engine, Fidelity, Kernel};
use opscope_onnx::{Graph, Operator};
use opscope_producer::{KernelFacts, ModelFacts, OperatorFacts};
use opscope_tensor::DType;

/// Returns the facts that consumers get about a model.
pub(super) fn of_model<'a>(graph: &'a Graph, engine: &'a dyn Engine, fidelity: Fidelity) -> ModelFacts<'a> {
    ModelFacts {
        name: &graph.name,
        path: &graph.source.path,
        engine: engine.name(),
        engine_version: engine.version(),
        fidelity: match fidelity {
            Fidelity::Optimised => opscope_producer::Fidelity::Optimised,
            Fidelity::Exact => opscope_producer::Fidelity::Exact,
        },
    }
}

/// Returns the facts that consumers get about an operator.
pub(super) fn of_operator(operator: &Operator) -> OperatorFacts<'_> {
    OperatorFacts { name: &operator.name, op_type: &operator.op_type, domain: &operator.domain }
}

/// Returns the facts that consumers get about a kernel.
pub(super) fn of_kernel<'a>(graph: &'a Graph, kernel: &'a Kernel) -> KernelFacts<'a> {
    let operator = kernel.operator().map(|operator| graph.operator(operator));
    let output = kernel.output_types.first();
    KernelFacts {
        operator_name: operator.map_or(&kernel.name, |operator| &operator.name),
        operator_type: operator.map_or(&kernel.op, |operator| &operator.op_type),
        name: &kernel.name,
        op: &kernel.op,
        operators: kernel.operators.iter().map(|of| (of.operator.index() as u64, of.exact)).collect(),
        output_dtype: output.and_then(|output| output.dtype).map_or("", DType::name),
        output_shape: output.map(|output| output.shape.iter().map(|&size| size as u64).collect()).unwrap_or_default(),
    }
}
