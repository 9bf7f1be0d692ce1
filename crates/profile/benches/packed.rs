//! Measures how many bytes of a recording a dispatch takes, and what packing it costs the thread that writes the file.
//!
//! Runs of 24 dispatches, as the smallest models have, are recorded with everything that `--profiler` switches on. The
//! first number is the size of the records file, divided by the number of dispatches. Its peer is the size of the same
//! records in memory. Then the records of one frame are packed and unpacked repeatedly. The floor is a copy of the same
//! bytes.

use std::fs;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use opscope_bench::{Case, Contender, Goal, Judged, Measured, Rounds, finish};
use opscope_clock::Ticks;
use opscope_model::testing::{GraphBuilder, kernels};
use opscope_model::{Fidelity, Instrument, RunId, RunInfo};
use opscope_profile::packed::{pack, unpack};
use opscope_profile::{EngineInfo, Profiler, ProfilerOptions, RecordingInfo};

const DISPATCHES: usize = 24;
const RUNS: u64 = 20_000;
/// The bytes of a file header, of a frame header, and of a stored dispatch.
const FILE_HEADER: usize = 8;
const FRAME_HEADER: usize = 48;
const STORED_DISPATCH: f64 = 72.0;
const ROUNDS: usize = 301;
const MOST_BYTES: f64 = 24.0;
/// A dispatch of the smallest models takes a microsecond, and the writing thread must not take a processor from them.
const MOST_NANOS: f64 = 100.0;

fn main() -> ExitCode {
    let directory = tempfile::tempdir().expect("a directory");
    let recording = directory.path().join("recording");
    assert!(record(&recording).complete, "no record is lost");
    let records = fs::read(recording.join("records.bin")).expect("the records");
    let bytes = records.len() as f64 / (RUNS as f64 * DISPATCHES as f64);
    Case {
        bench: "run",
        case: "recording, for each dispatch".to_owned(),
        // The last digits of the clock vary, which changes this number by less than its last digit.
        judged: Judged::alone(Measured::exactly(bytes)),
        unit: "bytes",
        peer: ("a dispatch alone, not packed, bytes", STORED_DISPATCH),
        floor: None,
        goal: Goal::AtMost(MOST_BYTES),
    }
    .print();

    let length = u32::from_le_bytes(records[FILE_HEADER + 4..][..4].try_into().expect("four bytes"));
    let packed = &records[FILE_HEADER + FRAME_HEADER..][..length as usize];
    let payload = unpack(packed).expect("the first frame is packed");
    let dispatches = dispatches_of(&payload);
    let goal = Goal::AtMost(MOST_NANOS);
    let mut rounds = Rounds::new(
        ROUNDS,
        [
            Contender::new("copying its records", || nanos(dispatches, || drop(black_box(payload.clone())))),
            Contender::new("packing", || {
                nanos(dispatches, || {
                    let mut into = Vec::with_capacity(payload.len());
                    assert!(pack(black_box(&payload), &mut into));
                })
            }),
            Contender::new("unpacking", || nanos(dispatches, || drop(black_box(unpack(black_box(packed)))))),
        ],
    );
    for (case, ours) in [("packing a dispatch", 1), ("unpacking a dispatch", 2)] {
        let judged = rounds.decide_difference(goal, ours, 0, 1.0);
        let copy = rounds.cost(0).value;
        let case = format!("{case}, more than a copy");
        Case {
            bench: "run",
            case,
            judged,
            unit: "ns",
            peer: ("copying its records, ns", copy),
            floor: Some(copy),
            goal,
        }
        .print();
    }
    finish()
}

/// Returns the number of dispatches in a payload.
fn dispatches_of(payload: &[u8]) -> f64 {
    let (mut rest, mut dispatches) = (payload, 0.0);
    while let Some(head) = rest.first_chunk::<8>() {
        dispatches += f64::from(u8::from(head[..4] == [1, 0, 1, 0]));
        let length = usize::from(u16::from_le_bytes([head[4], head[5]]));
        rest = &rest[8 + length.next_multiple_of(8)..];
    }
    dispatches
}

fn record(directory: &std::path::Path) -> opscope_profile::Manifest {
    let names: Vec<String> = (0..DISPATCHES).map(|index| format!("operator_{index}")).collect();
    let builder =
        names.iter().fold(GraphBuilder::new("loop"), |builder, name| builder.operator(name, "Relu", &[], &[]));
    let graph = builder.build();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let groups: Vec<_> = names.iter().map(std::slice::from_ref).collect();
    let kernels = kernels(&graph, &groups);
    let graph = Arc::new(graph);
    let info = RecordingInfo { graph: Arc::clone(&graph), engine: EngineInfo::new("loop", "1", Fidelity::Optimised) };
    let profiler = Profiler::create(directory, &info, &ProfilerOptions::default()).expect("a new directory");
    for run in 0..RUNS {
        let info = RunInfo { id: RunId(run), graph: &graph, kernels: &kernels, fidelity: Fidelity::Optimised };
        let observer = profiler.observe(&info);
        let begin = Ticks::now();
        for kernel in kernels.iter() {
            let start = Ticks::now();
            black_box((0..kernel.id.index() as u64 * 40).fold(run, |state, _| black_box(state).wrapping_mul(3)));
            observer.timed(kernel.id, &[], start, Ticks::now());
        }
        observer.finished(Ok((begin, Ticks::now())));
    }
    profiler.finish().expect("a manifest")
}

/// Returns the nanoseconds per dispatch.
fn nanos(dispatches: f64, work: impl Fn()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64 / dispatches
}
