//! Every case of `models/operators.jsonl`: the inferred types are those of the outputs that ONNX Runtime computed.

use std::fs;
use std::path::Path;

use opscope_onnx::{Graph, TensorInfo, ValueTypes};
use opscope_tensor::DType;
use prost::bytes::Bytes;
use serde_json::Value as Json;

use crate::wire::Message;

/// Operators whose types must be inferred in every case with known inputs: those that models consist of.
const ALWAYS: &[&str] = &[
    "Add",
    "ArgMax",
    "AveragePool",
    "BatchNormalization",
    "Cast",
    "Concat",
    "Conv",
    "ConvTranspose",
    "Div",
    "Einsum",
    "Erf",
    "Expand",
    "Flatten",
    "GRU",
    "Gather",
    "Gemm",
    "GlobalAveragePool",
    "LSTM",
    "LayerNormalization",
    "MatMul",
    "MaxPool",
    "Mul",
    "Pad",
    "Pow",
    "QLinearConv",
    "QLinearMatMul",
    "RNN",
    "ReduceMean",
    "ReduceSum",
    "Relu",
    "Reshape",
    "Slice",
    "Softmax",
    "Split",
    "Squeeze",
    "Sub",
    "Tile",
    "Transpose",
    "Unsqueeze",
    "Where",
];

/// Cases of these operators whose types are not inferred.
const UNKNOWN: &[&str] = &["Einsum: ellipsis"];

#[test]
fn inferred_types_are_those_that_an_engine_computes() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let text = fs::read_to_string(models.join("operators.jsonl")).unwrap();
    let (mut wrong, mut found) = (Vec::new(), 0);
    for case in text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap()) {
        let Some(graph) = graph(&case) else { continue };
        let name = case["name"].as_str().unwrap();
        let inputs = case["inputs"].as_object().unwrap();
        let known = graph.inputs.iter().map(|id| (*id, info(&inputs[&graph.value(*id).name])));
        let types = ValueTypes::infer(&graph, known);
        let must = ALWAYS.contains(&graph.operators[0].op_type.as_str()) && graph.operators.len() == 1;
        let must = must && !UNKNOWN.contains(&name);
        for (output, expected) in case["outputs"].as_object().unwrap() {
            let expected = info(expected);
            match types.get(graph.value_named(output).unwrap().id) {
                Some(inferred) if inferred.shape == expected.shape && inferred.dtype == expected.dtype => found += 1,
                Some(inferred) => wrong.push(format!("{name}: {output} is {expected:?}, not {inferred:?}")),
                None if must && output == "y0" && !is_data(&graph, &case) => {
                    wrong.push(format!("{name}: {output} is not known"))
                }
                None => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), found + wrong.len(), wrong.join("\n"));
    assert!(found > 800, "{found}");
}

/// Returns whether the first operator depends on the data of an input of the run.
fn is_data(graph: &Graph, case: &Json) -> bool {
    let is_integer = |id| info(&case["inputs"][&graph.value(id).name]).dtype == Some(DType::I64);
    let rest = graph.operators[0].inputs.iter().skip(1).flatten();
    rest.copied().any(|id| graph.inputs.contains(&id) && is_integer(id))
}

fn info(tensor: &Json) -> TensorInfo {
    let name = tensor["dtype"].as_str().unwrap();
    TensorInfo { dtype: DType::all().find(|dtype| dtype.name() == name), shape: shape(tensor) }
}

fn shape(tensor: &Json) -> Vec<usize> {
    tensor["shape"].as_array().unwrap().iter().map(|size| size.as_u64().unwrap() as usize).collect()
}

/// Returns the graph of a case, or `None` if it has attributes other than numbers or texts.
fn graph(case: &Json) -> Option<Graph> {
    let mut graph = Message::default();
    for node in case["nodes"].as_array().unwrap() {
        graph = graph.message(1, node_of(node)?);
    }
    for (name, tensor) in case["initializers"].as_object().unwrap() {
        graph = graph.message(5, initializer(name, tensor));
    }
    for (name, tensor) in case["inputs"].as_object().unwrap() {
        graph = graph.message(11, value(name, tensor));
    }
    for (name, tensor) in case["outputs"].as_object().unwrap() {
        graph = graph.message(12, value(name, tensor));
    }
    let opset = |domain: &str, version| Message::default().text(1, domain).int(2, version);
    let model = Message::default().int(1, 8).message(7, graph);
    let model = model.message(8, opset("", case["opset"].as_i64().unwrap())).message(8, opset("com.microsoft", 1));
    Some(Graph::from_bytes(Path::new("case.onnx"), Bytes::from(model.0)).unwrap())
}

fn node_of(node: &Json) -> Option<Message> {
    let text = |key: &str| node[key].as_str().unwrap();
    let texts = |key: &str| node[key].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned());
    let mut message = texts("inputs").fold(Message::default(), |message, name| message.text(1, &name));
    message = texts("outputs").fold(message, |message, name| message.text(2, &name));
    message = message.text(3, text("name")).text(4, text("op_type")).text(7, text("domain"));
    for (name, attribute) in node["attributes"].as_object().unwrap() {
        let named = Message::default().text(1, name);
        message = message.message(
            5,
            match attribute {
                Json::Number(number) if number.is_i64() => named.int(3, number.as_i64().unwrap()).int(20, 2),
                Json::Number(number) => named.float(2, number.as_f64().unwrap() as f32).int(20, 1),
                Json::String(text) => named.text(4, text).int(20, 3),
                Json::Array(numbers) if numbers.iter().all(Json::is_i64) => {
                    numbers.iter().fold(named, |message, number| message.int(8, number.as_i64().unwrap())).int(20, 7)
                }
                _ => return None,
            },
        );
    }
    Some(message)
}

fn code(tensor: &Json) -> i64 {
    i64::from(info(tensor).dtype.unwrap().onnx_code())
}

/// Returns an initializer. A tensor of integers has its data. Others have zeros of the right size.
fn initializer(name: &str, tensor: &Json) -> Message {
    let dims = shape(tensor).into_iter().fold(Message::default(), |message, size| message.int(1, size as i64));
    let dtype = info(tensor).dtype.unwrap();
    let values = tensor["values"].as_array().unwrap();
    let bytes = match dtype {
        DType::I64 => values.iter().flat_map(|value| value.as_i64().unwrap().to_le_bytes()).collect(),
        _ => vec![0; dtype.bytes_of(shape(tensor).iter().product()).unwrap()],
    };
    dims.int(2, code(tensor)).text(8, name).bytes(9, &bytes)
}

/// A value of a type, without its shape.
fn value(name: &str, tensor: &Json) -> Message {
    let tensor = Message::default().int(1, code(tensor));
    Message::default().text(1, name).message(2, Message::default().message(1, tensor))
}
