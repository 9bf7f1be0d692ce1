use opscope_tensor::{DType, TensorView};

use super::steps::Steps;

/// A few numbers that distinguish tensors without keeping them. One of them depends on the order of the elements, and
/// the others do not.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fingerprint {
    elements: usize,
    /// Elements that are NaN or infinite. The other numbers exclude them.
    not_finite: usize,
    sum: f64,
    absolutes: f64,
    squares: f64,
    cubes: f64,
    least: f64,
    greatest: f64,
    /// The sum of the elements, each times a weight for its index.
    projection: f64,
    dtype: DType,
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

    /// Returns the greatest element.
    pub fn greatest(&self) -> f64 {
        self.greatest
    }

    /// Returns whether the elements are integers of 8 bits.
    pub fn has_8_bits(&self) -> bool {
        matches!(self.dtype, DType::I8 | DType::U8)
    }

    /// Returns the largest rounding difference between two computations of the same tensor, as a share of its elements.
    fn rounding(&self) -> f64 {
        if self.dtype == DType::F16 { 1e-2 } else { 1e-4 }
    }

    /// Returns whether the elements differ from each other by more than their steps. Tensors of equal elements cannot
    /// be distinguished from others.
    pub fn is_distinctive(&self, steps: Steps) -> bool {
        let finite = (self.elements - self.not_finite) as f64;
        let variance = self.squares / finite - (self.sum / finite).powi(2);
        self.greatest - self.least > self.rounding() * self.greatest.abs().max(self.least.abs())
            && (steps == Steps::NONE || variance > 100.0 * steps.share * steps.size.powi(2))
    }

    /// Returns whether the elements are in the same order as another tensor's, or `None` if the elements are not the
    /// same. Some elements may differ by a step.
    pub fn matches(&self, other: &Self, steps: Steps) -> Option<bool> {
        if (self.elements, self.not_finite) != (other.elements, other.not_finite) || !self.is_distinctive(steps) {
            return None;
        }
        let share = self.rounding().max(other.rounding());
        let near = |one: f64, two: f64, size: f64, off: f64| (one - two).abs() <= share * size + off;
        let largest = self.greatest.abs().max(self.least.abs());
        let step = steps.size;
        let many = (steps.share * self.elements as f64).max(1.0);
        let reach = largest + step;
        // One element may differ by more than the sums, because a logarithm of a number near 0 enlarges a rounding
        // error.
        let is_same = near(self.least, other.least, 10.0 * largest, step)
            && near(self.greatest, other.greatest, 10.0 * largest, step)
            && near(self.sum, other.sum, self.absolutes, many * step)
            && near(self.absolutes, other.absolutes, self.absolutes, many * step)
            && near(self.squares, other.squares, 2.0 * self.squares, many * step * 2.0 * reach)
            && near(self.cubes, other.cubes, 3.0 * self.squares * largest, many * step * 3.0 * reach * reach);
        // The weights and the steps are independent, so the sum of n steps grows with the square root of n.
        is_same.then(|| near(self.projection, other.projection, 10.0 * self.squares.sqrt(), 3.0 * step * many.sqrt()))
    }
}

/// Returns the weight of an index, from -1 to 1, by the finaliser of SplitMix64.
fn weight(index: u64) -> f64 {
    let mut bits = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
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

    /// Returns the fingerprint of 4096 random integers of 8 bits after a change.
    fn looks(change: impl FnOnce(&mut Vec<i8>)) -> Fingerprint {
        let mut random = fastrand::Rng::with_seed(1);
        let mut elements: Vec<i8> = (0..4096).map(|_| random.i8(-100..100)).collect();
        change(&mut elements);
        let bytes: Vec<u8> = elements.iter().map(|&element| element as u8).collect();
        Fingerprint::of(&Tensor::new(DType::I8, vec![elements.len()], bytes).unwrap().view()).unwrap()
    }

    /// Returns the fingerprint with every thirtieth element changed by `by`, up and down in turn.
    fn few_off(by: i8) -> Fingerprint {
        looks(|elements| {
            let few = elements.iter_mut().step_by(30).enumerate();
            few.for_each(|(index, element)| *element += [by, -by][index % 2]);
        })
    }

    fn floats(elements: &[f32]) -> Fingerprint {
        Fingerprint::of(&Tensor::from_f32(vec![elements.len()], elements).unwrap().view()).unwrap()
    }

    #[test]
    fn equal_elements_are_not_distinctive() {
        let is_distinctive = |elements: &[f32]| floats(elements).is_distinctive(Steps::NONE);
        assert!(!is_distinctive(&[0.0; 4]) && !is_distinctive(&[7.0; 4]) && is_distinctive(&[7.0, 8.0]));
    }

    #[test]
    fn the_numbers_are_sums_of_powers_and_a_projection_without_what_is_not_finite() {
        let found = floats(&[1.0, -2.0, 3.0, f32::NAN, f32::NEG_INFINITY]);
        // The first three numbers of SplitMix64 from the seed 0, as in its authors' program, as shares of 2^63 - 1.
        let weights = [-0.233_378_383_572_714_6, 0.863_055_994_097_02, 0.052_867_543_185_195_63];
        let projection = weights[0] - 2.0 * weights[1] + 3.0 * weights[2];
        assert!((found.projection - projection).abs() < 1e-14, "{}, not {projection}", found.projection);
        let expected = Fingerprint {
            elements: 5,
            not_finite: 2,
            sum: 2.0,
            absolutes: 6.0,
            squares: 14.0,
            cubes: 20.0,
            least: -2.0,
            greatest: 3.0,
            projection: found.projection,
            dtype: DType::F32,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn elements_are_distinctive_from_a_ten_thousandth_of_the_largest_and_from_ten_steps_on() {
        for (elements, distinctive) in [
            ([10_000.0, 10_000.99], false),
            ([10_000.0, 10_001.01], true),
            ([-10_000.0, -9_999.01], false),
            ([-10_000.0, -9_998.98], true),
        ] {
            assert_eq!(floats(&elements).is_distinctive(Steps::NONE), distinctive, "{elements:?}");
        }
        // 5 % of elements that are off by 2 have a variance of 0.2, and the variance of x and -x is x^2. A hundred
        // times as much is 20.
        let steps = Steps { size: 2.0, share: 0.05 };
        assert!(!floats(&[4.47, -4.47]).is_distinctive(steps));
        assert!(floats(&[4.48, -4.48]).is_distinctive(steps));
        // NaN does not count for the mean.
        assert!(floats(&[4.48, -4.48, f32::NAN]).is_distinctive(steps));
        assert!(!floats(&[4.47, -4.47, f32::NAN]).is_distinctive(steps));
    }

    /// What may be added to or subtracted from a number of a fingerprint: the name of the number, a function that
    /// returns it, and the amount.
    type Bounds = [(&'static str, fn(&mut Fingerprint) -> &mut f64, f64); 6];

    /// Checks that each number may be off by its bound but not by more, and the projection by `projection`.
    fn within(print: &Fingerprint, other: DType, steps: Steps, bounds: Bounds, projection: f64) {
        let off = |number: fn(&mut Fingerprint) -> &mut f64, by: f64| {
            let mut other = Fingerprint { dtype: other, ..print.clone() };
            *number(&mut other) += by;
            print.matches(&other, steps)
        };
        for (name, number, bound) in bounds {
            for sign in [1.0, -1.0] {
                assert_eq!(off(number, sign * bound * 0.999), Some(true), "{name} {sign}");
                assert_eq!(off(number, sign * bound * 1.001), None, "{name} {sign}");
            }
        }
        for sign in [1.0, -1.0] {
            assert_eq!(off(|print| &mut print.projection, sign * projection * 0.999), Some(true), "projection {sign}");
            assert_eq!(off(|print| &mut print.projection, sign * projection * 1.001), Some(false), "projection {sign}");
        }
    }

    #[test]
    fn each_number_may_be_off_by_its_share_of_rounding_and_by_what_the_steps_add() {
        let print = Fingerprint {
            elements: 100,
            not_finite: 3,
            sum: 10.0,
            absolutes: 50.0,
            squares: 400.0,
            cubes: 20.0,
            least: -1.0,
            greatest: 2.0,
            projection: 1.0,
            dtype: DType::F32,
        };
        let bounds = |least: f64, greatest: f64, sum: f64, absolutes: f64, squares: f64, cubes: f64| -> Bounds {
            [
                ("least", |print| &mut print.least, least),
                ("greatest", |print| &mut print.greatest, greatest),
                ("sum", |print| &mut print.sum, sum),
                ("absolutes", |print| &mut print.absolutes, absolutes),
                ("squares", |print| &mut print.squares, squares),
                ("cubes", |print| &mut print.cubes, cubes),
            ]
        };
        // A ten thousandth of 10 times 2, of 50, of twice 400, of three times 400 times 2, and of 10 times the root of
        // 400.
        let plain = bounds(0.002, 0.002, 0.005, 0.005, 0.08, 0.24);
        within(&print, DType::F32, Steps::NONE, plain, 0.02);
        // A hundredth where either is float16.
        within(&print, DType::F16, Steps::NONE, bounds(0.2, 0.2, 0.5, 0.5, 8.0, 24.0), 2.0);
        // 5 of 100 elements are off by half a step, so the largest is 2.5. That is 5 / 2 of the sums, 5 / 2 times 2
        // times 2.5 of the squares, 5 / 2 times 3 times 2.5^2 of the cubes, and 3 / 2 times the root of 5.
        let steps = Steps { size: 0.5, share: 0.05 };
        let stepped = bounds(0.502, 0.502, 2.505, 2.505, 12.58, 47.115);
        within(&print, DType::F32, steps, stepped, 0.02 + 1.5 * 5f64.sqrt());
        // One element at least.
        let few = Fingerprint { elements: 10, ..print.clone() };
        let stepped = bounds(0.502, 0.502, 0.505, 0.505, 2.58, 9.615);
        within(&few, DType::F32, steps, stepped, 0.02 + 1.5);
        let other = |elements: usize, not_finite: usize| Fingerprint { elements, not_finite, ..print.clone() };
        assert_eq!(print.matches(&other(100, 3), Steps::NONE), Some(true));
        assert_eq!(print.matches(&other(101, 3), Steps::NONE), None);
        assert_eq!(print.matches(&other(100, 2), Steps::NONE), None);
    }

    #[test]
    fn few_elements_that_differ_by_a_step_count_as_the_same_only_with_steps() {
        let right = looks(|_| ());
        assert_eq!(right.matches(&right, Steps::NONE), Some(true));
        assert_ne!(few_off(1).matches(&right, Steps::NONE), Some(true));
        assert_eq!(few_off(1).matches(&right, STEPS), Some(true));
    }

    #[test]
    fn elements_that_differ_by_more_or_in_their_order_are_not_the_same_with_steps_either() {
        let right = looks(|_| ());
        assert_eq!(few_off(20).matches(&right, STEPS), None);
        let all_up = looks(|elements| elements.iter_mut().for_each(|element| *element += 1));
        assert_eq!(all_up.matches(&right, STEPS), None);
        assert_eq!(looks(|elements| elements.reverse()).matches(&right, STEPS), Some(false));
    }

    #[test]
    fn elements_that_differ_by_no_more_than_steps_are_not_distinctive() {
        let narrow = looks(|elements| elements.iter_mut().for_each(|element| *element = element.signum()));
        assert!(narrow.is_distinctive(Steps::NONE));
        assert!(!narrow.is_distinctive(STEPS));
        assert!(looks(|_| ()).is_distinctive(STEPS));
    }
}
