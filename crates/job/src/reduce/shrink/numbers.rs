//! Simpler data: zeros or ones in place of numbers that do not matter.

use opscope_tensor::{DType, Tensor};

use super::try_change;
use crate::reduce::case::Case;
use crate::reduce::check::Checker;

/// Replaces tensors by zeros or ones where the model still fails.
pub fn simplify(case: &mut Case, checker: &mut Checker<'_>) {
    for (slot, tensor) in case.data() {
        if checker.is_over() {
            return;
        }
        let is_list_of_integers = !tensor.dtype().is_float() && tensor.shape().len() < 2;
        if is_list_of_integers || tensor.elements() == 0 {
            continue;
        }
        for number in [0.0, 1.0] {
            let Some(simple) = filled(&tensor, number).filter(|simple| *simple != tensor) else { continue };
            if try_change(case, checker, |case| case.set(slot, simple)) {
                break;
            }
        }
    }
}

/// Returns a tensor of the same type and shape whose elements all are this number.
fn filled(tensor: &Tensor, number: f32) -> Option<Tensor> {
    let one = Tensor::from_f32(vec![1], &[number]).ok()?;
    let element = match tensor.dtype() {
        DType::F32 => one,
        dtype if dtype.is_float() => one.cast(dtype)?,
        dtype if number == 0.0 => Tensor::new(dtype, vec![1], vec![0; dtype.size()?]).ok()?,
        _ => return None,
    };
    let bytes = element.bytes().repeat(tensor.elements());
    Tensor::new(tensor.dtype(), tensor.shape().to_vec(), bytes).ok()
}
