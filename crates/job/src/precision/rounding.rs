//! Rounds the elements of a float32 tensor to a narrower type.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use opscope_tensor::{DType, Tensor, TensorError, TensorView};

/// Elements that are rounded together.
const BLOCK: usize = 4096;

/// Returns a float32 tensor whose elements are rounded to the nearest number of a narrower type, to even on a tie.
/// Numbers beyond its range become infinite. Tensors of other types are copied as they are.
///
/// # Errors
/// Returns an error if the tensor has no bytes that the host can address, or if there is no memory for the copy.
pub(super) fn rounded(tensor: &TensorView<'_>, dtype: DType) -> Result<Tensor, TensorError> {
    if tensor.dtype() != DType::F32 {
        return tensor.to_tensor();
    }
    let Some(bytes) = tensor.bytes() else { return rounded(&tensor.to_tensor()?.view(), dtype) };
    let mut result = Vec::new();
    result.try_reserve_exact(bytes.len()).map_err(|_| TensorError::Memory(bytes.len()))?;
    let mut numbers = [0f32; BLOCK];
    for block in bytes.chunks(BLOCK * 4) {
        let numbers = &mut numbers[..block.len() / 4];
        for (number, bytes) in numbers.iter_mut().zip(block.chunks_exact(4)) {
            *number = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        match dtype {
            DType::Bf16 => through(&mut [bf16::ZERO; BLOCK], numbers),
            _ => through(&mut [f16::ZERO; BLOCK], numbers),
        }
        result.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    }
    Tensor::new(DType::F32, tensor.shape().to_vec(), result)
}

fn through<T>(narrow: &mut [T], numbers: &mut [f32])
where
    [T]: HalfFloatSliceExt,
{
    let narrow = &mut narrow[..numbers.len()];
    narrow.convert_from_f32_slice(numbers);
    narrow.convert_to_f32_slice(numbers);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(dtype: DType, number: f32) -> f32 {
        let tensor = Tensor::from_f32(vec![1], &[number]).unwrap();
        let bytes = rounded(&tensor.view(), dtype).unwrap();
        f32::from_le_bytes(bytes.bytes().try_into().unwrap())
    }

    #[test]
    fn numbers_are_rounded_to_the_nearest_of_the_type_and_to_even_on_a_tie() {
        // Above 2048, fp16 has every second integer; bf16 has every 16th.
        assert_eq!([2049.0, 2050.0, 2051.0].map(|number| round(DType::F16, number)), [2048.0, 2050.0, 2052.0]);
        assert_eq!([2049.0, 2056.0, 2057.0].map(|number| round(DType::Bf16, number)), [2048.0, 2048.0, 2064.0]);
    }

    #[test]
    fn what_is_too_large_becomes_infinite_and_what_is_too_small_zero() {
        assert_eq!([65519.0, 65520.0].map(|number| round(DType::F16, number)), [65504.0, f32::INFINITY]);
        // The smallest positive number of fp16 is 2^-24.
        let least = 2f32.powi(-24);
        assert_eq!([least, least / 2.0, least * 0.51].map(|number| round(DType::F16, number)), [least, 0.0, least]);
        assert_eq!(round(DType::Bf16, 1e38), 9.969_21e37);
        assert!(round(DType::F16, f32::NAN).is_nan());
    }

    #[test]
    fn every_element_of_a_large_tensor_is_rounded_and_integers_are_not() {
        let numbers: Vec<f32> = (0..3 * BLOCK as u16 + 5).map(|number| 1.0 + f32::from(number) / 1e6).collect();
        let tensor = Tensor::from_f32(vec![numbers.len()], &numbers).unwrap();
        let result = rounded(&tensor.view(), DType::F16).unwrap();
        for (bytes, number) in result.bytes().chunks_exact(4).zip(numbers) {
            assert_eq!(f32::from_le_bytes(bytes.try_into().unwrap()), f16::from_f32(number).to_f32());
        }
        let integers = Tensor::from_i64(vec![1], &[2049]).unwrap();
        assert_eq!(rounded(&integers.view(), DType::F16).unwrap().bytes(), integers.bytes());
    }
}
