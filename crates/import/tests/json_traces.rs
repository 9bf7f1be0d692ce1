//! Traces in JSON: what becomes of their events, of their damage, and of what hostile files do.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use opscope_import::{ImportError, ImportedTrace, Steps, TraceOptions, import_trace};
use opscope_profile::{Fact, Recording};
use proptest::prelude::*;
use tempfile::TempDir;

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn file(&self, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join("trace.json");
        fs::write(&path, bytes).expect("the disk has room");
        path
    }

    fn directory(&self) -> PathBuf {
        self.0.path().join("out")
    }

    fn import(&self, bytes: &[u8], options: &TraceOptions) -> Result<ImportedTrace, ImportError> {
        import_trace(&self.file(bytes), &self.directory(), options)
    }

    fn recording(&self) -> Recording {
        Recording::open(self.directory()).expect("a recording")
    }
}

/// A step of 100 µs on the host that launches a kernel and a copy; the second step begins while the kernel runs.
const DEVICE: &str = r#"{"schemaVersion": 1, "baseTimeNanoseconds": 1764000000000000000,
  "deviceProperties": [{"id": 0, "name": "Some GPU"}], "distributedInfo": {"rank": 3},
  "traceEvents": [
  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1030.5, "dur": 90.25, "args": {"device": 0, "stream": 7, "correlation": 11, "External id": 5}},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Pinned)", "pid": 0, "tid": 7, "ts": 1125, "dur": 5, "args": {"device": 0, "stream": 7, "correlation": 12}},
  {"ph": "X", "cat": "kernel", "name": "lost", "pid": 0, "tid": 8, "ts": 1090, "dur": 2, "args": {"device": 0, "stream": 8, "correlation": 99, "External id": 6}},
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#0", "pid": 77, "tid": 77, "ts": 1000, "dur": 100},
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 77, "tid": 77, "ts": 1100, "dur": 50},
  {"ph": "X", "cat": "python_function", "name": "nn.Module: Linear_0", "pid": 77, "tid": 77, "ts": 1005, "dur": 60, "args": {}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 77, "tid": 77, "ts": 1010, "dur": 30, "args": {"External id": 5}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 77, "tid": 77, "ts": 1020, "dur": 4, "args": {"correlation": 11, "External id": 5}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 77, "tid": 77, "ts": 1050, "dur": 10, "args": {"External id": 6}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 77, "tid": 77, "ts": 1080, "dur": 4, "args": {"correlation": 12}},
  {"ph": "s", "id": 11, "pid": 77, "tid": 77, "ts": 1020, "cat": "ac2g", "name": "ac2g"},
  {"ph": "M", "name": "process_name", "pid": 77, "tid": 0, "args": {"name": "python"}},
  {"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": 1150, "s": "g"}
]}"#;

#[test]
fn kernels_are_tied_to_what_launched_them_and_every_event_is_counted() {
    let place = Place::new();
    let imported = place.import(DEVICE.as_bytes(), &TraceOptions::default()).expect("a trace");
    assert_eq!((imported.events, imported.imported, imported.runs), (13, 11, 2));
    let kinds: Vec<_> =
        imported.not_imported.iter().map(|one| (one.kind.as_str(), one.name.as_str(), one.count)).collect();
    assert_eq!(kinds, [("flow", "ac2g", 1), ("metadata", "process_name", 1)]);
    let [device] = &imported.devices[..] else { panic!("{imported:?}") };
    assert_eq!((device.name.as_str(), device.kernels, device.launched, device.tied), ("cuda:0", 2, 1, 2));
    assert_eq!((imported.operators, imported.modules, imported.damage.len()), (2, 1, 0));

    let recording = place.recording();
    let from = recording.manifest().imported.as_ref().expect("it says so");
    assert_eq!((from.rank, from.devices[0].model.as_str()), (Some(3), "Some GPU"));
    // The first event is at 1000 µs.
    assert_eq!(recording.nanos_since_1970(0), 1_764_000_000_001_000_000);
    let mut dispatches = Vec::new();
    for fact in recording.facts().expect("records") {
        if let Fact::Dispatch(dispatch) = fact.expect("a record") {
            let kernel = recording.kernel(dispatch.plan, dispatch.kernel).expect("its names");
            let (start, end) = recording.nanos_since_boot(dispatch.span);
            let stream = recording.thread_name(dispatch.thread).expect("a name").to_owned();
            dispatches.push((dispatch.run, kernel.operator.clone(), kernel.name.clone(), stream, start, end - start));
        }
    }
    let expected = [
        (0, "Linear_0/aten::linear", "gemm", "cuda:0 stream 7", 30_500, 90_250),
        (0, "Linear_0/aten::relu", "lost", "cuda:0 stream 8", 90_000, 2_000),
        (0, "Memcpy DtoH (Device -> Pinned)", "Memcpy DtoH (Device -> Pinned)", "cuda:0 stream 7", 125_000, 5_000),
    ];
    let expected = expected.map(|(run, operator, kernel, stream, start, duration)| {
        (run, operator.to_owned(), kernel.to_owned(), stream.to_owned(), start, duration)
    });
    assert_eq!(dispatches, expected);
}

#[test]
fn the_parts_of_a_device_add_up_to_the_runs() {
    let place = Place::new();
    place.import(DEVICE.as_bytes(), &TraceOptions::default()).expect("a trace");
    let account = place.recording().account().expect("an account");
    let [device] = &account.devices[..] else { panic!("{:?}", account.devices) };
    let parts = [device.busy, device.communication, device.copies, device.gaps, device.host_bound, device.idle];
    let totals = parts.map(|share| share.total_ns);
    // Step 0 waits 20 µs for the launch and 10.5 for the kernel; the kernel ends 20.75 µs after the beginning of step 1, the copy, which
    // was launched in step 0, runs from 25 to 30 µs, and nothing follows.
    assert_eq!(totals, [69_500.0 + 20_750.0, 0.0, 5_000.0, 10_500.0 + 4_250.0, 20_000.0, 20_000.0]);
    assert_eq!(totals.iter().sum::<f64>(), account.run.total_ns);
    assert_eq!(device.launch_median_ns, Some((10_500.0 + 45_000.0) / 2.0));
}

#[test]
fn operators_without_devices_are_dispatches_within_each_other() {
    let place = Place::new();
    let event = |name: &str, start: u32, duration: u32| {
        format!(
            r#"{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 2, "ts": {start}, "dur": {duration}, "args": {{"External id": 1}}}}"#
        )
    };
    let text = format!("[{},{},{}]", event("outer", 0, 100), event("inner", 10, 20), event("inner", 40, 30));
    let imported = place.import(text.as_bytes(), &TraceOptions::default()).expect("a trace");
    assert_eq!((imported.operators, imported.runs), (2, 1));
    let account = place.recording().account().expect("an account");
    let times: Vec<_> =
        account.operators.iter().map(|row| (row.operator.as_str(), row.dispatches, row.total_ns)).collect();
    assert_eq!(times, [("outer", 1, 50_000.0), ("outer/inner", 2, 50_000.0)]);
}

#[test]
fn beginnings_and_ends_are_paired_and_ranges_that_the_user_names_are_runs() {
    let place = Place::new();
    let mut text = String::from("[");
    for step in 0..3 {
        let at = 100 * step;
        text += &format!(r#"{{"ph": "B", "cat": "marker", "name": "step {step}", "pid": 1, "tid": 1, "ts": {at}}},"#);
        text += &format!(r#"{{"ph": "B", "name": "work", "pid": 1, "tid": 1, "ts": {}}},"#, at + 10);
        text += &format!(r#"{{"ph": "E", "pid": 1, "tid": 1, "ts": {}}},"#, at + 40);
        text += &format!(r#"{{"ph": "E", "pid": 1, "tid": 1, "ts": {}}},"#, at + 90);
    }
    text += r#"{"ph": "C", "name": "queue", "pid": 1, "ts": 5, "args": {"length": 2.5}}]"#;
    let steps = Steps::new(r"re:^step \d$").expect("a pattern");
    let imported = place.import(text.as_bytes(), &TraceOptions { steps, ..TraceOptions::default() }).expect("a trace");
    assert_eq!((imported.events, imported.imported, imported.runs), (13, 7, 3));
    let account = place.recording().account().expect("an account");
    assert_eq!((account.run.median_ns, account.operators[0].median_ns), (90_000.0, 30_000.0));
    assert_eq!(
        place.recording().counter(place.first_counter()).map(|counter| counter.name.clone()),
        Some("queue".to_owned())
    );
}

impl Place {
    fn first_counter(&self) -> u32 {
        let facts = self.recording().facts().expect("records").map(|fact| fact.expect("a record"));
        let mut samples = facts.filter_map(|fact| if let Fact::Sample(sample) = fact { Some(sample) } else { None });
        let sample = samples.next().expect("a value");
        assert_eq!(sample.value, 2.5);
        sample.counter
    }
}

#[test]
fn a_profile_of_onnx_runtime_is_read_with_its_faults() {
    let place = Place::new();
    // One comma is missing and one is too many.
    let text = r#"[
      {"cat": "Session","pid": 9,"tid": 9,"dur": 500,"ts": 1,"ph": "X","name": "session_initialization","args": {}},
      {"cat": "Node","pid": 9,"tid": 9,"dur": 40,"ts": 1010,"ph": "X","name": "/conv1/Conv_kernel_time","args": {"op_name": "Conv","provider": "CPUExecutionProvider","input_type_shape": [{"float": [1,3,8,8]},{"float": [4,3,3,3]}]}}
      {"cat": "Node","pid": 9,"tid": 9,"dur": 10,"ts": 1060,"ph": "X","name": "/relu/Relu_kernel_time","args": {"op_name": "Relu"}},,
      {"cat": "Session","pid": 9,"tid": 9,"dur": 100,"ts": 1000,"ph": "X","name": "model_run","args": {}},
    ]"#;
    let imported = place.import(text.as_bytes(), &TraceOptions::default()).expect("a trace");
    assert_eq!((imported.format.as_str(), imported.imported, imported.runs), ("ONNX Runtime's profile", 4, 1));
    assert!(imported.damage.is_empty() && imported.notes[0].starts_with("2 places"), "{imported:?}");
    let account = place.recording().account().expect("an account");
    let rows: Vec<_> =
        account.operators.iter().map(|row| (row.operator.as_str(), row.op_type.as_str(), row.total_ns)).collect();
    assert_eq!(rows, [("/conv1/Conv", "Conv", 40_000.0), ("/relu/Relu", "Relu", 10_000.0)]);
    assert_eq!(place.recording().plans()[0][0].inputs[1].shape, [4, 3, 3, 3]);
}

#[test]
fn what_is_damaged_is_named_and_all_before_it_is_read() {
    let cut = &DEVICE.as_bytes()[..DEVICE.find("cudaLaunchKernel").expect("it is there")];
    let place = Place::new();
    let imported = place.import(cut, &TraceOptions::default()).expect("a part of a trace");
    assert_eq!(imported.imported, 7);
    assert!(imported.damage[0].starts_with("the file ends within an event"), "{:?}", imported.damage);
    assert!(!place.recording().is_complete());

    let bad = DEVICE.replace("gemm", "ge\u{1}mm\u{1b}[31m");
    let place = Place::new();
    let imported = place.import(bad.as_bytes(), &TraceOptions::default()).expect("a trace");
    assert_eq!(imported.imported, 11);
    assert!(imported.damage[0].starts_with("1 event had control characters"), "{:?}", imported.damage);

    let place = Place::new();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(DEVICE.as_bytes()).expect("memory");
    let gzip = gzip.finish().expect("memory");
    assert_eq!(place.import(&gzip, &TraceOptions::default()).expect("a trace").imported, 11);
    let place = Place::new();
    let imported = place.import(&gzip[..gzip.len() - 100], &TraceOptions::default()).expect("a part of a trace");
    assert!(!imported.damage.is_empty() && imported.imported < 11, "{imported:?}");
}

#[test]
fn what_is_no_trace_leaves_nothing() {
    for text in ["{\"a\": 1}", "{}", "", "[", "hello"] {
        let place = Place::new();
        let refused = place.import(text.as_bytes(), &TraceOptions::default());
        let is_empty_list = text == "[";
        assert_eq!(refused.is_ok(), is_empty_list, "{text}: {refused:?}");
        assert_eq!(place.directory().exists(), is_empty_list, "{text}");
    }
    let place = Place::new();
    fs::create_dir(place.directory()).expect("a directory");
    let refused = place.import(DEVICE.as_bytes(), &TraceOptions::default()).expect_err("it exists");
    assert!(refused.to_string().contains("exists"), "{refused}");
}

/// Returns the names of what lies beside the recording.
fn beside(place: &Path) -> Vec<String> {
    let entries = fs::read_dir(place).expect("a directory").map(|entry| entry.expect("an entry").file_name());
    entries
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name != "trace.json" && name != "out")
        .collect()
}

#[test]
fn a_cancelled_import_leaves_nothing() {
    let place = Place::new();
    let options = TraceOptions::default();
    options.cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(place.import(DEVICE.as_bytes(), &options), Err(ImportError::Cancelled)));
    assert!(!place.directory().exists() && beside(place.0.path()).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_change_of_a_trace_is_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<prop::sample::Index>(),
        is_cut: bool,
    ) {
        let mut bytes = DEVICE.as_bytes().to_vec();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let place = Place::new();
        if let Ok(imported) = place.import(&bytes, &TraceOptions::default()) {
            let left: u64 = imported.not_imported.iter().map(|one| one.count).sum();
            prop_assert_eq!(imported.imported + left, imported.events);
            prop_assert!(place.recording().account().is_ok());
        }
        prop_assert!(beside(place.0.path()).is_empty());
    }
}
