//! Measures how many rows a second the export of a recording writes, on one core.
//!
//! A recording of two million dispatches is exported: its records are read, grouped by runs and converted to time, and
//! all six tables are written to a real directory. The floor is the time in which the same machine writes the same
//! bytes to a file. The peer is the parquet crate's own writer, which hashes the text of every row, for the same
//! columns of the same rows in memory. All three are processor times, so that other programs do not count.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use opscope_bench::{Case, Goal, Judged, Measured, decide, finish, median, times};
use opscope_clock::Ticks;
use opscope_model::testing::{GraphBuilder, kernels};
use opscope_model::{Fidelity, Instrument, RunId, RunInfo};
use opscope_profile::{EngineInfo, Profiler, ProfilerOptions, Recording, RecordingInfo};
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use rustix::time::{ClockId, clock_gettime};

const OPERATORS: usize = 100;
/// Returns the number of runs in the recording.
fn runs() -> u64 {
    times(20_000, 2_500)
}
const ROUNDS: usize = 7;
const GOAL: f64 = 5e6;

fn main() -> ExitCode {
    let scratch = tempfile::tempdir().expect("a directory");
    let directory = scratch.path().join("recording");
    record(&directory);
    let recording = Recording::open(&directory).expect("a recording");
    assert!(recording.is_complete(), "{:?}", recording.problems());
    let rows = (runs() as usize * OPERATORS) as f64;
    let goal = Goal::AtLeast(GOAL);
    let [mut ours, mut peers, mut floors] = [const { Vec::new() }; 3];
    let mut noise = Vec::new();
    let judged = decide(goal, || {
        for _ in 0..times(ROUNDS, 1) {
            let export = || {
                let into = scratch.path().join("tables");
                fs::create_dir(&into).expect("a new directory");
                let seconds =
                    seconds(|| drop(opscope_tables::export_recording(&recording, &into).expect("the tables")));
                let files = fs::read_dir(&into).expect("the tables");
                let bytes =
                    files.flat_map(|entry| fs::read(entry.expect("a table").path()).expect("a table")).collect();
                fs::remove_dir_all(&into).expect("the tables can be removed");
                (rows / seconds, bytes)
            };
            let ((rate, bytes), (again, _)): ((f64, Vec<u8>), _) = (export(), export());
            noise.push(again - rate);
            ours.push(rate);
            let write = seconds(|| {
                let mut file = File::create(scratch.path().join("raw")).expect("a file");
                file.write_all(black_box(&bytes)).expect("room");
            });
            floors.push(rows / write);
            peers.push(rows / seconds(|| peer(File::create(scratch.path().join("peer")).expect("a file"))));
        }
        Judged { measured: Measured::of(&ours), noise: Measured::of(&noise).reach_from(0.0) }
    });
    Case {
        bench: "reports",
        case: "recording to Parquet, all tables, for each core".to_owned(),
        judged: judged.times(1e-6),
        unit: "million rows/s",
        peer: ("the crate's own column writers, dispatches alone, from memory, million rows/s", median(&peers) / 1e6),
        floor: Some(median(&floors) / 1e6),
        goal: Goal::AtLeast(GOAL / 1e6),
    }
    .print();
    finish()
}

/// Records runs with made-up ticks, as fast as the profiler takes them.
fn record(directory: &std::path::Path) {
    let names: Vec<String> = (0..OPERATORS).map(|index| format!("/encoder/layer.{index}/attention/MatMul")).collect();
    let builder = GraphBuilder::new("encoder");
    let graph = Arc::new(names.iter().fold(builder, |graph, name| graph.operator(name, "MatMul", &[], &[])).build());
    let named: Vec<&str> = names.iter().map(String::as_str).collect();
    let groups: Vec<&[&str]> = named.iter().map(std::slice::from_ref).collect();
    let kernels: Arc<_> = kernels(&graph, &groups);
    let engine = EngineInfo::new("made-up", "1", Fidelity::Optimised);
    let info = RecordingInfo { graph: Arc::clone(&graph), engine };
    let profiler = Profiler::create(directory, &info, &ProfilerOptions::default()).expect("a new directory");
    let (mut now, mut random) = (Ticks::now().as_raw(), 1u64);
    for run in 0..runs() {
        let info = RunInfo { id: RunId(run), graph: &graph, kernels: &kernels, fidelity: Fidelity::Optimised };
        let observer = profiler.observe(&info);
        let begin = now;
        for kernel in kernels.iter() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let took = 10_000 + (random >> 50);
            observer.timed(kernel.id, &[], Ticks::from_raw(now), Ticks::from_raw(now + took));
            now += took + (random >> 58);
        }
        observer.finished(Ok((Ticks::from_raw(begin), Ticks::from_raw(now))));
    }
    profiler.finish().expect("a manifest");
}

/// Writes the columns of as many dispatches with the parquet crate's own column writers.
fn peer(into: File) {
    let schema = "message dispatches { required binary recording (STRING); required int64 run; required int64 plan;
        required int64 kernel; required int64 thread; required int64 start (TIMESTAMP(NANOS,true)); required int64 duration_ns;
        required int64 wait_ns; required binary operator (STRING); required binary op_type (STRING); }";
    let mut properties = WriterProperties::builder().set_compression(Compression::SNAPPY).set_dictionary_enabled(false);
    for name in ["recording", "operator", "op_type"] {
        properties = properties.set_column_dictionary_enabled(ColumnPath::from(name), true);
    }
    for name in ["run", "plan", "kernel", "thread", "start", "duration_ns", "wait_ns"] {
        properties = properties.set_column_encoding(ColumnPath::from(name), Encoding::DELTA_BINARY_PACKED);
    }
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let mut file = SerializedFileWriter::new(into, schema, Arc::new(properties.build())).expect("a file");
    let names: Vec<ByteArray> = (0..OPERATORS)
        .map(|index| ByteArray::from(format!("/encoder/layer.{index}/attention/MatMul").into_bytes()))
        .collect();
    let one = ByteArray::from(b"0123456789abcdef0123456789abcdef".to_vec());
    let group_rows = 250_000;
    for group_index in 0..runs() as usize * OPERATORS / group_rows {
        let mut group = file.next_row_group().expect("a group");
        for column in 0..10 {
            let mut writer = group.next_column().expect("a column").expect("a column");
            let row = |index: usize| group_index * group_rows + index;
            if matches!(column, 0 | 8 | 9) {
                let text = |index: usize| if column == 8 { names[index % OPERATORS].clone() } else { one.clone() };
                let values: Vec<ByteArray> = (0..group_rows).map(text).collect();
                writer.typed::<ByteArrayType>().write_batch(&values, None, None).expect("room");
            } else {
                let value = |index: usize| match column {
                    1 => row(index) / OPERATORS,
                    3 => index % OPERATORS,
                    5 => row(index) * 20_000 + row(index).wrapping_mul(7_919) % 16_384,
                    6 | 7 => row(index).wrapping_mul(104_729) % 16_384,
                    _ => 7,
                };
                let values: Vec<i64> = (0..group_rows).map(|index| value(index) as i64).collect();
                writer.typed::<Int64Type>().write_batch(&values, None, None).expect("room");
            }
            writer.close().expect("room");
        }
        group.close().expect("room");
    }
    file.close().expect("room");
}

/// Returns the processor time of `work` in seconds, in the program and in the system.
fn seconds(work: impl FnOnce()) -> f64 {
    let now = || clock_gettime(ClockId::ThreadCPUTime);
    let start = now();
    work();
    let end = now();
    (end.tv_sec - start.tv_sec) as f64 + (end.tv_nsec - start.tv_nsec) as f64 / 1e9
}
