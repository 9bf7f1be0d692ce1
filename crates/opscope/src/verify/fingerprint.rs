use opscope_tensor::{DType, TensorView};

/// A few numbers that distinguish tensors without keeping them: some do not depend on the order of the elements, and one
/// does.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fingerprint {
    elements: usize,
    /// Elements that are NaN or infinite. The other numbers leave them out.
    not_finite: usize,
    sum: f64,
    absolutes: f64,
    squares: f64,
    cubes: f64,
    least: f64,
    greatest: f64,
    /// The sum of the elements, each times a weight for its index.
    projection: f64,
    /// The largest difference between two computations of the same tensor, as a share of its elements.
    rounding: f64,
}

impl Fingerprint {
    /// Returns `None` for tensors without bytes, and for types that are not real numbers.
    pub fn of(tensor: &TensorView<'_>) -> Option<Self> {
        let bytes = tensor.bytes()?;
        let mut found = Self {
            elements: 0,
            not_finite: 0,
            sum: 0.0,
            absolutes: 0.0,
            squares: 0.0,
            cubes: 0.0,
            least: f64::INFINITY,
            greatest: f64::NEG_INFINITY,
            projection: 0.0,
            rounding: if tensor.dtype() == DType::F16 { 1e-2 } else { 1e-4 },
        };
        match tensor.dtype() {
            DType::F32 => bytes.as_chunks().0.iter().for_each(|&bytes| found.add(f64::from(f32::from_le_bytes(bytes)))),
            DType::F64 => bytes.as_chunks().0.iter().for_each(|&bytes| found.add(f64::from_le_bytes(bytes))),
            DType::F16 => {
                bytes.as_chunks().0.iter().for_each(|&bytes| found.add(half::f16::from_le_bytes(bytes).to_f64()));
            }
            DType::I32 => bytes.as_chunks().0.iter().for_each(|&bytes| found.add(f64::from(i32::from_le_bytes(bytes)))),
            DType::I64 => bytes.as_chunks().0.iter().for_each(|&bytes| found.add(i64::from_le_bytes(bytes) as f64)),
            DType::I8 => bytes.iter().for_each(|&byte| found.add(f64::from(byte as i8))),
            DType::U8 => bytes.iter().for_each(|&byte| found.add(f64::from(byte))),
            _ => return None,
        }
        Some(found)
    }

    fn add(&mut self, element: f64) {
        let weight = weight(self.elements as u64);
        self.elements += 1;
        if !element.is_finite() {
            self.not_finite += 1;
            return;
        }
        self.sum += element;
        self.absolutes += element.abs();
        self.squares += element * element;
        self.cubes += element * element * element;
        self.least = self.least.min(element);
        self.greatest = self.greatest.max(element);
        self.projection += weight * element;
    }

    /// Returns whether the elements differ from each other. Tensors of equal elements cannot be distinguished.
    pub fn is_distinctive(&self) -> bool {
        self.greatest - self.least > self.rounding * self.greatest.abs().max(self.least.abs())
    }

    /// Returns whether the elements are in the same order as another tensor's, or `None` if they are not the same elements.
    pub fn matches(&self, other: &Self) -> Option<bool> {
        if (self.elements, self.not_finite) != (other.elements, other.not_finite) || !self.is_distinctive() {
            return None;
        }
        let share = self.rounding.max(other.rounding);
        let near = |one: f64, two: f64, size: f64| (one - two).abs() <= share * size;
        let largest = self.greatest.abs().max(self.least.abs());
        // One element may differ by more than the sums: a logarithm of a number near 0 enlarges a rounding error.
        let is_same = near(self.least, other.least, 10.0 * largest)
            && near(self.greatest, other.greatest, 10.0 * largest)
            && near(self.sum, other.sum, self.absolutes)
            && near(self.absolutes, other.absolutes, self.absolutes)
            && near(self.squares, other.squares, 2.0 * self.squares)
            && near(self.cubes, other.cubes, 3.0 * self.squares * largest);
        is_same.then(|| near(self.projection, other.projection, 10.0 * self.squares.sqrt()))
    }
}

/// The weight of an index, from -1 to 1: the finaliser of SplitMix64.
fn weight(index: u64) -> f64 {
    let mut bits = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    bits as i64 as f64 / i64::MAX as f64
}
