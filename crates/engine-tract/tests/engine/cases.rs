//! Single operators with attributes that exporters rarely write: each is computed as ONNX Runtime does, or refused.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use opscope_model::EngineError;
use opscope_onnx::Graph;
use opscope_tensor::{DType, Tensor};
use prost::Message;
use prost::bytes::Bytes;
use serde_json::Value as Json;
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto, TypeProto,
    ValueInfoProto, tensor_shape_proto, type_proto,
};

use crate::files::{FIDELITIES, load, mismatch, models, run};

/// The cases that the engine refuses, by the prefix of their names, and what the errors must contain.
const REFUSED: &[(&str, &str)] = &[
    ("Attention: ", "Attention"),
    ("BatchNormalization: training", "outputs"),
    ("Compress: ", "Compress"),
    ("ConvTranspose: SAME_LOWER [2, 3]", "SAME padding"),
    ("ConvTranspose: SAME_UPPER [2, 3]", "SAME padding"),
    ("ConvTranspose: output_shape, SAME", "auto_pad"),
    ("DFT: length", "length"),
    ("DequantizeLinear: blocks", "blocked"),
    ("Det: ", "Det"),
    ("Einsum: sum", "scalar"),
    ("GridSample: bicubic, border", "padding_mode"),
    ("Loop: a number of times that is computed", "how often it runs"),
    ("Loop: while the data say so", "how often it runs"),
    ("LpPool: dilations, ceil 1", "ceil_mode"),
    ("LpPool: large strides, ceil 1", "ceil_mode"),
    ("LpPool: pads, ceil 1", "ceil_mode"),
    ("NonMaxSuppression: no limits", "max_output_boxes_per_class"),
    ("OneHot: axis", "index out of bounds"),
    ("Pad: wrap", "wrap"),
    ("QuantizeLinear: blocks", "blocked"),
    ("QuantizeLinear: output_dtype", "output_dtype"),
    ("Resize: cubic, align_corners, down", "align_corners"),
    ("Resize: linear, align_corners, down", "align_corners"),
    ("Resize: nearest, align_corners, down", "align_corners"),
    ("Resize: opset 10, nearest, down", "opset 10"),
    ("RoiAlign: ", "RoiAlign"),
    ("Squeeze: empty axes", "empty list of axes"),
    ("Unique: ", "Unique"),
    ("Upsample: opset 7", "Upsample"),
    ("com.microsoft.Attention: lengths", "rank 2"),
    ("com.microsoft.Attention: of three dimensions", "rank 2"),
    ("com.microsoft.Attention: past", "past"),
    ("com.microsoft.Attention: widths", "qkv_hidden_sizes"),
    ("com.microsoft.FusedMatMul: transBatchA", "transBatchA"),
    ("com.microsoft.GroupQueryAttention: ", "GroupQueryAttention"),
    ("com.microsoft.MatMulNBits: 8 bits", "bits"),
    ("com.microsoft.MultiHeadAttention: causal", "unidirectional"),
    ("com.microsoft.MultiHeadAttention: past", "past_key"),
    ("com.microsoft.QLinearGlobalAveragePool: int8, channels last", "channels_last"),
    ("com.microsoft.QLinearGlobalAveragePool: uint8, channels last", "channels_last"),
    ("com.microsoft.QLinearSoftmax: int8, axis 1, opset 11", "several axes"),
    ("com.microsoft.QLinearSoftmax: uint8, axis 1, opset 11", "several axes"),
    ("com.microsoft.RotaryEmbedding: offset", "offset"),
];

#[test]
fn every_attribute_is_read_or_refused() {
    let text = fs::read_to_string(models("operators.jsonl")).unwrap();
    let mut wrong = Vec::new();
    let mut unused: BTreeSet<&str> = REFUSED.iter().map(|(name, _)| *name).collect();
    for case in text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap()) {
        let name = case["name"].as_str().unwrap();
        let refusal = REFUSED.iter().find(|(refused, _)| name.starts_with(refused));
        if let Some((refused, _)) = refusal {
            unused.remove(refused);
        }
        for fidelity in FIDELITIES {
            let fault = match (outcome(&case, fidelity), refusal) {
                (Ok(None), None) => continue,
                (Ok(None), Some(_)) => "was not refused, and is right".to_owned(),
                (Ok(Some(fault)), _) => format!("WRONG {fault}"),
                (Err(error), Some((_, needle))) if error.contains(needle) && error.contains("'node'") => continue,
                (Err(error), Some((_, needle))) => format!("{needle:?} or the node is not in: {error}"),
                (Err(error), None) => format!("refused: {error}"),
            };
            wrong.push(format!("{name}, {fidelity}: {fault}"));
        }
    }
    wrong.extend(unused.iter().map(|name| format!("there is no case '{name}'")));
    assert!(wrong.is_empty(), "{} faults\n{}", wrong.len(), wrong.join("\n"));
}

/// Returns how the engine's outputs are wrong; an error if it computes nothing.
fn outcome(case: &Json, fidelity: opscope_model::Fidelity) -> Result<Option<String>, String> {
    let text = |error: EngineError| error.to_string();
    let graph = graph(case).map_err(|error| error.to_string())?;
    let inputs: Vec<Tensor> = case["inputs"].as_object().unwrap().values().map(tensor).collect();
    let plan = load(&graph, fidelity).map_err(text)?.plan(&inputs).map_err(text)?;
    for time in 1..=2 {
        let found = run(&*plan, &inputs).map_err(text)?;
        for (found, (name, expected)) in found.iter().zip(case["outputs"].as_object().unwrap()) {
            if let Some(fault) = mismatch(found, &tensor(expected)) {
                let found: Vec<String> = numbers(found).iter().take(24).map(ToString::to_string).collect();
                let expected = expected["values"].as_array().unwrap().iter().take(24);
                let expected: Vec<String> = expected.map(ToString::to_string).collect();
                let (found, expected) = (found.join(" "), expected.join(" "));
                return Ok(Some(format!("run {time}, '{name}': {fault}\n   {found}\n   {expected}")));
            }
        }
    }
    Ok(None)
}

fn graph(case: &Json) -> Result<Arc<Graph>, opscope_onnx::OnnxError> {
    let named = |key: &str| case[key].as_object().unwrap().iter();
    let graph = GraphProto {
        name: "case".to_owned(),
        node: case["nodes"].as_array().unwrap().iter().map(node).collect(),
        initializer: named("initializers").map(|(name, tensor)| initializer(name, tensor)).collect(),
        input: named("inputs").map(|(name, tensor)| info(name, code(&tensor["dtype"]), &tensor["shape"])).collect(),
        output: named("outputs").map(|(name, tensor)| info(name, code(&tensor["dtype"]), &Json::Null)).collect(),
        ..GraphProto::default()
    };
    let opset = |domain: &str, version| OperatorSetIdProto { domain: domain.to_owned(), version };
    let model = ModelProto {
        ir_version: 8,
        opset_import: vec![opset("", case["opset"].as_i64().unwrap()), opset("com.microsoft", 1)],
        graph: Some(graph),
        ..ModelProto::default()
    };
    Graph::from_bytes(Path::new("case.onnx"), Bytes::from(model.encode_to_vec())).map(Arc::new)
}

fn node(node: &Json) -> NodeProto {
    let text = |key: &str| node[key].as_str().unwrap().to_owned();
    NodeProto {
        name: text("name"),
        domain: text("domain"),
        op_type: text("op_type"),
        input: texts(&node["inputs"]),
        output: texts(&node["outputs"]),
        attribute: node["attributes"].as_object().unwrap().iter().map(|(name, value)| attribute(name, value)).collect(),
        ..NodeProto::default()
    }
}

fn attribute(name: &str, value: &Json) -> AttributeProto {
    let attribute = AttributeProto { name: name.to_owned(), ..AttributeProto::default() };
    let of = |kind: AttributeType, attribute| AttributeProto { r#type: kind as i32, ..attribute };
    match value {
        Json::Number(number) => match number.as_i64() {
            Some(i) => of(AttributeType::Int, AttributeProto { i, ..attribute }),
            None => of(AttributeType::Float, AttributeProto { f: number.as_f64().unwrap() as f32, ..attribute }),
        },
        Json::String(text) => of(AttributeType::String, AttributeProto { s: text.clone().into_bytes(), ..attribute }),
        Json::Object(_) => of(AttributeType::Graph, AttributeProto { g: Some(body(value)), ..attribute }),
        Json::Array(values) => match values.first() {
            Some(Json::String(_)) => {
                let strings = texts(value).into_iter().map(String::into_bytes).collect();
                of(AttributeType::Strings, AttributeProto { strings, ..attribute })
            }
            Some(first) if first.is_f64() => {
                let floats = values.iter().map(|value| value.as_f64().unwrap() as f32).collect();
                of(AttributeType::Floats, AttributeProto { floats, ..attribute })
            }
            _ => {
                let ints = values.iter().map(|value| value.as_i64().unwrap()).collect();
                of(AttributeType::Ints, AttributeProto { ints, ..attribute })
            }
        },
        _ => panic!("the attribute {name} is {value}"),
    }
}

fn body(body: &Json) -> GraphProto {
    let infos = |key: &str| {
        let infos = body[key].as_array().unwrap().iter();
        infos.map(|each| info(each[0].as_str().unwrap(), named_code(each[1].as_str().unwrap()), &each[2])).collect()
    };
    let initializers = body["initializers"].as_object().into_iter().flatten();
    GraphProto {
        name: "body".to_owned(),
        node: body["nodes"].as_array().unwrap().iter().map(node).collect(),
        initializer: initializers.map(|(name, tensor)| initializer(name, tensor)).collect(),
        input: infos("inputs"),
        output: infos("outputs"),
        ..GraphProto::default()
    }
}

fn info(name: &str, code: i32, shape: &Json) -> ValueInfoProto {
    use tensor_shape_proto::{Dimension, dimension::Value};
    let dims = shape.as_array().map(|dims| {
        let dim = |dim: &Json| Dimension {
            value: dim.as_i64().map(Value::DimValue).or_else(|| Some(Value::DimParam(dim.as_str()?.to_owned()))),
            ..Dimension::default()
        };
        TensorShapeProto { dim: dims.iter().map(dim).collect() }
    });
    let tensor = type_proto::Tensor { elem_type: code, shape: dims };
    let r#type = TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..TypeProto::default() };
    ValueInfoProto { name: name.to_owned(), r#type: Some(r#type), ..ValueInfoProto::default() }
}

fn initializer(name: &str, written: &Json) -> TensorProto {
    TensorProto {
        name: name.to_owned(),
        dims: written["shape"].as_array().unwrap().iter().map(|dim| dim.as_i64().unwrap()).collect(),
        data_type: code(&written["dtype"]),
        raw_data: tensor(written).bytes().to_vec(),
        ..TensorProto::default()
    }
}

/// ONNX's number of a type that numpy names.
fn code(dtype: &Json) -> i32 {
    named_code(&dtype.as_str().unwrap().to_uppercase().replace("FLOAT32", "FLOAT").replace("FLOAT64", "DOUBLE"))
}

fn named_code(name: &str) -> i32 {
    let code = (1..=16).find(|&code| DataType::try_from(code).is_ok_and(|dtype| dtype.as_str_name() == name));
    code.unwrap_or_else(|| panic!("no type {name}"))
}

fn texts(array: &Json) -> Vec<String> {
    array.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn tensor(written: &Json) -> Tensor {
    let shape = written["shape"].as_array().unwrap().iter().map(|dim| dim.as_u64().unwrap() as usize).collect();
    let dtype = DType::from_onnx(code(&written["dtype"])).unwrap();
    let values = written["values"].as_array().unwrap();
    let float = |value: &Json| value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap());
    let int = |value: &Json| value.as_i64().unwrap_or_else(|| value.as_bool().map(i64::from).unwrap());
    let bytes = values.iter().flat_map(|value| match dtype {
        DType::F64 => float(value).to_le_bytes().to_vec(),
        DType::F32 => (float(value) as f32).to_le_bytes().to_vec(),
        DType::F16 => half(float(value) as f32).to_le_bytes().to_vec(),
        DType::Bool | DType::I8 | DType::U8 => vec![int(value) as u8],
        DType::I16 | DType::U16 => (int(value) as u16).to_le_bytes().to_vec(),
        DType::I32 | DType::U32 => (int(value) as u32).to_le_bytes().to_vec(),
        _ => int(value).to_le_bytes().to_vec(),
    });
    Tensor::new(dtype, shape, bytes.collect::<Vec<u8>>()).unwrap()
}

fn half(value: f32) -> u16 {
    tract_onnx::prelude::f16::from_f32(value).to_bits()
}

/// Returns the first numbers of a tensor, for a message.
fn numbers(tensor: &Tensor) -> Vec<f64> {
    let bytes = tensor.bytes();
    match tensor.dtype() {
        DType::F32 => bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap()).into()).collect(),
        DType::F64 => bytes.chunks_exact(8).map(|eight| f64::from_le_bytes(eight.try_into().unwrap())).collect(),
        DType::I64 => bytes.chunks_exact(8).map(|eight| i64::from_le_bytes(eight.try_into().unwrap()) as f64).collect(),
        DType::I32 => bytes.chunks_exact(4).map(|four| i32::from_le_bytes(four.try_into().unwrap()).into()).collect(),
        DType::I8 => bytes.iter().map(|&byte| (byte as i8).into()).collect(),
        _ => bytes.iter().map(|&byte| byte.into()).collect(),
    }
}
