use std::fmt;

/// What a record is about. A context is configured per kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[repr(u16)]
pub enum Kind {
    /// One execution of one operator.
    OperatorDispatch = 1,
    /// One inference.
    Run = 2,
    /// A copy of a tensor from one memory to another.
    TensorCopy = 3,
    /// An allocation or a release of memory for a tensor.
    TensorAllocation = 4,
    /// A moment or a range that the user's code named.
    Marker = 5,
    /// The value of something that is counted or measured.
    Counter = 6,
    /// A call of an engine: load, plan, upload, run or download.
    EngineCall = 7,
    /// The end of a correlation id: its last record has been emitted.
    CorrelationRetirement = 8,
}

/// What a record of a kind describes: a record of [`Kind::EngineCall`] is a `load` or a `run`, for example. The number is
/// the index into [`Kind::operations`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Operation(pub u32);

/// The operations of a kind that a context traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operations<'a> {
    /// Every operation.
    All,
    /// The given operations.
    Only(&'a [Operation]),
}

/// Every kind with its name and the names of its operations, in the order of the kinds' numbers.
const TABLE: [(Kind, &str, &[&str]); 8] = [
    (Kind::OperatorDispatch, "operator_dispatch", &["complete"]),
    (Kind::Run, "run", &["warm_up", "measured"]),
    (Kind::TensorCopy, "tensor_copy", &["host_to_host", "host_to_device", "device_to_host", "device_to_device"]),
    (Kind::TensorAllocation, "tensor_allocation", &["allocate", "free"]),
    (Kind::Marker, "marker", &["mark", "range", "open_range"]),
    (Kind::Counter, "counter", &["sample"]),
    (Kind::EngineCall, "engine_call", &["load", "plan", "upload", "run", "download", "profile"]),
    (Kind::CorrelationRetirement, "correlation_retirement", &["retire"]),
];

impl Kind {
    /// The number of kinds.
    pub const COUNT: usize = TABLE.len();

    /// Returns every kind, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.0)
    }

    /// Returns the kind with this number, or `None` if there is no such kind.
    pub fn from_raw(raw: u16) -> Option<Self> {
        TABLE.get(usize::from(raw).wrapping_sub(1)).map(|row| row.0)
    }

    /// Returns the number that a record's header holds.
    pub const fn as_raw(self) -> u16 {
        self as u16
    }

    /// Returns the name, such as `operator_dispatch`.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Returns every operation of this kind with its name, in the order of their numbers.
    pub fn operations(self) -> impl Iterator<Item = (Operation, &'static str)> {
        (0..).map(Operation).zip(self.row().2.iter().copied())
    }

    /// Returns the name of an operation, or `None` if the kind has no such operation.
    pub fn operation_name(self, operation: Operation) -> Option<&'static str> {
        self.row().2.get(operation.0 as usize).copied()
    }

    /// Returns the position of this kind in a table of all kinds.
    pub(crate) const fn index(self) -> usize {
        self as usize - 1
    }

    /// Returns the kind's bit in a set of kinds.
    pub(crate) const fn bit(self) -> u64 {
        1 << self.index()
    }

    fn row(self) -> &'static (Self, &'static str, &'static [&'static str]) {
        &TABLE[self.index()]
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_numbers() {
        for (index, kind) in Kind::all().enumerate() {
            assert_eq!(kind.index(), index);
            assert_eq!(Kind::from_raw(kind.as_raw()), Some(kind));
            assert!(kind.operations().count() <= 64, "a set of operations is 64 bits wide");
        }
        let names: std::collections::BTreeSet<_> = Kind::all().map(Kind::name).collect();
        assert_eq!(names.len(), Kind::all().count(), "every kind has a name of its own");
        assert_eq!(Kind::from_raw(0), None);
        assert_eq!(Kind::from_raw(9), None);
    }

    #[test]
    fn every_kind_and_every_operation_has_its_number_and_its_name() {
        let expected: [(u16, &str, &[&str]); 8] = [
            (1, "operator_dispatch", &["complete"]),
            (2, "run", &["warm_up", "measured"]),
            (3, "tensor_copy", &["host_to_host", "host_to_device", "device_to_host", "device_to_device"]),
            (4, "tensor_allocation", &["allocate", "free"]),
            (5, "marker", &["mark", "range", "open_range"]),
            (6, "counter", &["sample"]),
            (7, "engine_call", &["load", "plan", "upload", "run", "download", "profile"]),
            (8, "correlation_retirement", &["retire"]),
        ];
        assert_eq!(Kind::all().count(), expected.len());
        for (kind, (raw, name, operations)) in Kind::all().zip(expected) {
            assert_eq!((kind.as_raw(), kind.name(), kind.to_string().as_str()), (raw, name, name));
            let found: Vec<_> = kind.operations().collect();
            let named: Vec<_> = (0..).map(Operation).zip(operations.iter().copied()).collect();
            assert_eq!(found, named, "{name}");
            for (operation, text) in named {
                assert_eq!(kind.operation_name(operation), Some(text), "{name}");
            }
            assert_eq!(kind.operation_name(Operation(operations.len() as u32)), None, "{name}");
        }
    }
}
