use opscope_tensor::{DType, TensorView};

use super::steps::Steps;

/// A few numbers by which two tensors are told apart without keeping them: some that do not depend on the order of the
/// elements, and one that does.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fingerprint {
    elements: usize,
    /// Elements that are NaN or infinite. They count for nothing else.
    not_finite: usize,
    sum: f64,
    absolutes: f64,
    squares: f64,
    cubes: f64,
    least: f64,
    greatest: f64,
    /// The sum of the elements, each times a weight that belongs to its place.
    projection: f64,
    dtype: DType,
}

impl Fingerprint {
    /// None for tensors without bytes, and for types that are no real numbers.
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
            dtype: tensor.dtype(),
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

    /// The greatest element.
    pub fn greatest(&self) -> f64 {
        self.greatest
    }

    /// Whether the elements are integers of 8 bits.
    pub fn has_8_bits(&self) -> bool {
        matches!(self.dtype, DType::I8 | DType::U8)
    }

    /// How far two computations of the same tensor may be apart, as a share of its elements.
    fn rounding(&self) -> f64 {
        if self.dtype == DType::F16 { 1e-2 } else { 1e-4 }
    }

    /// Whether the elements differ from each other, and by more than their steps.
    pub fn is_telling(&self, steps: Steps) -> bool {
        let finite = (self.elements - self.not_finite) as f64;
        let variance = self.squares / finite - (self.sum / finite).powi(2);
        self.greatest - self.least > self.rounding() * self.greatest.abs().max(self.least.abs())
            && (steps == Steps::NONE || variance > 100.0 * steps.share * steps.size.powi(2))
    }

    /// Whether another tensor has the same elements, of which some may be a step off, and then whether they are in the same
    /// order.
    pub fn matches(&self, other: &Self, steps: Steps) -> Option<bool> {
        if (self.elements, self.not_finite) != (other.elements, other.not_finite) || !self.is_telling(steps) {
            return None;
        }
        let share = self.rounding().max(other.rounding());
        let near = |one: f64, two: f64, size: f64, off: f64| (one - two).abs() <= share * size + off;
        let largest = self.greatest.abs().max(self.least.abs());
        let step = steps.size;
        let many = (steps.share * self.elements as f64).max(1.0);
        let reach = largest + step;
        // One element may be further off than the sums over all: a logarithm of almost nothing makes much of a rounding.
        let is_same = near(self.least, other.least, 10.0 * largest, step)
            && near(self.greatest, other.greatest, 10.0 * largest, step)
            && near(self.sum, other.sum, self.absolutes, many * step)
            && near(self.absolutes, other.absolutes, self.absolutes, many * step)
            && near(self.squares, other.squares, 2.0 * self.squares, many * step * 2.0 * reach)
            && near(self.cubes, other.cubes, 3.0 * self.squares * largest, many * step * 3.0 * reach * reach);
        // The weights know nothing of the steps: their sum grows with the root of how many there are.
        is_same.then(|| near(self.projection, other.projection, 10.0 * self.squares.sqrt(), 3.0 * step * many.sqrt()))
    }
}

/// A number from -1 to 1 that belongs to a place: the finaliser of SplitMix64.
fn weight(place: u64) -> f64 {
    let mut bits = place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    bits as i64 as f64 / i64::MAX as f64
}

#[cfg(test)]
mod tests {
    use opscope_tensor::Tensor;

    use super::*;

    const STEPS: Steps = Steps { size: 1.0, share: 0.05 };

    /// The fingerprint of 4096 random integers of 8 bits, after something was done to them.
    fn looks(change: impl FnOnce(&mut Vec<i8>)) -> Fingerprint {
        let mut random = fastrand::Rng::with_seed(1);
        let mut elements: Vec<i8> = (0..4096).map(|_| random.i8(-100..100)).collect();
        change(&mut elements);
        let bytes: Vec<u8> = elements.iter().map(|&element| element as u8).collect();
        Fingerprint::of(&Tensor::new(DType::I8, vec![elements.len()], bytes).unwrap().view()).unwrap()
    }

    /// Every thirtieth element is off by so much, up and down in turn.
    fn few_off(by: i8) -> Fingerprint {
        looks(|elements| {
            let few = elements.iter_mut().step_by(30).enumerate();
            few.for_each(|(index, element)| *element += [by, -by][index % 2]);
        })
    }

    #[test]
    fn few_elements_that_are_a_step_off_count_as_the_same_only_where_there_are_steps() {
        let right = looks(|_| ());
        assert_eq!(right.matches(&right, Steps::NONE), Some(true));
        assert_ne!(few_off(1).matches(&right, Steps::NONE), Some(true));
        assert_eq!(few_off(1).matches(&right, STEPS), Some(true));
    }

    #[test]
    fn elements_that_are_further_off_or_in_another_order_are_not_the_same_with_steps_either() {
        let right = looks(|_| ());
        assert_eq!(few_off(20).matches(&right, STEPS), None);
        let all_up = looks(|elements| elements.iter_mut().for_each(|element| *element += 1));
        assert_eq!(all_up.matches(&right, STEPS), None);
        assert_eq!(looks(|elements| elements.reverse()).matches(&right, STEPS), Some(false));
    }

    #[test]
    fn elements_that_differ_by_no_more_than_steps_tell_nothing() {
        let narrow = looks(|elements| elements.iter_mut().for_each(|element| *element = element.signum()));
        assert!(narrow.is_telling(Steps::NONE));
        assert!(!narrow.is_telling(STEPS));
        assert!(looks(|_| ()).is_telling(STEPS));
    }
}
