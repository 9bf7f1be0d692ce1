//! Records as they stand in the file: a head of 8 bytes (category, 0, kind, length, all little-endian), then the payload,
//! filled up to a multiple of 8.

use opscope_clock::Ticks;
use opscope_trace::{AllocationOperation, CopyOperation, EngineCallOperation, MarkerOperation};
use opscope_trace::{
    AllocationRecord, Category, CopyRecord, CounterRecord, DispatchRecord, EngineCallRecord, Header, Kind,
    MarkerRecord, Record, RetirementRecord, RunRecord,
};
use zerocopy::FromBytes;

use super::fact::{
    AllocationFact, Call, CallFact, CopyFact, Direction, DispatchFact, Fact, MarkerFact, RetirementFact, RunFact,
    SampleFact, Span,
};

const HEAD: usize = 8;

/// Returns the bytes that a record takes in the file.
pub(crate) fn stored_length(payload: usize) -> usize {
    HEAD + payload.next_multiple_of(8)
}

/// Adds a record to the bytes of a frame.
pub(crate) fn store(header: Header, payload: &[u8], into: &mut Vec<u8>) {
    into.extend_from_slice(&[header.category.0, 0]);
    into.extend_from_slice(&header.kind.to_le_bytes());
    into.extend_from_slice(&header.length.to_le_bytes());
    into.extend_from_slice(&[0; 2]);
    into.extend_from_slice(payload);
    into.resize(into.len().next_multiple_of(8), 0);
}

/// Goes through the records of a frame. Ends at the first one that reaches past the end.
pub(crate) struct StoredRecords {
    bytes: Vec<u8>,
    position: usize,
}

impl StoredRecords {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, position: 0 }
    }

    /// Returns the next record that says something to this version; others are stepped over.
    pub(crate) fn next(&mut self) -> Option<Fact> {
        loop {
            let rest = &self.bytes[self.position..];
            let head: [u8; HEAD] = rest.get(..HEAD)?.try_into().ok()?;
            let length = usize::from(u16::from_le_bytes([head[4], head[5]]));
            let payload = rest.get(HEAD..HEAD + length)?;
            self.position = (self.position + stored_length(length)).min(self.bytes.len());
            if Category(head[0]) == Category::TRACING
                && let Some(kind) = Kind::from_raw(u16::from_le_bytes([head[2], head[3]]))
                && let Some(fact) = Fact::read(kind, payload)
            {
                return Some(fact);
            }
        }
    }
}

impl Fact {
    /// Returns what a record's payload says, as it stands in a file; `None` where this version knows no such fact, or
    /// the payload has another length.
    pub fn read(kind: Kind, payload: &[u8]) -> Option<Self> {
        match kind {
            DispatchRecord::KIND => DispatchRecord::read_from_bytes(payload).ok().map(|record| {
                Fact::Dispatch(DispatchFact {
                    run: record.run,
                    plan: record.plan.0,
                    kernel: record.kernel.0,
                    thread: record.thread.0,
                    span: Span { start: record.start, end: record.end },
                    correlation: record.correlation,
                })
            }),
            RunRecord::KIND => RunRecord::read_from_bytes(payload).ok().map(|record| {
                Fact::Run(RunFact {
                    run: record.run,
                    plan: record.plan.0,
                    thread: record.thread.0,
                    span: Span { start: record.start, end: record.end },
                    upload: span(record.upload_start, record.upload_end),
                    download: span(record.download_start, record.download_end),
                    correlation: record.correlation,
                    warm_up: record.is_warm_up(),
                    failed: record.failed != 0,
                })
            }),
            CopyRecord::KIND => CopyRecord::read_from_bytes(payload).ok().map(|record| {
                let out = record.operation == CopyOperation::DeviceToHost as u32;
                Fact::Copy(CopyFact {
                    run: record.run,
                    direction: if out { Direction::Out } else { Direction::In },
                    bytes: record.bytes,
                    thread: record.thread.0,
                    span: Span { start: record.start, end: record.end },
                    correlation: record.correlation,
                })
            }),
            EngineCallRecord::KIND => EngineCallRecord::read_from_bytes(payload).ok().and_then(|record| {
                let call = match record.operation {
                    operation if operation == EngineCallOperation::Load as u32 => Call::Load,
                    operation if operation == EngineCallOperation::Plan as u32 => Call::Plan,
                    operation if operation == EngineCallOperation::Upload as u32 => Call::Upload,
                    operation if operation == EngineCallOperation::Run as u32 => Call::Run,
                    operation if operation == EngineCallOperation::Download as u32 => Call::Download,
                    _ => return None,
                };
                Some(Fact::Call(CallFact {
                    run: call.belongs_to_run().then_some(record.run),
                    call,
                    failed: record.failed != 0,
                    thread: record.thread.0,
                    span: Span { start: record.start, end: record.end },
                    correlation: record.correlation,
                }))
            }),
            CounterRecord::KIND => CounterRecord::read_from_bytes(payload).ok().map(|record| {
                Fact::Sample(SampleFact { counter: record.name.0, at: record.time, value: record.value })
            }),
            MarkerRecord::KIND => MarkerRecord::read_from_bytes(payload).ok().and_then(|record| {
                let known = [MarkerOperation::Mark, MarkerOperation::Range, MarkerOperation::OpenRange];
                let operation = known.into_iter().find(|known| *known as u32 == record.operation)?;
                Some(Fact::Marker(MarkerFact {
                    name: record.name.0,
                    thread: record.thread.0,
                    span: Span { start: record.start, end: record.end },
                    correlation: record.correlation,
                    operation,
                }))
            }),
            AllocationRecord::KIND => AllocationRecord::read_from_bytes(payload).ok().and_then(|record| {
                let known = [AllocationOperation::Allocate, AllocationOperation::Free];
                Some(Fact::Allocation(AllocationFact {
                    operation: known.into_iter().find(|known| *known as u32 == record.operation)?,
                    address: record.address,
                    bytes: record.bytes,
                    thread: record.thread.0,
                    at: record.end,
                    correlation: record.correlation,
                }))
            }),
            RetirementRecord::KIND => RetirementRecord::read_from_bytes(payload)
                .ok()
                .map(|record| Fact::Retirement(RetirementFact { correlation: record.correlation, at: record.time })),
            _ => None,
        }
    }
}

/// Returns a span, or `None` if the record does not have it: its ticks are 0 then.
fn span(start: Ticks, end: Ticks) -> Option<Span> {
    (start.as_raw() != 0).then_some(Span { start, end })
}
