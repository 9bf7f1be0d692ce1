//! Attention, as ONNX Runtime's optimizer for transformers writes it.

use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::tract_core::internal::{TractResult, bail};

use super::quantized;
use super::spelling::{Spelling, int, ints, text, to_float, whole_numbers};

/// What ONNX Runtime adds to the scores that a mask hides.
const HIDDEN: f32 = -10000.0;

/// Projects one input to queries, keys and values.
pub(super) fn attention(spelling: &mut Spelling<'_>) -> TractResult<()> {
    spelling.refuse_inputs(&[(4, "past"), (6, "past_sequence_length")])?;
    spelling.refuse_outputs(&[1])?;
    spelling.refuse_unless("do_rotary", 0)?;
    if spelling.attribute("qkv_hidden_sizes").is_some() {
        bail!("the engine has no Attention with the attribute 'qkv_hidden_sizes'");
    }
    let product = spelling.add("projected", "MatMul", &[spelling.input(0)?, spelling.input(1)?], vec![]);
    let projected = match spelling.given(2) {
        Some(bias) => spelling.add("biased", "Add", &[&product, bias], vec![]),
        None => product,
    };
    let (mask, bias) = (spelling.given(3), spelling.given(5));
    give_attention(spelling, &projected, mask, bias)
}

/// As [`attention`], with a quantized input and quantized weights.
pub(super) fn quantized(spelling: &mut Spelling<'_>) -> TractResult<()> {
    spelling.refuse_inputs(&[(8, "past")])?;
    spelling.refuse_outputs(&[1])?;
    spelling.refuse_unless("do_rotary", 0)?;
    let (x, w) = (spelling.input(0)?, spelling.input(1)?);
    let (x_zero, w_zero) = (spelling.given(6).unwrap_or_default(), spelling.given(7).unwrap_or_default());
    let product = spelling.add("product", "MatMulInteger", &[x, w, x_zero, w_zero], vec![]);
    let scaled = quantized::scaled(spelling, &product, spelling.input(3)?, spelling.input(4)?);
    let projected = spelling.add("biased", "Add", &[&scaled, spelling.input(2)?], vec![]);
    let mask = spelling.given(5);
    give_attention(spelling, &projected, mask, None)
}

fn give_attention(
    spelling: &mut Spelling<'_>,
    projected: &str,
    mask: Option<&str>,
    bias: Option<&str>,
) -> TractResult<()> {
    let heads = spelling.int("num_heads", 0);
    // [batch, length, 3 * heads * size] becomes [3, batch, heads, length, size].
    let shape = spelling.constant("shape_apart", whole_numbers(&[0, 0, 3, heads, -1]));
    let apart = spelling.add("apart", "Reshape", &[projected, &shape], vec![]);
    let turned = spelling.add("turned", "Transpose", &[&apart], vec![ints("perm", &[2, 0, 3, 1, 4])]);
    let parts = ["query", "key", "value"].into_iter().enumerate().map(|(index, what)| {
        let at = spelling.constant(&format!("{what}_at"), number(index as i64));
        spelling.add(what, "Gather", &[&turned, &at], vec![int("axis", 0)])
    });
    let parts: Vec<String> = parts.collect();
    let mask = mask.map(|mask| hidden(spelling, mask));
    give_weighted(spelling, &parts, mask.as_deref(), bias)
}

/// Takes queries, keys and values that are projected already.
pub(super) fn multi_head(spelling: &mut Spelling<'_>) -> TractResult<()> {
    spelling.refuse_inputs(&[
        (6, "past_key"),
        (7, "past_value"),
        (8, "past_sequence_length"),
        (9, "cache_indirection"),
    ])?;
    spelling.refuse_outputs(&[1, 2, 3])?;
    spelling.refuse_unless("unidirectional", 0)?;
    if spelling.given(1).is_none() || spelling.given(2).is_none() {
        bail!("the engine has no MultiHeadAttention with packed queries, keys and values");
    }
    let heads = spelling.int("num_heads", 0);
    let biases = match spelling.given(3) {
        Some(bias) => {
            let shape = spelling.constant("shape_of_biases", whole_numbers(&[3, -1]));
            Some(spelling.add("biases", "Reshape", &[bias, &shape], vec![]))
        }
        None => None,
    };
    let shape = spelling.constant("shape_apart", whole_numbers(&[0, 0, heads, -1]));
    let mut parts = Vec::new();
    for (slot, what) in ["query", "key", "value"].into_iter().enumerate() {
        // Three axes are required, for with more of them they mean something else.
        let mut part = spelling.add(
            &format!("{what}_rows"),
            "Transpose",
            &[spelling.input(slot)?],
            vec![ints("perm", &[0, 1, 2])],
        );
        if let Some(biases) = &biases {
            let at = spelling.constant(&format!("{what}_at"), number(slot as i64));
            let bias = spelling.add(&format!("{what}_bias"), "Gather", &[biases, &at], vec![int("axis", 0)]);
            part = spelling.add(&format!("{what}_biased"), "Add", &[&part, &bias], vec![]);
        }
        let apart = spelling.add(&format!("{what}_apart"), "Reshape", &[&part, &shape], vec![]);
        parts.push(spelling.add(what, "Transpose", &[&apart], vec![ints("perm", &[0, 2, 1, 3])]));
    }
    let mask = spelling.given(4).map(|mask| hidden(spelling, mask));
    let bias = spelling.given(5);
    give_weighted(spelling, &parts, mask.as_deref(), bias)
}

/// Adds nodes that compute what is added to the scores for a mask of ones and zeros, as [batch, 1, 1, length]. Returns the name of
/// the result. A mask with another number of axes is refused when the model loads, by the transposition.
fn hidden(spelling: &mut Spelling<'_>, mask: &str) -> String {
    let value = spelling.float("mask_filter_value", HIDDEN);
    let checked = spelling.add("mask_rows", "Transpose", &[mask], vec![ints("perm", &[0, 1])]);
    let shape = spelling.constant("shape_of_mask", whole_numbers(&[0, 1, 1, -1]));
    let shaped = spelling.add("mask", "Reshape", &[&checked, &shape], vec![]);
    let mask = spelling.add("mask_as_float", "Cast", &[&shaped], to_float());
    let (one, value) = (spelling.number("one", 1.0), spelling.number("filter_value", value));
    let rest = spelling.add("mask_inverted", "Sub", &[&one, &mask], vec![]);
    spelling.add("mask_scores", "Mul", &[&rest, &value], vec![])
}

/// Weighs the values by the softmax of the scores. All parts are [batch, heads, length, size].
fn give_weighted(
    spelling: &mut Spelling<'_>,
    parts: &[String],
    mask: Option<&str>,
    bias: Option<&str>,
) -> TractResult<()> {
    let [query, key, value] = parts else { bail!("attention has queries, keys and values") };
    let scale = match spelling.float("scale", 0.0) {
        0.0 => {
            // One over the square root of the size of a head.
            let shape = spelling.add("shape_of_query", "Shape", &[query], vec![]);
            let at = spelling.constant("size_at", number(3));
            let size = spelling.add("size", "Gather", &[&shape, &at], vec![int("axis", 0)]);
            let size = spelling.add("size_as_float", "Cast", &[&size], to_float());
            let root = spelling.add("root", "Sqrt", &[&size], vec![]);
            spelling.add("factor", "Reciprocal", &[&root], vec![])
        }
        scale => spelling.number("factor", scale),
    };
    let equation = vec![text("equation", "bhqd,bhkd->bhqk")];
    let products = spelling.add("products", "Einsum", &[query, key], equation);
    let mut scores = spelling.add("scores", "Mul", &[&products, &scale], vec![]);
    if let Some(mask) = mask {
        scores = spelling.add("masked", "Add", &[&scores, mask], vec![]);
    }
    if let Some(bias) = bias {
        scores = spelling.add("with_bias", "Add", &[&scores, bias], vec![]);
    }
    if spelling.int("unidirectional", 0) == 1 {
        scores = causal(spelling, &scores);
    }
    let weights = spelling.add("weights", "Softmax", &[&scores], vec![int("axis", -1)]);
    let weighed = spelling.add("weighed", "MatMul", &[&weights, value], vec![]);
    let rows = spelling.add("rows", "Transpose", &[&weighed], vec![ints("perm", &[0, 2, 1, 3])]);
    let shape = spelling.constant("shape_of_rows", whole_numbers(&[0, 0, -1]));
    spelling.give(0, "Reshape", &[&rows, &shape], vec![]);
    Ok(())
}

/// Hides what comes later.
fn causal(spelling: &mut Spelling<'_>, scores: &str) -> String {
    let hidden = spelling.number("hidden", f32::MIN);
    let one = spelling.constant(
        "true",
        tract_onnx::pb::TensorProto { data_type: DataType::Float as i32, float_data: vec![1.0], ..Default::default() },
    );
    let shape = spelling.add("shape_of_scores", "Shape", &[scores], vec![]);
    let ones = spelling.add("ones", "Expand", &[&one, &shape], vec![]);
    let lower = spelling.add("lower", "Trilu", &[&ones], vec![int("upper", 0)]);
    let seen = spelling.add("seen", "Cast", &[&lower], vec![int("to", DataType::Bool as i64)]);
    spelling.add("causal", "Where", &[&seen, scores, &hidden], vec![])
}

/// Returns a constant of one whole number and no dimensions.
fn number(value: i64) -> tract_onnx::pb::TensorProto {
    tract_onnx::pb::TensorProto { dims: vec![], ..whole_numbers(&[value]) }
}
