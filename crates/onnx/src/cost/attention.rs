//! Attention operators.

use super::{Typed, elements_of, product};

/// Operations of a softmax per element: maximum, difference, exponential, sum, division.
const SOFTMAX: u64 = 5;

pub(super) fn flops(typed: &Typed<'_>) -> Option<u64> {
    match (typed.operator.domain.as_str(), typed.operator.op_type.as_str()) {
        ("" | "ai.onnx", "Attention") => {
            let queries = heads(typed, 0, "q_num_heads")?;
            let (keys, values) = (heads(typed, 1, "kv_num_heads")?, heads(typed, 2, "kv_num_heads")?);
            scores(&queries, keys.length.checked_add(past(typed, 4)?)?, values.size, u64::from(typed.has(3)))
        }
        ("com.microsoft", "MultiHeadAttention") => multi_head(typed),
        ("com.microsoft", "Attention") => projected(typed, &PROJECTED),
        ("com.microsoft", "QAttention") => projected(typed, &QUANTISED),
        _ => None,
    }
}

/// The heads of an operand: `[batch, heads, length, size]`, or `[batch, length, heads * size]`.
pub(super) struct Heads {
    batch: u64,
    heads: u64,
    length: u64,
    pub size: u64,
}

pub(super) fn heads(typed: &Typed<'_>, slot: usize, count: &str) -> Option<Heads> {
    match typed.input(slot)?.shape[..] {
        [batch, heads, length, size] => {
            Some(Heads { batch: batch as u64, heads: heads as u64, length: length as u64, size: size as u64 })
        }
        [batch, length, hidden] => {
            let heads = counted(typed, count)?;
            Some(Heads { batch: batch as u64, heads, length: length as u64, size: hidden as u64 / heads })
        }
        _ => None,
    }
}

/// Returns the number of heads that an attribute states.
fn counted(typed: &Typed<'_>, count: &str) -> Option<u64> {
    u64::try_from(typed.operator.int(count)?).ok().filter(|heads| *heads > 0)
}

/// Returns how many keys of earlier runs an optional input holds, `[batch, heads, length, size]`.
fn past(typed: &Typed<'_>, slot: usize) -> Option<u64> {
    if !typed.has(slot) {
        return Some(0);
    }
    let [.., length, _] = typed.input(slot)?.shape[..] else { return None };
    Some(length as u64)
}

/// Returns the operations of the heads: two matrix products per head, and between them a scale, the addition of masks,
/// and a softmax.
fn scores(queries: &Heads, keys: u64, value_size: u64, masks: u64) -> Option<u64> {
    let scores = product(&[queries.batch, queries.heads, queries.length, keys])?;
    let of_each = queries.size.checked_add(value_size)?.checked_mul(2)?.checked_add(SOFTMAX + 1 + masks)?;
    scores.checked_mul(of_each)
}

/// Returns the cost of an attention whose operands may have a bias, and whose scores may have a mask of keys and a
/// bias.
fn multi_head(typed: &Typed<'_>) -> Option<u64> {
    // How much of a separate buffer for the past is used depends on data. Keys with four dimensions already have their
    // bias.
    if typed.has(8) || typed.has(9) || (typed.has(3) && typed.input(1)?.shape.len() != 3) {
        return None;
    }
    let queries = heads(typed, 0, "num_heads")?;
    let (keys, values) = (heads(typed, 1, "num_heads")?, heads(typed, 2, "num_heads")?);
    let masks = u64::from(typed.has(4)) + u64::from(typed.has(5));
    let biased = match typed.has(3) {
        true => (0..3).try_fold(0u64, |sum, slot| sum.checked_add(typed.taken(slot)?))?,
        false => 0,
    };
    scores(&queries, keys.length.checked_add(past(typed, 6)?)?, values.size, masks)?.checked_add(biased)
}

/// The slots of the optional inputs of an attention that first multiplies its input with the weights of queries, keys
/// and values.
struct Slots {
    bias: usize,
    mask: usize,
    past: usize,
    /// A bias of the scores, and the length of the past in a separate buffer, if the operator has them.
    scores: Option<(usize, usize)>,
}

const PROJECTED: Slots = Slots { bias: 2, mask: 3, past: 4, scores: Some((5, 6)) };
const QUANTISED: Slots = Slots { bias: 2, mask: 5, past: 8, scores: None };

fn projected(typed: &Typed<'_>, slots: &Slots) -> Option<u64> {
    let &[batch, length, inner] = &typed.input(0)?.shape[..] else { return None };
    let &[_, columns] = &typed.input(1)?.shape[..] else { return None };
    let (batch, length, columns) = (batch as u64, length as u64, columns as u64);
    let has = |slot: Option<usize>| slot.is_some_and(|slot| typed.has(slot));
    if has(slots.scores.map(|(_, length)| length)) || typed.operator.int("do_rotary").unwrap_or(0) != 0 {
        return None;
    }
    let widths = match typed.operator.ints("qkv_hidden_sizes") {
        None => [columns / 3; 3],
        Some(sizes) => {
            let sizes: Vec<u64> = sizes.iter().map(|&size| u64::try_from(size).ok()).collect::<Option<_>>()?;
            sizes.try_into().ok()?
        }
    };
    let heads = counted(typed, "num_heads")?;
    let [queries, _, values] = widths.map(|width| width / heads);
    let queries = Heads { batch, heads, length, size: queries };
    let masks = u64::from(typed.has(slots.mask)) + u64::from(has(slots.scores.map(|(bias, _)| bias)));
    let of_each = (inner as u64).checked_mul(2)?.checked_add(u64::from(typed.has(slots.bias)))?;
    let projection = product(&[batch, length, columns, of_each])?;
    scores(&queries, length.checked_add(past(typed, slots.past)?)?, values, masks)?.checked_add(projection)
}

/// Returns the operations of a softmax over the whole tensor.
pub(super) fn softmax(shape: &[usize]) -> Option<u64> {
    elements_of(shape)?.checked_mul(SOFTMAX)
}
