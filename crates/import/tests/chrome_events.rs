//! What each kind of event in a JSON trace becomes, record by record.

use std::fmt::Write;
use std::fs;

use opscope_import::{ImportedTrace, Steps, TraceOptions, import_trace};
use opscope_profile::{Fact, Recording};
use opscope_trace::MarkerOperation;

/// What became of a trace: a line for each record, and for each kind and name that was not imported.
struct Became {
    imported: ImportedTrace,
    lines: Vec<String>,
    left: Vec<String>,
}

fn import(text: &str, options: &TraceOptions) -> Became {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("trace.json");
    fs::write(&path, text).expect("room");
    let directory = place.path().join("out");
    let imported = import_trace(&path, &directory, options).expect("a trace");
    let recording = Recording::open(&directory).expect("a recording");
    let lines = recording.facts().expect("records").map(|fact| line(&recording, &fact.expect("a record"))).collect();
    let left = imported.not_imported.iter().map(|one| format!("{} {} {}", one.count, one.kind, one.name)).collect();
    Became { imported, lines, left }
}

/// Returns a record as text: what, name, beginning and length in nanoseconds, and the ids that are not 0.
fn line(recording: &Recording, fact: &Fact) -> String {
    let mut text = String::new();
    let thread = |number: u32| recording.thread_name(number).map_or_else(|| number.to_string(), str::to_owned);
    let (what, name, thread, span, correlation) = match fact {
        Fact::Run(run) => (format!("run {}", run.run), String::new(), thread(run.thread), run.span, run.correlation),
        Fact::Dispatch(dispatch) => {
            let kernel = recording.kernel(dispatch.plan, dispatch.kernel).expect("its names");
            let inputs: Vec<_> = kernel.inputs.iter().map(|input| format!("{:?}", input.shape)).collect();
            let name = format!("{} {}{} depth {}", kernel.operator, kernel.name, inputs.concat(), dispatch.path.len());
            let what = format!("run {} dispatch on {}", dispatch.run, dispatch.device);
            (what, name, thread(dispatch.thread), dispatch.span, dispatch.correlation)
        }
        Fact::Marker(marker) => {
            let what = if marker.operation == MarkerOperation::Mark { "mark" } else { "range" };
            let name = recording.marker_name(marker.name);
            (what.to_owned(), name, thread(marker.thread), marker.span, marker.correlation)
        }
        Fact::Sample(sample) => {
            let counter = recording.counter(sample.counter).expect("its name");
            return format!("{} {}{} at {}", counter.name, sample.value, counter.unit, sample.at.as_raw());
        }
        other => panic!("{other:?}"),
    };
    let (start, end) = (span.start.as_raw(), span.end.as_raw());
    let _ = write!(text, "{what}: {name} [{thread}] {start}+{}", end - start);
    for (id, sign) in [(correlation.internal.0, '#'), (correlation.external.0, '@')] {
        if id != 0 {
            let _ = write!(text, " {sign}{id}");
        }
    }
    text
}

/// An event with a duration, on thread 2 of process 1.
fn span(category: &str, name: &str, start: u32, duration: u32, args: &str) -> String {
    format!(
        r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 1, "tid": 2, "ts": {start}, "dur": {duration}, "args": {{{args}}}}}"#
    )
}

fn kineto(events: &[String]) -> String {
    format!(r#"{{"schemaVersion": 1, "traceEvents": [{}]}}"#, events.join(","))
}

#[test]
fn what_touches_is_beside_and_what_has_the_same_times_is_inside_by_its_kind() {
    let became = import(
        &kineto(&[
            span("cpu_op", "aten::b", 10, 10, ""),
            span("cpu_op", "aten::a", 0, 10, ""),
            // The same times: the range is around the operator, and the call is in it, in whichever order they come.
            span("cuda_runtime", "cudaMalloc", 20, 10, r#""correlation": 7, "External id": 8"#),
            span(
                "cpu_op",
                "aten::c",
                20,
                10,
                r#""Input type": ["float", "Scalar", ""], "Input Dims": [[2, 3], [], []]"#,
            ),
            span("user_annotation", "part", 20, 10, ""),
            // Without a length nothing is in it, and it is in what begins with it.
            span("cpu_op", "aten::empty", 30, 0, ""),
            span("cpu_op", "aten::d", 30, 5, r#""External id": "0x10""#),
            span("python_function", "nn.Module: Linear_0", 40, 20, ""),
            span("python_function", "forward", 41, 18, ""),
            span("python_function", "nn.Module: Inner_1", 42, 16, ""),
            span("cpu_op", "aten::e", 43, 2, ""),
            span("cpu_op", "aten::f", 43, 1, ""),
            span("", "aten::g", 50, 1, ""),
        ]),
        &TraceOptions::default(),
    );
    assert_eq!(became.left, [""; 0]);
    assert_eq!((became.imported.operators, became.imported.modules, became.imported.runs), (8, 3, 1));
    let expected = [
        "run 0 dispatch on 0: aten::a aten::a depth 0 [2] 0+10000",
        "run 0 dispatch on 0: aten::b aten::b depth 0 [2] 10000+10000",
        "range: part [2] 20000+10000",
        "run 0 dispatch on 0: part/aten::c aten::c[2, 3] depth 0 [2] 20000+10000",
        "range: cudaMalloc [2] 20000+10000 #7 @8",
        "run 0 dispatch on 0: aten::d aten::d depth 0 [2] 30000+5000 @16",
        "run 0 dispatch on 0: aten::d/aten::empty aten::empty depth 1 [2] 30000+0",
        "range: nn.Module: Linear_0 [2] 40000+20000",
        "range: forward [2] 41000+18000",
        "range: nn.Module: Inner_1 [2] 42000+16000",
        "run 0 dispatch on 0: Linear_0.Inner_1/aten::e aten::e depth 0 [2] 43000+2000",
        "run 0 dispatch on 0: Linear_0.Inner_1/aten::e/aten::f aten::f depth 1 [2] 43000+1000",
        "run 0 dispatch on 0: Linear_0.Inner_1/aten::g aten::g depth 0 [2] 50000+1000",
        "run 0:  [2] 0+60001",
    ];
    assert_eq!(became.lines, expected);
}

#[test]
fn work_of_devices_is_of_the_run_and_operator_that_launched_it() {
    let kernel = |name: &str, category: &str, stream: u32, start: u32, ids: &str| {
        format!(
            r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 0, "tid": {stream}, "ts": {start}, "dur": 2, "args": {{"device": 1, "stream": {stream}, {ids}}}}}"#
        )
    };
    let became = import(
        &kineto(&[
            span("user_annotation", "ProfilerStep#5", 10, 10, ""),
            span("user_annotation", "ProfilerStep#6", 20, 10, ""),
            span("cpu_op", "aten::mm", 11, 4, r#""External id": 3"#),
            span("cpu_op", "aten::add", 22, 2, r#""External id": 4"#),
            span("cuda_runtime", "cudaLaunchKernel", 12, 1, r#""correlation": 9"#),
            // The driver's call within the runtime's has the same correlation; one outside of operators comes first.
            span("cuda_driver", "cuLaunchKernel", 5, 1, r#""correlation": 9"#),
            span("cuda_runtime", "cudaMemsetAsync", 2, 1, r#""correlation": 10"#),
            kernel("gemm", "kernel", 7, 25, r#""correlation": 9"#),
            kernel("by id", "kernel", 7, 29, r#""External id": 4, "correlation": 77"#),
            kernel("alone", "kernel", 8, 21, r#""correlation": 0"#),
            kernel("Memset", "gpu_memset", 7, 6, r#""correlation": 10"#),
            kernel("step on the device", "gpu_user_annotation", 7, 25, r#""External id": 4"#),
        ]),
        &TraceOptions::default(),
    );
    let [device] = &became.imported.devices[..] else { panic!("{:?}", became.imported) };
    assert_eq!((device.name.as_str(), device.kernels, device.launched, device.tied), ("cuda:1", 3, 1, 2));
    assert_eq!((became.imported.operators, became.imported.modules, became.imported.runs), (2, 0, 2));
    // The first event is at 2 µs.
    let expected = [
        "range: ProfilerStep#5 [2] 8000+10000",
        "range: aten::mm [2] 9000+4000 @3",
        "range: cudaLaunchKernel [2] 10000+1000 #9",
        "run 0 dispatch on 2: aten::mm gemm depth 0 [cuda:1 stream 7] 23000+2000 #9",
        "run 0:  [2] 8000+10000",
        "range: ProfilerStep#6 [2] 18000+10000",
        "run 1 dispatch on 2: alone alone depth 0 [cuda:1 stream 8] 19000+2000",
        "range: aten::add [2] 20000+2000 @4",
        "run 1 dispatch on 2: aten::add by id depth 0 [cuda:1 stream 7] 27000+2000 #77 @4",
        "run 1:  [2] 18000+10000",
        "range: cudaMemsetAsync [2] 0+1000 #10",
        "range: cuLaunchKernel [2] 3000+1000 #9",
        "range: Memset [cuda:1 stream 7] 4000+2000 #10",
        "range: step on the device [cuda:1 stream 7] 23000+2000 @4",
    ];
    assert_eq!(became.lines, expected);
}

#[test]
fn moments_counters_pairs_and_what_has_no_place_are_all_accounted_for() {
    let text = r#"[
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "worker"}},
        {"ph": "B", "cat": "copy", "name": "outer", "pid": 1, "tid": 2, "ts": 1},
        {"ph": "B", "cat": "range", "name": "inner", "pid": 1, "tid": 2, "ts": 2},
        {"ph": "E", "name": "outer", "pid": 1, "tid": 2, "ts": 4},
        {"ph": "E", "pid": 1, "tid": 2, "ts": 5},
        {"ph": "E", "name": "surplus", "pid": 1, "tid": 2, "ts": 6},
        {"ph": "b", "cat": "request", "name": "a", "id": "0x1", "pid": 1, "tid": 2, "ts": 7},
        {"ph": "b", "cat": "request", "name": "a", "id": 2, "pid": 1, "tid": 2, "ts": 8},
        {"ph": "e", "cat": "request", "name": "a", "id": "0x1", "pid": 1, "tid": 3, "ts": 9},
        {"ph": "n", "cat": "request", "name": "a", "id": 2, "pid": 1, "tid": 2, "ts": 9},
        {"ph": "i", "name": "moment", "pid": 1, "tid": 2, "ts": 10},
        {"ph": "R", "name": "old moment", "pid": 1, "tid": 2, "ts": 11},
        {"ph": "C", "name": "queue", "pid": 1, "ts": 12, "args": {"length": 2.5, "waiting": 3}},
        {"ph": "C", "name": "load", "pid": 1, "ts": 13, "args": {"load": 4}},
        {"ph": "C", "name": "words", "pid": 1, "ts": 13, "args": {"load": "much"}},
        {"ph": "X", "name": "no time", "pid": 1, "tid": 2, "dur": 2},
        {"ph": "X", "name": "not ended", "pid": 1, "tid": 2, "ts": 20},
        {"ph": "X", "cat": "engine_call", "name": "other process", "pid": "gpu", "tid": "queue", "ts": 21, "dur": 1},
        {"ph": "f", "name": "arrow", "pid": 1, "tid": 2, "ts": 22},
        {"ph": "N", "name": "object", "pid": 1, "tid": 2, "ts": 22}
    ]"#;
    let became = import(text, &TraceOptions::default());
    assert_eq!((became.imported.events, became.imported.imported, became.imported.damage.len()), (20, 9, 0));
    assert_eq!(
        became.left,
        [
            "1  without a time no time",
            "1 asynchronous moment a",
            "1 beginning without an end a",
            "1 counter without numbers words",
            "1 end without a beginning surplus",
            "3 end, counted with its beginning ",
            "1 flow arrow",
            "1 metadata thread_name",
            "1 phase \"N\" object",
        ]
    );
    let expected = [
        "range: outer [worker] 0+3000",
        "range: inner [worker] 1000+3000",
        "run 0 dispatch on 0: a a depth 0 [request 0x1] 6000+2000",
        "mark: moment [worker] 9000+0",
        "mark: old moment [worker] 10000+0",
        "run 0 dispatch on 0: not ended not ended depth 0 [worker] 19000+0",
        "range: other process [queue] 20000+1000",
        "queue length 2.5 at 11000",
        "queue waiting 3 at 11000",
        "load 4 at 12000",
        "run 0:  [worker] 0+21001",
    ];
    assert_eq!(became.lines, expected);
}

#[test]
fn the_memory_that_the_profiler_counts_is_a_counter_for_each_device() {
    let memory = |at: u32, kind: i32, id: i32, total: u32| {
        format!(
            r#"{{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 2, "ts": {at}, "args": {{"Total Allocated": {total}, "Device Type": {kind}, "Device Id": {id}}}}}"#
        )
    };
    let became =
        import(&kineto(&[memory(3, 1, 2, 7), memory(1, 0, -1, 64), memory(2, 20, 0, 5)]), &TraceOptions::default());
    let expected = [
        "memory allocated, host 64bytes at 0",
        "memory allocated, device type 20:0 5bytes at 1000",
        "memory allocated, cuda:2 7bytes at 2000",
    ];
    assert_eq!((became.lines, became.imported.runs), (expected.map(str::to_owned).to_vec(), 0));
}

#[test]
fn of_runs_that_overlap_the_first_counts_and_a_process_without_runs_takes_part_in_those_of_the_only_one() {
    let in_process = |process: u32, name: &str, start: u32, duration: u32| {
        format!(
            r#"{{"ph": "X", "cat": "marker", "name": "{name}", "pid": {process}, "tid": 2, "ts": {start}, "dur": {duration}}}"#
        )
    };
    let operator = |process: u32, start: u32| {
        format!(r#"{{"ph": "X", "cat": "op", "name": "work", "pid": {process}, "tid": 9, "ts": {start}, "dur": 1}}"#)
    };
    let steps = || TraceOptions { steps: Steps::new("step").expect("a name"), ..TraceOptions::default() };
    let runs = |events: &[String]| {
        let became = import(&format!("[{}]", events.join(",")), &steps());
        let dispatches = became.lines.iter().filter(|line| line.contains("dispatch"));
        let of: Vec<String> =
            dispatches.map(|line| line.split(" dispatch").next().unwrap_or_default().to_owned()).collect();
        (became.imported.runs, of)
    };
    let own = [
        in_process(1, "step", 0, 10),
        in_process(1, "step", 5, 10),
        in_process(1, "step", 10, 10),
        in_process(1, "steps", 30, 10),
        operator(1, 12),
        operator(3, 9),
        operator(1, 20),
        operator(1, 31),
    ];
    assert_eq!(runs(&own), (2, vec!["run 0".to_owned(), "run 1".to_owned()]));
    // With runs in two processes, those of a third one are in none.
    let of_two = [&own[..], &[in_process(4, "step", 0, 100)]].concat();
    assert_eq!(runs(&of_two), (3, vec!["run 2".to_owned()]));
}

#[test]
fn the_process_the_modules_and_threads_without_numbers_have_their_names() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("trace.json");
    let named = |pid: u64, name: &str| {
        format!(r#"{{"ph": "M", "name": "process_name", "pid": {pid}, "tid": 0, "args": {{"name": "{name}"}}}}"#)
    };
    let on_thread = |thread: &str| {
        format!(r#"{{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": "{thread}", "ts": 1, "dur": 2}}"#)
    };
    let events = [
        named(1 << 40, "no number of a process"),
        named(7, "python"),
        named(8, "second"),
        span("python_function", "nn.Module: Net_0", 0, 20, ""),
        span("python_function", "nn.Module: Linear_1", 1, 18, ""),
        span("cpu_op", "aten::mm", 2, 2, ""),
        on_thread("one"),
        on_thread("two"),
    ];
    fs::write(&path, kineto(&events)).expect("room");
    let directory = place.path().join("out");
    import_trace(&path, &directory, &TraceOptions::default()).expect("a trace");
    let recording = Recording::open(&directory).expect("a recording");
    let process = &recording.manifest().process;
    assert_eq!((process.pid, process.name.as_str()), (7, "python"));
    let names = fs::read_to_string(directory.join("names.jsonl")).expect("the names");
    let modules = r#""modules":[{"path":"Net_0","class":""},{"path":"Net_0.Linear_1","class":""}]"#;
    assert!(names.contains(modules), "{names}");
    let lines: Vec<String> =
        recording.facts().expect("records").map(|fact| line(&recording, &fact.expect("a record"))).collect();
    for thread in ["[one]", "[two]"] {
        assert_eq!(lines.iter().filter(|line| line.contains(thread)).count(), 1, "{lines:?}");
    }
}
