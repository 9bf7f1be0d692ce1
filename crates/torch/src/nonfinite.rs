use opscope_tensor::{DType, Statistics, TensorView};

/// The non-finite elements of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    /// Infinite elements, and no NaN.
    Infinity,
    /// NaN.
    Nan,
}

/// Returns which non-finite elements a tensor has; `None` if all are finite, or if its type has no others.
pub fn non_finite(tensor: &TensorView<'_>) -> Option<Found> {
    let exponents: fn(&[u8]) -> bool = match tensor.dtype() {
        DType::F32 | DType::Complex64 => any::<4>,
        DType::F64 | DType::Complex128 => any::<8>,
        DType::Bf16 => any_bf16,
        DType::F16 => any_f16,
        DType::F8E4M3Fn | DType::F8E4M3FnUz | DType::F8E5M2 | DType::F8E5M2FnUz => |_| true,
        _ => return None,
    };
    // Most tensors have no such element, so their statistics are not computed.
    let is_suspect = tensor.bytes().map_or_else(|| any_piece(tensor, exponents), exponents);
    let statistics = is_suspect.then(|| Statistics::of(tensor).ok())??;
    match (statistics.nan, statistics.positive_infinite + statistics.negative_infinite) {
        (1.., _) => Some(Found::Nan),
        (0, 1..) => Some(Found::Infinity),
        (0, 0) => None,
    }
}

const PIECE: usize = 64 << 10;

fn any_piece(view: &TensorView<'_>, exponents: fn(&[u8]) -> bool) -> bool {
    let length = view.byte_len().unwrap_or(0);
    let mut piece = vec![0; PIECE.min(length)];
    (0..length).step_by(PIECE).any(|start| {
        let end = (start + PIECE).min(length);
        let piece = &mut piece[..end - start];
        view.read(start..end, piece).is_err() || exponents(piece)
    })
}

/// All elements of a block are checked before the next branch, so that the compiler turns the loop into vectors.
const BLOCK: usize = 4096;

fn any<const SIZE: usize>(bytes: &[u8]) -> bool {
    bytes.chunks(BLOCK).any(|block| match SIZE {
        4 => block
            .as_chunks::<4>()
            .0
            .iter()
            .fold(false, |found, element| found | (u32::from_le_bytes(*element) & 0x7f80_0000 == 0x7f80_0000)),
        _ => block.as_chunks::<8>().0.iter().fold(false, |found, element| {
            found | (u64::from_le_bytes(*element) & 0x7ff0_0000_0000_0000 == 0x7ff0_0000_0000_0000)
        }),
    })
}

fn any_half(bytes: &[u8], exponent: u16) -> bool {
    bytes.chunks(BLOCK).any(|block| {
        let elements = block.as_chunks::<2>().0.iter();
        elements.fold(false, |found, element| found | (u16::from_le_bytes(*element) & exponent == exponent))
    })
}

fn any_bf16(bytes: &[u8]) -> bool {
    any_half(bytes, 0x7f80)
}

fn any_f16(bytes: &[u8]) -> bool {
    any_half(bytes, 0x7c00)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Strided;

    fn of(dtype: DType, shape: &[usize], strides: &[usize], bytes: &[u8]) -> Option<Found> {
        non_finite(&Strided::new(dtype, shape.to_vec(), strides.to_vec(), bytes).unwrap().view())
    }

    fn floats(numbers: &[f32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    #[test]
    fn nan_and_infinity_are_told_apart_and_large_numbers_are_numbers() {
        let one = |number: f32| of(DType::F32, &[3], &[1], &floats(&[1.0, number, f32::MAX]));
        assert_eq!(one(f32::MIN), None);
        assert_eq!(one(f32::NEG_INFINITY), Some(Found::Infinity));
        assert_eq!(one(-f32::NAN), Some(Found::Nan));
        let both = floats(&[f32::INFINITY, f32::NAN]);
        assert_eq!(of(DType::F32, &[2], &[1], &both), Some(Found::Nan));
        assert_eq!(of(DType::Complex64, &[1], &[1], &floats(&[0.0, f32::NAN])), Some(Found::Nan));
        assert_eq!(of(DType::F64, &[1], &[1], &f64::INFINITY.to_le_bytes()), Some(Found::Infinity));
        assert_eq!(of(DType::Bf16, &[2], &[1], &[0x80, 0x3f, 0xc0, 0x7f]), Some(Found::Nan));
        assert_eq!(of(DType::F16, &[2], &[1], &[0xff, 0x7b, 0x00, 0xfc]), Some(Found::Infinity));
        assert_eq!(of(DType::F16, &[1], &[1], &[0xff, 0x7b]), None);
        assert_eq!(of(DType::F8E4M3Fn, &[2], &[1], &[0x00, 0x7f]), Some(Found::Nan));
        assert_eq!(of(DType::I32, &[1], &[1], &f32::NAN.to_le_bytes()), None);
        assert_eq!(of(DType::F32, &[0], &[1], &[]), None);
    }

    #[test]
    fn what_lies_between_the_elements_does_not_count() {
        let numbers = floats(&[1.0, f32::NAN, 2.0]);
        assert_eq!(of(DType::F32, &[2], &[2], &numbers), None);
        assert_eq!(of(DType::F32, &[2, 1], &[1, 1], &numbers[4..]), Some(Found::Nan));
        assert_eq!(of(DType::F32, &[4], &[0], &numbers[4..8]), Some(Found::Nan), "expanded");
    }

    #[test]
    fn every_block_is_looked_at() {
        for at in [0, 1023, 1024, 1500, 4999] {
            let mut numbers = vec![1.0; 5000];
            numbers[at] = f32::NAN;
            assert_eq!(of(DType::F32, &[5000], &[1], &floats(&numbers)), Some(Found::Nan), "{at}");
        }
    }
}
