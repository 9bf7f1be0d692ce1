//! Models of one operator whose attributes, inputs and shapes are drawn at random, including extreme ones.
//!
//! The fuzz target `one_operator` draws the same models from its bytes.

use std::path::Path;

use opscope_onnx::{Dim, Graph, OnnxError};
use opscope_tensor::Tensor;
use prost::Message;
use prost::bytes::Bytes;
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto, TypeProto,
    ValueInfoProto, tensor_shape_proto, type_proto,
};

/// Draws a number below another.
pub trait Draw {
    fn below(&mut self, limit: usize) -> usize;

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Whole numbers for attributes and small inputs: likely ones, and the ends of the ranges.
const WHOLE: &[i64] = &[
    0,
    0,
    1,
    1,
    1,
    2,
    2,
    3,
    4,
    -1,
    -1,
    -2,
    -3,
    5,
    7,
    100,
    65_536,
    1 << 20,
    i32::MAX as i64,
    1 << 31,
    -(1 << 31),
    (1 << 32) + 1,
    1 << 40,
    1 << 62,
    i64::MAX,
    i64::MIN,
];

const FLOATS: &[DataType] =
    &[DataType::Float, DataType::Float, DataType::Float, DataType::Float, DataType::Float16, DataType::Double];

const INTEGERS: &[DataType] =
    &[DataType::Int64, DataType::Int64, DataType::Int32, DataType::Uint8, DataType::Int8, DataType::Bool];

const REAL: &[f32] = &[0.0, 1.0, -1.0, 0.5, 2.0, 1e-30, 1e30, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];

/// Attributes that any operator may have, with their values.
const WHOLE_ATTRIBUTES: &[&str] = &[
    "allowzero",
    "axis",
    "batch_dims",
    "bits",
    "block_size",
    "blocksize",
    "ceil_mode",
    "count_include_pad",
    "detect_negative",
    "end",
    "exclusive",
    "fmod",
    "group",
    "hidden_size",
    "input_forget",
    "inverse",
    "is_causal",
    "k",
    "keepdims",
    "kv_num_heads",
    "largest",
    "layout",
    "linear_before_reset",
    "noop_with_empty_axes",
    "num_groups",
    "num_heads",
    "num_outputs",
    "onesided",
    "p",
    "periodic",
    "q_num_heads",
    "reverse",
    "rotary_embedding_dim",
    "sample_size",
    "select_last_index",
    "size",
    "sorted",
    "start",
    "stash_type",
    "storage_order",
    "to",
    "dtype",
    "upper",
    "transA",
    "transB",
];
const LIST_ATTRIBUTES: &[&str] = &[
    "perm",
    "axes",
    "dilations",
    "ends",
    "kernel_shape",
    "output_padding",
    "output_shape",
    "pads",
    "shape",
    "split",
    "starts",
    "strides",
    "scan_input_axes",
];
const REAL_ATTRIBUTES: &[&str] = &[
    "alpha",
    "beta",
    "bias",
    "clip",
    "cubic_coeff_a",
    "epsilon",
    "extrapolation_value",
    "gamma",
    "lambd",
    "max",
    "min",
    "scale",
    "softcap",
];
const TEXT_ATTRIBUTES: &[(&str, &[&str])] = &[
    ("auto_pad", &["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"]),
    ("direction", &["forward", "reverse", "bidirectional"]),
    ("equation", &["ij,jk->ik", "i...->...", "ii->i", "ij,jk", "->", "...", "ijkl->"]),
    ("mode", &["linear", "nearest", "cubic", "constant", "reflect", "edge", "wrap", "DCR", "CRD", "bilinear"]),
    ("reduction", &["add", "mul", "max", "none"]),
    ("coordinate_transformation_mode", &["asymmetric", "half_pixel", "align_corners", "tf_crop_and_resize"]),
    ("padding_mode", &["zeros", "border", "reflection"]),
];

/// Attributes that an operator has.
fn own_attributes(op_type: &str) -> &'static [&'static str] {
    match op_type {
        "Transpose" => &["perm"],
        "AveragePool" | "MaxPool" | "LpPool" => {
            &["kernel_shape", "pads", "strides", "dilations", "ceil_mode", "auto_pad"]
        }
        "Conv" | "ConvInteger" | "QLinearConv" => {
            &["kernel_shape", "pads", "strides", "dilations", "group", "auto_pad"]
        }
        "ConvTranspose" => &["pads", "strides", "dilations", "group", "output_padding", "output_shape", "auto_pad"],
        "GatherND" => &["batch_dims"],
        "Slice" => &["axes", "starts", "ends"],
        "Squeeze" | "Unsqueeze" => &["axes"],
        "DepthToSpace" | "SpaceToDepth" => &["blocksize", "mode"],
        "Einsum" => &["equation"],
        "EyeLike" | "Trilu" => &["k", "upper", "dtype"],
        "GroupNormalization" => &["num_groups"],
        "GRU" | "LSTM" | "RNN" => &["hidden_size", "direction", "layout", "linear_before_reset"],
        "LRN" => &["size"],
        "Attention" => &["q_num_heads", "kv_num_heads", "is_causal", "softcap", "scale"],
        "Multinomial" => &["sample_size", "dtype"],
        "Pad" | "Upsample" => &["mode", "pads"],
        "RandomNormal" | "RandomUniform" => &["shape", "dtype"],
        "RandomNormalLike" | "RandomUniformLike" => &["dtype"],
        "Resize" => &["mode", "axes", "coordinate_transformation_mode"],
        "RotaryEmbedding" => &["num_heads", "rotary_embedding_dim"],
        "Shape" => &["start", "end"],
        "Split" => &["axis", "split", "num_outputs"],
        "DFT" | "STFT" => &["axis", "inverse", "onesided"],
        name if name.starts_with("Reduce") => &["axes", "keepdims", "noop_with_empty_axes"],
        _ => &["axis"],
    }
}

/// Returns a model with one operator out of `operators`.
pub fn draw(draw: &mut impl Draw, operators: &[&str]) -> Vec<u8> {
    let mut graph = GraphProto { name: "one".to_owned(), ..GraphProto::default() };
    let (domain, op_type) = match draw.one_of(operators) {
        name if name.contains("::") => name.split_once("::").unwrap_or_default(),
        name => ("", name),
    };
    let mut node = NodeProto { op_type: op_type.to_owned(), domain: domain.to_owned(), ..NodeProto::default() };
    // Most inputs share one shape and type, so that models pass more than the first check.
    let common = (shape(draw), draw.one_of(FLOATS));
    for index in 0..1 + draw.below(4) {
        let name = format!("x{index}");
        node.input.push(if draw.below(12) == 0 { String::new() } else { name.clone() });
        let is_whole = draw.below(3) == 0;
        // An input that determines sizes is a constant with few numbers.
        if index > 0 && draw.below(2) == 0 {
            graph.initializer.push(constant(draw, name, is_whole));
        } else {
            let (dims, dtype) = match draw.below(4) {
                0 => (shape(draw), draw.one_of(if is_whole { INTEGERS } else { FLOATS })),
                _ => (common.0.clone(), if is_whole { DataType::Int64 } else { common.1 }),
            };
            graph.input.push(input(name, dims, dtype));
        }
    }
    for index in 0..1 + draw.below(3) / 2 {
        node.output.push(format!("y{index}"));
        graph.output.push(ValueInfoProto { name: format!("y{index}"), ..ValueInfoProto::default() });
    }
    for _ in 0..draw.below(5) {
        let attribute = attribute(draw, op_type);
        if node.attribute.iter().all(|other| other.name != attribute.name) {
            node.attribute.push(attribute);
        }
    }
    graph.node.push(node);
    let version = draw.one_of(&[17, 13, 20, 11, 7, 21]);
    let opset = OperatorSetIdProto { domain: String::new(), version };
    ModelProto { ir_version: 8, opset_import: vec![opset], graph: Some(graph), ..ModelProto::default() }.encode_to_vec()
}

fn shape(draw: &mut impl Draw) -> Vec<i64> {
    (0..draw.below(6)).map(|_| draw.one_of(&[1, 2, 3, 4, 5, 0])).collect()
}

fn input(name: String, dims: Vec<i64>, dtype: DataType) -> ValueInfoProto {
    let dim = |number| tensor_shape_proto::Dimension {
        value: Some(tensor_shape_proto::dimension::Value::DimValue(number)),
        ..tensor_shape_proto::Dimension::default()
    };
    let shape = TensorShapeProto { dim: dims.into_iter().map(dim).collect() };
    let tensor = type_proto::Tensor { elem_type: dtype as i32, shape: Some(shape) };
    let r#type = TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..TypeProto::default() };
    ValueInfoProto { name, r#type: Some(r#type), ..ValueInfoProto::default() }
}

fn constant(draw: &mut impl Draw, name: String, is_whole: bool) -> TensorProto {
    let dims = match draw.below(3) {
        0 => shape(draw),
        1 => vec![],
        _ => vec![1 + draw.below(4) as i64],
    };
    let elements = dims.iter().product::<i64>();
    let mut tensor = TensorProto { name, dims, ..TensorProto::default() };
    if is_whole {
        tensor.data_type = DataType::Int64 as i32;
        tensor.int64_data = (0..elements).map(|_| draw.one_of(WHOLE)).collect();
    } else {
        tensor.data_type = DataType::Float as i32;
        tensor.float_data = (0..elements).map(|_| draw.one_of(REAL)).collect();
    }
    tensor
}

fn attribute(draw: &mut impl Draw, op_type: &str) -> AttributeProto {
    let any: &[&[&str]] = &[WHOLE_ATTRIBUTES, LIST_ATTRIBUTES, REAL_ATTRIBUTES, &["mode"]];
    let name = if draw.below(3) == 0 {
        {
            let list = draw.one_of(any);
            draw.one_of(list)
        }
    } else {
        draw.one_of(own_attributes(op_type))
    };
    let named = |kind: AttributeType| AttributeProto {
        name: name.to_owned(),
        r#type: kind as i32,
        ..AttributeProto::default()
    };
    if LIST_ATTRIBUTES.contains(&name) {
        let ints = (0..draw.below(6)).map(|_| draw.one_of(WHOLE)).collect();
        AttributeProto { ints, ..named(AttributeType::Ints) }
    } else if REAL_ATTRIBUTES.contains(&name) {
        AttributeProto { f: draw.one_of(REAL), ..named(AttributeType::Float) }
    } else if let Some((_, texts)) = TEXT_ATTRIBUTES.iter().find(|(text, _)| *text == name) {
        AttributeProto { s: draw.one_of(texts).as_bytes().to_vec(), ..named(AttributeType::String) }
    } else {
        AttributeProto { i: draw.one_of(WHOLE), ..named(AttributeType::Int) }
    }
}

/// Returns the graph of a drawn model, with inputs of zeros.
pub fn with_zeros(bytes: Vec<u8>) -> Result<(Graph, Vec<Tensor>), OnnxError> {
    let graph = Graph::from_bytes(Path::new("made.onnx"), Bytes::from(bytes))?;
    let zeros = |id: &opscope_onnx::ValueId| {
        let value = graph.value(*id);
        let dtype = value.dtype?;
        let number = |dim: &Dim| match dim {
            Dim::Fixed(number) => *number,
            Dim::Symbol(_) => 1,
        };
        let shape: Vec<usize> = value.shape.as_ref()?.iter().map(number).collect();
        Tensor::new(dtype, shape.clone(), vec![0; dtype.bytes_of(shape.iter().product())?]).ok()
    };
    let inputs = graph.inputs.iter().filter_map(zeros).collect();
    Ok((graph, inputs))
}
