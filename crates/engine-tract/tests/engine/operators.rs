//! Operators that the engine's own kernels compute wrongly, compared with ONNX's reference implementation.

use std::sync::Arc;

use opscope_model::Fidelity;
use opscope_onnx::Graph;
use opscope_tensor::{DType, Tensor};
use tract_onnx::pb::AttributeProto;
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::tensor_proto::DataType;

use crate::builder::{Builder, D, attribute, floats, int, ints};
use crate::files::{FIDELITIES, load, run};

fn float(name: &str, value: f32) -> AttributeProto {
    AttributeProto { r#type: AttributeType::Float as i32, f: value, ..attribute(name) }
}

fn text(name: &str, value: &str) -> AttributeProto {
    AttributeProto { r#type: AttributeType::String as i32, s: value.as_bytes().to_vec(), ..attribute(name) }
}

fn numbers(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto { r#type: AttributeType::Ints as i32, ints: values.to_vec(), ..attribute(name) }
}

fn dims(shape: &[usize]) -> Vec<D> {
    shape.iter().map(|&dim| D::N(dim as i64)).collect()
}

fn outputs(graph: &Arc<Graph>, inputs: &[Tensor], fidelity: Fidelity) -> Vec<Tensor> {
    run(&*load(graph, fidelity).unwrap().plan(inputs).unwrap(), inputs).unwrap()
}

fn values(tensor: &Tensor) -> Vec<f32> {
    assert_eq!(tensor.dtype(), DType::F32);
    tensor.bytes().chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// Returns whether two numbers are practically equal; NaN equals NaN, and infinity equals infinity.
fn is_close(found: f32, expected: f32) -> bool {
    found == expected
        || (found.is_nan() && expected.is_nan())
        || (found.is_finite() && (found - expected).abs() <= 1e-6 + 1e-4 * expected.abs())
}

fn assert_close(found: &[f32], expected: &[f32], what: &str) {
    let is_same = found.len() == expected.len() && found.iter().zip(expected).all(|(&a, &b)| is_close(a, b));
    assert!(is_same, "{what}: {found:?} instead of {expected:?}");
}

/// Returns one operator of one tensor of float32.
fn unary(op_type: &str, attributes: Vec<AttributeProto>, shape: &[usize]) -> Arc<Graph> {
    Builder::default()
        .input("x", DataType::Float, &dims(shape))
        .node_with("node", op_type, &["x"], &["y"], attributes)
        .output("y")
        .graph()
}

fn assert_unary(op_type: &str, attributes: &[AttributeProto], x: &[f32], expected: &[f32], fidelities: &[Fidelity]) {
    let input = Tensor::from_f32(vec![x.len()], x).unwrap();
    let graph = unary(op_type, attributes.to_vec(), &[x.len()]);
    for &fidelity in fidelities {
        let found = outputs(&graph, std::slice::from_ref(&input), fidelity);
        assert_close(&values(&found[0]), expected, &format!("{op_type}, {fidelity}"));
    }
}

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

#[test]
fn activations_read_their_attributes_and_do_not_overflow() {
    assert_unary("Celu", &[float("alpha", 2.0)], &[-1.0, 0.0, 3.0], &[-0.786_938_7, 0.0, 3.0], &FIDELITIES);
    assert_unary(
        "Swish",
        &[float("alpha", 0.5)],
        &[1.0, -2.0, 3.0],
        &[0.622_459_4, -0.537_882_8, 2.452_723_5],
        &FIDELITIES,
    );
    assert_unary(
        "Softplus",
        &[],
        &[-1.0, 0.0, 100.0, 1e10],
        &[0.313_261_7, std::f32::consts::LN_2, 100.0, 1e10],
        &FIDELITIES,
    );
}

#[test]
fn at_exact_fidelity_operators_that_compare_hand_nan_on() {
    let x = [NAN, INF, -INF, -2.0, 3.0];
    let exact = [Fidelity::Exact];
    assert_unary("Relu", &[], &x, &[NAN, INF, 0.0, 0.0, 3.0], &exact);
    assert_unary("LeakyRelu", &[float("alpha", 0.5)], &x, &[NAN, INF, -INF, -1.0, 3.0], &exact);
    assert_unary("HardSigmoid", &[], &x, &[NAN, 1.0, 0.0, 0.1, 1.0], &exact);
    assert_unary("Sigmoid", &[], &x, &[NAN, 1.0, 0.0, 0.119_202_92, 0.952_574_1], &exact);
    assert_unary("Tanh", &[], &x, &[NAN, 1.0, -1.0, -0.964_027_6, 0.995_054_8], &exact);
    assert_unary("Exp", &[], &x, &[NAN, INF, 0.0, 0.135_335_28, 20.085_537], &exact);
    assert_unary("Erf", &[], &x, &[NAN, 1.0, -1.0, -0.995_322_3, 0.999_977_9], &exact);
    let bounds =
        |graph: Builder| graph.initializer(floats("low", &[], &[-1.0])).initializer(floats("high", &[], &[2.0]));
    let clip = bounds(Builder::default().input("x", DataType::Float, &dims(&[5])))
        .node("node", "Clip", &["x", "low", "high"], &["y"])
        .output("y")
        .graph();
    let input = [Tensor::from_f32(vec![5], &x).unwrap()];
    assert_close(&values(&outputs(&clip, &input, Fidelity::Exact)[0]), &[NAN, 2.0, -1.0, -1.0, 2.0], "Clip");
    // This operator compares with an ordinary `Where`, so NaN is not above the threshold.
    assert_unary("ThresholdedRelu", &[], &x, &[0.0, INF, 0.0, 0.0, 3.0], &exact);
    for (op_type, expected) in [("Max", [NAN, NAN, 1.0]), ("Min", [NAN, NAN, -4.0])] {
        let graph = Builder::default()
            .input("a", DataType::Float, &dims(&[3]))
            .input("b", DataType::Float, &dims(&[3]))
            .node("node", op_type, &["a", "b"], &["y"])
            .output("y")
            .graph();
        let inputs = [&[NAN, 1.0, 1.0], &[2.0, NAN, -4.0]].map(|x| Tensor::from_f32(vec![3], x).unwrap());
        assert_close(&values(&outputs(&graph, &inputs, Fidelity::Exact)[0]), &expected, op_type);
    }
}

#[test]
fn a_constant_of_nan_is_folded_to_what_a_run_computes_of_it() {
    let x = [NAN, INF, -INF, -2.0, 3.0, 0.5];
    let input = [Tensor::from_f32(vec![1, 1, 6], &x).unwrap()];
    let kernel = || vec![numbers("kernel_shape", &[2])];
    for (op_type, others, attributes) in [
        ("Relu", &[][..], vec![]),
        ("LeakyRelu", &[], vec![]),
        ("HardSigmoid", &[], vec![]),
        ("Sigmoid", &[], vec![]),
        ("Tanh", &[], vec![]),
        ("Softplus", &[], vec![]),
        ("Softmax", &[], vec![]),
        ("Clip", &["low", "high"], vec![]),
        ("Max", &["low"], vec![]),
        ("Min", &["low"], vec![]),
        ("ReduceMax", &[], vec![]),
        ("MaxPool", &[], kernel()),
        ("AveragePool", &[], kernel()),
    ] {
        let constants =
            || Builder::default().initializer(floats("low", &[], &[-1.0])).initializer(floats("high", &[], &[2.0]));
        let apply = |graph: Builder, to: &'static str| {
            graph.node_with("node", op_type, &[&[to], others].concat(), &["y"], attributes.clone()).output("y")
        };
        let in_a_run = apply(constants().input("x", DataType::Float, &dims(&[1, 1, 6])), "x").graph();
        let expected = values(&outputs(&in_a_run, &input, Fidelity::Exact)[0]);
        assert!(expected.iter().any(|value| value.is_nan()), "{op_type} hands NaN on: {expected:?}");
        let folded =
            constants().initializer(floats("w", &[1, 1, 6], &x)).input("x", DataType::Float, &dims(&[1, 1, 6]));
        let folded = apply(folded, "w").node("used", "Neg", &["x"], &["z"]).output("z").graph();
        for fidelity in FIDELITIES {
            let found = values(&outputs(&folded, &input, fidelity)[0]);
            assert_close(&found, &expected, &format!("{op_type}, folded, {fidelity}"));
        }
    }
}

#[test]
fn at_exact_fidelity_pools_and_positions_find_nan() {
    let x = [1.0, NAN, 2.0, 3.0, -INF, -INF, -INF, -INF, 4.0, 9.0, 6.0, 5.0];
    let input = [Tensor::from_f32(vec![1, 1, 12], &x).unwrap()];
    let graph = Builder::default()
        .input("x", DataType::Float, &dims(&[1, 1, 12]))
        .node_with(
            "pool",
            "MaxPool",
            &["x"],
            &["y", "i"],
            vec![numbers("kernel_shape", &[4]), numbers("strides", &[4])],
        )
        .node("whole", "GlobalMaxPool", &["x"], &["z"])
        .output("y")
        .output("i")
        .output("z")
        .graph();
    let found = outputs(&graph, &input, Fidelity::Exact);
    assert_close(&values(&found[0]), &[NAN, -INF, 9.0], "MaxPool");
    assert_eq!(found[1].bytes()[..8], 1i64.to_le_bytes());
    assert_eq!(found[1].bytes()[16..], 9i64.to_le_bytes());
    assert_close(&values(&found[2]), &[NAN], "GlobalMaxPool");

    for (op_type, last, expected) in [("ArgMax", 0, 1i64), ("ArgMin", 0, 1), ("ArgMax", 1, 3), ("ArgMin", 1, 3)] {
        let graph = unary(op_type, vec![int("axis", 0), int("select_last_index", last)], &[5]);
        let input = [Tensor::from_f32(vec![5], &[1.0, NAN, 7.0, NAN, -3.0]).unwrap()];
        assert_eq!(outputs(&graph, &input, Fidelity::Exact)[0].bytes(), expected.to_le_bytes(), "{op_type}");
    }
}

#[test]
fn extremes_know_infinity_and_nothing() {
    for (op_type, expected) in [("ReduceMax", [-INF, 2.0]), ("ReduceMin", [-INF, -INF])] {
        let graph = unary(op_type, vec![numbers("axes", &[1]), int("keepdims", 0)], &[2, 3]);
        let input = [Tensor::from_f32(vec![2, 3], &[-INF, -INF, -INF, 1.0, -INF, 2.0]).unwrap()];
        for fidelity in FIDELITIES {
            assert_close(&values(&outputs(&graph, &input, fidelity)[0]), &expected, op_type);
        }
    }
    for (op_type, expected) in [("ReduceMax", -INF), ("ReduceMin", INF)] {
        let graph = unary(op_type, vec![numbers("axes", &[1])], &[2, 0]);
        let input = [Tensor::from_f32(vec![2, 0], &[]).unwrap()];
        for fidelity in FIDELITIES {
            assert_close(&values(&outputs(&graph, &input, fidelity)[0]), &[expected; 2], op_type);
        }
    }
    let graph = unary("ReduceMax", vec![numbers("axes", &[0]), int("keepdims", 0)], &[2, 2]);
    let input = [Tensor::from_f32(vec![2, 2], &[1.0, 2.0, NAN, -1.0]).unwrap()];
    assert_close(&values(&outputs(&graph, &input, Fidelity::Exact)[0]), &[NAN, 2.0], "ReduceMax");
    let graph = unary("ReduceMin", vec![numbers("axes", &[0]), int("keepdims", 0)], &[2, 2]);
    assert_close(&values(&outputs(&graph, &input, Fidelity::Exact)[0]), &[NAN, -1.0], "ReduceMin");
}

#[test]
fn sums_of_powers_do_not_overflow_and_a_softmax_without_a_sum_is_nan() {
    let x = [1000.0, 1000.0, 0.0, -INF, -INF, -INF];
    let input = [Tensor::from_f32(vec![2, 3], &x).unwrap()];
    for fidelity in FIDELITIES {
        let graph = unary("ReduceLogSumExp", vec![numbers("axes", &[-1]), int("keepdims", 0)], &[2, 3]);
        let found = outputs(&graph, &input, fidelity);
        assert_eq!(found[0].shape(), [2]);
        assert_close(&values(&found[0]), &[1000.0 + std::f32::consts::LN_2, -INF], "ReduceLogSumExp");
        let found = outputs(&unary("Softmax", vec![int("axis", -1)], &[2, 3]), &input, fidelity);
        assert_close(&values(&found[0]), &[0.5, 0.5, 0.0, NAN, NAN, NAN], "Softmax");
    }
}

#[test]
fn shifts_beyond_the_width_shift_everything_out() {
    for (direction, expected) in [("LEFT", [-128i8, 0, 0, 8]), ("RIGHT", [-1, 0, -1, 2])] {
        let graph = Builder::default()
            .input("x", DataType::Int8, &dims(&[4]))
            .input("by", DataType::Int8, &dims(&[4]))
            .node_with("shift", "BitShift", &["x", "by"], &["y"], vec![text("direction", direction)])
            .output("y")
            .graph();
        let bytes = |values: [i8; 4]| Tensor::new(DType::I8, vec![4], values.map(|value| value as u8)).unwrap();
        let by = if direction == "LEFT" { [7, 8, -1, 1] } else { [8, 9, -1, 1] };
        let inputs = [bytes(if direction == "LEFT" { [1, 4, -1, 4] } else { [-8, 4, -1, 4] }), bytes(by)];
        for fidelity in FIDELITIES {
            let found = outputs(&graph, &inputs, fidelity);
            assert_eq!(found[0].bytes(), bytes(expected).bytes(), "{direction}, {fidelity}");
        }
    }
}

#[test]
fn space_goes_to_depth_in_the_order_that_the_file_asks_for() {
    let x: Vec<f32> = (0..8).map(|value| value as f32).collect();
    let input = [Tensor::from_f32(vec![1, 2, 2, 2], &x).unwrap()];
    for (mode, expected) in
        [("DCR", [0.0, 4.0, 1.0, 5.0, 2.0, 6.0, 3.0, 7.0]), ("CRD", [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])]
    {
        let graph = unary("SpaceToDepth", vec![int("blocksize", 2), text("mode", mode)], &[1, 2, 2, 2]);
        for fidelity in FIDELITIES {
            let found = outputs(&graph, &input, fidelity);
            assert_eq!(found[0].shape(), [1, 8, 1, 1]);
            assert_close(&values(&found[0]), &expected, mode);
        }
    }
}

/// Returns a recurrent operator with weights of 0.1 over the sequence 1, 2 | 3, 4 | 5, 6.
fn recurrent(op_type: &str, gates: i64, hidden: i64, directions: i64, attributes: Vec<AttributeProto>) -> Arc<Graph> {
    let is_batch_first = attributes.iter().any(|attribute| attribute.name == "layout");
    let weights = |name, shape: [i64; 3]| floats(name, &shape, &vec![0.1; shape.iter().product::<i64>() as usize]);
    let attributes = [attributes, vec![int("hidden_size", hidden)]].concat();
    let shape = if is_batch_first { [1, 3, 2] } else { [3, 1, 2] };
    Builder::default()
        .input("x", DataType::Float, &dims(&shape))
        .initializer(weights("w", [directions, gates * hidden, 2]))
        .initializer(weights("r", [directions, gates * hidden, hidden]))
        .node_with("layer", op_type, &["x", "w", "r"], &["y", "h"], attributes)
        .output("y")
        .output("h")
        .graph()
}

#[test]
fn recurrent_operators_run_backwards() {
    let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let backwards = [0.355_675_55, 0.338_319_72, 0.199_916_53];
    for fidelity in FIDELITIES {
        let graph = recurrent("GRU", 3, 5, 1, vec![text("direction", "reverse")]);
        let found = outputs(&graph, &[Tensor::from_f32(vec![3, 1, 2], &x).unwrap()], fidelity);
        assert_close(&values(&found[0]), &backwards.map(|value| [value; 5]).concat(), "GRU");
        assert_close(&values(&found[1]), &[backwards[0]; 5], "GRU's last");
        let graph = recurrent("LSTM", 4, 3, 1, vec![text("direction", "reverse")]);
        let found = outputs(&graph, &[Tensor::from_f32(vec![3, 1, 2], &x).unwrap()], fidelity);
        assert_close(&values(&found[1]), &[0.404_125_03; 3], "LSTM's last");
    }
}

#[test]
fn both_directions_are_joined_the_same_way_whether_the_batch_comes_first_or_the_time() {
    let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    for fidelity in FIDELITIES {
        let both = || vec![text("direction", "bidirectional")];
        let time_first = recurrent("GRU", 3, 5, 2, both());
        let batch_first = recurrent("GRU", 3, 5, 2, [both(), vec![int("layout", 1)]].concat());
        let expected = outputs(&time_first, &[Tensor::from_f32(vec![3, 1, 2], &x).unwrap()], fidelity);
        let found = outputs(&batch_first, &[Tensor::from_f32(vec![1, 3, 2], &x).unwrap()], fidelity);
        // With a batch of one the order of the elements is the same.
        assert_eq!((expected[0].shape(), found[0].shape()), (&[3, 2, 1, 5][..], &[1, 3, 2, 5][..]));
        assert_eq!((expected[1].shape(), found[1].shape()), (&[2, 1, 5][..], &[1, 2, 5][..]));
        assert_close(&values(&found[0]), &values(&expected[0]), "Y");
        assert_close(&values(&found[1]), &values(&expected[1]), "Y_h");
        let backwards: Vec<f32> = values(&found[1])[5..].to_vec();
        assert_close(&backwards, &[0.355_675_55; 5], "backwards");
    }
}

#[test]
fn what_cancels_out_in_a_fourier_transform_is_nothing() {
    let x: Vec<f32> = (0..10).flat_map(|_| [1000.1, 0.0]).collect();
    let graph = unary("DFT", vec![int("axis", 1)], &[1, 10, 2]);
    for fidelity in FIDELITIES {
        let found = values(&outputs(&graph, &[Tensor::from_f32(vec![1, 10, 2], &x).unwrap()], fidelity)[0]);
        assert!((found[0] - 10001.0).abs() < 1e-2 && found[2..].iter().all(|value| value.abs() < 1e-9), "{found:?}");
    }
}

fn halves(shape: &[usize], bits: &[u16]) -> Tensor {
    let bytes: Vec<u8> = bits.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    Tensor::new(DType::F16, shape.to_vec(), bytes).unwrap()
}

/// 1, 2, 3, 4, 0.5 and -1 as fp16.
const HALVES: [u16; 6] = [0x3c00, 0x4000, 0x4200, 0x4400, 0x3800, 0xbc00];

#[test]
fn fp16_is_computed_in_fp32_and_stays_fp16() {
    let weights = tract_onnx::pb::TensorProto {
        name: "w".to_owned(),
        dims: vec![3, 2],
        data_type: DataType::Float16 as i32,
        raw_data: HALVES.iter().flat_map(|bits| bits.to_le_bytes()).collect(),
        ..Default::default()
    };
    let bias = tract_onnx::pb::TensorProto {
        name: "b".to_owned(),
        dims: vec![2],
        raw_data: HALVES[..2].iter().flat_map(|bits| bits.to_le_bytes()).collect(),
        ..weights.clone()
    };
    let graph = Builder::default()
        .input("x", DataType::Float16, &dims(&[2, 3]))
        .initializer(weights)
        .initializer(bias)
        .initializer(ints("shape", &[1], &[4]))
        .node("gemm", "Gemm", &["x", "w", "b"], &["g"])
        .node("flat", "Reshape", &["g", "shape"], &["f"])
        .node("relu", "Relu", &["f"], &["y"])
        .output("y")
        .graph();
    for fidelity in FIDELITIES {
        let found = outputs(&graph, &[halves(&[2, 3], &HALVES)], fidelity);
        // [[1, 2, 3], [4, 0.5, -1]] @ [[1, 2], [3, 4], [0.5, -1]] + [1, 2] is [[9.5, 9], [6, 13]].
        let expected = halves(&[4], &[0x48c0, 0x4880, 0x4600, 0x4a80]);
        assert_eq!((found[0].dtype(), found[0].shape()), (DType::F16, &[4][..]), "{fidelity}");
        assert_eq!(found[0].bytes(), expected.bytes(), "{fidelity}");
    }
}

#[test]
fn roundings_to_fp16_that_a_file_asks_for_are_kept_at_every_fidelity() {
    // 2048 + 1 is 2048 in fp16, so adding 1 four times changes nothing.
    let graph = Builder::default()
        .input("x", DataType::Float16, &dims(&[1]))
        .input("one", DataType::Float16, &dims(&[1]))
        .node("a", "Add", &["x", "one"], &["p"])
        .node("b", "Add", &["p", "one"], &["q"])
        .node("c", "Add", &["q", "one"], &["r"])
        .node("d", "Add", &["r", "one"], &["y"])
        .output("y")
        .graph();
    for fidelity in FIDELITIES {
        let found = outputs(&graph, &[halves(&[1], &[0x6800]), halves(&[1], &[0x3c00])], fidelity);
        assert_eq!(found[0].bytes(), halves(&[1], &[0x6800]).bytes(), "{fidelity}");
    }
}

#[test]
fn a_product_in_fp16_and_the_constant_added_to_it_are_rounded_once_in_an_optimised_plan() {
    let half = |name: &str, shape: &[i64], bits: &[i32]| tract_onnx::pb::TensorProto {
        name: name.to_owned(),
        dims: shape.to_vec(),
        data_type: DataType::Float16 as i32,
        int32_data: bits.to_vec(),
        ..Default::default()
    };
    let graph = |op_type: &str, is_product_read_twice: bool| {
        let graph = Builder::default()
            .input("x", DataType::Float16, &dims(&[1, 2]))
            .initializer(half("ones", &[2, 1], &[0x3c00, 0x3c00]))
            .initializer(half("one", &[1], &[0x3c00]))
            .initializer(half("even", &[1], &[0x6800]))
            .node("product", "MatMul", &["x", "ones"], &["p"])
            .node("next", op_type, &["p", if op_type == "Add" { "one" } else { "even" }], &["y"])
            .output("y");
        if is_product_read_twice { graph.output("p") } else { graph }.graph()
    };
    // 2048 + 1 is 2048 in fp16, and so is the result of adding 1 again. With a single rounding, 2048 + 1 + 1 is 2050.
    let input = [halves(&[1, 2], &[0x6800, 0x3c00])];
    let (even, next) = (halves(&[1, 1], &[0x6800]), halves(&[1, 1], &[0x6801]));
    assert_eq!(outputs(&graph("Add", false), &input, Fidelity::Exact)[0].bytes(), even.bytes());
    assert_eq!(outputs(&graph("Add", false), &input, Fidelity::Optimised)[0].bytes(), next.bytes());
    for fidelity in FIDELITIES {
        let found = outputs(&graph("Add", true), &input, fidelity);
        assert_eq!(
            [found[0].bytes(), found[1].bytes()],
            [even.bytes(); 2],
            "{fidelity}: the product is an output, too"
        );
        // Nothing rounds the inputs of a comparison, so the product is rounded before it.
        assert_eq!(outputs(&graph("Greater", false), &input, fidelity)[0].bytes(), [0], "{fidelity}: 2048 > 2048");
    }
}

#[test]
fn a_softmax_of_fp16_rounds_where_onnx_does() {
    let graph = Builder::default()
        .input("x", DataType::Float16, &dims(&[2, 3]))
        .node("softmax", "Softmax", &["x"], &["y"])
        .output("y")
        .graph();
    // The second row is minus infinity throughout, so it has no sum.
    let input = halves(&[2, 3], &[0x3c00, 0x4000, 0x4200, 0xfc00, 0xfc00, 0xfc00]);
    for fidelity in FIDELITIES {
        let found = outputs(&graph, std::slice::from_ref(&input), fidelity);
        assert_eq!(found[0].bytes()[..6], halves(&[3], &[0x2dc4, 0x33d5, 0x3953]).bytes()[..], "{fidelity}");
        let is_nan = |bytes: &[u8]| u16::from_le_bytes([bytes[0], bytes[1]]) & 0x7fff > 0x7c00;
        assert!(found[0].bytes()[6..].chunks_exact(2).all(is_nan), "{fidelity}");
    }
}

#[test]
fn a_softmax_of_fp16_is_the_same_whether_its_rows_lie_together_or_apart() {
    let graph = |axis, shape: &[usize]| {
        Builder::default()
            .input("x", DataType::Float16, &dims(shape))
            .node_with("softmax", "Softmax", &["x"], &["y"], vec![int("axis", axis)])
            .output("y")
            .graph()
    };
    let together = halves(&[2, 3], &[0x3c00, 0x4000, 0x4200, 0x4500, 0x3800, 0xc000]);
    let apart = halves(&[3, 2], &[0x3c00, 0x4500, 0x4000, 0x3800, 0x4200, 0xc000]);
    for fidelity in FIDELITIES {
        let of_rows = outputs(&graph(1, &[2, 3]), std::slice::from_ref(&together), fidelity);
        let of_columns = outputs(&graph(0, &[3, 2]), std::slice::from_ref(&apart), fidelity);
        let rows: Vec<&[u8]> = of_rows[0].bytes().chunks_exact(2).collect();
        let columns: Vec<&[u8]> = of_columns[0].bytes().chunks_exact(2).collect();
        assert_eq!([0, 2, 4, 1, 3, 5].map(|place| columns[place]).as_slice(), rows, "{fidelity}");
    }
}

#[test]
fn a_normalization_in_fp16_takes_its_parameters_at_both_fidelities() {
    let half = |name: &str, value: f32| {
        let bits = half_bits(value);
        tract_onnx::pb::TensorProto {
            name: name.to_owned(),
            dims: vec![1],
            data_type: DataType::Float16 as i32,
            int32_data: vec![i32::from(bits)],
            ..Default::default()
        }
    };
    let graph = Builder::default()
        .input("x", DataType::Float16, &[D::N(1), D::N(1), D::N(2)])
        .initializer(half("scale", 2.0))
        .initializer(half("bias", 0.5))
        .initializer(half("mean", 1.0))
        .initializer(half("variance", 1.0))
        .node("norm", "BatchNormalization", &["x", "scale", "bias", "mean", "variance"], &["y"])
        .output("y")
        .graph();
    let x: Vec<u8> = [1.0, 2.0].iter().flat_map(|&value| half_bits(value).to_le_bytes()).collect();
    let input = [Tensor::new(DType::F16, vec![1, 1, 2], x).unwrap()];
    for fidelity in FIDELITIES {
        let outputs = run(&*load(&graph, fidelity).unwrap().plan(&input).unwrap(), &input).unwrap();
        let found: Vec<u16> = outputs[0].bytes().as_chunks().0.iter().map(|&bytes| u16::from_le_bytes(bytes)).collect();
        assert_eq!(found, [half_bits(0.5), half_bits(2.5)], "{fidelity}");
    }
}

/// Returns the bits of a number that fp16 holds exactly: 0.5, 1, 2 or 2.5.
fn half_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let exponent = (bits >> 23) as i32 - 127 + 15;
    (exponent as u16) << 10 | ((bits >> 13) & 0x3ff) as u16
}
