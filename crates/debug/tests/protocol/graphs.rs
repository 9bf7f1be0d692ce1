//! What a debugger sees of a model without a stop.

use std::path::Path;
use std::sync::Arc;

use opscope_debug::protocol::ProducerInfo;
use opscope_debug::{ErrorCode, EventName, LoadedModelHandle, OperatorMapping, Resume};
use opscope_model::Fidelity;
use opscope_onnx::Graph;

use crate::{Program, stop};

fn with_model(program: &Program) -> (Arc<Graph>, LoadedModelHandle) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/digits_cnn.onnx");
    let graph = Arc::new(Graph::load(&path).unwrap());
    let loaded = program.debugger.load(&graph, Fidelity::Exact);
    (graph, loaded)
}

#[test]
fn the_graph_is_listed_by_pattern_and_page_and_each_operator_can_be_asked_about() {
    let program = Program::new();
    let (graph, loaded) = with_model(&program);
    let client = program.attached();
    let model = client.model(loaded.model()).unwrap();
    assert_eq!(model.operators as usize, graph.operators.len());
    assert_eq!(model.inputs.len(), graph.inputs.len());

    let all = client.operators(loaded.model(), "*", 0, usize::MAX).unwrap();
    assert_eq!((all.total as usize, all.operators.len()), (graph.operators.len(), graph.operators.len()));
    let tail = client.operators(loaded.model(), "*", 2, 3).unwrap();
    assert_eq!((tail.total, &tail.operators), (all.total, &all.operators[2..5].to_vec()));
    let convs = client.operators(loaded.model(), "type:Conv", 0, 100).unwrap();
    assert!(convs.total > 0 && convs.operators.iter().all(|row| row.op_type == "Conv"));
    assert_eq!(convs.operators[0].mapping, OperatorMapping::Pending, "there was no plan yet");

    let conv = client.operator(loaded.model(), convs.operators[0].index).unwrap();
    assert_eq!(conv.name, convs.operators[0].name);
    assert!(conv.attributes.iter().any(|(name, value)| name == "kernel_shape" && value.contains('3')), "{conv:?}");
    let weight = conv.inputs[1].as_ref().unwrap();
    assert_eq!(weight.producer, ProducerInfo::Initializer);
    let output = conv.outputs[0].as_ref().unwrap();
    assert_eq!(output.producer, ProducerInfo::Operator(conv.index));
    let consumer = client.operator(loaded.model(), output.consumers[0]).unwrap();
    assert!(consumer.inputs.iter().flatten().any(|input| input.name == output.name));
    assert_eq!(client.operator(loaded.model(), 100_000).unwrap_err().code(), ErrorCode::NoSuchOperator);
}

#[test]
fn the_values_are_listed_page_by_page_each_of_them_once() {
    let program = Program::new();
    let (graph, loaded) = with_model(&program);
    let client = program.attached();
    let all = client.values(loaded.model(), 0, usize::MAX).unwrap();
    assert_eq!((all.total as usize, all.values.len()), (graph.values.len(), graph.values.len()));
    for (row, value) in all.values.iter().zip(&graph.values) {
        assert_eq!((&row.name, row.consumers.len()), (&value.name, value.consumers.len()));
    }
    let page = client.values(loaded.model(), 3, 2).unwrap();
    assert_eq!((page.total, &page.values[..]), (all.total, &all.values[3..5]));
    assert!(client.values(loaded.model(), graph.values.len(), 1).unwrap().values.is_empty());
    let operator = client.operator(loaded.model(), 0).unwrap();
    assert!(operator.inputs.iter().flatten().all(|input| all.values.contains(input)));
}

#[test]
fn the_listing_has_a_line_for_each_operator_and_is_the_same_again() {
    let program = Program::new();
    let (graph, loaded) = with_model(&program);
    let client = program.attached();
    let source = client.source(loaded.model(), 1, usize::MAX).unwrap();
    let lines: Vec<_> = source.text.lines().collect();
    assert_eq!((lines.len(), source.total, source.lines), (graph.operators.len(), lines.len() as u64, source.total));
    for (line, operator) in lines.iter().zip(&graph.operators) {
        assert!(line.starts_with(&format!("{}: ", operator.name)), "{line}");
        assert!(line.contains(&format!(" = {}(", operator.op_type)), "{line}");
    }
    let part = client.source(loaded.model(), 3, 2).unwrap();
    assert_eq!((part.line, part.text), (3, format!("{}\n{}\n", lines[2], lines[3])));
    drop(client);
    let (_again, second) = with_model(&program);
    let other = program.attached().source(second.model(), 1, usize::MAX).unwrap();
    assert_eq!(other.text, source.text);
    let client = program.attached();
    assert_eq!(client.source(loaded.model(), 0, 1).unwrap_err().code(), ErrorCode::Offset);
}

#[test]
fn weights_are_looked_at_while_nothing_runs() {
    let program = Program::new();
    let (graph, loaded) = with_model(&program);
    let client = program.attached();
    let mut compared = 0;
    graph
        .initializers(
            |_| true,
            |value, tensor| {
                let reference = format!("value({:?})", graph.value(value).name);
                assert_eq!(client.whole_tensor(loaded.model(), &reference).unwrap(), *tensor);
                assert_eq!(client.statistics(loaded.model(), &reference).unwrap().count as usize, tensor.elements());
                compared += 1;
                Ok::<(), opscope_onnx::OnnxError>(())
            },
        )
        .unwrap();
    assert!(compared > 3);
    let reference = format!("value({:?})", graph.value(graph.outputs[0]).name);
    let computed = client.tensor(loaded.model(), &reference, 0, 1).unwrap_err();
    assert!(computed.to_string().contains("computed in each run"), "{computed}");
    assert_eq!(client.tensor(loaded.model(), "input[0]", 0, 1).unwrap_err().code(), ErrorCode::NoSuchTensor);
    let model = loaded.model();
    let unloading = std::thread::spawn(|| drop(loaded));
    let event = stop(&client);
    assert_eq!(event.kind.name(), EventName::ModelUnloaded);
    client.acknowledge(event.sequence, Resume::Continue).unwrap();
    unloading.join().unwrap();
    assert!(client.models().unwrap().iter().all(|left| left.model != model));
    assert_eq!(client.model(model).unwrap_err().code(), ErrorCode::NoSuchModel);
}
