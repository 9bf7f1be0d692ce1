use opscope_tensor::{DType, Detail, Region, Scan, ScanQuery, ScanResult, TensorView};

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
    // A complex number is what its parts are.
    let (dtype, parts) = match tensor.dtype() {
        DType::Complex64 => (DType::F32, 2),
        DType::Complex128 => (DType::F64, 2),
        other => (other, 1),
    };
    let query = ScanQuery { nan: Detail::Presence, infinite: Detail::Presence, ..ScanQuery::default() };
    let mut scan = Scan::new(dtype, tensor.elements() * parts, query).ok()?;
    if scan.is_open() {
        match tensor.bytes() {
            Some(bytes) => {
                let _ = scan.update(bytes);
            }
            None => Region::whole(tensor.shape()).ok()?.pieces(tensor, |bytes| scan.update(bytes)).ok()?,
        }
    }
    match scan.finish() {
        ScanResult { nan: 1.., .. } => Some(Found::Nan),
        ScanResult { infinite: 1.., .. } => Some(Found::Infinity),
        _ => None,
    }
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
