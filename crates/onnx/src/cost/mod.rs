//! The costs of operators: floating-point operations, and bytes that must be read and written.
//!
//! These are the operations of the mathematical definition, and the bytes of the tensors in the file's types. An engine
//! may do less work (Winograd's convolution) or more (a copy into another layout). A cost is given if it follows from
//! the operator and the shapes; otherwise it is unknown. `docs/costs.md` lists every formula.

mod attention;
mod elements;
mod group;
mod matrix;
mod movement;
mod recurrent;

pub use self::group::{CostGraph, GroupCost};

use crate::{Operator, TensorInfo};

/// An operator with the types of its inputs and outputs, by slot; `None` for a missing or unknown one.
struct Typed<'a> {
    operator: &'a Operator,
    inputs: Vec<Option<&'a TensorInfo>>,
    outputs: Vec<Option<&'a TensorInfo>>,
}

impl<'a> Typed<'a> {
    fn input(&self, slot: usize) -> Option<&'a TensorInfo> {
        *self.inputs.get(slot)?
    }

    fn output(&self) -> Option<&'a TensorInfo> {
        *self.outputs.first()?
    }

    /// Returns whether an optional input exists.
    fn has(&self, slot: usize) -> bool {
        self.operator.inputs.get(slot).is_some_and(Option::is_some)
    }

    /// Returns the number of elements of an input.
    fn taken(&self, slot: usize) -> Option<u64> {
        elements_of(&self.input(slot)?.shape)
    }

    /// Returns the number of elements of the first output.
    fn given(&self) -> Option<u64> {
        elements_of(&self.output()?.shape)
    }

    /// Returns the number of operations: a multiplication and an addition are two.
    fn flops(&self) -> Option<u64> {
        match self.operator.domain.as_str() {
            "" | "ai.onnx" | "com.microsoft" => {}
            _ => return None,
        }
        if movement::is_movement(&self.operator.op_type) {
            return Some(0);
        }
        matrix::flops(self)
            .or_else(|| attention::flops(self))
            .or_else(|| recurrent::flops(self))
            .or_else(|| elements::flops(self))
    }
}

/// Returns the number of elements of a shape.
fn elements_of(shape: &[usize]) -> Option<u64> {
    shape.iter().try_fold(1u64, |all, &size| all.checked_mul(size as u64))
}

/// Returns the product of numbers.
fn product(numbers: &[u64]) -> Option<u64> {
    numbers.iter().try_fold(1u64, |all, &number| all.checked_mul(number))
}

/// Returns the size of a tensor in bytes.
fn bytes_of(info: &TensorInfo) -> Option<u64> {
    let elements = usize::try_from(elements_of(&info.shape)?).ok()?;
    Some(info.dtype?.bytes_of(elements)? as u64)
}
