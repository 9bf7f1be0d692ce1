//! Attention as one operator.

use super::{Typed, elements_of, product};

/// Operations of a softmax for each element: maximum, difference, exponential, sum, division.
const SOFTMAX: u64 = 5;

pub(super) fn flops(typed: &Typed<'_>) -> Option<u64> {
    match (typed.operator.domain.as_str(), typed.operator.op_type.as_str()) {
        ("" | "ai.onnx", "Attention") => {
            let past = if typed.has(4) { *typed.input(4)?.shape.get(2)? as u64 } else { 0 };
            let queries = heads(typed, 0, "q_num_heads")?;
            let (keys, values) = (heads(typed, 1, "kv_num_heads")?, heads(typed, 2, "kv_num_heads")?);
            scores(&queries, keys.length.checked_add(past)?, values.size, typed.has(3))
        }
        ("com.microsoft", "MultiHeadAttention") => {
            if (3..8).any(|slot| typed.has(slot)) {
                // A bias, masks and a past change what is computed.
                return None;
            }
            let queries = heads(typed, 0, "num_heads")?;
            let (keys, values) = (heads(typed, 1, "num_heads")?, heads(typed, 2, "num_heads")?);
            scores(&queries, keys.length, values.size, false)
        }
        _ => None,
    }
}

/// The heads of an operand: `[batch, heads, length, size]`, or `[batch, length, heads * size]`.
struct Heads {
    batch: u64,
    heads: u64,
    length: u64,
    size: u64,
}

fn heads(typed: &Typed<'_>, slot: usize, count: &str) -> Option<Heads> {
    match typed.input(slot)?.shape[..] {
        [batch, heads, length, size] => {
            Some(Heads { batch: batch as u64, heads: heads as u64, length: length as u64, size: size as u64 })
        }
        [batch, length, hidden] => {
            let heads = u64::try_from(typed.operator.int(count)?).ok().filter(|heads| *heads > 0)?;
            Some(Heads { batch: batch as u64, heads, length: length as u64, size: hidden as u64 / heads })
        }
        _ => None,
    }
}

/// Two products of matrices for each head; between them a scale, a mask if there is one, and a softmax.
fn scores(queries: &Heads, keys: u64, value_size: u64, mask: bool) -> Option<u64> {
    let scores = product(&[queries.batch, queries.heads, queries.length, keys])?;
    let of_each = 2 * queries.size.checked_add(value_size)? + SOFTMAX + 1 + u64::from(mask);
    scores.checked_mul(of_each)
}

/// Operations of a softmax of the whole tensor.
pub(super) fn softmax(shape: &[usize]) -> Option<u64> {
    elements_of(shape)?.checked_mul(SOFTMAX)
}
