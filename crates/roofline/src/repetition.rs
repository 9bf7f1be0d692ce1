/// Independent sums of vectors: at least as many as the processor begins multiply-adds while one of them takes place, so that none
/// waits for another. More than fourteen do not fit the 16 registers of AVX2.
pub(crate) const CHAINS: usize = 12;

/// Multiply-adds of each sum in a repetition: some microseconds.
pub(crate) const STEPS: usize = 4_000;

/// Multiply-adds of vectors of one type: `STEPS` for each of some sums.
pub(crate) struct Repetition {
    /// The element type.
    pub(crate) dtype: &'static str,
    /// How many sums.
    pub(crate) chains: usize,
    /// How many numbers are multiplied and added in one of them.
    pub(crate) lanes: usize,
    /// Does them, and returns something of the sums.
    pub(crate) run: fn() -> f64,
}

impl Repetition {
    /// Returns its operations: a multiplication and an addition are two.
    pub(crate) fn flops(&self) -> f64 {
        2.0 * (STEPS * self.chains * self.lanes) as f64
    }
}
