//! The memory for tensors over the time of a run, and by operator.

use std::collections::HashMap;

use opscope_clock::Ticks;
use opscope_trace::AllocationOperation;
use serde::Serialize;

use crate::recording::{AllocationFact, DispatchFact, Fact, RunFact, RunKind};
use crate::{ProfileError, Recording};

/// The memory that a run holds for tensors: inputs, outputs, and what operators compute in between.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryOverTime {
    /// The number of the measured run with the highest peak; the first one if there are several.
    pub run: u64,
    /// The most bytes that it held at once.
    pub peak_bytes: u64,
    /// The memory that it held from each moment on. The first point is before the run, when its inputs are allocated.
    pub points: Vec<MemoryPoint>,
    /// The allocations by the operator that computes the tensor, in the order of execution.
    pub operators: Vec<MemoryOfOperator>,
}

/// The memory that is held from a moment on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MemoryPoint {
    /// Nanoseconds since the run began; negative for the copy of its inputs.
    pub ns: f64,
    /// The number of bytes.
    pub bytes: u64,
}

/// The memory that an operator's tensors take in one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryOfOperator {
    /// The operator's name in the file; `None` for the inputs of the run.
    pub operator: Option<String>,
    /// The number of allocations.
    pub allocations: u64,
    /// The total bytes of these allocations.
    pub allocated_bytes: u64,
    /// The bytes of these allocations that were held at the peak of the run.
    pub bytes_at_peak: u64,
}

impl Recording {
    /// Returns the memory that a run holds for tensors: that of the completed measured run with the highest peak. If no
    /// run was measured, warm-up runs count. `None` if allocations were not recorded, or the recording is incomplete.
    /// This needs memory for the records of one run per thread.
    ///
    /// # Errors
    /// Returns an error if the file of records cannot be read.
    pub fn memory_over_time(&self) -> Result<Option<MemoryOverTime>, ProfileError> {
        if !self.is_complete() {
            return Ok(None);
        }
        let mut open: HashMap<u32, OpenRun> = HashMap::new();
        let mut most: Option<FinishedRun> = None;
        let is_measured = |run: &RunFact| run.kind == RunKind::Measured;
        for fact in self.facts()? {
            match fact? {
                Fact::Allocation(allocation) => open.entry(allocation.thread).or_default().allocated(allocation),
                Fact::Dispatch(dispatch) => open.entry(dispatch.thread).or_default().dispatched(dispatch),
                Fact::Run(run) => {
                    let records = open.remove(&run.thread).unwrap_or_default();
                    let peak = records.peak();
                    let rank = (is_measured(&run), peak);
                    if !run.failed
                        && peak > 0
                        && most.as_ref().is_none_or(|most| rank > (is_measured(&most.run), most.peak))
                    {
                        most = Some(FinishedRun { run, peak, records });
                    }
                }
                _ => {}
            }
        }
        Ok(most.map(|most| most.over_time(self)))
    }
}

/// The records of a thread's current run.
#[derive(Default)]
struct OpenRun {
    allocations: Vec<AllocationFact>,
    dispatches: Vec<DispatchFact>,
}

struct FinishedRun {
    run: RunFact,
    peak: u64,
    records: OpenRun,
}

/// The maximum number of records of a run that are kept, so that a damaged file cannot exhaust the memory.
const MOST_RECORDS: usize = 4 << 20;

impl OpenRun {
    fn allocated(&mut self, allocation: AllocationFact) {
        if self.allocations.len() < MOST_RECORDS {
            self.allocations.push(allocation);
        }
    }

    fn dispatched(&mut self, dispatch: DispatchFact) {
        if self.dispatches.len() < MOST_RECORDS {
            self.dispatches.push(dispatch);
        }
    }

    fn peak(&self) -> u64 {
        let mut held = HeldMemory::default();
        self.allocations.iter().map(|allocation| held.add(allocation, 0)).max().unwrap_or(0)
    }
}

/// The held memory by address: its bytes, and the row of the operator that computed it.
#[derive(Default)]
struct HeldMemory {
    bytes: u64,
    by_address: HashMap<u64, (u64, usize)>,
}

impl HeldMemory {
    /// Adds an allocation or a release, and returns the bytes that are held afterwards.
    fn add(&mut self, allocation: &AllocationFact, row: usize) -> u64 {
        match allocation.operation {
            AllocationOperation::Allocate => {
                self.bytes = self.bytes.saturating_add(allocation.bytes);
                self.by_address.insert(allocation.address, (allocation.bytes, row));
            }
            AllocationOperation::Free => {
                // Memory that an earlier run allocated is not counted here.
                if let Some((bytes, _)) = self.by_address.remove(&allocation.address) {
                    self.bytes = self.bytes.saturating_sub(bytes);
                }
            }
        }
        self.bytes
    }
}

impl FinishedRun {
    fn over_time(mut self, recording: &Recording) -> MemoryOverTime {
        self.records.dispatches.sort_by_key(|dispatch| (dispatch.span.start, dispatch.path.len()));
        let mut rows = Rows::default();
        let (mut points, mut at_peak): (Vec<MemoryPoint>, Vec<(u64, usize)>) = Default::default();
        let mut held = HeldMemory::default();
        for allocation in &self.records.allocations {
            let row = rows.of(recording, self.dispatch_before(allocation.at));
            if allocation.operation == AllocationOperation::Allocate {
                let operator = &mut rows.operators[row];
                operator.allocations += 1;
                operator.allocated_bytes = operator.allocated_bytes.saturating_add(allocation.bytes);
            }
            let before = held.bytes;
            let bytes = held.add(allocation, row);
            points.push(MemoryPoint { ns: since(recording, self.run.span.start, allocation.at), bytes });
            if bytes == self.peak && before < bytes && at_peak.is_empty() {
                at_peak = held.by_address.values().copied().collect();
            }
        }
        for (bytes, row) in at_peak {
            rows.operators[row].bytes_at_peak += bytes;
        }
        rows.operators.retain(|row| row.allocations > 0);
        MemoryOverTime { run: self.run.run, peak_bytes: self.peak, points, operators: rows.operators }
    }

    /// Returns the last dispatch that began before a moment.
    fn dispatch_before(&self, time: Ticks) -> Option<&DispatchFact> {
        let after = self.records.dispatches.partition_point(|dispatch| dispatch.span.start <= time);
        self.records.dispatches.get(after.checked_sub(1)?)
    }
}

/// Returns the nanoseconds from one moment to another; negative if the other one is earlier.
fn since(recording: &Recording, start: Ticks, time: Ticks) -> f64 {
    let nanos = |from, to| recording.calibration().nanos(from, to);
    if time >= start { nanos(start, time) } else { -nanos(time, start) }
}

#[derive(Default)]
struct Rows {
    operators: Vec<MemoryOfOperator>,
    by_name: HashMap<Option<String>, usize>,
}

impl Rows {
    /// Returns the row of the operator that a dispatch counts for; the row of the inputs if there is no dispatch.
    fn of(&mut self, recording: &Recording, dispatch: Option<&DispatchFact>) -> usize {
        let name = dispatch.map(|dispatch| match recording.kernel(dispatch.plan, dispatch.kernel) {
            Some(kernel) => kernel.operator.clone(),
            None => format!("plan_{}_kernel_{}", dispatch.plan, dispatch.kernel),
        });
        let next = self.operators.len();
        let row = *self.by_name.entry(name.clone()).or_insert(next);
        if row == next {
            let operator = MemoryOfOperator { operator: name, allocations: 0, allocated_bytes: 0, bytes_at_peak: 0 };
            self.operators.push(operator);
        }
        row
    }
}
