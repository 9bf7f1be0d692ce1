//! The operators of the framework. This crate's operators replace those of tract that are wrong.
//!
//! Three frameworks build on each other: tract's own; *corrected*, where operators that tract computes wrongly are
//! replaced; and the one that parses files, where every operator that computes with numbers is also [`widened`].

mod attributes;
mod bit_shift;
mod constants;
mod decompositions;
mod fp16;
mod fp16_as_fp32;
mod indices;
mod integers;
mod non_finite;
mod quantised_conv;
mod recurrence;
mod rnn_directions;
mod sequence;
mod translation;

use std::sync::OnceLock;

use opscope_model::Fidelity;
use tract_onnx::Onnx;
use tract_onnx::model::ParsingContext;
use tract_onnx::pb::NodeProto;
use tract_onnx::tract_core::internal::{TractResult, format_err};
use tract_onnx::tract_hir::internal::InferenceOp;

pub(crate) use fp16_as_fp32::{widened, without_casts};
pub(crate) use indices::{OutOfRange, sources_of_indices, with_checked_indices};
pub(crate) use non_finite::with_special_values;
pub(crate) use quantised_conv::ToBytes;

/// The result of a builder: the operator, and the values that its bodies take from outside.
type Built = (Box<dyn InferenceOp>, Vec<String>);

/// Returns the framework that parses a file for the given fidelity.
pub(crate) fn framework(fidelity: Fidelity) -> Onnx {
    let mut framework = corrected(fidelity).clone();
    fp16_as_fp32::register(&mut framework, fidelity);
    framework
}

/// Returns tract's own operators.
fn tracts() -> &'static Onnx {
    static TRACTS: OnceLock<Onnx> = OnceLock::new();
    TRACTS.get_or_init(tract_onnx::onnx)
}

/// Returns tract's operators, with this crate's in place of those that are wrong.
fn corrected(fidelity: Fidelity) -> &'static Onnx {
    static OPTIMISED: OnceLock<Onnx> = OnceLock::new();
    static EXACT: OnceLock<Onnx> = OnceLock::new();
    let place = match fidelity {
        Fidelity::Optimised => &OPTIMISED,
        Fidelity::Exact => &EXACT,
    };
    place.get_or_init(|| {
        let mut framework = tracts().clone();
        rnn_directions::register(&mut framework);
        recurrence::register(&mut framework, fidelity);
        decompositions::register(&mut framework);
        bit_shift::register(&mut framework);
        sequence::register(&mut framework);
        attributes::register(&mut framework);
        integers::register(&mut framework);
        quantised_conv::register(&mut framework, fidelity);
        framework
    })
}

/// Builds a node with the operator that a framework has for its type.
fn build(framework: &Onnx, context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let builder = framework.op_register.0.get(&node.op_type);
    builder.ok_or_else(|| format_err!("the engine has no operator {}", node.op_type))?(context, node)
}
