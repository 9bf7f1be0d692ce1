use std::collections::HashMap;

use opscope_onnx::{Attribute, Graph, Operator, Producer, ValueId};
use opscope_tensor::{DType, compared_in};

/// The rounding on the way to a value: the types in which the value itself and everything that it is computed from are
/// stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Rounding {
    /// The coarsest of the floating-point types; `None` if no number was rounded.
    pub coarsest: Option<DType>,
    /// Whether numbers were rounded to 8 bits or fewer.
    pub quantised: bool,
}

/// The rounding of all values of a graph, by the names of the values.
#[derive(Debug, Clone)]
pub(super) struct Roundings {
    of: HashMap<String, Rounding>,
    /// Whether an operator of the graph rounds to 8 bits or fewer.
    pub quantises: bool,
}

impl Roundings {
    /// Follows the operators of a graph, including those in bodies. Inputs that only give a value its shape do not
    /// count.
    pub fn of(graph: &Graph) -> Self {
        let mut roundings = vec![Rounding::default(); graph.all_values().count()];
        for value in graph.all_values().filter(|value| !matches!(value.producer, Producer::Operator(..))) {
            roundings[value.id.index()] = Rounding::of_type(value.dtype);
        }
        // A loop's body takes its own outputs of the previous iteration, so this is repeated until nothing changes.
        while graph.all_operators().fold(false, |changed, operator| follow(graph, operator, &mut roundings) | changed) {
        }
        let of = graph.all_values().map(|value| (value.name.clone(), roundings[value.id.index()])).collect();
        Self { of, quantises: graph.all_operators().any(|operator| quantises(&operator.op_type)) }
    }

    /// Returns the coarsest floating-point type of all.
    pub fn coarsest(&self) -> Option<DType> {
        self.of.values().filter_map(|rounding| rounding.coarsest).reduce(compared_in)
    }

    /// Returns the rounding of the value with this name.
    pub fn to(&self, value: &str) -> Option<Rounding> {
        self.of.get(value).copied()
    }
}

/// Returns whether operators of this type round numbers to 8 bits or fewer, or compute with such numbers.
pub(super) fn quantises(op_type: &str) -> bool {
    op_type.ends_with("uantizeLinear")
        || op_type.starts_with("QLinear")
        || op_type.ends_with("Integer")
        || op_type.ends_with("IntegerToFloat")
        || ["QGemm", "QAttention", "MatMulNBits"].contains(&op_type)
}

/// Returns whether an operator only moves values or widens them, so that its output has no error that its inputs do not
/// have.
pub(super) fn only_moves(graph: &Graph, operator: &Operator) -> bool {
    const MOVES: [&str; 19] = [
        "Compress",
        "Concat",
        "DepthToSpace",
        "Expand",
        "Flatten",
        "Gather",
        "GatherElements",
        "GatherND",
        "Identity",
        "Pad",
        "Reshape",
        "ReverseSequence",
        "Slice",
        "SpaceToDepth",
        "Split",
        "Squeeze",
        "Tile",
        "Transpose",
        "Unsqueeze",
    ];
    if !operator.domain.is_empty() {
        return false;
    }
    match (operator.op_type.as_str(), cast_to(operator)) {
        ("Cast", Some(to)) => {
            let from = operator.inputs.first().copied().flatten().and_then(|value| graph.value(value).dtype);
            // If the file does not give the source type, it is rarely the widest type.
            from.map_or(to == DType::F32 || to == DType::F64, |from| {
                from.is_float() && to.is_float() && compared_in(to, from) == from
            })
        }
        // With a reduction, it combines the new elements with the old ones.
        ("ScatterElements" | "ScatterND", _) => operator.text("reduction").is_none_or(|reduction| reduction == "none"),
        // Its third input switches to training mode, in which it drops elements and scales the others.
        ("Dropout", _) => operator.inputs.get(2).copied().flatten().is_none(),
        (op_type, _) => MOVES.contains(&op_type),
    }
}

impl Rounding {
    fn of_type(dtype: Option<DType>) -> Self {
        let floats = [DType::F16, DType::Bf16, DType::F32, DType::F64];
        Self { coarsest: dtype.filter(|dtype| floats.contains(dtype)), quantised: false }
    }

    /// Returns the rounding of both together.
    pub fn and(self, other: Self) -> Self {
        let coarsest = match (self.coarsest, other.coarsest) {
            (Some(one), Some(other)) => Some(compared_in(one, other)),
            (one, other) => one.or(other),
        };
        Self { coarsest, quantised: self.quantised || other.quantised }
    }
}

/// Sets the rounding of the outputs of an operator, and of the inputs of its bodies. Returns whether one of them
/// changed.
fn follow(graph: &Graph, operator: &Operator, roundings: &mut [Rounding]) -> bool {
    let all = |values: &mut dyn Iterator<Item = ValueId>, roundings: &[Rounding]| {
        values.fold(Rounding::default(), |rounding, value| rounding.and(roundings[value.index()]))
    };
    let bodies = graph.bodies_of(operator.id);
    let is_shape = matches!(operator.op_type.as_str(), "Shape" | "Size") && operator.domain.is_empty();
    let taken = match is_shape {
        true => Rounding::default(),
        false => all(&mut operator.inputs.iter().flatten().chain(&operator.captures).copied(), roundings),
    };
    let given = all(&mut bodies.iter().flat_map(|body| body.outputs.iter().copied()), roundings);
    let constant = operator.attributes.values().find_map(|attribute| match attribute {
        Attribute::Tensor(tensor) => tensor.dtype,
        _ => None,
    });
    let own = Rounding { quantised: quantises(&operator.op_type), ..Rounding::of_type(constant) };
    let rounding = taken.and(given).and(own).and(Rounding::of_type(cast_to(operator)));
    let mut changed = false;
    let mut set = |value: ValueId, rounding: Rounding| {
        let rounding = rounding.and(Rounding::of_type(graph.value(value).dtype));
        changed |= roundings[value.index()] != rounding;
        roundings[value.index()] = rounding;
    };
    operator.outputs.iter().flatten().for_each(|&output| set(output, rounding));
    bodies.iter().flat_map(|body| &body.inputs).for_each(|&input| set(input, rounding));
    changed
}

/// Returns the type to which a `Cast` converts.
fn cast_to(operator: &Operator) -> Option<DType> {
    match operator.attributes.get("to") {
        Some(Attribute::Int(to)) if operator.op_type == "Cast" => DType::from_onnx(i32::try_from(*to).ok()?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use opscope_model::testing::GraphBuilder;

    use super::*;

    fn model(name: &str) -> Graph {
        Graph::load(&Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models")).join(name)).expect("a model")
    }

    #[test]
    fn a_cast_to_half_precision_counts_for_what_is_computed_from_it_and_for_nothing_else() {
        let roundings = Roundings::of(&model("precision/mixed.onnx"));
        let coarsest = |value| roundings.to(value).expect("a value").coarsest;
        assert_eq!(["half", "product", "wide", "same", "small"].map(coarsest), [Some(DType::F16); 5]);
        assert_eq!(["x", "beginning", "plain"].map(coarsest), [Some(DType::F32); 3]);
        assert!(!roundings.quantises);
    }

    #[test]
    fn what_is_computed_from_8_bits_is_quantised() {
        for name in ["precision/digits_qdq.onnx", "precision/digits_qoperator.onnx"] {
            let roundings = Roundings::of(&model(name));
            assert!(roundings.quantises, "{name}");
            let quantised = |value| roundings.to(value).expect("a value").quantised;
            assert!(quantised("probabilities") && quantised("/conv1/Conv_output_0") && !quantised("image"), "{name}");
        }
        assert!(!Roundings::of(&model("digits_cnn.onnx")).quantises);
    }

    #[test]
    fn a_body_passes_on_what_it_takes() {
        let roundings = Roundings::of(&model("fixtures/loop.onnx"));
        assert_eq!(roundings.to("y").expect("its output").coarsest, Some(DType::F32));
    }

    #[test]
    fn what_an_iteration_rounds_is_rounded_in_the_next_one() {
        let half = Attribute::Int(DType::F16.onnx_code().into());
        let graph = GraphBuilder::new("looping")
            .input("x", &[4])
            .operator("loop", "Loop", &["x"], &["y"])
            .operator("other", "Neg", &["x"], &["plain"])
            .output("y")
            .body("loop", "body")
            .input("state", &[4])
            .operator("early", "Neg", &["state"], &["early"])
            .operator("half", "Cast", &["early"], &["half"])
            .output("half")
            .attribute("to", &half)
            .build();
        let roundings = Roundings::of(&graph);
        let coarsest = |value| roundings.to(value).expect("a value").coarsest;
        assert_eq!(["loop/state", "loop/early", "loop/half", "y"].map(coarsest), [Some(DType::F16); 4]);
        assert_eq!(["x", "plain"].map(coarsest), [Some(DType::F32); 2]);
    }

    #[test]
    fn a_constant_is_as_coarse_as_its_tensor() {
        let coarsest = |dtype| {
            let tensor = opscope_onnx::TensorInfo { dtype, shape: vec![4] };
            let graph = GraphBuilder::new("constant").operator("c", "Constant", &[], &["c"]);
            let graph =
                graph.attribute("value", &Attribute::Tensor(tensor)).operator("n", "Neg", &["c"], &["y"]).build();
            let roundings = Roundings::of(&graph);
            ["c", "y"].map(|value| roundings.to(value).expect("a value").coarsest)
        };
        assert_eq!(coarsest(Some(DType::F16)), [Some(DType::F16); 2]);
        assert_eq!(coarsest(Some(DType::F64)), [Some(DType::F32); 2], "the values' own type is coarser");
        assert_eq!(coarsest(None), [Some(DType::F32); 2]);
    }

    #[test]
    fn operators_that_only_move_values_and_casts_to_finer_types_are_exact() {
        let graph = model("precision/mixed.onnx");
        let moving: Vec<&str> =
            graph.all_operators().filter(|one| only_moves(&graph, one)).map(|one| &*one.op_type).collect();
        assert_eq!(moving, ["Cast", "Identity", "Slice", "Slice"]);
        let wide = graph.value_named("wide").expect("a value");
        assert!(matches!(wide.producer, Producer::Operator(id, _) if only_moves(&graph, graph.operator(id))));
    }
    #[test]
    fn what_reduces_into_what_was_there_and_what_trains_computes() {
        let graph = |reduction: &str| {
            GraphBuilder::new("scattered")
                .input("x", &[4])
                .operator("elements", "ScatterElements", &["x", "x", "x"], &["a"])
                .operator("nd", "ScatterND", &["x", "x", "x"], &["b"])
                .operator("dropout", "Dropout", &["x", "x"], &["c"])
                .operator("training", "Dropout", &["x", "", "x"], &["d"])
                .attribute("reduction", &Attribute::String(reduction.to_owned()))
                .build()
        };
        let moving = |reduction: &str| -> Vec<String> {
            let graph = graph(reduction);
            graph.all_operators().filter(|one| only_moves(&graph, one)).map(|one| one.name.clone()).collect()
        };
        assert_eq!(moving("none"), ["elements", "nd", "dropout"]);
        assert_eq!(moving("add"), ["dropout"]);
    }

    #[test]
    fn operators_that_round_to_few_bits_are_told_by_their_types() {
        for op_type in [
            "QuantizeLinear",
            "DequantizeLinear",
            "DynamicQuantizeLinear",
            "QLinearConv",
            "QLinearAdd",
            "MatMulInteger",
            "ConvInteger",
            "MatMulIntegerToFloat",
            "QGemm",
            "QAttention",
            "MatMulNBits",
        ] {
            assert!(quantises(op_type), "{op_type}");
        }
        for op_type in ["Conv", "MatMul", "Gemm", "Attention", "Cast", "LinearQ", "IntegerMatMul", "Quantize", ""] {
            assert!(!quantises(op_type), "{op_type}");
        }
    }

    /// Returns whether an operator of this type only moves values, in a graph whose values have this type.
    fn moves(op_type: &str, dtype: Option<DType>, to: Option<DType>) -> bool {
        let mut graph = GraphBuilder::new("one").input("x", &[4]).operator("op", op_type, &["x"], &["y"]);
        if let Some(to) = to {
            graph = graph.attribute("to", &Attribute::Int(to.onnx_code().into()));
        }
        let mut graph = graph.build();
        graph.values[0].dtype = dtype;
        only_moves(&graph, &graph.operators[0])
    }

    #[test]
    fn moving_operators_are_those_that_compute_nothing() {
        let moving = "Compress Concat DepthToSpace Expand Flatten Gather GatherElements GatherND Identity Pad Reshape \
                      ReverseSequence Slice SpaceToDepth Split Squeeze Tile Transpose Unsqueeze ScatterND ScatterElements";
        for op_type in moving.split_whitespace() {
            assert!(moves(op_type, Some(DType::F32), None), "{op_type}");
        }
        for op_type in ["Add", "Relu", "MaxPool", "Where", "Resize", "Cast", "Shape", "TopK", "OneHot"] {
            assert!(!moves(op_type, Some(DType::F32), None), "{op_type}");
        }
    }

    #[test]
    fn a_cast_is_exact_to_a_type_that_is_as_fine_or_finer() {
        use DType::{Bf16, F16, F32, F64, I32};
        // From the coarsest to the finest.
        let floats = [Bf16, F16, F32, F64];
        for (at, from) in floats.into_iter().enumerate() {
            for (other, to) in floats.into_iter().enumerate() {
                assert_eq!(moves("Cast", Some(from), Some(to)), other >= at, "{from} to {to}");
            }
            assert!(!moves("Cast", Some(from), Some(I32)) && !moves("Cast", Some(I32), Some(from)));
        }
        // The file does not give the source type.
        assert_eq!(floats.map(|to| moves("Cast", None, Some(to))), [false, false, true, true]);
        assert!(!moves("Cast", None, Some(I32)));
    }

    #[test]
    fn two_ways_together_have_the_coarser_type_and_are_quantised_if_one_is() {
        let rounding = |coarsest, quantised| Rounding { coarsest, quantised };
        let (half, single) = (Some(DType::F16), Some(DType::F32));
        assert_eq!(rounding(half, false).and(rounding(single, false)), rounding(half, false));
        assert_eq!(rounding(single, true).and(rounding(half, false)), rounding(half, true));
        assert_eq!(rounding(None, false).and(rounding(single, true)), rounding(single, true));
        assert_eq!(rounding(single, false).and(rounding(None, false)), rounding(single, false));
        let of = |dtype| Rounding::of_type(Some(dtype)).coarsest;
        assert_eq!([DType::F64, DType::Bf16].map(of), [Some(DType::F64), Some(DType::Bf16)]);
        assert_eq!([DType::I8, DType::F8E5M2, DType::Complex64].map(of), [None; 3]);
    }
}
