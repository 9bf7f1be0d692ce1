/// The count, sum, extremes and variance of a stream of numbers (Welford's method, which keeps no number).
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

    /// Returns the arithmetic mean; 0 if there are no numbers.
    pub(crate) fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.total / self.count as f64 }
    }

    /// Returns the population variance; 0 if there are no numbers.
    pub(crate) fn variance(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.squares / self.count as f64 }
    }
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
}
