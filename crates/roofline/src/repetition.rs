/// The number of independent sums of vectors. It is at least the number of multiply-adds that the processor begins
/// while one of them takes place, so none waits for another. More than fourteen do not fit into the 16 registers of
/// AVX2.
pub(crate) const CHAINS: usize = 12;

/// The number of multiply-adds of each sum in a repetition, which takes some microseconds.
pub(crate) const STEPS: usize = 4_000;

/// Multiply-adds of vectors of one type: `STEPS` for each of `chains` sums.
pub(crate) struct Repetition {
    /// The element type.
    pub(crate) dtype: &'static str,
    /// How many independent sums there are.
    pub(crate) chains: usize,
    /// How many numbers one multiply-add of a vector multiplies and adds.
    pub(crate) lanes: usize,
    /// Runs the repetition, and returns a value that depends on the sums.
    pub(crate) run: fn() -> f64,
}

impl Repetition {
    /// Returns the number of its operations. A multiplication and an addition are two.
    pub(crate) fn flops(&self) -> f64 {
        2.0 * (STEPS * self.chains * self.lanes) as f64
    }
}
