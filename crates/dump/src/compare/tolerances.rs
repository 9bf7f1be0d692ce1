use opscope_tensor::{DType, Tolerance};

/// Tolerances by the type in which elements are compared.
#[derive(Debug, Clone, Default)]
pub struct Tolerances {
    /// The tolerance of every type that is not listed, or `None` for [`Tolerance::of`] the type.
    pub all: Option<Tolerance>,
    /// The tolerances of single types.
    pub of: Vec<(DType, Tolerance)>,
}

impl Tolerances {
    /// Returns the tolerance for numbers that were rounded to this type.
    pub fn tolerance(&self, dtype: DType) -> Tolerance {
        let single = self.of.iter().find(|(of, _)| *of == dtype).map(|(_, tolerance)| *tolerance);
        single.or(self.all).unwrap_or_else(|| Tolerance::of(dtype))
    }

    /// Returns whether the user set none.
    pub(super) fn is_default(&self) -> bool {
        self.all.is_none() && self.of.is_empty()
    }
}
