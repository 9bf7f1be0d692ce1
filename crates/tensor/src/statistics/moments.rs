/// Sums over some of a tensor's elements. They are sums of differences from a shift that the whole tensor shares, so
/// the variance of numbers far from zero does not cancel out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moments {
    pub count: u64,
    pub nan: u64,
    pub positive_infinite: u64,
    pub negative_infinite: u64,
    pub zeros: u64,
    /// This and the following fields count only the finite elements.
    pub min: f64,
    pub max: f64,
    pub sum: f64,
    pub squares: f64,
}

impl Default for Moments {
    fn default() -> Self {
        Self {
            count: 0,
            nan: 0,
            positive_infinite: 0,
            negative_infinite: 0,
            zeros: 0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            sum: 0.0,
            squares: 0.0,
        }
    }
}

impl Moments {
    /// Returns the number of finite elements.
    pub fn finite(&self) -> u64 {
        self.count - self.nan - self.positive_infinite - self.negative_infinite
    }

    /// Returns the mean of the finite elements.
    pub fn mean(&self, shift: f64) -> f64 {
        (shift + self.sum / self.finite() as f64).clamp(self.min, self.max)
    }

    /// Returns the standard deviation of the finite elements around their mean.
    pub fn std(&self) -> f64 {
        let n = self.finite() as f64;
        ((self.squares - self.sum * (self.sum / n)).max(0.0) / n).sqrt()
    }

    /// Returns the Euclidean norm of the finite elements.
    pub fn l2(&self, shift: f64) -> f64 {
        let squares = self.squares + shift * (2.0 * self.sum + self.finite() as f64 * shift);
        squares.max(0.0).sqrt()
    }

    /// Adds the sums of further elements.
    pub fn add(&mut self, other: Moments) {
        self.count += other.count;
        self.nan += other.nan;
        self.positive_infinite += other.positive_infinite;
        self.negative_infinite += other.negative_infinite;
        self.zeros += other.zeros;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.squares += other.squares;
    }
}
