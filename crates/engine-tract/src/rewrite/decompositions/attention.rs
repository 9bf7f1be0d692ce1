//! Attention in the form that ONNX Runtime's optimizer for transformers writes.

use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::tract_core::internal::{TractResult, bail};

use super::decomposition::{Decomposition, int, ints, text, to_float, whole_numbers};
use super::quantized;

/// The number that ONNX Runtime adds to the scores that a mask hides.
const HIDDEN: f32 = -10000.0;

/// Projects one input to queries, keys and values.
pub(super) fn attention(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    decomposition.refuse_inputs(&[(4, "past"), (6, "past_sequence_length")])?;
    decomposition.refuse_outputs(&[1])?;
    decomposition.refuse_unless("do_rotary", 0)?;
    if decomposition.attribute("qkv_hidden_sizes").is_some() {
        bail!("the engine has no Attention with the attribute 'qkv_hidden_sizes'");
    }
    let product = decomposition.add("projected", "MatMul", &[decomposition.input(0)?, decomposition.input(1)?], vec![]);
    let projected = match decomposition.given(2) {
        Some(bias) => decomposition.add("biased", "Add", &[&product, bias], vec![]),
        None => product,
    };
    let (mask, bias) = (decomposition.given(3), decomposition.given(5));
    give_attention(decomposition, &projected, mask, bias)
}

/// Works like [`attention`], but with a quantized input and quantized weights.
pub(super) fn quantized(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    decomposition.refuse_inputs(&[(8, "past")])?;
    decomposition.refuse_outputs(&[1])?;
    decomposition.refuse_unless("do_rotary", 0)?;
    let (x, w) = (decomposition.input(0)?, decomposition.input(1)?);
    let (x_zero, w_zero) = (decomposition.given(6).unwrap_or_default(), decomposition.given(7).unwrap_or_default());
    let product = decomposition.add("product", "MatMulInteger", &[x, w, x_zero, w_zero], vec![]);
    let scaled = quantized::scaled(decomposition, &product, decomposition.input(3)?, decomposition.input(4)?);
    let projected = decomposition.add("biased", "Add", &[&scaled, decomposition.input(2)?], vec![]);
    let mask = decomposition.given(5);
    give_attention(decomposition, &projected, mask, None)
}

fn give_attention(
    decomposition: &mut Decomposition<'_>,
    projected: &str,
    mask: Option<&str>,
    bias: Option<&str>,
) -> TractResult<()> {
    let heads = decomposition.int("num_heads", 0);
    // [batch, length, 3 * heads * size] becomes [3, batch, heads, length, size].
    let shape = decomposition.constant("shape_apart", whole_numbers(&[0, 0, 3, heads, -1]));
    let apart = decomposition.add("apart", "Reshape", &[projected, &shape], vec![]);
    let turned = decomposition.add("turned", "Transpose", &[&apart], vec![ints("perm", &[2, 0, 3, 1, 4])]);
    let parts = ["query", "key", "value"].into_iter().enumerate().map(|(index, what)| {
        let at = decomposition.constant(&format!("{what}_at"), number(index as i64));
        decomposition.add(what, "Gather", &[&turned, &at], vec![int("axis", 0)])
    });
    let parts: Vec<String> = parts.collect();
    let mask = mask.map(|mask| hidden(decomposition, mask));
    give_weighted(decomposition, &parts, mask.as_deref(), bias)
}

/// Takes queries, keys and values that are already projected.
pub(super) fn multi_head(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    decomposition.refuse_inputs(&[
        (6, "past_key"),
        (7, "past_value"),
        (8, "past_sequence_length"),
        (9, "cache_indirection"),
    ])?;
    decomposition.refuse_outputs(&[1, 2, 3])?;
    decomposition.refuse_unless("unidirectional", 0)?;
    if decomposition.given(1).is_none() || decomposition.given(2).is_none() {
        bail!("the engine has no MultiHeadAttention with packed queries, keys and values");
    }
    let heads = decomposition.int("num_heads", 0);
    let biases = match decomposition.given(3) {
        Some(bias) => {
            let shape = decomposition.constant("shape_of_biases", whole_numbers(&[3, -1]));
            Some(decomposition.add("biases", "Reshape", &[bias, &shape], vec![]))
        }
        None => None,
    };
    let shape = decomposition.constant("shape_apart", whole_numbers(&[0, 0, heads, -1]));
    let mut parts = Vec::new();
    for (slot, what) in ["query", "key", "value"].into_iter().enumerate() {
        // Three axes are required, because inputs with more axes mean something else.
        let mut part = decomposition.add(
            &format!("{what}_rows"),
            "Transpose",
            &[decomposition.input(slot)?],
            vec![ints("perm", &[0, 1, 2])],
        );
        if let Some(biases) = &biases {
            let at = decomposition.constant(&format!("{what}_at"), number(slot as i64));
            let bias = decomposition.add(&format!("{what}_bias"), "Gather", &[biases, &at], vec![int("axis", 0)]);
            part = decomposition.add(&format!("{what}_biased"), "Add", &[&part, &bias], vec![]);
        }
        let apart = decomposition.add(&format!("{what}_apart"), "Reshape", &[&part, &shape], vec![]);
        parts.push(decomposition.add(what, "Transpose", &[&apart], vec![ints("perm", &[0, 2, 1, 3])]));
    }
    let mask = decomposition.given(4).map(|mask| hidden(decomposition, mask));
    let bias = decomposition.given(5);
    give_weighted(decomposition, &parts, mask.as_deref(), bias)
}

/// Adds nodes that compute the summand of the scores for a mask of ones and zeros, as [batch, 1, 1, length]. Returns
/// the name of the result. The transposition refuses a mask with another number of axes when the model is loaded.
fn hidden(decomposition: &mut Decomposition<'_>, mask: &str) -> String {
    let value = decomposition.float("mask_filter_value", HIDDEN);
    let checked = decomposition.add("mask_rows", "Transpose", &[mask], vec![ints("perm", &[0, 1])]);
    let shape = decomposition.constant("shape_of_mask", whole_numbers(&[0, 1, 1, -1]));
    let shaped = decomposition.add("mask", "Reshape", &[&checked, &shape], vec![]);
    let mask = decomposition.add("mask_as_float", "Cast", &[&shaped], to_float());
    let (one, value) = (decomposition.number("one", 1.0), decomposition.number("filter_value", value));
    let rest = decomposition.add("mask_inverted", "Sub", &[&one, &mask], vec![]);
    decomposition.add("mask_scores", "Mul", &[&rest, &value], vec![])
}

/// Weights the values by the softmax of the scores. All parts are [batch, heads, length, size].
fn give_weighted(
    decomposition: &mut Decomposition<'_>,
    parts: &[String],
    mask: Option<&str>,
    bias: Option<&str>,
) -> TractResult<()> {
    let [query, key, value] = parts else { bail!("attention has queries, keys and values") };
    let scale = match decomposition.float("scale", 0.0) {
        0.0 => {
            // One over the square root of the size of a head.
            let shape = decomposition.add("shape_of_query", "Shape", &[query], vec![]);
            let at = decomposition.constant("size_at", number(3));
            let size = decomposition.add("size", "Gather", &[&shape, &at], vec![int("axis", 0)]);
            let size = decomposition.add("size_as_float", "Cast", &[&size], to_float());
            let root = decomposition.add("root", "Sqrt", &[&size], vec![]);
            decomposition.add("factor", "Reciprocal", &[&root], vec![])
        }
        scale => decomposition.number("factor", scale),
    };
    let equation = vec![text("equation", "bhqd,bhkd->bhqk")];
    let products = decomposition.add("products", "Einsum", &[query, key], equation);
    let mut scores = decomposition.add("scores", "Mul", &[&products, &scale], vec![]);
    if let Some(mask) = mask {
        scores = decomposition.add("masked", "Add", &[&scores, mask], vec![]);
    }
    if let Some(bias) = bias {
        scores = decomposition.add("with_bias", "Add", &[&scores, bias], vec![]);
    }
    if decomposition.int("unidirectional", 0) == 1 {
        scores = causal(decomposition, &scores);
    }
    let weights = decomposition.add("weights", "Softmax", &[&scores], vec![int("axis", -1)]);
    let weighed = decomposition.add("weighed", "MatMul", &[&weights, value], vec![]);
    let rows = decomposition.add("rows", "Transpose", &[&weighed], vec![ints("perm", &[0, 2, 1, 3])]);
    let shape = decomposition.constant("shape_of_rows", whole_numbers(&[0, 0, -1]));
    decomposition.give(0, "Reshape", &[&rows, &shape], vec![]);
    Ok(())
}

/// Hides later positions.
fn causal(decomposition: &mut Decomposition<'_>, scores: &str) -> String {
    let hidden = decomposition.number("hidden", f32::MIN);
    let one = decomposition.constant(
        "true",
        tract_onnx::pb::TensorProto { data_type: DataType::Float as i32, float_data: vec![1.0], ..Default::default() },
    );
    let shape = decomposition.add("shape_of_scores", "Shape", &[scores], vec![]);
    let ones = decomposition.add("ones", "Expand", &[&one, &shape], vec![]);
    let lower = decomposition.add("lower", "Trilu", &[&ones], vec![int("upper", 0)]);
    let seen = decomposition.add("seen", "Cast", &[&lower], vec![int("to", DataType::Bool as i64)]);
    decomposition.add("causal", "Where", &[&seen, scores, &hidden], vec![])
}

/// Returns a scalar constant of a whole number.
fn number(value: i64) -> tract_onnx::pb::TensorProto {
    tract_onnx::pb::TensorProto { dims: vec![], ..whole_numbers(&[value]) }
}
