//! Recurrent layers.

use super::{Typed, product};

pub(super) fn flops(typed: &Typed<'_>) -> Option<u64> {
    // The gates, and the operations per element of the state in a step: activations, and combining the gates. A sigmoid
    // takes 4, a tanh 1.
    let (gates, combined) = match typed.operator.op_type.as_str() {
        // Three sigmoids, two tanh; c = f * c + i * g, h = o * tanh(c).
        "LSTM" => (4, 3 * 4 + 2 + 4),
        // Two sigmoids, a tanh; r * h, h = (1 - z) * g + z * h.
        "GRU" => (3, 2 * 4 + 1 + 5),
        "RNN" => (1, 1),
        _ => return None,
    };
    let is_default = typed.operator.attributes.keys().all(|name| !matches!(name.as_str(), "activations" | "clip"));
    // With sequences of several lengths, the steps depend on data. Peepholes and a coupled input gate change the cell.
    let is_plain = !typed.has(4) && !typed.has(7) && typed.operator.int("input_forget").unwrap_or(0) == 0;
    if !is_default || !is_plain {
        return None;
    }
    let (&[a, b, inputs], &[directions, _, hidden]) = (&typed.input(0)?.shape[..], &typed.input(2)?.shape[..]) else {
        return None;
    };
    let (inputs, hidden) = (inputs as u64, hidden as u64);
    // x * W + h * R, their sum, and the bias.
    let gate = 2 * inputs.checked_add(hidden)? + 1 + u64::from(typed.has(3));
    let step = hidden.checked_mul(gate.checked_mul(gates)?.checked_add(combined)?)?;
    product(&[a as u64, b as u64, directions as u64, step])
}
