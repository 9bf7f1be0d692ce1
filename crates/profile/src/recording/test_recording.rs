//! A small recording with fixed times, names and numbers, for tests: two ticks make a nanosecond.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use opscope_clock::{ClockPair, Ticks, Timestamp};
use opscope_model::testing::{GraphBuilder, kernel};
use opscope_model::{Fidelity, Kernel, TensorType};
use opscope_onnx::{Dim, Graph};
use opscope_tensor::{DType, Digest};
use opscope_trace::{
    AllocationOperation, AllocationRecord, Category, CopyRecord, Correlation, CorrelationId, CounterRecord,
    DispatchRecord, EngineCallRecord, ExternalId, Header, KernelIndex, MarkerOperation, MarkerRecord, NameId, PlanId,
    Record, RetirementRecord, RunRecord, ThreadId,
};

use super::frame::FrameWriter;
use super::manifest::Manifest;
use super::names::{NAMES, NamesLine};
use super::record::store;
use super::writer::RECORDS;
use super::{ClockInfo, ClockReading, EngineInfo, HostInfo, ModelInfo, ProcessInfo, RecordCounts, SCHEMA};
use crate::load::Load;

const THREAD: ThreadId = ThreadId(77);
const COUNTER: NameId = NameId(1);
const USERS_COUNTER: NameId = NameId(2);
const DECODE: NameId = NameId(3);
const TOKEN: NameId = NameId(4);
const LATE: NameId = NameId(5);
const SERVE: NameId = NameId(6);

/// Writes the recording: a warm-up run, two runs that count, one that fails, and a truncated one. The user's code marks
/// a range around the two, a moment in it, a range that begins in it and ends after it, and one that is open at the
/// end.
pub(crate) fn write(directory: &Path) {
    let names = File::create_new(directory.join(NAMES)).expect("a new file");
    for line in names_lines() {
        line.write(&names).expect("the disk has room");
    }
    let frames = frames();
    let mut file = FrameWriter::new(File::create_new(directory.join(RECORDS)).expect("a new file")).expect("room");
    for frame in &frames {
        file.write(frame, 0, clock(0)).expect("the disk has room");
    }
    manifest(file.frames(), file.bytes()).write(directory).expect("the disk has room");
}

/// Returns the payload of every frame.
pub(crate) fn frames() -> Vec<Vec<u8>> {
    let mut first = Vec::new();
    put(&call(0, 0, 0, 5_000), &mut first);
    put(&call(1, 0, 6_000, 9_000), &mut first);
    for run in 0..3 {
        let start = 10_000 + run * 10_000;
        put(&copy(run, 1, start, start + 400), &mut first);
        put(&call(2, run, start, start + 400), &mut first);
        put(&allocation(AllocationOperation::Allocate, 0x1000, 4096, start + 400), &mut first);
        dispatches(run, start + 1_000, &mut first);
        put(&allocation(AllocationOperation::Allocate, 0x3000, 1024, start + 7_200), &mut first);
        put(&call(3, run, start + 900, start + 7_300), &mut first);
        put(&copy(run, 2, start + 7_500, start + 7_700), &mut first);
        put(&call(4, run, start + 7_500, start + 7_700), &mut first);
        put(&allocation(AllocationOperation::Free, 0x1000, 4096, start + 7_800), &mut first);
        put(&allocation(AllocationOperation::Free, 0x3000, 1024, start + 7_800), &mut first);
        let copied = [start, start + 400, start + 7_500, start + 7_700];
        put(&run_record(run, start + 900, start + 7_300, u32::from(run > 0), 0, copied), &mut first);
        put(
            &RetirementRecord { time: Ticks::from_raw(start + 7_900), correlation: CorrelationId(run + 1) },
            &mut first,
        );
        put(&sample(COUNTER, start, 1024.0 + run as f64), &mut first);
    }
    put(&marker(MarkerOperation::Mark, TOKEN, 28_000, 28_000), &mut first);
    put(&sample(USERS_COUNTER, 28_100, 0.5), &mut first);
    put(&marker(MarkerOperation::Range, DECODE, 19_800, 38_000), &mut first);
    put(&marker(MarkerOperation::Range, LATE, 37_900, 39_000), &mut first);
    let mut second = Vec::new();
    put(&dispatch(3, 0, 41_000, 43_000), &mut second);
    put(&run_record(3, 40_900, 44_000, 1, 1, [0; 4]), &mut second);
    put(&dispatch(4, 0, 51_000, 53_000), &mut second);
    put(&marker(MarkerOperation::OpenRange, SERVE, 50_000, 54_000), &mut second);
    vec![first, second]
}

/// Adds the three kernels of a run: 2000, 3000 and 1000 ticks, with 100 ticks after the first one.
fn dispatches(run: u64, start: u64, into: &mut Vec<u8>) {
    put(&dispatch(run, 0, start, start + 2_000), into);
    put(&allocation(AllocationOperation::Allocate, 0x2000, 512, start + 2_000), into);
    put(&dispatch(run, 1, start + 2_100, start + 5_100), into);
    put(&allocation(AllocationOperation::Free, 0x2000, 512, start + 5_100), into);
    put(&dispatch(run, 2, start + 5_100, start + 6_100), into);
}

fn put<R: Record>(record: &R, into: &mut Vec<u8>) {
    let payload = record.as_bytes();
    let header = Header { category: Category::TRACING, kind: R::KIND.as_raw(), length: payload.len() as u16 };
    store(header, payload, into);
}

fn dispatch(run: u64, kernel: u32, start: u64, end: u64) -> DispatchRecord {
    DispatchRecord {
        run,
        plan: PlanId(0),
        start: Ticks::from_raw(start),
        end: Ticks::from_raw(end),
        kernel: KernelIndex(kernel),
        thread: THREAD,
        ..DispatchRecord::default()
    }
}

fn run_record(run: u64, start: u64, end: u64, operation: u32, failed: u32, copied: [u64; 4]) -> RunRecord {
    let [upload_start, upload_end, download_start, download_end] = copied.map(Ticks::from_raw);
    RunRecord {
        run,
        upload_start,
        upload_end,
        download_start,
        download_end,
        correlation: Correlation {
            internal: CorrelationId(run + 1),
            external: ExternalId(if run == 2 { 99 } else { 0 }),
        },
        start: Ticks::from_raw(start),
        end: Ticks::from_raw(end),
        operation,
        failed,
        thread: THREAD,
        ..RunRecord::default()
    }
}

fn copy(run: u64, operation: u32, start: u64, end: u64) -> CopyRecord {
    CopyRecord {
        run,
        start: Ticks::from_raw(start),
        end: Ticks::from_raw(end),
        bytes: 4096,
        operation,
        thread: THREAD,
        ..CopyRecord::default()
    }
}

fn call(operation: u32, run: u64, start: u64, end: u64) -> EngineCallRecord {
    EngineCallRecord {
        run,
        start: Ticks::from_raw(start),
        end: Ticks::from_raw(end),
        operation,
        thread: THREAD,
        ..EngineCallRecord::default()
    }
}

fn allocation(operation: AllocationOperation, address: u64, bytes: u64, at: u64) -> AllocationRecord {
    let at = Ticks::from_raw(at);
    AllocationRecord {
        start: at,
        end: at,
        address,
        bytes,
        operation: operation as u32,
        thread: THREAD,
        ..AllocationRecord::default()
    }
}

fn sample(name: NameId, time: u64, value: f64) -> CounterRecord {
    CounterRecord { time: Ticks::from_raw(time), value, name, thread: THREAD, ..CounterRecord::default() }
}

fn marker(operation: MarkerOperation, name: NameId, start: u64, end: u64) -> MarkerRecord {
    MarkerRecord {
        start: Ticks::from_raw(start),
        end: Ticks::from_raw(end),
        name,
        operation: operation as u32,
        thread: THREAD,
        ..MarkerRecord::default()
    }
}

/// Returns the moment after this many nanoseconds.
fn clock(nanos: u64) -> ClockPair {
    ClockPair { ticks: Ticks::from_raw(2 * nanos), time: Timestamp::from_nanos_since_boot(1_000_000 + nanos) }
}

fn manifest(frames: u64, bytes: u64) -> Manifest {
    Manifest {
        schema: SCHEMA.to_owned(),
        complete: true,
        incomplete_because: Vec::new(),
        notes: Vec::new(),
        model: ModelInfo {
            path: "models/small.onnx".to_owned(),
            xxh3: Digest(0xdead_beef),
            graph: "small".to_owned(),
            producer: "hand 1".to_owned(),
        },
        engine: EngineInfo::new("paper", "0.1", Fidelity::Optimised),
        load: Load { average_start: Some(0.5), average_end: Some(1.25), reference: None },
        host: HostInfo {
            name: "desk".to_owned(),
            cpu: "abacus".to_owned(),
            processors: 1,
            system: "linux 0".to_owned(),
        },
        process: ProcessInfo { pid: 70, name: "test".to_owned(), opscope: "0.1.0".to_owned() },
        clock: ClockInfo {
            ticks: "tsc".to_owned(),
            start: ClockReading::from(clock(0)),
            end: Some(ClockReading::from(clock(100_000))),
            start_unix_ns: 1_700_000_000_000_000_000,
        },
        switches: BTreeMap::from([("task-time".to_owned(), true)]),
        sample_interval_ns: 0,
        records: Some(RecordCounts { emitted: 61, delivered: 61, bytes, frames, ..RecordCounts::default() }),
        imported: None,
    }
}

fn names_lines() -> Vec<NamesLine> {
    let graph = graph();
    vec![
        NamesLine::header(),
        NamesLine::graph(0, &graph),
        NamesLine::plan(0, 0, &graph, Fidelity::Optimised, &kernels(&graph)),
        NamesLine::counter(COUNTER, "memory used [bytes]"),
        NamesLine::counter(USERS_COUNTER, "tokens per second"),
        NamesLine::marker(DECODE, "decode"),
        NamesLine::marker(TOKEN, "first token, \"hello\""),
        NamesLine::marker(LATE, "late"),
        NamesLine::marker(SERVE, "serve"),
        NamesLine::Thread { thread: THREAD.0, name: "main".to_owned() },
    ]
}

/// Returns a convolution in two kernels, and a multiplication with an addition fused into it between them.
fn kernels(graph: &Graph) -> [Kernel; 3] {
    let [conv, mul, add] = [0, 1, 2].map(|index| graph.operators[index].name.as_str());
    let kernel = |index, name: &str, op: &str, operators: &[&str]| Kernel {
        name: name.to_owned(),
        op: op.to_owned(),
        input_types: vec![
            TensorType { dtype: Some(DType::F32), shape: vec![1, 3, 8, 8] },
            TensorType { dtype: None, shape: vec![4] },
        ],
        output_types: vec![TensorType { dtype: Some(DType::I64), shape: Vec::new() }],
        ..kernel(graph, index, operators)
    };
    let mut kernels = [
        kernel(0, "conv.im2col", "Im2col", &[conv]),
        kernel(1, "/mm/MatMul", "OptMatMul", &[mul, add]),
        kernel(2, "conv.matmatmul", "OptMatMul", &[conv]),
    ];
    kernels[1].operators[1].exact = false;
    kernels
}

/// Returns the graph of [`kernels`]. The name of its convolution needs quotes.
pub(crate) fn graph() -> Arc<Graph> {
    let mut graph = GraphBuilder::new("small")
        .input("x", &[1, 3])
        .operator("conv, \"the first\"\nof two", "Conv", &["x", ""], &[])
        .operator("/mm/MatMul", "MatMul", &["x", ""], &[])
        .operator("/mm/Add", "Add", &["x", ""], &[])
        .build();
    graph.values[0].shape = Some(vec![Dim::Symbol("N".to_owned()), Dim::Fixed(3)]);
    Arc::new(graph)
}
