//! Operators that the engine crate computes itself because tract is slow: their outputs, compared with plain loops, and
//! that they are used.

use fastrand::Rng;
use opscope_model::Fidelity;
use opscope_tensor::{DType, Tensor};
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::{AttributeProto, TensorProto};

use crate::builder::{Builder, D, attribute, floats, int, subgraph};
use crate::files::{FIDELITIES, load, run};

fn list(name: &str, ints: &[usize]) -> AttributeProto {
    let ints = ints.iter().map(|&int| int as i64).collect();
    AttributeProto { r#type: AttributeType::Ints as i32, ints, ..attribute(name) }
}

fn bytes(name: &str, dtype: DataType, shape: &[usize], values: &[i32]) -> TensorProto {
    let dims = shape.iter().map(|&dim| dim as i64).collect();
    let int32_data = values.to_vec();
    TensorProto { name: name.to_owned(), dims, data_type: dtype as i32, int32_data, ..TensorProto::default() }
}

fn shape_of(dims: &[usize]) -> Vec<D> {
    dims.iter().map(|&dim| D::N(dim as i64)).collect()
}

fn numbers(random: &mut Rng, count: usize) -> Vec<f32> {
    (0..count).map(|_| 2.0 * random.f32() - 1.0).collect()
}

fn floats_of(tensor: &Tensor) -> Vec<f32> {
    tensor.bytes().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// A convolution over two axes.
struct Window {
    batch: usize,
    groups: usize,
    /// The channels of the input and of the output.
    channels: [usize; 2],
    size: [usize; 2],
    kernel: [usize; 2],
    strides: [usize; 2],
    dilations: [usize; 2],
    /// The padding before and after each axis.
    pads: [[usize; 2]; 2],
}

impl Window {
    fn output(&self) -> [usize; 2] {
        std::array::from_fn(|axis| {
            let padded = self.size[axis] + self.pads[0][axis] + self.pads[1][axis];
            (padded - (self.kernel[axis] - 1) * self.dilations[axis] - 1) / self.strides[axis] + 1
        })
    }

    fn attributes(&self) -> Vec<AttributeProto> {
        vec![
            int("group", self.groups as i64),
            list("kernel_shape", &self.kernel),
            list("strides", &self.strides),
            list("dilations", &self.dilations),
            list("pads", &self.pads.concat()),
        ]
    }

    /// Returns the sums of products, computed in plain loops.
    fn sums(&self, x: &[f64], w: &[f64], bias: &[f64]) -> Vec<f64> {
        let [height, width] = self.output();
        let [from, to] = self.channels.map(|channels| channels / self.groups);
        let mut sums = Vec::new();
        for image in 0..self.batch {
            for (channel, start) in bias.iter().enumerate().take(self.channels[1]) {
                for row in 0..height {
                    for column in 0..width {
                        let mut sum = *start;
                        for inner in 0..from {
                            for down in 0..self.kernel[0] {
                                for right in 0..self.kernel[1] {
                                    let y = row * self.strides[0] + down * self.dilations[0];
                                    let x_at = column * self.strides[1] + right * self.dilations[1];
                                    let place = y.checked_sub(self.pads[0][0]).zip(x_at.checked_sub(self.pads[0][1]));
                                    let Some((y, x_at)) = place.filter(|(y, x)| *y < self.size[0] && *x < self.size[1])
                                    else {
                                        continue;
                                    };
                                    let plane = image * self.channels[0] + channel / to * from + inner;
                                    let weight =
                                        ((channel * from + inner) * self.kernel[0] + down) * self.kernel[1] + right;
                                    sum += x[(plane * self.size[0] + y) * self.size[1] + x_at] * w[weight];
                                }
                            }
                        }
                        sums.push(sum);
                    }
                }
            }
        }
        sums
    }

    fn counts(&self) -> [usize; 2] {
        let x = self.batch * self.channels[0] * self.size[0] * self.size[1];
        [x, self.channels[1] * (self.channels[0] / self.groups) * self.kernel[0] * self.kernel[1]]
    }
}

const PLAIN: Window = Window {
    batch: 1,
    groups: 1,
    channels: [3, 5],
    size: [20, 21],
    kernel: [3, 3],
    strides: [1, 1],
    dilations: [1, 1],
    pads: [[1, 1], [1, 1]],
};

#[test]
fn convolutions_of_every_geometry_give_the_sums_of_plain_loops_in_one_kernel() {
    let mut random = Rng::with_seed(5);
    let windows = [
        PLAIN,
        Window { channels: [2, 16], kernel: [9, 7], pads: [[4, 3], [4, 3]], ..PLAIN },
        Window {
            batch: 2,
            channels: [2, 9],
            size: [40, 50],
            kernel: [3, 5],
            strides: [2, 3],
            pads: [[0, 2], [1, 1]],
            ..PLAIN
        },
        Window { channels: [4, 8], size: [24, 24], dilations: [2, 3], pads: [[2, 3], [2, 3]], ..PLAIN },
        Window { size: [30, 30], kernel: [2, 2], strides: [2, 1], dilations: [3, 1], pads: [[0, 0], [0, 0]], ..PLAIN },
        Window { groups: 2, channels: [4, 6], size: [30, 40], strides: [1, 2], pads: [[1, 0], [1, 0]], ..PLAIN },
        Window {
            batch: 2,
            groups: 6,
            channels: [6, 6],
            size: [15, 14],
            kernel: [5, 5],
            strides: [2, 2],
            pads: [[2, 2], [2, 2]],
            ..PLAIN
        },
        Window { groups: 3, channels: [3, 6], size: [17, 18], ..PLAIN },
    ];
    for (at, window) in windows.iter().enumerate() {
        let [of_x, of_w] = window.counts();
        let (x, w) = (numbers(&mut random, of_x), numbers(&mut random, of_w));
        let bias = numbers(&mut random, window.channels[1]);
        let x_shape = [window.batch, window.channels[0], window.size[0], window.size[1]];
        let w_shape = [window.channels[1], window.channels[0] / window.groups, window.kernel[0], window.kernel[1]];
        let graph = Builder::default()
            .input("x", DataType::Float, &shape_of(&x_shape))
            .output("y")
            .initializer(floats("w", &w_shape.map(|dim| dim as i64), &w))
            .initializer(floats("b", &[window.channels[1] as i64], &bias))
            .node_with("conv", "Conv", &["x", "w", "b"], &["y"], window.attributes())
            .graph();
        let inputs = [Tensor::from_f32(x_shape.to_vec(), &x).unwrap()];
        let [x, w, bias] = [x, w, bias].map(|values| values.into_iter().map(f64::from).collect::<Vec<_>>());
        let expected = window.sums(&x, &w, &bias);
        for fidelity in FIDELITIES {
            let plan = load(&graph, fidelity).unwrap().plan(&inputs).unwrap();
            let outputs = run(&*plan, &inputs).unwrap();
            let [height, width] = window.output();
            assert_eq!(outputs[0].shape(), [window.batch, window.channels[1], height, width], "window {at}");
            for (place, (found, expected)) in floats_of(&outputs[0]).iter().zip(&expected).enumerate() {
                let difference = (f64::from(*found) - expected).abs();
                assert!(difference < 1e-4, "window {at}, {fidelity}: {found} and not {expected} at {place}");
            }
            if fidelity == Fidelity::Optimised {
                let kernels: Vec<&str> = plan.kernels().iter().map(|kernel| kernel.op.as_str()).collect();
                assert_eq!(kernels, ["Conv"], "window {at}");
            }
        }
    }
}

#[test]
fn convolutions_of_bytes_are_at_most_a_step_from_the_sums_of_integers() {
    let mut random = Rng::with_seed(6);
    let window = Window { batch: 2, channels: [3, 7], ..PLAIN };
    let [of_x, of_w] = window.counts();
    for (dtype, w_dtype, [x_zero, w_zero, y_zero], range) in [
        (DataType::Uint8, DataType::Int8, [117, 0, 120], 0..=255),
        (DataType::Int8, DataType::Int8, [-5, 3, 2], -128..=127),
        (DataType::Uint8, DataType::Uint8, [3, 130, 90], 0..=255),
    ] {
        let x: Vec<i32> = (0..of_x).map(|_| random.i32(range.clone())).collect();
        let w_range = if w_dtype == DataType::Int8 { -128..=127 } else { 0..=255 };
        let w: Vec<i32> = (0..of_w).map(|_| random.i32(w_range.clone())).collect();
        let bias: Vec<i32> = (0..7).map(|_| random.i32(-2000..=2000)).collect();
        let scales: Vec<f32> = (0..7).map(|_| 0.01 + 0.01 * random.f32()).collect();
        let graph = Builder::default()
            .input("x", dtype, &shape_of(&[2, 3, 20, 21]))
            .output("y")
            .initializer(floats("x_scale", &[], &[0.02]))
            .initializer(bytes("x_zero", dtype, &[], &[x_zero]))
            .initializer(bytes("w", w_dtype, &[7, 3, 3, 3], &w))
            .initializer(floats("w_scale", &[7], &scales))
            .initializer(bytes("w_zero", w_dtype, &[7], &[w_zero; 7]))
            .initializer(floats("y_scale", &[], &[0.9]))
            .initializer(bytes("y_zero", dtype, &[], &[y_zero]))
            .initializer(bytes("b", DataType::Int32, &[7], &bias))
            .node_with(
                "conv",
                "QLinearConv",
                &["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "b"],
                &["y"],
                window.attributes(),
            )
            .graph();
        let kind = if dtype == DataType::Int8 { DType::I8 } else { DType::U8 };
        let raw: Vec<u8> = x.iter().map(|&number| number as u8).collect();
        let inputs = [Tensor::new(kind, vec![2, 3, 20, 21], raw).unwrap()];
        let less = |values: &[i32], zero: i32| values.iter().map(|value| f64::from(value - zero)).collect::<Vec<_>>();
        let sums = window.sums(&less(&x, x_zero), &less(&w, w_zero), &less(&bias, 0));
        let plane = 20 * 21;
        let expected = sums.iter().enumerate().map(|(at, sum)| {
            let scale = f64::from(0.02f32) * f64::from(scales[at / plane % 7]) / f64::from(0.9f32);
            ((sum * scale).round_ties_even() as i32 + y_zero).clamp(*range.start(), *range.end())
        });
        let expected: Vec<i32> = expected.collect();
        for fidelity in FIDELITIES {
            let plan = load(&graph, fidelity).unwrap().plan(&inputs).unwrap();
            let found = run(&*plan, &inputs).unwrap();
            let found = found[0]
                .bytes()
                .iter()
                .map(|&byte| if kind == DType::I8 { i32::from(byte as i8) } else { byte.into() });
            let wrong = found.zip(&expected).filter(|(found, expected)| found != *expected);
            let wrong: Vec<_> = wrong.collect();
            assert!(wrong.iter().all(|(found, expected)| (found - *expected).abs() <= 1), "{fidelity}: {wrong:?}");
            assert!(wrong.len() < 20, "{fidelity}: {} of {} are a step off", wrong.len(), expected.len());
            let is_ours = plan.kernels().iter().any(|kernel| kernel.op == "ToBytes");
            assert_eq!(is_ours, fidelity == Fidelity::Optimised, "{dtype:?}");
        }
    }
}

#[test]
fn products_with_large_weights_are_those_of_integers() {
    let mut random = Rng::with_seed(8);
    let (rows, depth, columns) = (3, 1024, 1031);
    let x: Vec<i32> = (0..rows * depth).map(|_| random.i32(0..=255)).collect();
    for (dtype, range) in [(DataType::Int8, -128..=127), (DataType::Uint8, 0..=255)] {
        let w: Vec<i32> = (0..depth * columns).map(|_| random.i32(range.clone())).collect();
        for zeros in [vec![7], (0..columns as i32).map(|column| column % 100).collect()] {
            let of_zeros = if zeros.len() == 1 { vec![] } else { vec![columns] };
            let graph = Builder::default()
                .input("x", DataType::Uint8, &shape_of(&[1, rows, depth]))
                .output("y")
                .initializer(bytes("w", dtype, &[depth, columns], &w))
                .initializer(bytes("x_zero", DataType::Uint8, &[], &[131]))
                .initializer(bytes("w_zero", dtype, &of_zeros, &zeros))
                .node("product", "MatMulInteger", &["x", "w", "x_zero", "w_zero"], &["y"])
                .graph();
            let raw: Vec<u8> = x.iter().map(|&number| number as u8).collect();
            let inputs = [Tensor::new(DType::U8, vec![1, rows, depth], raw).unwrap()];
            for fidelity in FIDELITIES {
                let plan = load(&graph, fidelity).unwrap().plan(&inputs).unwrap();
                let kernels: Vec<&str> = plan.kernels().iter().map(|kernel| kernel.op.as_str()).collect();
                assert_eq!(kernels, ["MatMulInteger"], "{fidelity}");
                let found = run(&*plan, &inputs).unwrap();
                assert_eq!(found[0].shape(), [1, rows, columns]);
                for (at, found) in
                    found[0].bytes().as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).enumerate()
                {
                    let (row, column) = (at / columns, at % columns);
                    let zero = zeros[column % zeros.len()];
                    let terms = (0..depth).map(|k| (x[row * depth + k] - 131) * (w[k * columns + column] - zero));
                    assert_eq!(found, terms.sum::<i32>(), "{dtype:?}, {fidelity}: row {row}, column {column}");
                }
            }
        }
    }
}

#[test]
fn the_branches_of_an_if_are_taken_in_turns() {
    let branch = |op_type: &str| {
        Builder::default().output("r").node("first", op_type, &["x"], &["a"]).node("second", "Add", &["a", "x"], &["r"])
    };
    let graph = Builder::default()
        .input("x", DataType::Float, &[D::N(2)])
        .input("c", DataType::Bool, &[])
        .output("y")
        .node_with(
            "if",
            "If",
            &["c"],
            &["y"],
            vec![subgraph("then_branch", branch("Neg")), subgraph("else_branch", branch("Abs"))],
        )
        .graph();
    let inputs = |is_taken: bool| {
        let c = Tensor::new(DType::Bool, vec![], vec![u8::from(is_taken)]).unwrap();
        [Tensor::from_f32(vec![2], &[-1.5, 2.0]).unwrap(), c]
    };
    for fidelity in FIDELITIES {
        let plan = load(&graph, fidelity).unwrap().plan(&inputs(true)).unwrap();
        for is_taken in [true, false, false, true, false] {
            let found = floats_of(&run(&*plan, &inputs(is_taken)).unwrap()[0]);
            let expected = if is_taken { [0.0, 0.0] } else { [0.0, 4.0] };
            assert_eq!(found, expected, "{fidelity}, {is_taken}");
        }
    }
}
