//! Every value of the tables of a recording whose ticks are known.

mod support;

use std::fs;
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::testing::{GraphBuilder, kernels};
use opscope_model::{Fidelity, Instrument, Iteration, KernelId, RunId, RunInfo};
use opscope_onnx::OperatorId;
use opscope_profile::{EngineInfo, Profiler, ProfilerOptions, Recording, RecordingInfo};
use opscope_tables::{export_recording, recording_id};
use opscope_trace::{Bytes, ExternalId};
use parquet::file::reader::FileReader;
use support::{ID, expect, exported, reader, recording, rows};

const RUNS: &str = "recording run plan thread start duration_ns upload_duration_ns download_duration_ns warm_up failed \
                    measured correlation external_correlation";
const DISPATCHES: &str = "recording run plan kernel thread start duration_ns wait_ns operator op_type path measured";
const OPERATORS: &str = "recording plan kernel operator op_type attribution engine_kernel engine_op fused input_shapes \
                         input_types output_shapes output_types dispatches total_duration_ns min_duration_ns \
                         max_duration_ns module class source";

#[test]
fn the_row_of_a_recording_says_what_its_manifest_says() {
    let root = tempfile::tempdir().unwrap();
    let recording = recording(&root.path().join("recording"), |manifest| manifest);
    assert_eq!(recording.problems(), [] as [String; 0]);
    assert_eq!(recording_id(recording.manifest()), ID);
    let into = root.path().join("tables");
    let written = exported(&recording, &into);
    let names = ["recordings", "runs", "dispatches", "operators", "counters", "marks"];
    assert_eq!(written, names.map(|name| into.join(format!("{name}.parquet"))));
    let expected = [
        ("recording", "'898d76ce326c46202b0beabcb901274c'"),
        ("start", "1700000000000000000"),
        ("model_name", "'small'"),
        ("model_path", "'models/small.onnx'"),
        ("model_xxh3", "'00000000deadbeef'"),
        ("graph", "'the graph'"),
        ("engine", "'paper'"),
        ("engine_version", "'0.1'"),
        ("fidelity", "'optimised'"),
        ("threads", "4"),
        ("concurrent_runs", "3"),
        ("time_resolution_ns", "40"),
        ("host_name", "'desk'"),
        ("cpu", "'abacus'"),
        ("processors", "16"),
        ("system", "'linux 0'"),
        ("process", "'test'"),
        ("process_id", "70"),
        ("opscope", "'0.1.2'"),
        ("complete", "true"),
        ("incomplete_because", "null"),
    ];
    let found = rows(&into.join("recordings.parquet"));
    assert_eq!(found, [expected.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()]);
}

#[test]
fn an_incomplete_recording_says_why_and_a_missing_host_is_null() {
    let root = tempfile::tempdir().unwrap();
    let recording = recording(&root.path().join("recording"), |manifest| {
        let manifest = manifest.replace(r#""complete": true"#, r#""complete": false"#).replace("desk", "");
        manifest.replace(r#""incomplete_because": []"#, r#""incomplete_because": ["one", "two"]"#)
    });
    let into = root.path().join("tables");
    exported(&recording, &into);
    let row = &rows(&into.join("recordings.parquet"))[0];
    let value = |name: &str| row.iter().find(|(column, _)| column == name).unwrap().1.clone();
    assert_eq!((value("complete"), value("incomplete_because")), ("false".to_owned(), "'one; two'".to_owned()));
    assert_eq!(value("host_name"), "null");
}

#[test]
fn runs_have_their_own_moments_and_the_times_of_their_copies() {
    let root = tempfile::tempdir().unwrap();
    let into = root.path().join("tables");
    exported(&recording(&root.path().join("recording"), |manifest| manifest), &into);
    // Ticks 10,900 to 17,300; the inputs took 400 ticks and the outputs 200. The last run failed.
    let expected = [
        "0 | 0 | 77 | 1700000000000005450 | 3200 | 200 | 100 | true | false | false | 1u | 0u",
        "1 | 0 | 77 | 1700000000000010450 | 3200 | 200 | 100 | false | false | true | 2u | 0u",
        "2 | 0 | 77 | 1700000000000015450 | 3200 | 200 | 100 | false | false | true | 3u | 99u",
        "3 | 0 | 77 | 1700000000000020450 | 1550 | null | null | false | true | false | 4u | 0u",
    ];
    let expected = expected.map(|row| format!("'{ID}' | {row}"));
    expect(&into.join("runs.parquet"), RUNS, &expected.each_ref().map(String::as_str));
}

#[test]
fn dispatches_have_their_times_and_their_waits() {
    let root = tempfile::tempdir().unwrap();
    let into = root.path().join("tables");
    exported(&recording(&root.path().join("recording"), |manifest| manifest), &into);
    // The dispatches of a run that begins at tick 10,900: 11,000 to 13,000, 13,100 to 16,100, 16,100 to 17,100.
    let mut expected = Vec::new();
    for run in 0..3 {
        let start = |nanos: u64| 1_700_000_000_000_000_000 + 5_000 * run + nanos;
        let (conv, product) = ("'conv' | 'Conv' | null", "'/mm/MatMul' | 'MatMul' | null");
        let added = "'conv.matmatmul' | 'OptMatMul' | null";
        let measured = run > 0;
        expected.push(format!("{run} | 0 | 0 | 77 | {} | 1000 | 50 | {conv} | {measured}", start(5_500)));
        expected.push(format!("{run} | 0 | 1 | 77 | {} | 1500 | 50 | {product} | {measured}", start(6_550)));
        expected.push(format!("{run} | 0 | 2 | 77 | {} | 500 | 0 | {added} | {measured}", start(8_050)));
    }
    // One run failed, and one has no record.
    expected.push("3 | 0 | 0 | 77 | 1700000000000020500 | 1000 | 50 | 'conv' | 'Conv' | null | false".to_owned());
    expected.push("4 | 0 | 0 | 77 | 1700000000000025500 | 1000 | null | 'conv' | 'Conv' | null | false".to_owned());
    let expected: Vec<String> = expected.iter().map(|row| format!("'{ID}' | {row}")).collect();
    expect(&into.join("dispatches.parquet"), DISPATCHES, &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn operators_have_what_they_take_and_give_and_the_times_that_count() {
    let root = tempfile::tempdir().unwrap();
    let into = root.path().join("tables");
    exported(&recording(&root.path().join("recording"), |manifest| manifest), &into);
    let expected = [
        "0 | 0 | 'conv' | 'Conv' | 'exact' | 'conv.im2col' | 'Im2col' | null | '1,3,8,8;4' | 'FLOAT;INT64' | '1,7' | \
         'FLOAT16' | 2 | 2000 | 1000 | 1000 | null | null | null",
        "0 | 1 | '/mm/MatMul' | 'MatMul' | 'exact' | 'mm' | 'OptMatMul' | '/mm/Add;conv' | '5' | 'UINT8' | '6;2' | \
         'BOOL;DOUBLE' | 2 | 3000 | 1500 | 1500 | 'layers.0' | 'Linear' | 'net.py:18  y = x @ w'",
        "0 | 2 | 'conv.matmatmul' | 'OptMatMul' | 'none' | 'conv.matmatmul' | 'OptMatMul' | null | null | null | null | \
         null | 2 | 1000 | 500 | 500 | null | null | null",
    ];
    let expected = expected.map(|row| format!("'{ID}' | {row}"));
    expect(&into.join("operators.parquet"), OPERATORS, &expected.each_ref().map(String::as_str));
}

#[test]
fn counters_have_their_units_and_marks_their_kinds() {
    let root = tempfile::tempdir().unwrap();
    let into = root.path().join("tables");
    exported(&recording(&root.path().join("recording"), |manifest| manifest), &into);
    let expected = [
        "1700000000000005000 | 'memory used' | 'bytes' | 1024",
        "1700000000000010000 | 'memory used' | 'bytes' | 1025",
        "1700000000000015000 | 'memory used' | 'bytes' | 1026",
        "1700000000000014050 | 'tokens per second' | null | 0.5",
    ];
    let expected = expected.map(|row| format!("'{ID}' | {row}"));
    let columns = "recording time counter unit value";
    expect(&into.join("counters.parquet"), columns, &expected.each_ref().map(String::as_str));
    let expected = [
        "'first token, \"hello\"' | 'mark' | 77 | 1700000000000014000 | 0 | 0u | 0u",
        "'decode' | 'range' | 77 | 1700000000000009900 | 9100 | 0u | 0u",
        "'late' | 'range' | 77 | 1700000000000018950 | 550 | 0u | 0u",
        "'serve' | 'open_range' | 77 | 1700000000000025000 | 2000 | 0u | 0u",
    ];
    let expected = expected.map(|row| format!("'{ID}' | {row}"));
    let columns = "recording name kind thread start duration_ns correlation external_correlation";
    expect(&into.join("marks.parquet"), columns, &expected.each_ref().map(String::as_str));
}

/// Records dispatches of two kernels, `product` and `sum` in the body of `=loop`, through the profiler.
fn record(directory: &std::path::Path, records: impl FnOnce(&Profiler, &RunInfo<'_>)) -> Recording {
    let graph = GraphBuilder::new("made up")
        .input("x", &[2])
        .operator("product", "MatMul", &["x"], &["a"])
        .operator("=loop", "Loop", &["a"], &["b"])
        .operator("sum", "Add", &["b"], &["y"])
        .build();
    let kernels = kernels(&graph, &[&["product"], &["sum"]]);
    let graph = Arc::new(graph);
    let info = RecordingInfo { graph: Arc::clone(&graph), engine: EngineInfo::new("paper", "1", Fidelity::Optimised) };
    let mut options = ProfilerOptions { buffer_size: Bytes::mib(4), ..ProfilerOptions::default() };
    options.switches.machine_memory = false;
    let profiler = Profiler::create(directory, &info, &options).unwrap();
    records(&profiler, &RunInfo { id: RunId(5), graph: &graph, kernels: &kernels, fidelity: Fidelity::Optimised });
    profiler.finish().unwrap();
    let path = directory.join("manifest.json");
    let mut manifest: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest["clock"] = serde_json::json!({
        "ticks": "tsc",
        "start": {"ticks": 0, "boottime_ns": 0},
        "end": {"ticks": 4_000_000_000_000_000u64, "boottime_ns": 1_000_000_000_000_000u64},
        "start_unix_ns": 1_600_000_000_000_000_000u64,
    });
    fs::write(&path, manifest.to_string()).unwrap();
    Recording::open(directory).unwrap()
}

/// Four ticks make a nanosecond.
fn at(nanos: u64) -> Ticks {
    Ticks::from_raw(4 * nanos)
}

/// Returns the values of some columns of every row, separated by spaces.
fn columns(path: &std::path::Path, wanted: &[&str]) -> Vec<String> {
    let value = |row: &Vec<(String, String)>, name: &&str| {
        row.iter().find(|(column, _)| column == name).expect("a column").1.clone()
    };
    rows(path).iter().map(|row| wanted.iter().map(|name| value(row, name)).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn extremes_waits_and_paths_are_those_of_the_dispatches() {
    let root = tempfile::tempdir().unwrap();
    let recording = record(&root.path().join("recording"), |profiler, info| {
        let observer = profiler.observe(info);
        let (product, sum) = (KernelId::new(0), KernelId::new(1));
        let looped = |index| [Iteration { operator: OperatorId::new(1), index }];
        observer.timed(product, &[], at(1_010), at(1_040));
        observer.timed(sum, &looped(0), at(1_047), at(1_050));
        // This dispatch ends after the one that begins within it.
        observer.timed(product, &[], at(1_045), at(1_055));
        observer.timed(sum, &looped(11), at(1_062), at(1_079));
        observer.timed(product, &[], at(1_080), at(1_091));
        observer.finished(Ok((at(1_000), at(1_100))));
    });
    let into = root.path().join("tables");
    exported(&recording, &into);
    let found = columns(&into.join("dispatches.parquet"), &["start", "duration_ns", "wait_ns", "path", "measured"]);
    let expected = [
        "1600000000000001010 30 10 null true",
        "1600000000000001045 10 5 null true",
        "1600000000000001047 3 0 '=loop[0]' true",
        "1600000000000001062 17 7 '=loop[11]' true",
        "1600000000000001080 11 1 null true",
    ];
    assert_eq!(found, expected);
    let times = ["operator", "dispatches", "total_duration_ns", "min_duration_ns", "max_duration_ns"];
    let found = columns(&into.join("operators.parquet"), &times);
    assert_eq!(found, ["'product' 3 51 10 30", "'sum' 2 20 3 17"]);
}

#[test]
fn numbers_end_at_the_largest_one_and_ids_keep_every_bit() {
    let root = tempfile::tempdir().unwrap();
    let recording = record(&root.path().join("recording"), |profiler, info| {
        opscope_trace::push_external(ExternalId(u64::MAX - 1));
        let correlated = opscope_trace::correlate();
        for run in [(1 << 63) - 2, (1 << 63) - 1, 1 << 63, u64::MAX] {
            let observer = profiler.observe(&RunInfo { id: RunId(run), ..*info });
            observer.finished(Ok((at(10), at(30))));
        }
        drop(correlated);
        opscope_trace::pop_external();
    });
    let into = root.path().join("tables");
    exported(&recording, &into);
    let mut found = columns(&into.join("runs.parquet"), &["run", "external_correlation"]);
    found.sort();
    let (before, last) = ("9223372036854775806", "9223372036854775807");
    let id = "18446744073709551614u";
    assert_eq!(found, [before, last, last, last].map(|run| format!("{run} {id}")));
    // No kernel was executed.
    let times = ["dispatches", "total_duration_ns", "min_duration_ns", "max_duration_ns"];
    assert_eq!(columns(&into.join("operators.parquet"), &times), ["0 0 null null"; 2]);
}

#[test]
fn the_file_says_what_it_is() {
    let root = tempfile::tempdir().unwrap();
    let recording = recording(&root.path().join("recording"), |manifest| manifest);
    let into = root.path().join("tables");
    exported(&recording, &into);
    let reader = reader(&into.join("dispatches.parquet"));
    let file = reader.metadata().file_metadata();
    assert_eq!((file.num_rows(), file.created_by()), (11, Some("opscope version 0.1.0")));
    let notes = file.key_value_metadata().unwrap().iter();
    let notes: Vec<_> = notes.map(|note| (note.key.as_str(), note.value.as_deref().unwrap())).collect();
    let expected = [("opscope.schema", "opscope.tables/1"), ("opscope.table", "dispatches"), ("opscope.recording", ID)];
    assert_eq!(notes, expected);
}

#[test]
fn tables_that_are_there_stay_as_they_are() {
    let root = tempfile::tempdir().unwrap();
    let into = root.path().join("tables");
    let recording = recording(&root.path().join("recording"), |manifest| manifest);
    fs::create_dir(&into).unwrap();
    fs::write(into.join("runs.parquet"), "mine").unwrap();
    let exported = export_recording(&recording, &into).unwrap();
    assert_eq!(exported.existed, [into.join("runs.parquet")]);
    assert_eq!(exported.written.len(), 5);
    assert_eq!(fs::read(into.join("runs.parquet")).unwrap(), b"mine");
    assert_eq!(fs::read_dir(&into).unwrap().count(), 6, "no part stays behind");
}
