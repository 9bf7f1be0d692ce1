//! Models that tract would get wrong without intervention: `docs/decisions/402-rewrites-that-are-held-back.md`. The
//! expected values were computed by ONNX Runtime, or follow from the operators' definitions.

use opscope_tensor::Tensor;
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::{AttributeProto, TensorProto};

use crate::builder::{Builder, D, attribute, floats, int, ints, subgraph};
use crate::files::{FIDELITIES, load, mismatch, run};

/// Checks that a model with the input `x` and the output `y` computes the expected values, twice.
#[track_caller]
fn check(graph: Builder, x: (&[usize], &[f32]), y: (&[usize], &[f32])) {
    let shape: Vec<D> = x.0.iter().map(|&dim| D::N(dim.try_into().unwrap())).collect();
    let graph = graph.input("x", DataType::Float, &shape).output("y").graph();
    let inputs = [Tensor::from_f32(x.0.to_vec(), x.1).unwrap()];
    let expected = Tensor::from_f32(y.0.to_vec(), y.1).unwrap();
    for fidelity in FIDELITIES {
        let plan = load(&graph, fidelity).unwrap().plan(&inputs).unwrap();
        for time in 1..=3 {
            let outputs = run(&*plan, &inputs).unwrap();
            assert_eq!(mismatch(&outputs[0], &expected), None, "{fidelity}, run {time}");
        }
    }
}

fn text(name: &str, value: &str) -> AttributeProto {
    AttributeProto { r#type: AttributeType::String as i32, s: value.into(), ..attribute(name) }
}

fn byte(name: &str, dtype: DataType, value: i32) -> TensorProto {
    TensorProto { name: name.to_owned(), data_type: dtype as i32, int32_data: vec![value], ..TensorProto::default() }
}

/// `y` is every `step`th element of `from` on an axis.
fn every(graph: Builder, from: &str, axis: i64, first: i64, end: i64, step: i64) -> Builder {
    graph
        .initializer(ints("first", &[1], &[first]))
        .initializer(ints("end", &[1], &[end]))
        .initializer(ints("axis", &[1], &[axis]))
        .initializer(ints("step", &[1], &[step]))
        .node("every", "Slice", &[from, "first", "end", "axis", "step"], &["y"])
}

#[test]
fn a_scan_starts_from_its_input_in_every_run() {
    let sums = Builder::default()
        .input("before", DataType::Float, &[])
        .input("element", DataType::Float, &[])
        .output("after")
        .output("copy")
        .node("add", "Add", &["before", "element"], &["after"])
        .node("identity", "Identity", &["after"], &["copy"]);
    let graph = Builder::default().initializer(floats("zero", &[], &[0.0])).node_with(
        "scan",
        "Scan",
        &["zero", "x"],
        &["sum", "y"],
        vec![int("num_scan_inputs", 1), subgraph("body", sums)],
    );
    check(graph, (&[3], &[1.0, 2.0, 3.0]), (&[3], &[1.0, 3.0, 6.0]));
}

#[test]
fn a_recurrence_in_a_scan_starts_from_its_input_in_every_iteration() {
    let row = Builder::default()
        .input("count", DataType::Float, &[])
        .input("row", DataType::Float, &[D::N(3), D::N(1), D::N(1)])
        .output("count_after")
        .output("row_y")
        .initializer(floats("one", &[], &[1.0]))
        .initializer(floats("w", &[1, 1, 1], &[1.0]))
        .initializer(floats("r", &[1, 1, 1], &[1.0]))
        .node("increase", "Add", &["count", "one"], &["count_after"])
        .node_with("rnn", "RNN", &["row", "w", "r"], &["row_y"], vec![int("hidden_size", 1)]);
    let graph = Builder::default().initializer(floats("none", &[], &[0.0])).node_with(
        "scan",
        "Scan",
        &["none", "x"],
        &["rows", "y"],
        vec![int("num_scan_inputs", 1), subgraph("body", row)],
    );
    let row = [0.761_594_2, 0.992_045_6, 0.999_318_2];
    check(graph, (&[2, 3, 1, 1], &[1.0, 2.0, 3.0, 1.0, 2.0, 3.0]), (&[2, 3, 1, 1, 1], &[row, row].concat()));
}

#[test]
fn recurrences_start_from_their_input_in_every_run() {
    let graph = Builder::default()
        .initializer(floats("w", &[1, 1, 1], &[1.0]))
        .initializer(floats("r", &[1, 1, 1], &[1.0]))
        .node_with("rnn", "RNN", &["x", "w", "r"], &["y"], vec![int("hidden_size", 1)]);
    let y = [0.761_594_2, 0.992_045_6, 0.999_318_2];
    check(graph, (&[3, 1, 1], &[1.0, 2.0, 3.0]), (&[3, 1, 1, 1], &y));

    let graph = Builder::default()
        .initializer(floats("w", &[1, 3, 2], &[0.5, -0.5, 1.0, 0.25, -1.0, 0.5]))
        .initializer(floats("r", &[1, 3, 1], &[1.0, -1.0, 2.0]))
        .initializer(floats("b", &[1, 6], &[0.1, 0.2, 0.3, 0.0, 0.0, 0.5]))
        .node_with(
            "gru",
            "GRU",
            &["x", "w", "r", "b"],
            &["y"],
            vec![int("hidden_size", 1), int("linear_before_reset", 1)],
        );
    let y = [0.370_360_5, 0.422_606_35, 0.044_208_11, -0.552_827_95];
    check(graph, (&[4, 1, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), (&[4, 1, 1, 1], &y));

    let graph = Builder::default()
        .initializer(floats("w", &[2, 4, 1], &[1.0, 0.5, -1.0, 2.0, 1.0, 1.0, 1.0, 1.0]))
        .initializer(floats("r", &[2, 4, 1], &[1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5]))
        .node_with(
            "lstm",
            "LSTM",
            &["x", "w", "r"],
            &["y"],
            vec![int("hidden_size", 1), text("direction", "bidirectional")],
        );
    let y = [0.378_069_88, 0.686_811_2, 0.618_455_9, 0.608_283_46];
    check(graph, (&[2, 1, 1], &[1.0, 2.0]), (&[2, 2, 1, 1], &y));
}

#[test]
fn a_sequence_of_single_numbers_runs_through_a_gru() {
    let gru = vec![int("hidden_size", 1), int("linear_before_reset", 1)];
    let graph = Builder::default()
        .initializer(floats("w", &[1, 3, 1], &[0.5, -0.5, 1.0]))
        .initializer(floats("r", &[1, 3, 1], &[1.0, -1.0, 2.0]))
        .initializer(floats("b", &[1, 6], &[0.1, 0.2, 0.3, 0.0, 0.0, 0.5]))
        .node_with("gru", "GRU", &["x", "w", "r", "b"], &["y"], gru);
    let y = [0.321_542_44, 0.451_232_1, 0.513_547_54, 0.546_739_34];
    check(graph, (&[4, 1, 1], &[1.0, 2.0, 3.0, 4.0]), (&[4, 1, 1, 1], &y));
}

/// `x`, quantized, through an operator, and quantized again.
fn quantized(op_type: &str, to: DataType) -> Builder {
    Builder::default()
        .initializer(floats("scale", &[], &[0.0625]))
        .initializer(byte("zero", DataType::Int8, 0))
        .initializer(floats("scale_after", &[], &[0.007_812_5]))
        .initializer(byte("zero_after", to, 0))
        .node("quantize", "QuantizeLinear", &["x", "scale", "zero"], &["quantized"])
        .node("dequantize", "DequantizeLinear", &["quantized", "scale", "zero"], &["dequantized"])
        .node("between", op_type, &["dequantized"], &["computed"])
        .node("quantize_after", "QuantizeLinear", &["computed", "scale_after", "zero_after"], &["result"])
        .node("dequantize_after", "DequantizeLinear", &["result", "scale_after", "zero_after"], &["y"])
}

#[test]
fn a_softmax_between_quantized_values_is_no_table() {
    let graph = quantized("Softmax", DataType::Int8);
    check(graph, (&[1, 4], &[0.0, 1.0, 2.0, 3.0]), (&[1, 4], &[0.031_25, 0.085_937_5, 0.234_375, 0.640_625]));
}

#[test]
fn a_table_has_one_type() {
    let graph = quantized("Abs", DataType::Uint8);
    check(graph, (&[1, 4], &[-1.0, 0.5, 0.25, -0.125]), (&[1, 4], &[1.0, 0.5, 0.25, 0.125]));
    let graph = quantized("Abs", DataType::Int8);
    check(graph, (&[1, 4], &[-0.75, 0.5, 0.25, -0.125]), (&[1, 4], &[0.75, 0.5, 0.25, 0.125]));
}

#[test]
fn every_second_element_of_a_softmax_is_taken_after_it() {
    let graph = Builder::default().node_with("softmax", "Softmax", &["x"], &["all"], vec![int("axis", 1)]);
    check(every(graph, "all", 1, 0, 4, 2), (&[1, 4], &[0.0; 4]), (&[1, 2], &[0.25; 2]));
}

#[test]
fn every_second_element_of_a_convolution_may_begin_with_the_second() {
    let graph = || {
        Builder::default().initializer(floats("w", &[1, 1, 2], &[1.0, 1.0])).node("conv", "Conv", &["x", "w"], &["all"])
    };
    let x: (&[usize], &[f32]) = (&[1, 1, 5], &[1.0, 2.0, 3.0, 4.0, 5.0]);
    check(every(graph(), "all", 2, 1, 4, 2), x, (&[1, 1, 2], &[5.0, 9.0]));
    check(every(graph(), "all", 2, 0, 4, 2), x, (&[1, 1, 2], &[3.0, 7.0]));
}

#[test]
fn what_tract_fails_to_rewrite_stays_as_it_is() {
    let graph = Builder::default().initializer(ints("shape", &[3], &[1, 2, 3])).node(
        "reshape",
        "Reshape",
        &["x", "shape"],
        &["all"],
    );
    let x: (&[usize], &[f32]) = (&[1, 6], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    check(every(graph, "all", 2, 0, 3, 2), x, (&[1, 2, 2], &[1.0, 3.0, 4.0, 6.0]));

    let graph = Builder::default().initializer(ints("shape", &[2], &[1, 4])).node(
        "expand",
        "Expand",
        &["x", "shape"],
        &["all"],
    );
    check(every(graph, "all", 1, 0, 4, 2), (&[1, 1], &[3.0]), (&[1, 2], &[3.0; 2]));
}

#[test]
fn a_sum_over_what_was_broadcast_counts_every_element() {
    let graph = |rows: i64, columns: i64, w: &[f32]| {
        Builder::default()
            .initializer(ints("shape", &[2], &[rows, columns]))
            .initializer(floats("w", &[columns, 1], w))
            .node("expand", "Expand", &["x", "shape"], &["all"])
            .node("product", "MatMul", &["all", "w"], &["y"])
    };
    check(graph(1, 2, &[1.0, 10.0]), (&[1, 1], &[1.0]), (&[1, 1], &[11.0]));
    check(graph(3, 1, &[5.0]), (&[1, 1], &[1.0]), (&[3, 1], &[5.0; 3]));
}

#[test]
fn what_a_convolution_is_subtracted_from_is_not_drawn_into_it() {
    let graph = |op_type: &str, inputs: [&str; 2]| {
        Builder::default()
            .initializer(floats("w", &[1, 1, 2], &[1.0, 1.0]))
            .initializer(floats("c", &[1, 1, 1], &[12.0]))
            .node("conv", "Conv", &["x", "w"], &["sum"])
            .node("after", op_type, &inputs, &["y"])
    };
    let x: (&[usize], &[f32]) = (&[1, 1, 3], &[1.0, 2.0, 3.0]);
    for (op_type, inputs, y) in [
        ("Sub", ["c", "sum"], [9.0, 7.0]),
        ("Sub", ["sum", "c"], [-9.0, -7.0]),
        ("Div", ["c", "sum"], [4.0, 2.4]),
        ("Div", ["sum", "c"], [0.25, 5.0 / 12.0]),
    ] {
        check(graph(op_type, inputs), x, (&[1, 1, 2], &y));
    }
}

#[test]
fn nan_in_a_constant_is_neither_neutral_nor_absorbing() {
    let x = [2.0, -3.0, 0.5, 4.0];
    for op_type in ["Add", "Sub", "Mul", "Div", "Pow"] {
        for (shape, values) in [(&[][..], &[f32::NAN][..]), (&[1], &[f32::NAN]), (&[4], &[f32::NAN; 4])] {
            for inputs in [["x", "nan"], ["nan", "x"]] {
                let graph =
                    Builder::default().initializer(floats("nan", shape, values)).node("op", op_type, &inputs, &["y"]);
                check(graph, (&[4], &x), (&[4], &[f32::NAN; 4]));
            }
        }
    }
}
