use crate::{DType, Element};

/// The distribution of a tensor's elements over powers of two, for both signs. It needs no range in advance, and shows
/// which elements are too large or too small for another type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// By sign (positive, negative), then by exponent, from [`LOWEST`].
    counts: [Vec<u64>; 2],
    zeros: u64,
    non_finite: u64,
}

/// The number of elements between two bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// The bound nearer to zero, which belongs to the bin. 0 for the bin of zeros.
    pub from: f64,
    /// The bound further from zero, which does not belong to the bin. 0 for the bin of zeros.
    pub to: f64,
    /// The number of elements.
    pub count: u64,
}

/// Magnitudes below 2^-64 and above 2^64 count in the outermost bins.
const LOWEST: i32 = -64;
const BINS: usize = 129;

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [vec![0; BINS], vec![0; BINS]], zeros: 0, non_finite: 0 }
    }
}

impl Histogram {
    /// Adds the next elements of a tensor, at most `left` of them. Complex numbers are not counted.
    pub fn update(&mut self, dtype: DType, bytes: &[u8], left: usize) {
        if dtype == DType::F32 {
            return bytes.as_chunks::<4>().0.iter().for_each(|&bytes| self.add(f64::from(f32::from_le_bytes(bytes))));
        }
        for element in (0..left).map_while(|index| Element::at(dtype, bytes, index)) {
            if let Some(value) = element.to_f64() {
                self.add(value);
            }
        }
    }

    /// Returns the bins from the lowest number to the highest, without the empty ones at both ends.
    pub fn bins(&self) -> Vec<Bin> {
        let bound = |bin: usize| 2f64.powi(LOWEST + bin as i32);
        let side = |sign: usize, factor: f64| {
            let filled = |bin: &usize| self.counts[sign][*bin] > 0;
            let range = (0..BINS).find(filled).zip((0..BINS).rfind(filled));
            let bins = range.map(|(first, last)| first..=last).into_iter().flatten();
            bins.map(move |bin| Bin {
                from: factor * bound(bin),
                to: factor * bound(bin + 1),
                count: self.counts[sign][bin],
            })
        };
        let zeros = (self.zeros > 0).then_some(Bin { from: 0.0, to: 0.0, count: self.zeros });
        let negative: Vec<Bin> = side(1, -1.0).collect();
        negative.into_iter().rev().chain(zeros).chain(side(0, 1.0)).collect()
    }

    /// Returns the number of elements that are NaN or infinite. They are in no bin.
    pub fn non_finite(&self) -> u64 {
        self.non_finite
    }

    fn add(&mut self, value: f64) {
        if value == 0.0 {
            self.zeros += 1;
        } else if !value.is_finite() {
            self.non_finite += 1;
        } else {
            let exponent = ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
            let bin = (exponent - LOWEST).clamp(0, BINS as i32 - 1) as usize;
            self.counts[usize::from(value < 0.0)][bin] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_counted_by_powers_of_two_from_the_lowest_to_the_highest() {
        let values = [-3.0f32, -0.5, 0.0, -0.0, 0.75, 1.0, 1.5, 4.0, f32::NAN, f32::INFINITY, 1e-40];
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut histogram = Histogram::default();
        histogram.update(DType::F32, &bytes, values.len());
        let bins = histogram.bins();
        assert_eq!(histogram.non_finite(), 2);
        assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), 9);
        assert_eq!(bins.first(), Some(&Bin { from: -2.0, to: -4.0, count: 1 }));
        assert_eq!(bins.last(), Some(&Bin { from: 4.0, to: 8.0, count: 1 }));
        assert!(bins.contains(&Bin { from: 0.0, to: 0.0, count: 2 }));
        assert!(bins.contains(&Bin { from: 1.0, to: 2.0, count: 2 }));
    }
}
