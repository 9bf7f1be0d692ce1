//! Costs that were counted by hand.

use std::collections::HashMap;
use std::path::Path;

use opscope_onnx::{CostGraph, Graph, GroupCost, TensorInfo, ValueTypes};
use opscope_tensor::DType;
use prost::bytes::Bytes;

use crate::wire::{self, Message};

/// A graph with one node, and the types of its inputs.
pub struct Case {
    pub op_type: &'static str,
    pub inputs: &'static [&'static [usize]],
    pub attributes: Vec<Message>,
    pub domain: &'static str,
    pub dtype: DType,
    /// The shape of its output, if that does not follow from the shapes of the inputs.
    pub output: Option<&'static [usize]>,
}

pub fn case(op_type: &'static str, inputs: &'static [&'static [usize]]) -> Case {
    Case { op_type, inputs, attributes: Vec::new(), domain: "", dtype: DType::F32, output: None }
}

/// Returns a node of ONNX Runtime's own operators.
fn of_runtime(op_type: &'static str, inputs: &'static [&'static [usize]], output: &'static [usize]) -> Case {
    Case { domain: "com.microsoft", output: Some(output), ..case(op_type, inputs) }
}

impl Case {
    pub fn int(mut self, name: &str, value: i64) -> Self {
        self.attributes.push(Message::default().text(1, name).int(3, value).int(20, 2));
        self
    }

    pub fn ints(mut self, name: &str, values: &[i64]) -> Self {
        let named = Message::default().text(1, name);
        self.attributes.push(values.iter().fold(named, |message, value| message.int(8, *value)).int(20, 7));
        self
    }

    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.attributes.push(Message::default().text(1, name).text(4, value).int(20, 3));
        self
    }

    pub fn cost(self) -> GroupCost {
        let names: Vec<String> = (0..self.inputs.len()).map(|slot| format!("i{slot}")).collect();
        // An input without dimensions stands for an omitted one, unless it is the only input.
        let is_given = |slot: &usize| !self.inputs[*slot].is_empty() || self.inputs.len() == 1;
        let slots: Vec<&str> =
            (0..names.len()).map(|slot| if is_given(&slot) { names[slot].as_str() } else { "" }).collect();
        let node = wire::node("node", self.op_type, &slots, &["y"]).text(7, self.domain);
        let node = self.attributes.into_iter().fold(node, |node, attribute| node.message(5, attribute));
        let given: Vec<&str> = slots.iter().copied().filter(|name| !name.is_empty()).collect();
        let bytes = wire::model(wire::graph(&[node], &given, &["y"]));
        let graph = Graph::from_bytes(Path::new("case.onnx"), Bytes::from(bytes)).unwrap();
        let shapes: HashMap<&str, &[usize]> =
            names.iter().map(String::as_str).zip(self.inputs.iter().copied()).collect();
        let known = graph.inputs.iter().map(|id| {
            let shape = shapes[graph.value(*id).name.as_str()].to_vec();
            (*id, TensorInfo { dtype: Some(self.dtype), shape })
        });
        let given =
            self.output.map(|shape| (graph.outputs[0], TensorInfo { dtype: Some(self.dtype), shape: shape.to_vec() }));
        let types = ValueTypes::infer(&graph, known.chain(given));
        CostGraph::new(&graph, &types).cost(&[graph.operators[0].id])
    }

    pub fn flops(self) -> Option<u64> {
        self.cost().flops
    }
}

#[test]
fn products_of_matrices_cost_two_operations_for_each_combination() {
    // [5, 3] x [3, 4]
    let product = case("MatMul", &[&[5, 3], &[3, 4]]).cost();
    assert_eq!(product.flops, Some(5 * 4 * 3 * 2));
    assert_eq!((product.bytes_read, product.bytes_written), (Some((15 + 12) * 4), Some(20 * 4)));
    assert_eq!(case("MatMul", &[&[7, 2, 5, 3], &[2, 3, 4]]).flops(), Some(7 * 2 * 5 * 4 * 3 * 2));
    assert_eq!(case("MatMul", &[&[3], &[3]]).flops(), Some(3 * 2));
    // With a bias that is added once; transposed operands.
    assert_eq!(case("Gemm", &[&[5, 3], &[3, 4], &[4]]).flops(), Some(5 * 4 * (3 * 2 + 1)));
    assert_eq!(case("Gemm", &[&[3, 5], &[4, 3]]).int("transA", 1).int("transB", 1).flops(), Some(5 * 4 * 3 * 2));
    assert_eq!(
        case("Einsum", &[&[7, 5, 3], &[7, 3, 4]]).text("equation", "bij,bjk->bik").flops(),
        Some(7 * 5 * 4 * 3 * 2)
    );
    assert_eq!(case("Einsum", &[&[5], &[4]]).text("equation", "i,j->ij").flops(), Some(5 * 4));
    assert_eq!(case("Einsum", &[&[5, 3]]).text("equation", "ij->i").flops(), Some(5 * 2));
}

#[test]
fn convolutions_cost_two_operations_for_each_weight_of_a_window() {
    // 6 filters of 3 x 3 over 4 channels, at 8 x 8 places.
    let same = case("Conv", &[&[2, 4, 8, 8], &[6, 4, 3, 3], &[6]]).ints("pads", &[1, 1, 1, 1]);
    assert_eq!(same.flops(), Some(2 * 6 * 64 * (4 * 9 * 2 + 1)));
    // Two groups halve the channels of each; a stride of 2 leaves 3 x 3 places.
    let grouped = case("Conv", &[&[1, 4, 8, 8], &[6, 2, 3, 3]]).int("group", 2).ints("strides", &[2, 2]);
    assert_eq!(grouped.flops(), Some(6 * 9 * (2 * 9 * 2)));
    // Each of the 16 elements of 4 channels is multiplied with 3 x 2 x 2 weights.
    let transposed = case("ConvTranspose", &[&[1, 4, 4, 4], &[4, 3, 2, 2]]).ints("strides", &[2, 2]);
    assert_eq!(transposed.flops(), Some(4 * 16 * 3 * 4 * 2));
}

#[test]
fn recurrent_layers_cost_their_gates_in_every_step() {
    // 5 steps of 2 sequences, 3 inputs, 4 hidden: for each gate and element 3 + 4 products, a sum, a bias.
    let lstm = case("LSTM", &[&[5, 2, 3], &[1, 16, 3], &[1, 16, 4], &[1, 32]]).int("hidden_size", 4);
    assert_eq!(lstm.flops(), Some(5 * 2 * 4 * (4 * (2 * 7 + 2) + 3 * 4 + 2 + 4)));
    let gru =
        case("GRU", &[&[5, 2, 3], &[2, 12, 3], &[2, 12, 4]]).int("hidden_size", 4).text("direction", "bidirectional");
    assert_eq!(gru.flops(), Some(5 * 2 * 2 * 4 * (3 * (2 * 7 + 1) + 2 * 4 + 1 + 5)));
    // The length of each sequence depends on data.
    let lengths = case("LSTM", &[&[5, 2, 3], &[1, 16, 3], &[1, 16, 4], &[], &[2]]).int("hidden_size", 4);
    assert_eq!(lengths.flops(), None);
}

#[test]
fn element_wise_operators_reductions_and_normalisations_cost_by_element() {
    assert_eq!(case("Add", &[&[2, 3, 4], &[4]]).flops(), Some(24));
    assert_eq!(case("Sigmoid", &[&[6]]).flops(), Some(24));
    assert_eq!(case("Softmax", &[&[2, 8]]).flops(), Some(5 * 16));
    assert_eq!(case("LayerNormalization", &[&[2, 8], &[8], &[8]]).flops(), Some(7 * 16));
    assert_eq!(case("BatchNormalization", &[&[1, 2, 3, 3], &[2], &[2], &[2], &[2]]).flops(), Some(2 * 18));
    // Two rows of 8: seven additions and a division each.
    assert_eq!(case("ReduceMean", &[&[2, 8]]).ints("axes", &[1]).flops(), Some(2 * 8));
    assert_eq!(case("ReduceSum", &[&[2, 8]]).flops(), Some(15));
    let pooled = case("MaxPool", &[&[1, 2, 4, 4]]).ints("kernel_shape", &[2, 2]).ints("strides", &[2, 2]);
    assert_eq!(pooled.flops(), Some(2 * 4 * 4));
}

#[test]
fn embeddings_and_updates_cost_what_they_multiply_and_add() {
    // Of each head of 8, 4 elements are rotated, or all.
    let rotary = || case("RotaryEmbedding", &[&[1, 5, 16], &[5, 2], &[5, 2]]).int("num_heads", 2);
    assert_eq!(rotary().flops(), Some(5 * 16 * 3));
    assert_eq!(rotary().int("rotary_embedding_dim", 4).flops(), Some(5 * 2 * 4 * 3));
    assert_eq!(rotary().int("rotary_embedding_dim", 9).flops(), None);
    let update = || Case { output: Some(&[9, 4]), ..case("ScatterND", &[&[9, 4], &[2, 1], &[2, 4]]) };
    assert_eq!(update().flops(), Some(0));
    assert_eq!(update().text("reduction", "add").flops(), Some(8));
    // Two tables of rows, and a normalisation with a bias.
    let embedded =
        of_runtime("EmbedLayerNormalization", &[&[2, 3], &[], &[100, 8], &[16, 8], &[], &[8], &[8]], &[2, 3, 8]);
    assert_eq!(embedded.flops(), Some(48 * (1 + 7)));
}

#[test]
fn attention_costs_its_projection_its_scores_and_what_it_weighs() {
    // 2 sequences of 3 queries and 5 keys, 4 heads of 8.
    let operands: [&'static [&'static [usize]]; 2] =
        [&[&[2, 3, 32], &[2, 5, 32], &[2, 5, 32]], &[&[2, 3, 32], &[2, 5, 32], &[2, 5, 32], &[96], &[2, 5]]];
    let multi_head = |inputs| of_runtime("MultiHeadAttention", inputs, &[2, 3, 32]).int("num_heads", 4);
    let scores = 2 * 4 * 3 * 5;
    assert_eq!(multi_head(operands[0]).flops(), Some(scores * (2 * 8 + 2 * 8 + 6)));
    // A bias for each element of the operands, and a mask.
    assert_eq!(multi_head(operands[1]).flops(), Some(scores * (2 * 8 + 2 * 8 + 7) + 2 * (3 + 5 + 5) * 32));
    // Seven keys of earlier runs.
    let past = multi_head(&[&[2, 3, 32], &[2, 5, 32], &[2, 5, 32], &[], &[], &[], &[2, 4, 7, 8], &[2, 4, 7, 8]]);
    assert_eq!(past.flops(), Some(2 * 4 * 3 * 12 * (2 * 8 + 2 * 8 + 6)));
    // How much of a buffer is used depends on data.
    let buffer =
        multi_head(&[&[2, 3, 32], &[2, 5, 32], &[2, 5, 32], &[], &[], &[], &[2, 4, 7, 8], &[2, 4, 7, 8], &[1]]);
    assert_eq!(buffer.flops(), None);
    // Three products with the weights first: 3 x 16 columns, a bias.
    let projected = || of_runtime("Attention", &[&[2, 3, 20], &[20, 48], &[48]], &[2, 3, 16]).int("num_heads", 4);
    let projection = 2 * 3 * 48 * (2 * 20 + 1);
    assert_eq!(projected().flops(), Some(projection + 2 * 4 * 3 * 3 * (2 * 4 + 2 * 4 + 6)));
    let narrow = projected().ints("qkv_hidden_sizes", &[20, 20, 8]);
    assert_eq!(narrow.flops(), Some(projection + 2 * 4 * 3 * 3 * (2 * 5 + 2 * 2 + 6)));
    let quantised: &'static [&'static [usize]] = &[&[2, 3, 20], &[20, 48], &[48], &[1], &[1], &[2, 3], &[1], &[1]];
    let quantised = of_runtime("QAttention", quantised, &[2, 3, 16]).int("num_heads", 4);
    assert_eq!(quantised.flops(), Some(projection + 2 * 4 * 3 * 3 * (2 * 4 + 2 * 4 + 7)));
}

#[test]
fn fused_and_quantised_operators_cost_what_they_stand_for() {
    let packed = of_runtime("MatMulNBits", &[&[2, 5, 64], &[7, 2, 16], &[14], &[], &[], &[7]], &[2, 5, 7]);
    assert_eq!(packed.int("K", 64).flops(), Some(2 * 5 * 7 * (2 * 64 + 1)));
    let dynamic = of_runtime("DynamicQuantizeMatMul", &[&[5, 3], &[3, 4], &[1], &[1], &[4]], &[5, 4]);
    assert_eq!(dynamic.flops(), Some(5 * 4 * (2 * 3 + 1)));
    let convolution = |activation| {
        of_runtime("FusedConv", &[&[1, 4, 8, 8], &[6, 4, 3, 3], &[6], &[1, 6, 6, 6]], &[1, 6, 6, 6])
            .text("activation", activation)
    };
    assert_eq!(convolution("Relu").flops(), Some(6 * 36 * (2 * 36 + 1 + 1 + 1)));
    assert_eq!(convolution("NoSuchActivation").flops(), None);
    assert_eq!(of_runtime("QLinearSigmoid", &[&[6], &[1], &[1], &[1], &[1]], &[6]).flops(), Some(24));
    assert_eq!(of_runtime("FastGelu", &[&[2, 8], &[8]], &[2, 8]).flops(), Some(16 * 9));
    let normalised = of_runtime("SkipSimplifiedLayerNormalization", &[&[2, 8], &[2, 8], &[8]], &[2, 8]);
    assert_eq!(normalised.flops(), Some(16 * 5));
}

#[test]
fn a_resize_costs_a_weighted_sum_of_the_neighbours_along_the_dimensions_that_change() {
    let resized = |mode| Case { output: Some(&[1, 3, 8, 8]), ..case("Resize", &[&[1, 3, 4, 4]]) }.text("mode", mode);
    assert_eq!(resized("nearest").flops(), Some(0));
    // Four neighbours: four products and three additions.
    assert_eq!(resized("linear").flops(), Some(3 * 64 * 7));
    assert_eq!(resized("cubic").flops(), Some(3 * 64 * 31));
    assert_eq!(resized("linear").int("antialias", 1).flops(), None);
    assert_eq!(resized("linear").text("coordinate_transformation_mode", "tf_crop_and_resize").flops(), None);
    // One of 64 elements is read.
    let smaller =
        Case { output: Some(&[1, 3, 8, 8]), ..case("Resize", &[&[1, 3, 64, 64]]) }.text("mode", "nearest").cost();
    assert_eq!((smaller.flops, smaller.bytes_read, smaller.bytes_written), (Some(0), Some(768), Some(768)));
    let same = Case { output: Some(&[1, 3, 4, 4]), ..case("Resize", &[&[1, 3, 4, 4]]) }.text("mode", "linear");
    assert_eq!(same.flops(), Some(0));
}

#[test]
fn what_moves_data_costs_bytes_only_and_a_view_costs_nothing() {
    let transposed = case("Transpose", &[&[4, 6]]).cost();
    assert_eq!((transposed.flops, transposed.bytes_read, transposed.bytes_written), (Some(0), Some(96), Some(96)));
    let flat = case("Flatten", &[&[4, 6]]).cost();
    assert_eq!((flat.flops, flat.bytes_read, flat.bytes_written), (Some(0), Some(0), Some(0)));
    // Two rows of a table of a thousand are read, and two indices.
    let gathered = Case { dtype: DType::I64, ..case("Gather", &[&[1000, 8], &[2]]) }.cost();
    assert_eq!((gathered.bytes_read, gathered.bytes_written), (Some(2 * 8 * 8 + 2 * 8), Some(2 * 8 * 8)));
}

#[test]
fn what_is_not_known_is_not_guessed() {
    assert_eq!(
        case("NoSuchOperator", &[&[4]]).cost(),
        GroupCost { dtype: Some(DType::F32), bytes_read: Some(16), ..GroupCost::default() }
    );
    assert_eq!(case("Einsum", &[&[2], &[2], &[2]]).text("equation", "i,i,i->").flops(), None);
    let huge = case("MatMul", &[&[usize::MAX / 2, 3], &[3, usize::MAX / 2]]).cost();
    assert_eq!((huge.flops, huge.bytes_read, huge.bytes_written), (None, None, None));
}
