use std::fmt;

/// What a record is about. Kinds are what a context switches on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[repr(u16)]
pub enum Kind {
    /// One execution of one operator.
    OperatorDispatch = 1,
    /// One inference.
    Run = 2,
    /// A tensor that went from one memory to another.
    TensorCopy = 3,
    /// Memory for a tensor that was taken or given back.
    TensorAllocation = 4,
    /// A moment or a range that the user named.
    Marker = 5,
    /// The value of something that is counted or measured.
    Counter = 6,
    /// A call of an engine: load, plan, upload, run, download.
    EngineCall = 7,
    /// The last record with this correlation id has been emitted.
    CorrelationRetirement = 8,
}

/// One of the things that records of a kind are about, as [`EngineCall`](Kind::EngineCall) knows `load` and `run`. It is
/// the index into [`Kind::operations`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Operation(pub u32);

/// Which operations of a kind a context wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operations<'a> {
    /// Every one.
    All,
    /// These.
    Only(&'a [Operation]),
}

/// Every kind, its name and the names of its operations.
const TABLE: [(Kind, &str, &[&str]); 8] = [
    (Kind::OperatorDispatch, "operator_dispatch", &["complete"]),
    (Kind::Run, "run", &["warm_up", "measured"]),
    (Kind::TensorCopy, "tensor_copy", &["host_to_host", "host_to_device", "device_to_host", "device_to_device"]),
    (Kind::TensorAllocation, "tensor_allocation", &["allocate", "free"]),
    (Kind::Marker, "marker", &["mark", "range"]),
    (Kind::Counter, "counter", &["sample"]),
    (Kind::EngineCall, "engine_call", &["load", "plan", "upload", "run", "download"]),
    (Kind::CorrelationRetirement, "correlation_retirement", &["retire"]),
];

impl Kind {
    /// How many kinds there are.
    pub const COUNT: usize = TABLE.len();

    /// Every kind, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.0)
    }

    /// The kind with this number; none where it is unknown.
    pub fn from_raw(raw: u16) -> Option<Self> {
        TABLE.get(usize::from(raw).wrapping_sub(1)).map(|row| row.0)
    }

    /// The number that stands in a record's header.
    pub const fn as_raw(self) -> u16 {
        self as u16
    }

    /// The name, as in `operator_dispatch`.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Every operation of this kind with its name, in the order of their numbers.
    pub fn operations(self) -> impl Iterator<Item = (Operation, &'static str)> {
        (0..).map(Operation).zip(self.row().2.iter().copied())
    }

    /// The name of an operation; none where the kind has no such operation.
    pub fn operation_name(self, operation: Operation) -> Option<&'static str> {
        self.row().2.get(operation.0 as usize).copied()
    }

    /// Where this kind stands in tables of all kinds.
    pub(crate) const fn index(self) -> usize {
        self as usize - 1
    }

    /// The kind's bit in a set of kinds.
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
            (5, "marker", &["mark", "range"]),
            (6, "counter", &["sample"]),
            (7, "engine_call", &["load", "plan", "upload", "run", "download"]),
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
