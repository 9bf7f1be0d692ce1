//! The kinds of recurrent operators, and the activation functions of a cell.

use opscope_model::Fidelity;
use tract_onnx::pb::NodeProto;
use tract_onnx::tract_core::internal::{TractResult, bail};

use crate::arithmetic::{sigmoids, tanhs};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Activation {
    Affine(f32, f32),
    Elu(f32),
    HardSigmoid(f32, f32),
    LeakyRelu(f32),
    RationalSigmoid,
    RationalTanh,
    Relu,
    ScaledTanh(f32, f32),
    Sigmoid,
    Softplus,
    Softsign,
    Tanh,
    ThresholdedRelu(f32),
}

/// Returns the functions in the file, or the defaults, for each direction. Where allowed, quotients of polynomials
/// replace sigmoid and tanh, because they are many times faster.
pub(super) fn activations(
    node: &NodeProto,
    kind: Kind,
    directions: usize,
    fidelity: Fidelity,
) -> TractResult<Vec<Activation>> {
    let default: &[&str] = match kind {
        Kind::Rnn => &["Tanh"],
        Kind::Gru => &["Sigmoid", "Tanh"],
        Kind::Lstm => &["Sigmoid", "Tanh", "Tanh"],
    };
    let given = node.attribute.iter().find(|attribute| attribute.name == "activations");
    let given: Vec<String> = given
        .iter()
        .flat_map(|attribute| &attribute.strings)
        .map(|name| String::from_utf8_lossy(name).to_lowercase())
        .collect();
    let names = match given.is_empty() {
        true => default.iter().cycle().take(default.len() * directions).map(|name| name.to_lowercase()).collect(),
        false => given,
    };
    if names.len() != default.len() * directions {
        bail!("{} has {} activations where it needs {}", node.op_type, names.len(), default.len() * directions);
    }
    let floats = |name: &str| -> Vec<f32> {
        let attribute = node.attribute.iter().find(|attribute| attribute.name == name);
        attribute.map(|attribute| attribute.floats.clone()).unwrap_or_default()
    };
    let (mut alphas, mut betas) = (floats("activation_alpha").into_iter(), floats("activation_beta").into_iter());
    let mut alpha = |default| alphas.next().unwrap_or(default);
    let mut beta = |default| betas.next().unwrap_or(default);
    // DynamicQuantizeLSTM is ONNX Runtime's operator. The smallest difference in a state may change a step of the
    // quantization, and grow from there.
    let is_rational = fidelity == Fidelity::Optimised || node.op_type == "DynamicQuantizeLSTM";
    let activation = |name: String| {
        Ok(match name.as_str() {
            "affine" => Activation::Affine(alpha(1.0), beta(0.0)),
            "elu" => Activation::Elu(alpha(1.0)),
            "hardsigmoid" => Activation::HardSigmoid(alpha(0.2), beta(0.5)),
            "leakyrelu" => Activation::LeakyRelu(alpha(0.01)),
            "relu" => Activation::Relu,
            "scaledtanh" => Activation::ScaledTanh(alpha(1.0), beta(1.0)),
            "sigmoid" if is_rational => Activation::RationalSigmoid,
            "sigmoid" => Activation::Sigmoid,
            "softplus" => Activation::Softplus,
            "softsign" => Activation::Softsign,
            "tanh" if is_rational => Activation::RationalTanh,
            "tanh" => Activation::Tanh,
            "thresholdedrelu" => Activation::ThresholdedRelu(alpha(1.0)),
            _ => bail!("the engine has no {} with the activation '{name}'", node.op_type),
        })
    };
    names.into_iter().map(activation).collect()
}

impl Activation {
    /// Applies the function to each value.
    pub(super) fn apply(self, values: &mut [f32]) {
        match self {
            Self::RationalSigmoid => sigmoids(values),
            Self::RationalTanh => tanhs(values),
            _ => values.iter_mut().for_each(|value| *value = self.of(*value)),
        }
    }

    fn of(self, x: f32) -> f32 {
        match self {
            Self::Affine(alpha, beta) => alpha * x + beta,
            Self::Elu(alpha) if x < 0.0 => alpha * x.exp_m1(),
            Self::HardSigmoid(alpha, beta) => (alpha * x + beta).clamp(0.0, 1.0),
            Self::LeakyRelu(alpha) if x < 0.0 => alpha * x,
            Self::Relu if x < 0.0 => 0.0,
            Self::ScaledTanh(alpha, beta) => alpha * (beta * x).tanh(),
            Self::Sigmoid | Self::RationalSigmoid => 1.0 / (1.0 + (-x).exp()),
            Self::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
            Self::Softsign => x / (1.0 + x.abs()),
            Self::Tanh | Self::RationalTanh => x.tanh(),
            Self::ThresholdedRelu(alpha) if x <= alpha => 0.0,
            Self::Elu(_) | Self::LeakyRelu(_) | Self::Relu | Self::ThresholdedRelu(_) => x,
        }
    }
}

/// The recurrent operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Rnn,
    Gru,
    Lstm,
}

impl Kind {
    pub(super) fn gates(self) -> usize {
        match self {
            Self::Rnn => 1,
            Self::Gru => 3,
            Self::Lstm => 4,
        }
    }
}
