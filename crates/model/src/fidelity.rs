/// How faithfully an engine follows the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fidelity {
    /// Operators are fused and rewritten. This is what is timed.
    Optimised,
    /// Every operator is executed as the file has it. This is what dumps, comparisons and breakpoints use. It is
    /// several times slower, so its times are never reported as the model's.
    Exact,
}
