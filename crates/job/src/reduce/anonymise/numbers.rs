//! Random numbers in place of data.

use half::{bf16, f16};
use opscope_tensor::{DType, Element, Tensor};

/// How much of a tensor stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// The range of its numbers, and where NaN, infinities and zeros are.
    Range,
    /// The sign and the rough magnitude of each number, too.
    Sign,
    /// Each number up to a tenth of it.
    Near,
}

impl Likeness {
    /// The ways to replace a tensor, the one that keeps least first.
    pub const ALL: [Self; 3] = [Self::Range, Self::Sign, Self::Near];
}

/// Returns a tensor of random numbers in place of another. Returns `None` for types that cannot be replaced.
pub fn replaced(tensor: &Tensor, likeness: Likeness, random: &mut fastrand::Rng) -> Option<Tensor> {
    let dtype = tensor.dtype();
    let numbers: Vec<f64> =
        (0..tensor.elements()).map(|at| Element::at(dtype, tensor.bytes(), at)?.to_f64()).collect::<Option<_>>()?;
    let finite = || numbers.iter().copied().filter(|number| number.is_finite());
    let (low, high) =
        finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| (low.min(number), high.max(number)));
    let other = |number: f64, random: &mut fastrand::Rng| {
        if !number.is_finite() || (number == 0.0 && dtype.is_float()) {
            return number;
        }
        match likeness {
            Likeness::Range if low < high => low + (high - low) * random.f64(),
            // All are the same number: others of its sign and magnitude.
            Likeness::Range | Likeness::Sign => number * (0.5 + random.f64()),
            Likeness::Near => number * (0.9 + 0.2 * random.f64()),
        }
    };
    let mut bytes = Vec::with_capacity(tensor.bytes().len());
    for &number in &numbers {
        let original = element(dtype, number)?;
        let mut new = element(dtype, other(number, random))?;
        // A number of few digits may come out as the original one.
        for _ in 0..8 {
            if new != original || !number.is_finite() || number == 0.0 {
                break;
            }
            new = element(dtype, other(number, random))?;
        }
        bytes.extend(new);
    }
    Tensor::new(dtype, tensor.shape().to_vec(), bytes).ok()
}

/// Returns the bytes of the element that is nearest to a number.
fn element(dtype: DType, number: f64) -> Option<Vec<u8>> {
    Some(match dtype {
        DType::F32 => (number as f32).to_le_bytes().to_vec(),
        DType::F64 => number.to_le_bytes().to_vec(),
        DType::F16 => f16::from_f64(number).to_le_bytes().to_vec(),
        DType::Bf16 => bf16::from_f64(number).to_le_bytes().to_vec(),
        DType::I64 => (number.round() as i64).to_le_bytes().to_vec(),
        DType::I32 => (number.round() as i32).to_le_bytes().to_vec(),
        DType::I16 => (number.round() as i16).to_le_bytes().to_vec(),
        DType::I8 => (number.round() as i8).to_le_bytes().to_vec(),
        DType::U64 => (number.round() as u64).to_le_bytes().to_vec(),
        DType::U32 => (number.round() as u32).to_le_bytes().to_vec(),
        DType::U16 => (number.round() as u16).to_le_bytes().to_vec(),
        DType::U8 => (number.round() as u8).to_le_bytes().to_vec(),
        DType::Bool => vec![u8::from(number >= 0.5)],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(tensor: &Tensor) -> Vec<f32> {
        tensor.bytes().as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
    }

    #[test]
    fn special_numbers_stay_and_all_others_are_new_ones_of_the_same_range() {
        let given = [f32::NAN, f32::INFINITY, 0.0, -2.0, 5.0, 1.0];
        let tensor = Tensor::from_f32(vec![6], &given).unwrap();
        for likeness in Likeness::ALL {
            let new = floats(&replaced(&tensor, likeness, &mut fastrand::Rng::with_seed(1)).unwrap());
            assert!(new[0].is_nan() && new[1] == f32::INFINITY && new[2] == 0.0);
            for (new, old) in new[3..].iter().zip(&given[3..]) {
                assert!(new != old && (-3.0..=7.5).contains(new), "{new}");
                assert!(likeness == Likeness::Range || new.signum() == old.signum());
            }
        }
    }

    #[test]
    fn integers_stay_in_their_range() {
        let tensor = Tensor::from_i64(vec![4], &[3, 900, 12, 40]).unwrap();
        let new = replaced(&tensor, Likeness::Range, &mut fastrand::Rng::with_seed(1)).unwrap();
        assert!(new != tensor);
        for at in 0..4 {
            let Some(Element::Int(number)) = Element::at(DType::I64, new.bytes(), at) else { panic!() };
            assert!((3..=900).contains(&number));
        }
    }
}
