/// Independent sums of vectors: more than a multiply-add takes cycles for each that the processor begins in a cycle. More than
/// fourteen do not fit the registers of AVX2.
pub(crate) const CHAINS: usize = 12;

/// Multiply-adds of each sum in a repetition: some microseconds.
pub(crate) const STEPS: usize = 4_000;

/// Multiply-adds of vectors of one type: `STEPS` for each of `CHAINS` sums.
pub(crate) struct Repetition {
    /// The element type.
    pub(crate) dtype: &'static str,
    /// How many numbers are multiplied and added in one of them.
    pub(crate) lanes: usize,
    /// Does them, and returns something of the sums.
    pub(crate) run: fn() -> f64,
}

impl Repetition {
    /// Returns its operations: a multiplication and an addition are two.
    pub(crate) fn flops(&self) -> f64 {
        2.0 * (STEPS * CHAINS * self.lanes) as f64
    }
}
