use half::{bf16, f16};

use super::Tensor;
use crate::{DType, Element};

/// Returns the type in which numbers of two types are compared. For two floating-point types it is the coarser one,
/// because it cannot represent the additional precision of the other. Otherwise it is the reference's type.
pub fn compared_in(tensor: DType, reference: DType) -> DType {
    match (significant_bits(tensor), significant_bits(reference)) {
        (Some(ours), Some(theirs)) if ours < theirs => tensor,
        _ => reference,
    }
}

/// Returns the number of significant bits of a floating-point type, or `None` for other types, complex ones included.
fn significant_bits(dtype: DType) -> Option<u32> {
    match dtype {
        DType::F64 => Some(53),
        DType::F32 => Some(24),
        DType::F16 => Some(11),
        DType::Bf16 => Some(8),
        _ => None,
    }
}

/// Returns the number of the type that is nearest to `number`.
pub(crate) fn rounded(dtype: DType, number: f64) -> f64 {
    match dtype {
        DType::F16 => f16::from_f64(number).to_f64(),
        DType::Bf16 => bf16::from_f64(number).to_f64(),
        DType::F32 => f64::from(number as f32),
        _ => number,
    }
}

impl Tensor {
    /// Converts to another floating-point type, rounding each element to the nearest number. Returns `None` if one of
    /// the two types is not a floating-point type of at least 16 bits.
    pub fn cast(&self, dtype: DType) -> Option<Tensor> {
        significant_bits(self.dtype()).and(significant_bits(dtype))?;
        if self.dtype() == dtype {
            return Some(self.clone());
        }
        let mut bytes = Vec::with_capacity(dtype.bytes_of(self.elements())?);
        for index in 0..self.elements() {
            let number = Element::at(self.dtype(), self.bytes(), index)?.to_f64()?;
            match dtype {
                DType::F16 => bytes.extend(f16::from_f64(number).to_le_bytes()),
                DType::Bf16 => bytes.extend(bf16::from_f64(number).to_le_bytes()),
                DType::F32 => bytes.extend((number as f32).to_le_bytes()),
                _ => bytes.extend(number.to_le_bytes()),
            }
        }
        Tensor::new(dtype, self.shape().to_vec(), bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_and_those_that_are_too_large_become_infinite() {
        let tensor = Tensor::from_f32(vec![3], &[1.0 + f32::EPSILON, 70000.0, f32::NAN]).unwrap();
        let halves = tensor.cast(DType::F16).unwrap();
        let numbers: Vec<_> = halves.bytes().as_chunks().0.iter().map(|&bytes| f16::from_le_bytes(bytes)).collect();
        assert_eq!(numbers[..2], [f16::ONE, f16::INFINITY]);
        assert!(numbers[2].is_nan());
        assert_eq!(halves.cast(DType::F32).unwrap().cast(DType::F16).unwrap().bytes()[..4], halves.bytes()[..4]);
        assert!(tensor.cast(DType::I32).is_none());
    }
}
