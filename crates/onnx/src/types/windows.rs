use opscope_tensor::DType;

use super::operator_inputs::{OperatorInputs, Outputs, one};
use crate::TensorInfo;

/// Returns the types of the outputs of a convolution or a pooling.
pub(super) fn outputs<'c>(given: &OperatorInputs<'_, impl Fn(usize) -> Option<&'c [i64]>>) -> Outputs {
    let op_type = given.operator.op_type.as_str();
    match op_type {
        "Conv" | "ConvInteger" | "QLinearConv" => {
            let weights = given.input(if op_type == "QLinearConv" { 3 } else { 1 })?;
            let x = given.input(0)?;
            let dtype = match op_type {
                "ConvInteger" => Some(DType::I32),
                "QLinearConv" => given.input(7).and_then(|point| point.dtype),
                _ => x.dtype,
            };
            let kernel = weights.shape.get(2..)?;
            let sizes = windows(given, x.shape.get(2..)?, kernel)?;
            let shape = [*x.shape.first()?, *weights.shape.first()?].into_iter().chain(sizes).collect();
            one(TensorInfo { dtype, shape })
        }
        "ConvTranspose" => {
            let (x, weights) = (given.input(0)?, given.input(1)?);
            let groups = usize::try_from(given.operator.int("group").unwrap_or(1)).ok()?;
            let sizes = transposed(given, x.shape.get(2..)?, weights.shape.get(2..)?)?;
            let shape =
                [*x.shape.first()?, weights.shape.get(1)?.checked_mul(groups)?].into_iter().chain(sizes).collect();
            one(TensorInfo { dtype: x.dtype, shape })
        }
        "MaxPool" | "AveragePool" | "LpPool" => {
            let x = given.input(0)?;
            let kernel = given.operator.ints("kernel_shape")?;
            let kernel = kernel.iter().map(|&size| usize::try_from(size).ok()).collect::<Option<Vec<_>>>()?;
            let sizes = windows(given, x.shape.get(2..)?, &kernel)?;
            let shape: Vec<usize> = x.shape.get(..2)?.iter().copied().chain(sizes).collect();
            let whole = TensorInfo { dtype: x.dtype, shape };
            let indices = TensorInfo { dtype: Some(DType::I64), shape: whole.shape.clone() };
            Some(vec![Some(whole), Some(indices)])
        }
        "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" => {
            let x = given.input(0)?;
            let kept = x.shape.get(..2)?.iter().copied();
            one(TensorInfo { dtype: x.dtype, shape: kept.chain(x.shape[2..].iter().map(|_| 1)).collect() })
        }
        _ => None,
    }
}

/// Returns the number for an axis from an attribute with one number per axis.
fn of_axis(numbers: Option<&[i64]>, axis: usize, otherwise: i64) -> Option<i64> {
    numbers.map_or(Some(otherwise), |numbers| numbers.get(axis).copied())
}

/// Returns how many windows there are along each axis.
fn windows<'c>(
    given: &OperatorInputs<'_, impl Fn(usize) -> Option<&'c [i64]>>,
    sizes: &[usize],
    kernel: &[usize],
) -> Option<Vec<usize>> {
    let operator = given.operator;
    let [strides, dilations, pads] = ["strides", "dilations", "pads"].map(|name| operator.ints(name));
    let along = |(axis, (&size, &kernel)): (usize, (&usize, &usize))| {
        let (size, kernel) = (i64::try_from(size).ok()?, i64::try_from(kernel).ok()?);
        let (stride, dilation) = (of_axis(strides, axis, 1)?, of_axis(dilations, axis, 1)?);
        if stride < 1 || kernel < 1 {
            return None;
        }
        let covered = kernel.checked_sub(1)?.checked_mul(dilation)?.checked_add(1)?;
        let padded = match operator.text("auto_pad").unwrap_or("NOTSET") {
            "SAME_UPPER" | "SAME_LOWER" => return usize::try_from(size.checked_add(stride - 1)? / stride).ok(),
            "VALID" => size,
            _ => {
                let ends = of_axis(pads, axis + sizes.len(), 0)?;
                size.checked_add(of_axis(pads, axis, 0)?)?.checked_add(ends)?
            }
        };
        let room = padded.checked_sub(covered).filter(|room| *room >= 0)?;
        let mut windows = room / stride + 1;
        if operator.int("ceil_mode") == Some(1) && room % stride != 0 {
            // A last window that would begin in the padding after the input does not count.
            let begins = windows.checked_mul(stride)?;
            windows += i64::from(begins < size.checked_add(of_axis(pads, axis, 0)?)?);
        }
        usize::try_from(windows).ok()
    };
    let all = sizes.len() == kernel.len();
    sizes.iter().zip(kernel).enumerate().map(along).collect::<Option<_>>().filter(|_| all)
}

fn transposed<'c>(
    given: &OperatorInputs<'_, impl Fn(usize) -> Option<&'c [i64]>>,
    sizes: &[usize],
    kernel: &[usize],
) -> Option<Vec<usize>> {
    let operator = given.operator;
    if let Some(shape) = operator.ints("output_shape") {
        return shape.iter().map(|&size| usize::try_from(size).ok()).collect();
    }
    let [strides, dilations, pads, more] =
        ["strides", "dilations", "pads", "output_padding"].map(|name| operator.ints(name));
    let along = |(axis, (&size, &kernel)): (usize, (&usize, &usize))| {
        let (size, kernel) = (i64::try_from(size).ok()?, i64::try_from(kernel).ok()?);
        let stride = of_axis(strides, axis, 1)?;
        let auto = operator.text("auto_pad").unwrap_or("NOTSET");
        let covered = kernel.checked_sub(1)?.checked_mul(of_axis(dilations, axis, 1)?)?.checked_add(1)?;
        let padding = match auto {
            "VALID" | "SAME_UPPER" | "SAME_LOWER" => 0,
            _ => of_axis(pads, axis, 0)?.checked_add(of_axis(pads, axis + sizes.len(), 0)?)?,
        };
        let whole = size.checked_sub(1)?.checked_mul(stride)?.checked_add(covered)?;
        if auto.starts_with("SAME") {
            // A kernel that is smaller than the stride is not padded.
            return usize::try_from(whole.min(size.checked_mul(stride)?)).ok();
        }
        usize::try_from(whole.checked_add(of_axis(more, axis, 0)?)?.checked_sub(padding)?).ok()
    };
    let all = sizes.len() == kernel.len();
    sizes.iter().zip(kernel).enumerate().map(along).collect::<Option<_>>().filter(|_| all)
}
