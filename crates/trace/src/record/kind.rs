//! Every kind of records in one table: its number, its operations, and the layout of its records.

use std::fmt;

use opscope_clock::Ticks;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

#[cfg(test)]
use super::table::documented_field;
use super::table::record_kinds;
use super::{
    Correlation, CorrelationId, KernelIndex, MemoryId, NameId, PathLevel, PlanId, Record, RecordRef, ThreadId,
};

/// What a record of a kind describes: a record of [`Kind::EngineCall`] is a `load` or a `run`, for example. The number
/// is the index into [`Kind::operations`].
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

record_kinds! {
    /// One execution of one operator.
    OperatorDispatch = 1 => {
        name: "operator_dispatch",
        /// What a dispatch did.
        operations: DispatchOperation {
            /// The kernel completed.
            Complete = 0 => "complete",
        },
        operation: |record| record.operation,
        thread: |record| Some(record.thread),
        text: |record| None,
        bytes: 64 and tail: PathLevel,
        /// One execution of one kernel: 64 bytes. A [`PathLevel`] follows in the payload for each operator whose body
        /// the kernel was executed in, outermost first.
        #[derive(Eq)]
        pub struct DispatchRecord {
            /// The number of the run, which the program that starts the runs counts from 0.
            pub run: u64,
            /// The plan that ran.
            pub plan: PlanId,
            /// When the kernel began.
            pub start: Ticks,
            /// When the kernel ended.
            pub end: Ticks,
            /// The work that it belongs to.
            pub correlation: Correlation,
            /// The kernel, by its position in the plan.
            pub kernel: KernelIndex,
            /// A [`DispatchOperation`].
            pub operation: u32,
            /// The thread that started the kernel.
            pub thread: ThreadId,
            /// The device that the kernel ran on: 0 for the host.
            pub device: u32,
        }
    }
    /// One inference.
    Run = 2 => {
        name: "run",
        /// What a run is for.
        operations: RunOperation {
            /// It warms up.
            WarmUp = 0 => "warm_up",
            /// It is measured. Only such runs are part of statistics.
            Measured = 1 => "measured",
            /// It takes no times of its dispatches, to show what taking those times costs.
            Untimed = 2 => "untimed",
        },
        operation: |record| record.operation,
        thread: |record| Some(record.thread),
        text: |record| None,
        bytes: 96,
        /// One inference, from the upload of its inputs to the download of its outputs: 96 bytes.
        #[derive(Eq)]
        pub struct RunRecord {
            /// The number of the run, which the program that starts the runs counts from 0.
            pub run: u64,
            /// The plan that ran.
            pub plan: PlanId,
            /// When the upload of the inputs began.
            pub upload_start: Ticks,
            /// When the upload ended.
            pub upload_end: Ticks,
            /// When the inference began.
            pub start: Ticks,
            /// When the inference ended.
            pub end: Ticks,
            /// When the download of the outputs began.
            pub download_start: Ticks,
            /// When the download ended.
            pub download_end: Ticks,
            /// The work that it belongs to.
            pub correlation: Correlation,
            /// What the run is for: a [`RunOperation`].
            pub operation: u32,
            /// The thread that called the engine.
            pub thread: ThreadId,
            /// 0 if the run succeeded, 1 if it failed.
            pub failed: u32,
            /// Always 0.
            pub reserved: u32,
        }
    }
    /// A copy of a tensor from one memory to another.
    TensorCopy = 3 => {
        name: "tensor_copy",
        /// The direction of a copy.
        operations: CopyOperation {
            /// Within the host's memory.
            HostToHost = 0 => "host_to_host",
            /// To a device.
            HostToDevice = 1 => "host_to_device",
            /// From a device.
            DeviceToHost = 2 => "device_to_host",
            /// From one device to another, or within one.
            DeviceToDevice = 3 => "device_to_device",
        },
        operation: |record| record.operation,
        thread: |record| Some(record.thread),
        text: |record| None,
        bytes: 72,
        /// A copy of a tensor from one memory to another: 72 bytes.
        #[derive(Eq)]
        pub struct CopyRecord {
            /// The run that the tensor belongs to.
            pub run: u64,
            /// When the copy began.
            pub start: Ticks,
            /// When the copy ended.
            pub end: Ticks,
            /// The number of bytes.
            pub bytes: u64,
            /// The work that it belongs to.
            pub correlation: Correlation,
            /// The number of tensors that were copied together.
            pub tensors: u32,
            /// The direction: a [`CopyOperation`].
            pub operation: u32,
            /// The thread that requested the copy.
            pub thread: ThreadId,
            /// The memory that was read.
            pub source: MemoryId,
            /// The memory that was written.
            pub destination: MemoryId,
            /// Always 0.
            pub reserved: u32,
        }
    }
    /// An allocation or a release of memory for a tensor.
    TensorAllocation = 4 => {
        name: "tensor_allocation",
        /// What happened to the memory.
        operations: AllocationOperation {
            /// It was allocated.
            Allocate = 0 => "allocate",
            /// It was released.
            Free = 1 => "free",
        },
        operation: |record| record.operation,
        thread: |record| Some(record.thread),
        text: |record| None,
        bytes: 64,
        /// An allocation or a release of memory for a tensor: 64 bytes.
        #[derive(Eq)]
        pub struct AllocationRecord {
            /// When the call began.
            pub start: Ticks,
            /// When the call ended.
            pub end: Ticks,
            /// The address of the memory.
            pub address: u64,
            /// The number of bytes.
            pub bytes: u64,
            /// The work that it belongs to.
            pub correlation: Correlation,
            /// What happened: an [`AllocationOperation`].
            pub operation: u32,
            /// The thread that made the call.
            pub thread: ThreadId,
            /// The memory: the host's or a device's.
            pub memory: MemoryId,
            /// Always 0.
            pub reserved: u32,
        }
    }
    /// A moment or a range that the user's code named.
    Marker = 5 => {
        name: "marker",
        /// What a marker marks.
        operations: MarkerOperation {
            /// A moment.
            Mark = 0 => "mark",
            /// A range.
            Range = 1 => "range",
            /// A range that was open when tracing ended: `end` is when tracing ended.
            OpenRange = 2 => "open_range",
        },
        operation: |record| record.operation,
        thread: |record| Some(record.thread),
        text: |record| Some(record.name),
        bytes: 48,
        /// A moment or a range that the user's code named: 48 bytes.
        #[derive(Eq)]
        pub struct MarkerRecord {
            /// When the range began; for a mark, its moment.
            pub start: Ticks,
            /// When the range ended; for a mark, its moment.
            pub end: Ticks,
            /// The work that it belongs to.
            pub correlation: Correlation,
            /// The name; [`name_text`](crate::name_text) returns its text.
            pub name: NameId,
            /// What was marked: a [`MarkerOperation`].
            pub operation: u32,
            /// The thread that the user's code ran on.
            pub thread: ThreadId,
            /// The number of open ranges of the same thread around this one.
            pub depth: u32,
        }
    }
    /// The value of something that is counted or measured.
    Counter = 6 => {
        name: "counter",
        /// What was done with a counter.
        operations: CounterOperation {
            /// It was read.
            Sample = 0 => "sample",
        },
        operation: |record| record.operation,
        // A counter belongs to the process, whichever thread reads it.
        thread: |record| None,
        text: |record| Some(record.name),
        bytes: 48,
        /// The value of a counter at a moment: 48 bytes.
        pub struct CounterRecord {
            /// When the counter was read.
            pub time: Ticks,
            /// The value. Its unit is part of the counter's name.
            pub value: f64,
            /// The work that it belongs to.
            pub correlation: Correlation,
            /// The counter's name; [`name_text`](crate::name_text) returns its text.
            pub name: NameId,
            /// A [`CounterOperation`].
            pub operation: u32,
            /// The thread that read the counter.
            pub thread: ThreadId,
            /// Always 0.
            pub reserved: u32,
        }
    }
    /// A call of an engine: load, plan, upload, run or download.
    EngineCall = 7 => {
        name: "engine_call",
        /// What an engine is called for.
        operations: EngineCallOperation {
            /// Read a graph.
            Load = 0 => "load",
            /// Get ready for inputs of given shapes.
            Plan = 1 => "plan",
            /// Take inputs.
            Upload = 2 => "upload",
            /// Run once.
            Run = 3 => "run",
            /// Give outputs.
            Download = 4 => "download",
            /// Not a call: after a run, the engine works on its own profile, from which times are taken.
            Profile = 5 => "profile",
        },
        operation: |record| record.operation,
        thread: |record| Some(record.thread),
        text: |record| None,
        bytes: 64,
        /// A call of an engine: 64 bytes.
        #[derive(Eq)]
        pub struct EngineCallRecord {
            /// The run that the call was for; 0 for `load` and `plan`.
            pub run: u64,
            /// Always 0.
            pub unused: u64,
            /// When the call began.
            pub start: Ticks,
            /// When it returned.
            pub end: Ticks,
            /// The work that it belongs to.
            pub correlation: Correlation,
            /// The call: an [`EngineCallOperation`].
            pub operation: u32,
            /// The thread that called.
            pub thread: ThreadId,
            /// 0 if the call succeeded, 1 if it failed.
            pub failed: u32,
            /// Always 0.
            pub reserved: u32,
        }
    }
    /// The end of a correlation id: its last record has been emitted.
    CorrelationRetirement = 8 => {
        name: "correlation_retirement",
        /// What happened to a correlation id.
        operations: RetirementOperation {
            /// Its last record was emitted.
            Retire = 0 => "retire",
        },
        operation: |record| RetirementOperation::Retire as u32,
        thread: |record| None,
        text: |record| None,
        bytes: 16,
        /// The end of a correlation id: its last record has been emitted. 16 bytes.
        #[derive(Eq)]
        pub struct RetirementRecord {
            /// When the id was retired, after its last record.
            pub time: Ticks,
            /// The id. No later record has it.
            pub correlation: CorrelationId,
        }
    }
}

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

impl EngineCallOperation {
    /// Returns whether such a call is made for a run; the others are made for the whole model.
    pub fn belongs_to_run(self) -> bool {
        match self {
            Self::Load | Self::Plan => false,
            Self::Upload | Self::Run | Self::Download | Self::Profile => true,
        }
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
        assert_eq!(Kind::from_raw(Kind::COUNT as u16 + 1), None);
    }

    #[test]
    fn the_number_of_an_operation_is_the_position_of_its_name() {
        for kind in Kind::all() {
            let named = kind.operations().map(|(number, name)| (number.0, name, true));
            assert!(named.eq(numbered(kind)), "{kind}");
            for (operation, name) in kind.operations() {
                assert_eq!(kind.operation_name(operation), Some(name), "{kind}");
            }
            assert_eq!(kind.operation_name(Operation(kind.operations().count() as u32)), None, "{kind}");
        }
        assert_eq!(EngineCallOperation::from_raw(6), None);
    }

    #[test]
    fn a_model_is_loaded_and_planned_for_all_its_runs() {
        let belong = EngineCallOperation::ALL.map(|call| (call.name(), call.belongs_to_run()));
        let [load, plan] = [("load", false), ("plan", false)];
        assert_eq!(belong, [load, plan, ("upload", true), ("run", true), ("download", true), ("profile", true)]);
    }

    #[test]
    fn the_page_on_records_has_the_row_of_every_kind() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/records.md");
        let page = std::fs::read_to_string(path).expect("the page is there");
        let rows = page.lines().skip_while(|line| !line.starts_with("| kind | name | operations |")).skip(2);
        let rows: Vec<_> = rows.take_while(|line| line.starts_with('|')).collect();
        let expected: Vec<_> = Kind::all().map(documented).collect();
        assert_eq!(rows, expected, "the rows of docs/records.md follow from the table of kinds; correct them there");
    }
}
