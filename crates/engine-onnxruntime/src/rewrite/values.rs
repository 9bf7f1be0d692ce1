//! What is known about values before the library reads the file.

use opscope_onnx::{Graph, Operator, Producer, ValueId};

/// Returns whether the file contains a value.
pub(crate) fn is_constant(graph: &Graph, value: ValueId) -> bool {
    match graph.value(value).producer {
        Producer::Initializer => true,
        Producer::Input => false,
        Producer::Operator(operator, _) => graph.operator(operator).is_constant(),
    }
}

/// The kind of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tensor,
    /// A sequence, an optional or a map.
    Other,
}

/// Returns for each value, by its id, whether it is a tensor.
///
/// The kinds follow from the operators: some create sequences, optionals or maps, and some pass on what they receive.
pub(crate) fn tensors(graph: &Graph) -> Vec<bool> {
    let count = graph.values.len() + graph.inner_values.len();
    let mut kinds = vec![Kind::Tensor; count];
    // A body's inputs are known once its operator's are, and the operator's outputs once its body's outputs are. Each
    // round goes one body deeper or further out, so a file with a few levels needs as many rounds.
    for _ in 0..=deepest(graph) * 2 + 1 {
        let before = kinds.clone();
        for operator in graph.all_operators() {
            judge(graph, operator, &mut kinds);
        }
        if kinds == before {
            break;
        }
    }
    kinds.into_iter().map(|kind| kind == Kind::Tensor).collect()
}

fn deepest(graph: &Graph) -> usize {
    graph.inner_operators.iter().map(|operator| graph.owners_of(operator.id).len()).max().unwrap_or(0)
}

fn judge(graph: &Graph, operator: &Operator, kinds: &mut [Kind]) {
    let of = |kinds: &[Kind], value: Option<ValueId>| value.map_or(Kind::Tensor, |value| kinds[value.index()]);
    let set = |kinds: &mut [Kind], value: Option<ValueId>, kind: Kind| {
        if let Some(value) = value.filter(|_| kind == Kind::Other) {
            kinds[value.index()] = kind;
        }
    };
    let first = of(kinds, operator.inputs.first().copied().flatten());
    match (operator.domain.as_str(), operator.op_type.as_str()) {
        (
            "",
            "SequenceEmpty" | "SequenceConstruct" | "SequenceInsert" | "SequenceErase" | "SplitToSequence"
            | "SequenceMap" | "Optional",
        )
        | ("ai.onnx.ml", "ZipMap") => {
            for &output in &operator.outputs {
                set(kinds, output, Kind::Other);
            }
        }
        // An optional that contains a tensor yields a tensor; one with a sequence does not. The operator that created
        // it shows which it is.
        ("", "Identity") => set(kinds, operator.outputs.first().copied().flatten(), first),
        ("", "OptionalGetElement") => {
            let kind = if first == Kind::Other { element_of_optional(graph, operator, kinds) } else { first };
            set(kinds, operator.outputs.first().copied().flatten(), kind);
        }
        ("", "If") => {
            for body in graph.bodies_of(operator.id) {
                for (&output, &inner) in operator.outputs.iter().zip(&body.outputs) {
                    let kind = of(kinds, Some(inner));
                    set(kinds, output, kind);
                }
            }
        }
        ("", "Loop") => {
            for body in graph.bodies_of(operator.id) {
                let carried = operator.inputs.iter().skip(2).copied();
                for (input, &inner) in carried.zip(body.inputs.iter().skip(2)) {
                    let kind = of(kinds, input);
                    set(kinds, Some(inner), kind);
                }
                for (&output, &inner) in operator.outputs.iter().zip(body.outputs.iter().skip(1)) {
                    let kind = of(kinds, Some(inner));
                    set(kinds, output, kind);
                }
            }
        }
        _ => {}
    }
}

/// Returns what an optional contains, as far as the operator that created it shows that.
fn element_of_optional(graph: &Graph, operator: &Operator, kinds: &[Kind]) -> Kind {
    let mut value = operator.inputs.first().copied().flatten();
    while let Some(id) = value {
        let Producer::Operator(maker, _) = graph.value(id).producer else { return Kind::Tensor };
        let maker = graph.operator(maker);
        value = maker.inputs.first().copied().flatten();
        match maker.op_type.as_str() {
            "Identity" => {}
            "Optional" => return value.map_or(Kind::Tensor, |value| kinds[value.index()]),
            _ => return Kind::Other,
        }
    }
    Kind::Tensor
}
