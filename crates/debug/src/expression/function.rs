/// A function of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// A number that depends on its elements.
    Quantity(Quantity),
    /// The sizes of its axes.
    Shape,
    /// The number of its axes.
    Rank,
    /// The type of its elements.
    DType,
}

/// A number that is computed from elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// How many are NaN.
    Nan,
    /// How many are infinite.
    Inf,
    /// How many are zero.
    Zeros,
    /// How many there are.
    Count,
    /// The largest magnitude of the finite ones.
    AbsMax,
    /// The smallest finite one.
    Min,
    /// The largest finite one.
    Max,
    /// The mean of the finite ones.
    Mean,
    /// Their standard deviation.
    Std,
    /// The root of the sum of their squares.
    L2,
}

impl Function {
    /// All functions, with their names.
    pub const ALL: [(Function, &'static str); 13] = [
        (Function::Quantity(Quantity::Nan), "nan"),
        (Function::Quantity(Quantity::Inf), "inf"),
        (Function::Quantity(Quantity::Zeros), "zeros"),
        (Function::Quantity(Quantity::Count), "count"),
        (Function::Quantity(Quantity::AbsMax), "absmax"),
        (Function::Quantity(Quantity::Min), "min"),
        (Function::Quantity(Quantity::Max), "max"),
        (Function::Quantity(Quantity::Mean), "mean"),
        (Function::Quantity(Quantity::Std), "std"),
        (Function::Quantity(Quantity::L2), "l2"),
        (Function::Shape, "shape"),
        (Function::Rank, "rank"),
        (Function::DType, "dtype"),
    ];

    /// Returns its name in conditions.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(function, _)| *function == self).expect("all are in the table").1
    }

    /// Returns the function of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(function, _)| *function)
    }
}
