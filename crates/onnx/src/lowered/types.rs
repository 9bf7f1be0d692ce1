//! Which operators may compute in a narrower type.

use std::collections::HashMap;
use std::sync::LazyLock;

use opscope_tensor::DType;

use crate::{Attribute, Graph, Operator, ValueId};

/// For each of ONNX's operators with float32 outputs: what holds from a version of the operator set on, for fp16 and for
/// bf16. Written by `scripts/onnx-float-types` from ONNX's own schemas.
const TABLE: &str = include_str!("types.txt");

/// What stays float32 of an operator that computes in a narrower type, by slot.
#[derive(Debug, Default)]
pub(super) struct Fixed {
    pub inputs: Vec<usize>,
    pub outputs: Vec<usize>,
}

/// `None` if the operator cannot compute in the type.
type Rule = Option<Fixed>;

struct Row {
    since: i64,
    fp16: Rule,
    bf16: Rule,
}

static ROWS: LazyLock<HashMap<&'static str, Vec<Row>>> = LazyLock::new(|| {
    let mut rows: HashMap<_, Vec<Row>> = HashMap::new();
    for line in TABLE.lines() {
        let mut cells = line.split(' ');
        let mut cell = || cells.next().unwrap_or_default();
        let (name, since) = (cell(), cell().parse().unwrap_or(0));
        rows.entry(name).or_default().push(Row { since, fp16: rule(cell()), bf16: rule(cell()) });
    }
    rows
});

fn rule(cell: &str) -> Rule {
    match cell {
        "no" => None,
        "yes" => Some(Fixed::default()),
        fixed => {
            let slots = |kind| fixed.split(',').filter_map(move |slot| slot.strip_prefix(kind)?.parse().ok()).collect();
            Some(Fixed { inputs: slots('i'), outputs: slots('o') })
        }
    }
}

/// Operators whose output type is an attribute, that draw random numbers, or that handle sequences. They stay as they are.
const LEFT: &[&str] = &[
    "Bernoulli",
    "BitCast",
    "Cast",
    "CastLike",
    "ConcatFromSequence",
    "Constant",
    "ConstantOfShape",
    "EyeLike",
    "Multinomial",
    "Range",
];

/// Completes the types of values, where nothing else says them, by those of the operators' inputs and of the graphs inside
/// them. Returns whether one became known.
pub(super) fn complete(graph: &Graph, types: &mut [Option<DType>]) -> bool {
    let mut found = false;
    let mut set = |types: &mut [Option<DType>], value: ValueId, dtype: Option<DType>| {
        if types[value.index()].is_none() && dtype.is_some() {
            types[value.index()] = dtype;
            found = true;
        }
    };
    for operator in graph.all_operators() {
        let bodies = graph.bodies_of(operator.id);
        // A loop's body begins with the number of the iteration and a condition; its outputs, with the condition.
        let is_loop = operator.op_type == "Loop";
        for body in bodies {
            for (slot, input) in body.inputs.iter().enumerate() {
                let dtype = match (is_loop, slot) {
                    (true, 0) => Some(DType::I64),
                    (true, 1) => Some(DType::Bool),
                    _ => operator.inputs.get(slot).copied().flatten().and_then(|passed| types[passed.index()]),
                };
                set(types, *input, dtype);
            }
        }
        for (slot, output) in operator.outputs.iter().enumerate().filter_map(|(slot, output)| Some((slot, (*output)?)))
        {
            let dtype = match bodies.is_empty() {
                true => of_output(operator, types),
                false => bodies.iter().find_map(|body| types[body.outputs.get(slot + usize::from(is_loop))?.index()]),
            };
            set(types, output, dtype);
        }
    }
    found
}

/// Returns the type of an operator's outputs: that of its first input, unless the operator has a type of its own.
fn of_output(operator: &Operator, types: &[Option<DType>]) -> Option<DType> {
    let of_input = |slot: usize| types[operator.inputs.get(slot).copied().flatten()?.index()];
    match operator.op_type.as_str() {
        "Shape" | "Size" | "ArgMax" | "ArgMin" | "NonZero" => Some(DType::I64),
        "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "And" | "Or" | "Not" | "Xor" | "IsNaN"
        | "IsInf" => Some(DType::Bool),
        "Cast" => operator.int("to").and_then(|code| DType::from_onnx(i32::try_from(code).ok()?)),
        "ConstantOfShape" => match operator.attributes.get("value") {
            Some(Attribute::Tensor(tensor)) => tensor.dtype,
            _ => Some(DType::F32),
        },
        "Where" => of_input(1),
        _ => of_input(0),
    }
}

/// Returns what stays float32 of an operator that computes in `dtype`. Returns `None` if it cannot compute in that type,
/// by ONNX's rules or because it has graphs inside.
pub(super) fn fixed(graph: &Graph, operator: &Operator, dtype: DType) -> Option<&'static Fixed> {
    let name = operator.op_type.as_str();
    let stays = LEFT.contains(&name) || ["Random", "Sequence", "Optional"].iter().any(|word| name.starts_with(word));
    if !operator.domain.is_empty() || stays || !graph.bodies_of(operator.id).is_empty() {
        return None;
    }
    let version = graph.opsets.get("").copied().unwrap_or(1);
    let row = ROWS.get(name)?.iter().rev().find(|row| row.since <= version)?;
    match dtype {
        DType::F16 => row.fp16.as_ref(),
        DType::Bf16 => row.bf16.as_ref(),
        _ => None,
    }
}
