//! Tensors in files, and whether two of them are nearly equal, because an engine may add in another order.

use std::path::Path;

use opscope::tensor::{Element, Tensor, npy};

/// Reads the tensor of an npy file.
pub fn read(path: impl AsRef<Path>) -> Tensor {
    let path = path.as_ref();
    npy::read_file(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns all elements as numbers.
pub fn numbers(tensor: &Tensor) -> Vec<f64> {
    let number = |index| match Element::at(tensor.dtype(), tensor.bytes(), index).unwrap() {
        Element::F32(number) => f64::from(number),
        Element::F64(number) => number,
        Element::Int(number) => number as f64,
        Element::UInt(number) => number as f64,
        Element::Bool(truth) => f64::from(u8::from(truth)),
        other => panic!("{other} is no real number"),
    };
    (0..tensor.elements()).map(number).collect()
}

/// Returns whether numbers differ no more than sums that were added in another order.
pub fn near(found: &[f64], expected: &[f64]) -> bool {
    let near = |(found, expected): (&f64, &f64)| (found - expected).abs() <= 1e-5 + 1e-4 * expected.abs();
    found.len() == expected.len() && found.iter().zip(expected).all(near)
}

/// Returns whether tensors have the same type, the same shape and nearly the same elements.
pub fn close(found: &Tensor, expected: &Tensor) -> bool {
    let same = found.dtype() == expected.dtype() && found.shape() == expected.shape();
    same && near(&numbers(found), &numbers(expected))
}
