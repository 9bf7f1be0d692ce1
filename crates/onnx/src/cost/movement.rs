//! Operators that move, select, convert or compare elements without arithmetic.

use super::{Typed, bytes_of, elements};

/// Operators that present the elements of their input in another shape. They need not read or write anything.
const VIEWS: &[&str] = &["Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"];

/// Operators without arithmetic on floating-point numbers.
const MOVEMENTS: &[&str] = &[
    "And",
    "Cast",
    "CastLike",
    "CenterCropPad",
    "Compress",
    "Concat",
    "Constant",
    "ConstantOfShape",
    "DepthToSpace",
    "Dropout",
    "Equal",
    "Expand",
    "EyeLike",
    "Flatten",
    "Gather",
    "GatherElements",
    "GatherND",
    "Greater",
    "GreaterOrEqual",
    "Hardmax",
    "Identity",
    "IsInf",
    "IsNaN",
    "Less",
    "LessOrEqual",
    "MaxUnpool",
    "NonZero",
    "Not",
    "OneHot",
    "Or",
    "Pad",
    "QLinearConcat",
    "QLinearWhere",
    "Reshape",
    "ReverseSequence",
    "Shape",
    "Sign",
    "Size",
    "Slice",
    "SpaceToDepth",
    "Split",
    "Squeeze",
    "TensorScatter",
    "Tile",
    "TopK",
    "Transpose",
    "Trilu",
    "Unique",
    "Unsqueeze",
    "Where",
    "Xor",
];

/// Operators that read only those elements of their first input that they return.
const SELECTIONS: &[&str] = &["Compress", "Gather", "GatherElements", "GatherND", "Slice"];

/// Returns whether an operator of this type computes nothing.
pub(super) fn is_movement(op_type: &str) -> bool {
    MOVEMENTS.contains(&op_type)
}

/// Returns whether an operator presents its first input in another shape.
pub(super) fn is_view(domain: &str, op_type: &str) -> bool {
    domain.is_empty() && VIEWS.contains(&op_type)
}

/// Returns the bytes that an operator must read of an input.
pub(super) fn bytes_read(typed: &Typed<'_>, slot: usize) -> Option<u64> {
    let op_type = typed.operator.op_type.as_str();
    match op_type {
        "Shape" | "Size" | "ConstantOfShape" => return Some(0),
        _ if is_view(&typed.operator.domain, op_type) => return Some(0),
        _ => {}
    }
    let whole = bytes_of(typed.input(slot)?)?;
    match op_type {
        _ if slot > 0 => Some(whole),
        "Resize" | "Upsample" => {
            let of_each = elements::neighbours(typed).unwrap_or(u64::MAX);
            Some(whole.min(bytes_of(typed.output()?)?.saturating_mul(of_each)))
        }
        selection if SELECTIONS.contains(&selection) => Some(whole.min(bytes_of(typed.output()?)?)),
        _ => Some(whole),
    }
}
