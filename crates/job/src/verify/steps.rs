/// The steps in which a value is computed, if they are coarser than the rounding of its type.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Steps {
    /// The largest error of an element.
    pub size: f64,
    /// The largest share of the elements with such an error.
    pub share: f64,
}

impl Steps {
    /// No steps: the elements are right within the rounding of their type.
    pub const NONE: Self = Self { size: 0.0, share: 0.0 };

    /// The steps of a Sigmoid. Engines approximate it with about the same error over its whole range from 0 to 1, even
    /// near 0.
    pub const SIGMOID: Self = Self { size: 1e-6, share: 1.0 };

    /// The steps of numbers that were rounded to integers of few values. A number between two integers may be rounded
    /// to either. Such numbers are few, and about as many are rounded up as down: real models shift the mean by less
    /// than a hundredth of a step.
    pub const fn quantised(size: f64) -> Self {
        Self { size, share: 0.05 }
    }
}
