use std::collections::HashMap;

use opscope_onnx::{Attribute, Graph, Operator, Producer, ValueId};
use opscope_tensor::{DType, compared_in};

/// What rounds on the way to a value: what the value itself and everything that it is computed from are stored in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Way {
    /// The coarsest of the floating-point types; `None` if no number was rounded.
    pub coarsest: Option<DType>,
    /// Whether numbers were rounded to 8 bits or fewer.
    pub quantised: bool,
}

/// The ways to all values of a graph, by the names of the values.
#[derive(Debug, Clone)]
pub(super) struct Ways {
    of: HashMap<String, Way>,
    /// Whether an operator of the graph rounds to 8 bits or fewer.
    pub quantises: bool,
}

impl Ways {
    /// Follows the operators of a graph, also those of bodies. The data of a value does not depend on what only gives it a
    /// shape.
    pub fn of(graph: &Graph) -> Self {
        let mut ways = vec![Way::default(); graph.all_values().count()];
        for value in graph.all_values().filter(|value| !matches!(value.producer, Producer::Operator(..))) {
            ways[value.id.index()] = Way::of_type(value.dtype);
        }
        // A loop's body takes what it gave in the iteration before, so it is followed until nothing changes.
        while graph.all_operators().fold(false, |changed, operator| follow(graph, operator, &mut ways) | changed) {}
        let of = graph.all_values().map(|value| (value.name.clone(), ways[value.id.index()])).collect();
        Self { of, quantises: graph.all_operators().any(|operator| quantises(&operator.op_type)) }
    }

    /// Returns the coarsest floating-point type of all.
    pub fn coarsest(&self) -> Option<DType> {
        self.of.values().filter_map(|way| way.coarsest).reduce(compared_in)
    }

    /// Returns the way to the value of this name.
    pub fn to(&self, value: &str) -> Option<Way> {
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

/// Returns whether an operator only moves values, or widens them: its output has no error that its inputs do not have.
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
            // A file that does not say what is cast rarely casts from the widest type.
            from.map_or(to == DType::F32 || to == DType::F64, |from| {
                from.is_float() && to.is_float() && compared_in(to, from) == from
            })
        }
        // It adds, multiplies or compares what it replaces with what was there.
        ("ScatterElements" | "ScatterND", _) => operator.text("reduction").is_none_or(|reduction| reduction == "none"),
        // Its third input says that it is trained: then it drops elements and scales the others.
        ("Dropout", _) => operator.inputs.get(2).copied().flatten().is_none(),
        (op_type, _) => MOVES.contains(&op_type),
    }
}

impl Way {
    fn of_type(dtype: Option<DType>) -> Self {
        let floats = [DType::F16, DType::Bf16, DType::F32, DType::F64];
        Self { coarsest: dtype.filter(|dtype| floats.contains(dtype)), quantised: false }
    }

    /// Returns what rounds on either of two ways.
    pub fn and(self, other: Self) -> Self {
        let coarsest = match (self.coarsest, other.coarsest) {
            (Some(one), Some(other)) => Some(compared_in(one, other)),
            (one, other) => one.or(other),
        };
        Self { coarsest, quantised: self.quantised || other.quantised }
    }
}

/// Sets the ways to what an operator gives, and to what its bodies take. Returns whether one of them changed.
fn follow(graph: &Graph, operator: &Operator, ways: &mut [Way]) -> bool {
    let all = |values: &mut dyn Iterator<Item = ValueId>, ways: &[Way]| {
        values.fold(Way::default(), |way, value| way.and(ways[value.index()]))
    };
    let bodies = graph.bodies_of(operator.id);
    let is_shape = matches!(operator.op_type.as_str(), "Shape" | "Size") && operator.domain.is_empty();
    let taken = match is_shape {
        true => Way::default(),
        false => all(&mut operator.inputs.iter().flatten().chain(&operator.captures).copied(), ways),
    };
    let given = all(&mut bodies.iter().flat_map(|body| body.outputs.iter().copied()), ways);
    let constant = operator.attributes.values().find_map(|attribute| match attribute {
        Attribute::Tensor(tensor) => tensor.dtype,
        _ => None,
    });
    let own = Way { quantised: quantises(&operator.op_type), ..Way::of_type(constant) };
    let way = taken.and(given).and(own).and(Way::of_type(cast_to(operator)));
    let mut changed = false;
    let mut set = |value: ValueId, way: Way| {
        let way = way.and(Way::of_type(graph.value(value).dtype));
        changed |= ways[value.index()] != way;
        ways[value.index()] = way;
    };
    operator.outputs.iter().flatten().for_each(|&output| set(output, way));
    bodies.iter().flat_map(|body| &body.inputs).for_each(|&input| set(input, way));
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
        let ways = Ways::of(&model("precision/mixed.onnx"));
        let coarsest = |value| ways.to(value).expect("a value").coarsest;
        assert_eq!(["half", "product", "wide", "same", "small"].map(coarsest), [Some(DType::F16); 5]);
        assert_eq!(["x", "beginning", "plain"].map(coarsest), [Some(DType::F32); 3]);
        assert!(!ways.quantises);
    }

    #[test]
    fn what_is_computed_from_8_bits_is_quantised() {
        for name in ["precision/digits_qdq.onnx", "precision/digits_qoperator.onnx"] {
            let ways = Ways::of(&model(name));
            assert!(ways.quantises, "{name}");
            let quantised = |value| ways.to(value).expect("a value").quantised;
            assert!(quantised("probabilities") && quantised("/conv1/Conv_output_0") && !quantised("image"), "{name}");
        }
        assert!(!Ways::of(&model("digits_cnn.onnx")).quantises);
    }

    #[test]
    fn a_body_passes_on_what_it_takes() {
        let ways = Ways::of(&model("fixtures/loop.onnx"));
        assert_eq!(ways.to("y").expect("its output").coarsest, Some(DType::F32));
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
        let ways = Ways::of(&graph);
        let coarsest = |value| ways.to(value).expect("a value").coarsest;
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
            let ways = Ways::of(&graph);
            ["c", "y"].map(|value| ways.to(value).expect("a value").coarsest)
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
        // Where the file does not say what is cast.
        assert_eq!(floats.map(|to| moves("Cast", None, Some(to))), [false, false, true, true]);
        assert!(!moves("Cast", None, Some(I32)));
    }

    #[test]
    fn two_ways_together_have_the_coarser_type_and_are_quantised_if_one_is() {
        let way = |coarsest, quantised| Way { coarsest, quantised };
        let (half, single) = (Some(DType::F16), Some(DType::F32));
        assert_eq!(way(half, false).and(way(single, false)), way(half, false));
        assert_eq!(way(single, true).and(way(half, false)), way(half, true));
        assert_eq!(way(None, false).and(way(single, true)), way(single, true));
        assert_eq!(way(single, false).and(way(None, false)), way(single, false));
        let of = |dtype| Way::of_type(Some(dtype)).coarsest;
        assert_eq!([DType::F64, DType::Bf16].map(of), [Some(DType::F64), Some(DType::Bf16)]);
        assert_eq!([DType::I8, DType::F8E5M2, DType::Complex64].map(of), [None; 3]);
    }
}
