//! Records as they stand in the file: a head of 8 bytes (category, 0, kind, length, all little-endian), then the payload,
//! filled up to a multiple of 8.

use opscope_clock::Ticks;
use opscope_model::Iteration;
use opscope_onnx::OperatorId;
use opscope_trace::{AllocationOperation, CopyOperation, EngineCallOperation, MarkerOperation};
use opscope_trace::{
    AllocationRecord, Category, CopyRecord, CounterRecord, DispatchRecord, EngineCallRecord, Header, Kind,
    MarkerRecord, Operation, PathLevel, Record, RetirementRecord, RunRecord,
};
use zerocopy::FromBytes;

use super::fact::{
    AllocationFact, Call, CallFact, CopyFact, Direction, DispatchFact, Fact, MarkerFact, RetirementFact, RunFact,
    RunKind, SampleFact, Span,
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

/// Returns the whole records of a frame, each with its head.
pub(crate) fn stored(frame: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = frame;
    std::iter::from_fn(move || {
        let length = u16::from_le_bytes(rest.get(4..6)?.try_into().ok()?);
        let (record, behind) = rest.split_at_checked(stored_length(usize::from(length)))?;
        rest = behind;
        Some(record)
    })
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
            let (kind, payload) = self.next_payload()?;
            if let Some(fact) = kind.and_then(|kind| Fact::read(kind, payload)) {
                return Some(fact);
            }
        }
    }

    /// Returns whether one of the records that are left is a dispatch with a path.
    pub(crate) fn has_path(mut self) -> bool {
        while let Some((kind, payload)) = self.next_payload() {
            if kind == Some(Kind::OperatorDispatch) && payload.len() > size_of::<DispatchRecord>() {
                return true;
            }
        }
        false
    }

    /// Returns the payload of the next record, and its kind if it is one of opscope's own.
    fn next_payload(&mut self) -> Option<(Option<Kind>, &[u8])> {
        let rest = &self.bytes[self.position..];
        let head: [u8; HEAD] = rest.get(..HEAD)?.try_into().ok()?;
        let length = usize::from(u16::from_le_bytes([head[4], head[5]]));
        let payload = rest.get(HEAD..HEAD + length)?;
        self.position = (self.position + stored_length(length)).min(self.bytes.len());
        let is_ours = Category(head[0]) == Category::TRACING;
        let kind = Kind::from_raw(u16::from_le_bytes([head[2], head[3]])).filter(|_| is_ours);
        Some((kind, payload))
    }
}

impl Fact {
    /// Returns what a record's payload says, as it stands in a file; `None` where this version knows no such fact, or
    /// the payload has another length.
    pub fn read(kind: Kind, payload: &[u8]) -> Option<Self> {
        match kind {
            DispatchRecord::KIND => DispatchRecord::read_from_prefix(payload).ok().and_then(|(record, tail)| {
                Some(Fact::Dispatch(DispatchFact {
                    run: record.run,
                    plan: record.plan.0,
                    kernel: record.kernel.0,
                    thread: record.thread.0,
                    span: Span { start: record.start, end: record.end },
                    correlation: record.correlation,
                    path: path(tail)?,
                }))
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
                    kind: kind_of(record.operation()),
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
                    operation if operation == EngineCallOperation::Profile as u32 => Call::Profile,
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

/// Returns the path behind the record of a dispatch, or `None` if these bytes are not whole levels.
fn path(tail: &[u8]) -> Option<Box<[Iteration]>> {
    let levels = tail.chunks(size_of::<PathLevel>()).map(|level| PathLevel::read_from_bytes(level).ok());
    let iteration = |level: PathLevel| Iteration { operator: OperatorId::new(level.operator), index: level.iteration };
    levels.map(|level| level.map(iteration)).collect()
}

/// Returns a span, or `None` if the record does not have it: its ticks are 0 then.
fn kind_of(operation: Operation) -> RunKind {
    match operation {
        RunRecord::WARM_UP => RunKind::WarmUp,
        RunRecord::UNTIMED => RunKind::Untimed,
        _ => RunKind::Measured,
    }
}

fn span(start: Ticks, end: Ticks) -> Option<Span> {
    (start.as_raw() != 0).then_some(Span { start, end })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use zerocopy::IntoBytes;

    use super::*;

    /// Returns what a frame with these payloads of dispatches is read as: their paths.
    fn paths(payloads: &[Vec<u8>]) -> (bool, Vec<Box<[Iteration]>>) {
        let mut frame = Vec::new();
        for payload in payloads {
            let kind = DispatchRecord::KIND.as_raw();
            store(Header { category: Category::TRACING, kind, length: payload.len() as u16 }, payload, &mut frame);
        }
        let has_path = StoredRecords::new(frame.clone()).has_path();
        let mut records = StoredRecords::new(frame);
        let facts = std::iter::from_fn(|| records.next()).map(|fact| match fact {
            Fact::Dispatch(dispatch) => dispatch.path,
            other => panic!("{other:?}"),
        });
        (has_path, facts.collect())
    }

    proptest! {
        #[test]
        fn every_stored_path_is_read_and_odd_lengths_are_stepped_over(
            records in prop::collection::vec((prop::collection::vec(any::<(u32, u32)>(), 0..30), 0usize..80), 0..20)
        ) {
            let mut expected = Vec::new();
            let mut payloads = Vec::new();
            for (path, cut) in &records {
                let levels = path.iter().map(|&(operator, iteration)| PathLevel { operator, iteration });
                let mut payload = DispatchRecord::default().as_bytes().to_vec();
                levels.for_each(|level| payload.extend_from_slice(level.as_bytes()));
                payload.truncate(payload.len().saturating_sub(*cut));
                if payload.len() >= 64 && payload.len() % 8 == 0 {
                    let left = path[..(payload.len() - 64) / 8].iter();
                    let iteration = |&(operator, index)| Iteration { operator: OperatorId::new(operator), index };
                    expected.push(left.map(iteration).collect::<Box<[_]>>());
                }
                payloads.push(payload);
            }
            let (has_path, found) = paths(&payloads);
            prop_assert_eq!(has_path, payloads.iter().any(|payload| payload.len() > 64));
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_dispatch_without_a_path_takes_the_bytes_that_it_took_before_there_were_paths() {
        let mut frame = Vec::new();
        let (kind, category) = (DispatchRecord::KIND.as_raw(), Category::TRACING);
        let payload = DispatchRecord::default();
        store(Header { category, kind, length: 64 }, payload.as_bytes(), &mut frame);
        assert_eq!(frame[..8], [1, 0, 1, 0, 64, 0, 0, 0]);
        assert_eq!(frame.len(), 72);
        let level = PathLevel { operator: 0x0102, iteration: 3 };
        let payload = [payload.as_bytes(), level.as_bytes()].concat();
        store(Header { category, kind, length: 72 }, &payload, &mut frame);
        assert_eq!(frame[72..80], [1, 0, 1, 0, 72, 0, 0, 0]);
        assert_eq!(frame[144..], [2, 1, 0, 0, 3, 0, 0, 0]);
    }
}
