/// Count, sum, extremes and variance of numbers that are seen once (Welford's method: no number is kept).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub count: u64,
    pub total: f64,
    pub min: f64,
    pub max: f64,
    mean: f64,
    squares: f64,
}

impl Default for Spread {
    fn default() -> Self {
        Self { count: 0, total: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY, mean: 0.0, squares: 0.0 }
    }
}

impl Spread {
    pub(crate) fn add(&mut self, number: f64) {
        self.count += 1;
        self.total += number;
        self.min = self.min.min(number);
        self.max = self.max.max(number);
        let distance = number - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (number - self.mean);
    }

    /// Returns the arithmetic mean; 0 where there is no number.
    pub(crate) fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.total / self.count as f64 }
    }

    /// Returns the population's variance; 0 where there is no number.
    pub(crate) fn variance(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.squares / self.count as f64 }
    }
}

/// Returns the median: for an even number of numbers the mean of the two in the middle; 0 where there is none. Changes
/// their order.
pub(crate) fn median(numbers: &mut [f64]) -> f64 {
    if numbers.is_empty() {
        return 0.0;
    }
    let even = numbers.len().is_multiple_of(2);
    let (below, &mut upper, _) = numbers.select_nth_unstable_by(numbers.len() / 2, f64::total_cmp);
    let lower = if even { below.iter().copied().max_by(f64::total_cmp).unwrap_or(upper) } else { upper };
    (lower + upper) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variance_is_that_of_the_whole_population() {
        let mut spread = Spread::default();
        [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter().for_each(|number| spread.add(number));
        assert_eq!((spread.count, spread.mean(), spread.variance()), (8, 5.0, 4.0));
        assert_eq!((spread.min, spread.max, spread.total), (2.0, 9.0, 40.0));
        assert_eq!((Spread::default().mean(), Spread::default().variance()), (0.0, 0.0));
    }

    #[test]
    fn the_median_of_an_even_count_lies_between_the_two_in_the_middle() {
        assert_eq!(median(&mut []), 0.0);
        assert_eq!(median(&mut [3.0]), 3.0);
        assert_eq!(median(&mut [9.0, 1.0, 3.0, 5.0]), 4.0);
        assert_eq!(median(&mut [9.0, 1.0, 3.0]), 3.0);
    }
}
