//! `opscope benchmark --profiler`: what is recorded, where it is written, and how it is exported.

mod process;

use std::collections::BTreeMap;
use std::fs;

use process::{RAW_ONLY, Workplace, csv, end, engine, model};
use serde_json::{Value, json};

const EXPORTS: [&str; 5] =
    ["api_statistic.csv", "op_statistic.csv", "op_summary.csv", "timeline.json", "timeline.pftrace"];
const RAW: [&str; 3] = ["manifest.json", "names.jsonl", "records.bin"];

/// Profiles a run into `out/profiler/run`.
fn profiled(arguments: &[&str]) -> (Workplace, process::Ended) {
    let place = Workplace::new();
    let model = model("digits_cnn.onnx");
    let fixed = [model.as_str(), "--profiler", "--output", "out", "--output-dirname", "run"];
    let ended = place.benchmark_well(&[&fixed, arguments].concat());
    (place, ended)
}

/// Returns how many events of each category a timeline has. Counters are listed by their names.
fn categories(place: &Workplace) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for event in place.json("out/profiler/run/timeline.json").as_array().unwrap() {
        let name = match event["ph"].as_str().unwrap() {
            "X" => event["cat"].as_str().unwrap(),
            "C" => event["name"].as_str().unwrap(),
            _ => continue,
        };
        *found.entry(name.to_owned()).or_insert(0) += 1;
    }
    found
}

/// Returns the categories of a timeline that was recorded with only this switch on.
fn with_only(switch: &str) -> Vec<String> {
    with_only_for(switch, 1)
}

/// As [`with_only`], but repeats with longer benchmarks until there are events of `kind`. The system counts the load of
/// processors in ticks, and a short run ends within one.
fn with_only_until(switch: &str, kind: &str) -> Vec<String> {
    let longer = (0..6).map(|power| with_only_for(switch, 10_usize.pow(power)));
    longer.into_iter().find(|kinds| kinds.iter().any(|known| known.starts_with(kind))).unwrap_or_default()
}

fn with_only_for(switch: &str, runs: usize) -> Vec<String> {
    const SWITCHES: [&str; 7] = [
        "model-execution",
        "task-time",
        "runtime-api",
        "sys-hardware-mem",
        "sys-cpu-profiling",
        "sys-profiling",
        "sys-pid-profiling",
    ];
    let options =
        SWITCHES.map(|name| format!("--profiler-option={name}={}", if name == switch { "on" } else { "off" }));
    let runs = runs.to_string();
    let options = options.each_ref().map(String::as_str);
    let (place, _) = profiled(&[&options[..], &["--loop", &runs]].concat());
    categories(&place).into_keys().collect()
}

#[test]
fn profiler_shows_where_the_time_goes_and_writes_a_timeline_and_tables() {
    let (place, ended) = profiled(&["--loop", "4", "--details"]);
    let mut all = [&EXPORTS[..], &RAW[..]].concat();
    all.sort_unstable();
    assert_eq!(place.tree("out/profiler/run"), all);
    let matrix = if engine::is_onnxruntime() { "Gemm" } else { "OptMatMul" };
    for text in ["operators", "between operators", "in and out", "100.00 %", "/conv1/Conv", matrix, "timeline.pftrace"]
    {
        assert!(ended.stdout.contains(text), "{text:?} is not in {ended:?}");
    }
    let manifest = place.json("out/profiler/run/manifest.json");
    assert_eq!((&manifest["complete"], &manifest["records"]["dropped"]), (&json!(true), &json!(0)));
    assert_eq!(manifest["process"]["name"], "opscope");
    let summary = place.json("out/run_summary.json");
    assert_eq!(summary["pid"], manifest["process"]["pid"]);
    assert_eq!(summary["args"][1], "benchmark", "the command itself is what is profiled");
    assert_eq!(summary["profile"]["account"]["runs"], json!({"measured": 4, "warm_up": 1, "failed": 0, "partial": 0}));
}

#[test]
fn the_account_of_a_run_is_closed() {
    let (place, _) = profiled(&["--loop", "20"]);
    let account = &place.json("out/run_summary.json")["profile"]["account"];
    let total = |part: &Value| part["total_ns"].as_f64().unwrap();
    let shares = &account["shares"];
    let sum: f64 = ["operators", "added", "between", "profile", "in_out"].map(|part| total(&shares[part])).iter().sum();
    let (run, rest) = (total(&account["run"]), total(&shares["rest"]));
    assert!(((sum + rest) / run - 1.0).abs() < 1e-9, "{account}");
    assert!((rest / run).abs() < 0.01, "each part is measured on its own, and they meet: {account}");
}

#[test]
fn the_tables_have_the_columns_and_rows_that_scripts_look_for() {
    let (place, _) = profiled(&["--loop", "3", "--warmup-count", "2"]);
    let table = |name: &str| {
        let rows = csv(&place.text(&format!("out/profiler/run/{name}")));
        assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{name}: {rows:?}");
        rows
    };
    let summary = table("op_summary.csv");
    let first = "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),\
                 Task Duration(us),Task Wait Time(us)";
    assert!(summary[0].join(",").starts_with(first), "{:?}", summary[0]);
    let operators = categories(&place)["operator"];
    assert_eq!(summary.len() - 1, operators, "a row for every dispatch of the timeline");

    let types = table("op_statistic.csv");
    let head =
        "Device_id,Model Name,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)";
    assert!(types[0].join(",").starts_with(head), "{:?}", types[0]);
    let ratio: f64 = types[1..].iter().map(|row| row[9].parse::<f64>().unwrap()).sum();
    assert!((ratio - 100.0).abs() < 0.1, "the shares of all types come to {ratio} %");

    let calls = table("api_statistic.csv");
    assert_eq!(calls[0].join(","), "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance");
    let runs = calls.iter().find(|row| row[2] == "run").unwrap();
    // If the engine has a profile of its own, as many runs are done without it.
    let all = if engine::is_onnxruntime() { "8" } else { "5" };
    assert_eq!(runs[4], all, "three runs and two that warmed up");
}

#[test]
fn a_matrix_kernels_time_counts_for_matmul_and_not_for_what_was_fused_into_it() {
    let place = Workplace::new();
    let model = model("tiny_transformer.onnx");
    let shape = "hidden_states:4,32,64";
    place.benchmark_well(&[&model, "--dym-shape", shape, "--loop", "20", "--profiler", "-o", "out", "-od", "run"]);
    let rows = csv(&place.text("out/profiler/run/op_summary.csv"));
    let column = |name: &str| rows[0].iter().position(|head| head == name).unwrap();
    let [kind, kernel] = ["OP Type", "Kernel Op"].map(column);
    let of_engine = if engine::is_onnxruntime() { "FusedMatMul" } else { "OptMatMul" };
    let matrix: Vec<_> = rows[1..].iter().filter(|row| row[kernel] == of_engine).collect();
    assert!(!matrix.is_empty());
    for row in matrix {
        assert_eq!(row[kind], "MatMul", "whatever else was fused into it: {row:?}");
    }
}

#[test]
fn without_options_the_switches_are_those_of_the_original_command_line() {
    let (place, _) = profiled(&[]);
    let switches = json!({"model-execution": true, "runtime-api": true, "sys-cpu-profiling": false,
        "sys-hardware-mem": true, "sys-pid-profiling": false, "sys-profiling": false,
        "task-memory": false, "task-time": true});
    assert_eq!(place.json("out/profiler/run/manifest.json")["switches"], switches);
    let kinds: Vec<_> = categories(&place).into_keys().collect();
    assert_eq!(kinds, ["copy", "engine_call", "memory for files", "memory used", "operator", "run"]);
}

#[test]
fn model_execution_records_runs() {
    assert_eq!(with_only("model-execution"), ["run"]);
}

#[test]
fn task_time_records_dispatches() {
    assert_eq!(with_only("task-time"), ["operator"]);
}

#[test]
fn runtime_api_records_engine_calls_and_copies() {
    assert_eq!(with_only("runtime-api"), ["copy", "engine_call"]);
}

#[test]
fn sys_hardware_mem_samples_the_machines_memory() {
    assert_eq!(with_only("sys-hardware-mem"), ["memory for files", "memory used"]);
}

#[test]
fn sys_cpu_profiling_samples_every_processor() {
    let kinds = with_only_until("sys-cpu-profiling", "processor");
    assert!(!kinds.is_empty() && kinds.iter().all(|kind| kind.starts_with("processor ")), "{kinds:?}");
}

#[test]
fn sys_profiling_samples_the_whole_machine() {
    assert_eq!(with_only_until("sys-profiling", "all processors"), ["all processors", "runnable tasks"]);
}

#[test]
fn sys_pid_profiling_samples_this_process() {
    let kinds = with_only("sys-pid-profiling");
    assert!(!kinds.is_empty() && kinds.iter().all(|kind| kind.starts_with("process: ")), "{kinds:?}");
}

#[test]
fn switches_of_units_that_are_not_here_are_taken_with_a_note_and_change_nothing() {
    let usual = recorded(&[]);
    for name in ["dvpp-profiling", "aicpu"] {
        for value in ["on", "off"] {
            let switch = format!("{name}={value}");
            let (place, ended) = profiled(&["--profiler-option", &switch]);
            let notes: Vec<_> = ended.stderr.lines().collect();
            assert!(notes.len() == 1 && notes[0].starts_with("note: "), "{notes:?}");
            ended.says(&[&format!("note: --profiler-option {switch}: no such unit here")]);
            assert_eq!((switches(&place), categories(&place).into_keys().collect()), usual, "{switch}");
        }
        let place = Workplace::new();
        let wrong = format!("{name}=perhaps");
        let model = model("digits_cnn.onnx");
        let ended = place.benchmark(&[&model, "--profiler", "-o", "out", "--profiler-option", &wrong]);
        ended.refused(2, &["is on or off, not 'perhaps'"]);
        assert_eq!(place.tree(""), [""; 0]);
    }
    assert_eq!(profiled(&[]).1.stderr, "", "they are on without a word, as in the original command line");
}

fn switches(place: &Workplace) -> Value {
    place.json("out/profiler/run/manifest.json")["switches"].clone()
}

/// Makes a recording with these options. Returns its switches, and the kinds of its records.
fn recorded(options: &[&str]) -> (Value, Vec<String>) {
    let (place, _) = profiled(options);
    (switches(&place), categories(&place).into_keys().collect())
}

#[test]
fn task_memory_records_what_a_run_holds_for_tensors_and_shows_the_peak() {
    if engine::is_onnxruntime() {
        let place = Workplace::new();
        let model = model("digits_cnn.onnx");
        let line = [model.as_str(), "--profiler", "-o", "out", "--profiler-option", "task-memory=on"];
        place.benchmark(&line).refused(2, &["needs an engine that can report the memory of tensors"]);
        return;
    }
    let (place, ended) = profiled(&["--profiler-option", "task-memory=on", "--json"]);
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    let recorded = &summary["profile"]["account"]["tensor_memory"];
    let (peak, planned) = (recorded["peak_bytes"].as_u64().unwrap(), summary["run_memory"]["bytes"].as_u64().unwrap());
    assert!(peak > 0 && peak <= planned, "{recorded} against {planned}");
    assert!(place.text("out/profiler/run/timeline.json").contains("\"tensor memory of main"));
}

#[test]
fn the_full_set_of_switches_with_their_values_is_one_command_line() {
    let all = [
        ("model-execution", true),
        ("sys-hardware-mem", true),
        ("sys-cpu-profiling", false),
        ("sys-profiling", false),
        ("sys-pid-profiling", false),
        ("dvpp-profiling", true),
        ("runtime-api", true),
        ("task-time", true),
        ("task-memory", false),
        ("aicpu", true),
    ];
    // The switches are set as in the original, and then each is inverted.
    let sets: [fn(bool) -> bool; 2] = [|on| on, |on| !on];
    for set in sets {
        // ONNX Runtime does not report memory.
        let all = all.map(|(name, on)| (name, set(on) && (name != "task-memory" || !engine::is_onnxruntime())));
        let options = all.map(|(name, on)| format!("--profiler-option={name}={}", if on { "on" } else { "off" }));
        let (found, kinds) = recorded(&options.each_ref().map(String::as_str));
        let here = all.iter().filter(|(name, _)| !["dvpp-profiling", "aicpu"].contains(name));
        let expected: BTreeMap<_, _> = here.copied().collect();
        assert_eq!(found, json!(expected), "each is as it was given");
        for (kind, on) in [("run", true), ("operator", true), ("engine_call", true), ("memory used", true)] {
            assert_eq!(kinds.iter().any(|found| found == kind), set(on), "{kinds:?}");
        }
    }
}

#[test]
fn a_switch_that_is_wrong_is_refused_with_what_would_be_right() {
    let place = Workplace::new();
    let model = model("digits_cnn.onnx");
    for (option, right) in [
        ("task-tim=on", "there are model-execution, sys-hardware-mem, "),
        ("task-time=maybe", "'task-time' is on or off, not 'maybe'"),
        ("task-time", "write KEY=on or KEY=off"),
    ] {
        let ended = place.benchmark(&[&model, "--profiler", "-o", "out", "--profiler-option", option]);
        ended.refused(2, &["--profiler-option", right]);
    }
    assert_eq!(place.tree(""), [""; 0]);
}

#[test]
fn the_memory_for_records_and_what_happens_when_it_is_full_can_be_set() {
    let (place, _) = profiled(&["--loop", "50", "--profiler-size", "64K", "--profiler-watermark", "4K"]);
    let records = place.json("out/profiler/run/manifest.json")["records"].clone();
    assert_eq!(records["emitted"], records["delivered"], "lossless without a policy");
    assert!(records["frames"].as_u64().unwrap() > 5, "written whenever 4 KiB wait: {records}");
    // Nothing is written before all of the memory is in use.
    for (policy, code) in [("lossless", 0), ("discard", 3), ("overwrite", 3)] {
        let place = Workplace::new();
        let model = model("digits_cnn.onnx");
        let fixed = [model.as_str(), "--profiler", "--output", "out", "--output-dirname", "run", "--loop", "2000"];
        let memory = ["--profiler-size", "64K", "--profiler-watermark", "64K", "--profiler-policy", policy];
        let ended = place.benchmark(&[&fixed[..], &memory].concat());
        let manifest = place.json("out/profiler/run/manifest.json");
        let dropped = manifest["records"]["dropped"].as_u64().unwrap();
        assert_eq!((ended.code, dropped > 0), (Some(code), code == 3), "{policy}: {manifest}");
        assert_eq!(manifest["complete"], code == 0, "{policy}");
    }
}

#[test]
fn profiling_needs_no_other_command() {
    let place = Workplace::new();
    let model = model("digits_cnn.onnx");
    let arguments = ["benchmark", &model, "--loop", "1", "--profiler", "--output", "out", "--output-dirname", "run"];
    let ended = end(place.command(&arguments).env("PATH", ""));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(EXPORTS.iter().all(|name| place.path("out/profiler/run").join(name).is_file()));
}

#[test]
fn each_name_of_the_switch_for_raw_recordings_leaves_out_the_exports_and_says_how_to_make_them() {
    let model = model("digits_cnn.onnx");
    for name in RAW_ONLY {
        let place = Workplace::new();
        let arguments =
            ["benchmark", &model, "--loop", "1", "--profiler", "--output", "out", "--output-dirname", "run"];
        let ended = end(place.command(&arguments).env(name, "1"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(place.tree("out/profiler/run"), RAW, "{name}");
        ended.says(&[name, "only the raw recording"]);
        assert!(ended.stdout.contains("opscope export out/profiler/run"), "{ended:?}");

        let ended = end(place
            .command(&["benchmark", &model, "--loop", "1", "--profiler", "-o", "other", "-od", "run"])
            .env(name, "0"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(place.path("other/profiler/run/timeline.json").is_file(), "{name}=0 is off");
    }
}

#[test]
fn a_recording_left_raw_exports_to_what_is_made_at_once() {
    let place = Workplace::new();
    let model = model("digits_cnn.onnx");
    let arguments = ["benchmark", &model, "--loop", "1", "--profiler", "--output", "out", "--output-dirname", "run"];
    let ended = end(place.command(&arguments).env(RAW_ONLY[0], "1"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ended = place.export(&["out/profiler/run"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(EXPORTS.iter().all(|name| place.path("out/profiler/run").join(name).is_file()));
    let operators = categories(&place)["operator"];
    assert_eq!(csv(&place.text("out/profiler/run/op_summary.csv")).len(), operators + 1);
    let (at_once, _) = profiled(&[]);
    assert_eq!(categories(&at_once)["operator"], operators);
}

#[test]
fn exports_made_afterwards_are_those_made_at_once() {
    let (place, _) = profiled(&["--loop", "3"]);
    let ended = place.export(&["out/profiler/run", "--output", "later"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(place.tree("later"), EXPORTS);
    for name in EXPORTS {
        let read = |directory: &str| fs::read(place.path(directory).join(name)).unwrap();
        assert!(read("later") == read("out/profiler/run"), "{name} differs");
    }
}

#[test]
fn export_adds_what_is_not_there_yet_and_leaves_what_is() {
    let (place, _) = profiled(&[]);
    place.write("out/profiler/run/timeline.json", "mine");
    fs::remove_file(place.path("out/profiler/run/op_statistic.csv")).unwrap();
    let ended = place.export(&["out/profiler/run", "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.json(), json!(["out/profiler/run/op_statistic.csv"]));
    ended.says(&["note: out/profiler/run/timeline.json exists already and stays as it is"]);
    assert_eq!(place.text("out/profiler/run/timeline.json"), "mine");
}

#[test]
fn exporting_a_recording_that_somebody_else_made_writes_through_no_link_in_it() {
    let (place, _) = profiled(&[]);
    place.write("mine", "mine");
    let recording = place.path("out/profiler/run");
    for name in EXPORTS {
        fs::remove_file(recording.join(name)).unwrap();
        for suffix in ["", ".part", ".partial", ".new", ".tmp"] {
            std::os::unix::fs::symlink(place.path("mine"), recording.join(format!("{name}{suffix}"))).unwrap();
        }
    }
    std::os::unix::fs::symlink(place.path("not-yet"), recording.join("msprof_tx.csv")).unwrap();
    // While links with the names of the exports exist, nothing is written. Without the links, everything is.
    let ended = place.export(&["out/profiler/run"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{ended:?}");
    EXPORTS.iter().for_each(|name| fs::remove_file(recording.join(name)).unwrap());
    let ended = place.export(&["out/profiler/run"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(EXPORTS.iter().all(|name| recording.join(name).symlink_metadata().unwrap().is_file()));
    assert_eq!(place.text("mine"), "mine");
    assert!(!place.path("not-yet").exists());
}

#[test]
fn export_writes_one_format_if_one_is_asked_for_and_prints_paths_as_json() {
    let (place, _) = profiled(&[]);
    for (format, files) in [("perfetto", &EXPORTS[4..]), ("chrome", &EXPORTS[3..4]), ("csv", &EXPORTS[..3])] {
        let ended = place.export(&["out/profiler/run", "--format", format, "--output", format, "--json"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(place.tree(format), files);
        assert_eq!(ended.json().as_array().unwrap().len(), files.len());
    }
}

#[test]
fn export_refuses_what_is_not_a_recording() {
    let place = Workplace::new();
    place.write("empty/x", "");
    place.write("damaged/manifest.json", "{");
    for directory in ["nowhere", "empty", "damaged"] {
        place.export(&[directory]).refused(2, &[directory]);
    }
}

#[test]
fn profiler_works_alone_but_not_without_output_and_not_with_dump() {
    let place = Workplace::new();
    let model = model("digits_cnn.onnx");
    place.benchmark(&[&model, "--profiler", "1"]).refused(2, &["--profiler needs --output"]);
    place
        .benchmark(&[&model, "--profiler", "--dump", "--output", "out"])
        .refused(2, &["exclude each other", "run twice"]);
    assert_eq!(place.tree(""), [""; 0]);
    // The example of the tools that this command replaces.
    place.benchmark_well(&["--om-model", &model, "--output", "./", "--profiler", "1"]);
    assert!(place.path(&place.only("profiler")).join("timeline.json").is_file());
    assert!(!place.path("dump").exists());
}
