/// How faithfully the file is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fidelity {
    /// Fused and fast: what is timed.
    Optimised,
    /// Every operator is executed as it stands in the file: what dumps, comparisons and breakpoints use. Several times
    /// slower, so its times are never the model's.
    Exact,
}
