//! The largest magnitude that the elements of an output can have.

use std::collections::{BTreeSet, HashMap};
use std::f64::consts::FRAC_PI_2;

use opscope_onnx::{Attribute, Graph, OnnxError, Operator, OperatorId, Producer, ValueId};
use opscope_tensor::{Detail, ScanQuery, ScanResult};

/// An output whose elements come out of bounded functions, such as a Sigmoid, and are only moved or reduced after that.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bounded {
    /// The largest magnitude that an element can have.
    pub scale: f64,
    /// The operators of the main graph that compute the functions.
    pub functions: BTreeSet<OperatorId>,
}

/// The most operators between an output and its function.
const FURTHEST: usize = 256;

/// The most elements of a constant that is read to find their largest magnitude.
const LARGEST_CONSTANT: usize = 4096;

impl Bounded {
    /// Walks back from a value to the functions that it comes from. Returns `None` if one of them is not bounded.
    pub fn of(graph: &Graph, value: ValueId) -> Option<Self> {
        let mut walk = Walk { graph, known: HashMap::new(), functions: BTreeSet::new() };
        let scale = walk.scale(value, FURTHEST)?;
        Some(Self { scale, functions: walk.functions })
    }
}

/// The source of the elements of an operator's output.
enum Origin<'a> {
    /// A function of the first input. Its results have at most this magnitude.
    Function(f64),
    /// These inputs. Each element is one of theirs, a mean of some of theirs, or closer to zero.
    Inputs(Vec<&'a Option<ValueId>>),
    /// The output of each body in this slot, and these inputs.
    Bodies(usize, Vec<&'a Option<ValueId>>),
    /// Anything else.
    Other,
}

struct Walk<'a> {
    graph: &'a Graph,
    known: HashMap<ValueId, Option<f64>>,
    functions: BTreeSet<OperatorId>,
}

impl Walk<'_> {
    fn scale(&mut self, value: ValueId, most: usize) -> Option<f64> {
        if let Some(known) = self.known.get(&value) {
            return *known;
        }
        let graph = self.graph;
        let found = match graph.value(value).producer {
            Producer::Operator(operator, slot) if most > 0 => {
                let operator = graph.operator(operator);
                match self.origin(operator, slot) {
                    Origin::Function(scale) => {
                        self.functions.extend((operator.id.index() < graph.operators.len()).then_some(operator.id));
                        Some(scale)
                    }
                    Origin::Inputs(inputs) => self.largest(inputs.into_iter().flatten().copied().collect(), most - 1),
                    Origin::Bodies(slot, inputs) => {
                        let of_bodies = graph.bodies_of(operator.id).iter().map(|body| body.outputs.get(slot).copied());
                        let of_bodies: Option<Vec<ValueId>> = of_bodies.collect();
                        let values = of_bodies?.into_iter().chain(inputs.into_iter().flatten().copied()).collect();
                        self.largest(values, most - 1)
                    }
                    Origin::Other => None,
                }
            }
            _ => None,
        };
        self.known.insert(value, found);
        found
    }

    /// Returns the largest scale of the computed values. Returns `None` if one of them is not bounded, or if a constant
    /// among the values exceeds that scale.
    fn largest(&mut self, values: Vec<ValueId>, most: usize) -> Option<f64> {
        let (constants, computed): (Vec<_>, Vec<_>) = values.into_iter().partition(|value| self.is_constant(*value));
        let mut largest: Option<f64> = None;
        for value in computed {
            largest = Some(self.scale(value, most)?.max(largest.unwrap_or(0.0)));
        }
        let largest = largest?;
        constants.into_iter().all(|constant| self.is_within(constant, largest)).then_some(largest)
    }

    fn is_constant(&self, value: ValueId) -> bool {
        match self.graph.value(value).producer {
            Producer::Initializer => true,
            Producer::Operator(operator, _) => self.graph.operator(operator).is_constant(),
            Producer::Input => false,
        }
    }

    /// Returns whether all elements of a constant have at most this magnitude.
    fn is_within(&self, constant: ValueId, largest: f64) -> bool {
        let query =
            ScanQuery { nan: Detail::Presence, infinite: Detail::Presence, absmax: true, ..ScanQuery::default() };
        let mut is_within = false;
        let read = self.graph.constants::<OnnxError>(
            |value| value == constant,
            |_, tensor| {
                let is_small = |scan: ScanResult| {
                    scan.nan == 0 && scan.infinite == 0 && scan.absmax.is_none_or(|absmax| absmax <= largest)
                };
                let scan = (tensor.elements() <= LARGEST_CONSTANT).then(|| ScanResult::of(&tensor.view(), query).ok());
                is_within = scan.flatten().is_some_and(is_small);
                Ok(())
            },
        );
        read.is_ok() && is_within
    }

    fn origin<'o>(&self, operator: &'o Operator, slot: usize) -> Origin<'o> {
        if !["", "ai.onnx", "com.microsoft"].contains(&&*operator.domain) {
            return Origin::Other;
        }
        let inputs = &operator.inputs[..];
        let first = || Origin::Inputs(inputs.iter().take(1).collect());
        let is_cubic = || operator.text("mode").is_some_and(|mode| mode.contains("cubic"));
        match (&*operator.op_type, slot) {
            ("Sigmoid" | "HardSigmoid" | "Softmax" | "Tanh" | "Erf" | "Softsign" | "Sin" | "Cos", _)
            | ("QLinearSigmoid" | "QLinearSoftmax", _) => Origin::Function(1.0),
            ("Atan", _) => Origin::Function(FRAC_PI_2),
            // They move elements.
            ("Identity" | "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" | "Transpose" | "Slice" | "Split", _)
            | ("Expand" | "Tile" | "Gather" | "GatherElements" | "GatherND" | "Compress" | "ReverseSequence", _)
            | ("DepthToSpace" | "SpaceToDepth" | "Trilu" | "Dropout" | "MaxPool" | "TopK", 0)
            // They round elements to another type and back.
            | ("Cast" | "CastLike" | "QuantizeLinear" | "DequantizeLinear", _)
            // Their results are nowhere larger.
            | ("Relu" | "Abs" | "Neg" | "Clip" | "GlobalMaxPool" | "ReduceMax" | "ReduceMin", _)
            | ("AveragePool" | "GlobalAveragePool" | "ReduceMean", _) => first(),
            ("Upsample" | "GridSample", _) if !is_cubic() => first(),
            ("Resize", _) if !is_cubic() && !operator.attributes.contains_key("extrapolation_value") => first(),
            ("Pad", _) => match operator.attributes.get("value") {
                Some(Attribute::Float(value)) if value.abs() <= 1.0 => first(),
                Some(_) => Origin::Other,
                None => Origin::Inputs(inputs.iter().take(1).chain(inputs.get(2)).collect()),
            },
            ("Concat" | "Max" | "Min" | "Mean", _) => Origin::Inputs(inputs.iter().collect()),
            ("Where", _) => Origin::Inputs(inputs.iter().skip(1).collect()),
            ("ScatterElements" | "ScatterND" | "Scatter", _) if !operator.attributes.contains_key("reduction") => {
                Origin::Inputs(inputs.iter().step_by(2).collect())
            }
            ("If", slot) => Origin::Bodies(slot, Vec::new()),
            // Without an iteration, a value that a loop carries is the initial one.
            ("Loop", slot) => Origin::Bodies(slot + 1, inputs.iter().skip(2).skip(slot).take(1).collect()),
            ("Scan", slot) => {
                let states = inputs.len().saturating_sub(operator.int("num_scan_inputs").unwrap_or(0).max(0) as usize);
                Origin::Bodies(slot, inputs.iter().take(states).skip(slot).take(1).collect())
            }
            _ => Origin::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::testing::GraphBuilder;
    use prost::Message;
    use tract_onnx::pb::attribute_proto::AttributeType;
    use tract_onnx::pb::tensor_proto::DataType;
    use tract_onnx::pb::{
        AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TypeProto, ValueInfoProto,
        type_proto,
    };

    use super::*;

    /// Returns the scale of the last output of a chain of operators, given by their types, and the functions by their
    /// names.
    fn scale_of(op_types: &[&str]) -> Option<(f64, Vec<String>)> {
        let mut builder = GraphBuilder::new("chain").input("v", &[4]);
        let mut last = "v".to_owned();
        for (index, op_type) in op_types.iter().enumerate() {
            let next = format!("v{index}");
            builder = builder.operator(op_type, op_type, &[&last], &[&next]);
            last = next;
        }
        of(&builder.build(), &last)
    }

    fn of(graph: &Graph, value: &str) -> Option<(f64, Vec<String>)> {
        let bounded = Bounded::of(graph, graph.value_named(value).unwrap().id)?;
        Some((bounded.scale, bounded.functions.iter().map(|id| graph.operator(*id).name.clone()).collect()))
    }

    #[test]
    fn operators_that_only_move_elements_keep_the_scale_of_their_function() {
        let moved = ["Conv", "Sigmoid", "Reshape", "Transpose", "Slice", "Resize", "Squeeze", "Cast", "MaxPool", "Pad"];
        assert_eq!(scale_of(&moved), Some((1.0, vec!["Sigmoid".to_owned()])));
        assert_eq!(scale_of(&["Tanh", "Identity", "QuantizeLinear", "DequantizeLinear"]).unwrap().0, 1.0);
        assert_eq!(scale_of(&["Atan"]).unwrap().0, FRAC_PI_2);
    }

    #[test]
    fn elements_that_are_computed_further_have_no_scale() {
        for last in ["Mul", "Conv", "Exp", "Log", "ReduceSum", "Gemm"] {
            assert_eq!(scale_of(&["Softmax", last]), None, "{last}");
        }
        assert_eq!(scale_of(&["DequantizeLinear"]), None, "its numbers come from nowhere bounded");
        assert_eq!(scale_of(&["Reshape"]), None);
        let far = ["Sigmoid"].into_iter().chain(std::iter::repeat_n("Identity", 2 * FURTHEST)).collect::<Vec<_>>();
        let mut builder = GraphBuilder::new("far").input("v", &[4]);
        for (index, op_type) in far.iter().enumerate() {
            let (from, to) = (format!("v{index}"), format!("v{}", index + 1));
            let from = if index == 0 { "v" } else { &from };
            builder = builder.operator(&format!("o{index}"), op_type, &[from], &[&to]);
        }
        assert_eq!(of(&builder.build(), &format!("v{}", far.len())), None, "a file cannot make the search long");
    }

    #[test]
    fn a_concat_has_a_scale_only_if_all_its_inputs_have_one() {
        let graph = GraphBuilder::new("concat").input("x", &[4]);
        let graph = graph.operator("s", "Sigmoid", &["x"], &["s"]).operator("a", "Atan", &["x"], &["a"]);
        let graph = graph.operator("both", "Concat", &["s", "a"], &["both"]);
        let graph = graph.operator("one", "Concat", &["s", "x"], &["one"]).build();
        assert_eq!(of(&graph, "both"), Some((FRAC_PI_2, vec!["s".to_owned(), "a".to_owned()])));
        assert_eq!(of(&graph, "one"), None);
    }

    #[test]
    fn a_cubic_resize_overshoots() {
        let graph = |mode: &str| {
            let graph = GraphBuilder::new("resize").input("x", &[4]).operator("s", "Sigmoid", &["x"], &["s"]);
            let graph = graph.operator("r", "Resize", &["s"], &["y"]);
            graph.attribute("mode", &Attribute::String(mode.to_owned())).build()
        };
        assert!(of(&graph("linear"), "y").is_some());
        assert_eq!(of(&graph("cubic"), "y"), None);
    }

    #[test]
    fn an_if_has_a_scale_if_both_branches_have_one() {
        let graph = |other: &str| {
            let graph = GraphBuilder::new("if").input("x", &[4]).operator("choice", "If", &["x"], &["y"]);
            let graph = graph.body("choice", "then_branch").operator("s", "Sigmoid", &["x"], &["p"]).output("p");
            graph.body("choice", "else_branch").operator("o", other, &["x"], &["q"]).output("q").build()
        };
        assert_eq!(of(&graph("Softmax"), "y"), Some((1.0, Vec::new())), "only the main graph's functions are compared");
        assert_eq!(of(&graph("Exp"), "y"), None);
    }

    /// Returns the scale of a Concat of a Sigmoid and a constant. The constant is stored as a weight, and then in an
    /// operator.
    fn beside(constant: &[f32]) -> [Option<f64>; 2] {
        let attribute = AttributeProto {
            name: "value_floats".to_owned(),
            r#type: AttributeType::Floats as i32,
            floats: constant.to_vec(),
            ..AttributeProto::default()
        };
        let (dims, data_type) = (vec![constant.len() as i64], DataType::Float as i32);
        let weight = TensorProto {
            name: "w".to_owned(),
            dims,
            data_type,
            float_data: constant.to_vec(),
            ..TensorProto::default()
        };
        let node = |op_type: &str, input: &[&str], output: &str, attribute: &[AttributeProto]| NodeProto {
            name: output.to_owned(),
            op_type: op_type.to_owned(),
            input: input.iter().map(|&name| name.to_owned()).collect(),
            output: vec![output.to_owned()],
            attribute: attribute.to_vec(),
            ..NodeProto::default()
        };
        let floats = type_proto::Tensor { elem_type: data_type, ..type_proto::Tensor::default() };
        let floats = TypeProto { value: Some(type_proto::Value::TensorType(floats)), ..TypeProto::default() };
        let value = |name: &str| {
            vec![ValueInfoProto { name: name.to_owned(), r#type: Some(floats.clone()), ..ValueInfoProto::default() }]
        };
        let (sigmoid, concat) = (node("Sigmoid", &["x"], "s", &[]), node("Concat", &["s", "w"], "y", &[]));
        let constant = node("Constant", &[], "w", &[attribute]);
        [(vec![sigmoid.clone(), concat.clone()], vec![weight]), (vec![constant, sigmoid, concat], Vec::new())].map(
            |(node, initializer)| {
                let (name, input, output) = ("beside".to_owned(), value("x"), value("y"));
                let graph = GraphProto { name, node, initializer, input, output, ..GraphProto::default() };
                let opset_import = vec![OperatorSetIdProto { version: 17, ..OperatorSetIdProto::default() }];
                let model = ModelProto { ir_version: 8, graph: Some(graph), opset_import, ..ModelProto::default() };
                let path = std::path::Path::new("beside.onnx");
                of(&Graph::from_bytes(path, model.encode_to_vec().into()).unwrap(), "y").map(|(scale, _)| scale)
            },
        )
    }

    #[test]
    fn a_constant_beside_a_function_may_be_as_large_as_what_the_function_gives() {
        assert_eq!(beside(&[0.0, -1.0, 1.0]), [Some(1.0); 2]);
        assert_eq!(beside(&[]), [Some(1.0); 2]);
        for beyond in [1.001, -1.001, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(beside(&[0.5, beyond]), [None; 2], "{beyond}");
        }
        // A larger constant is not read.
        assert_eq!(beside(&[0.5; 4096]), [Some(1.0); 2]);
        assert_eq!(beside(&[0.5; 4097]), [None; 2]);
    }

    #[test]
    fn what_is_padded_with_has_a_magnitude_of_one_at_most() {
        let padded = |value: Attribute| {
            let graph = GraphBuilder::new("pad").input("x", &[4]).operator("s", "Sigmoid", &["x"], &["s"]);
            let graph = graph.operator("p", "Pad", &["s"], &["y"]).attribute("value", &value).build();
            of(&graph, "y").map(|(scale, _)| scale)
        };
        for (value, scale) in [(0.0, Some(1.0)), (1.0, Some(1.0)), (-1.0, Some(1.0)), (1.001, None), (-1.001, None)] {
            assert_eq!(padded(Attribute::Float(value)), scale, "{value}");
        }
        assert_eq!(padded(Attribute::Int(0)), None);
        // Newer versions take it as their third input, after the widths.
        let taken = |value: &str| {
            let graph = GraphBuilder::new("pad").input("x", &[4]).input("widths", &[2]);
            let graph = graph.operator("s", "Sigmoid", &["x"], &["s"]).operator("a", "Atan", &["x"], &["a"]);
            of(&graph.operator("p", "Pad", &["s", "widths", value], &["y"]).build(), "y").map(|(scale, _)| scale)
        };
        assert_eq!((taken("a"), taken("x"), taken("")), (Some(FRAC_PI_2), None, Some(1.0)));
    }

    /// Returns the scale of an output of a Loop or a Scan. Its body computes what it carries by one function, and what
    /// it collects by another. The initial value comes from the Tanh or from the input.
    fn of_body(op_type: &str, [carrying, collecting]: [&str; 2], begins_with: &str, output: &str) -> Option<f64> {
        let graph = GraphBuilder::new("body").input("x", &[4]).operator("t", "Tanh", &["x"], &["t"]);
        let inputs: &[&str] = if op_type == "Loop" { &["x", "x", begins_with] } else { &[begins_with, "x"] };
        let graph = graph.operator("o", op_type, inputs, &["carried", "collected"]);
        let graph = graph.attribute("num_scan_inputs", &Attribute::Int(1)).body("o", "body");
        let graph = if op_type == "Loop" { graph.input("n", &[]).input("go", &[]) } else { graph };
        let graph = graph.input("state", &[4]).input("item", &[4]);
        let graph =
            graph.operator("carry", carrying, &["state"], &["p"]).operator("collect", collecting, &["state"], &["q"]);
        let graph = if op_type == "Loop" { graph.output("go") } else { graph };
        of(&graph.output("p").output("q").build(), output).map(|(scale, _)| scale)
    }

    #[test]
    fn an_output_of_a_loop_has_the_scale_of_its_body_and_of_what_it_begins_with() {
        for op_type in ["Loop", "Scan"] {
            let of = |functions: [&str; 2], begins_with: &str| {
                ["carried", "collected"].map(|output| of_body(op_type, functions, begins_with, output))
            };
            // Without an iteration, the carried value is the initial one, and nothing is collected.
            assert_eq!(of(["Atan", "Sigmoid"], "t"), [Some(FRAC_PI_2), Some(1.0)], "{op_type}");
            assert_eq!(of(["Atan", "Sigmoid"], "x"), [None, Some(1.0)], "{op_type}");
            assert_eq!(of(["Exp", "Sigmoid"], "t"), [None, Some(1.0)], "{op_type}");
            assert_eq!(of(["Sigmoid", "Exp"], "t"), [Some(1.0), None], "{op_type}");
        }
    }
}
