//! `opscope benchmark --acl-json-path`: what the file captures, where it is written, and which options it outranks.

mod process;

use std::collections::BTreeSet;

use process::{Workplace, model};
use serde_json::{Value, json};

/// The example file for a profile from the documentation of the tools that this command replaces.
const PROFILER: &str = r#"{
    "profiler": {
                  "switch": "on",
                  "output": "./result/profiler"
                }
    }"#;

fn dump_file(section: Value) -> String {
    let mut dump =
        json!({"dump_list": [{"model_name": "digits_cnn"}], "dump_mode": "output", "dump_path": "./result/dump"});
    for (key, value) in section.as_object().unwrap() {
        dump[key] = value.clone();
    }
    json!({ "dump": dump }).to_string()
}

fn with_file(content: &str, arguments: &[&str]) -> (Workplace, process::Ended) {
    let place = Workplace::new();
    place.write("acl.json", content);
    let model = model("digits_cnn.onnx");
    let ended =
        place.benchmark(&[&["--om-model", model.as_str(), "--acl-json-path", "./acl.json"], arguments].concat());
    (place, ended)
}

/// Returns `(operator, input or output, slot)` of every tensor in the dump in `./result/dump`.
fn dumped(place: &Workplace) -> Vec<(String, String, u64)> {
    let index = place.json_lines(&format!("{}/index.jsonl", place.only("result/dump")));
    let text = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
    index.iter().map(|line| (text(line, "operator"), text(line, "io"), line["slot"].as_u64().unwrap())).collect()
}

#[test]
fn a_profiler_section_leaves_a_raw_recording_in_its_own_output() {
    let (place, ended) = with_file(PROFILER, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let recording = place.only("result/profiler");
    assert_eq!(place.tree(&recording), ["manifest.json", "names.jsonl", "records.bin"], "nothing is exported");
    assert_eq!(place.json(&format!("{recording}/manifest.json"))["complete"], true);
    ended.says(&["only the raw recording is written", "opscope export"]);
}

#[test]
fn a_dump_list_that_leaves_everything_out_is_refused_and_dumps_nothing() {
    let list =
        json!([{"model_name": "digits_cnn", "layer": ["/conv1/Conv"], "opname_blacklist": [{"name": "/conv1/Conv"}]}]);
    let (place, ended) = with_file(&dump_file(json!({"dump_list": list, "dump_level": "op"})), &[]);
    ended.refused(2, &["/dump/dump_list: it leaves out every tensor of this model"]);
    assert_eq!(place.tree(""), ["acl.json"]);
}

#[test]
fn a_raw_recording_becomes_a_timeline_and_tables_by_export() {
    let (place, _) = with_file(PROFILER, &["--loop", "3"]);
    let recording = place.only("result/profiler");
    let ended = place.export(&[&recording]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let timeline = place.json(&format!("{recording}/timeline.json"));
    let operators = timeline.as_array().unwrap().iter().filter(|event| event["args"]["operator"] == "/conv1/Conv");
    assert!(operators.count() >= 3, "each of three runs shows its first operator");
    let summary = process::csv(&place.text(&format!("{recording}/op_summary.csv")));
    assert!(summary.iter().any(|row| row.contains(&"/conv1/Conv".to_owned())), "{summary:?}");
}

#[test]
fn the_profiler_switch_records_when_it_is_on_and_else_nothing_which_is_said() {
    for (section, recordings) in [
        (json!({"switch": "on", "output": "./result/profiler"}), 1),
        (json!({"switch": "off", "output": "./result/profiler"}), 0),
        (json!({"output": "./result/profiler"}), 0),
    ] {
        let (place, ended) = with_file(&json!({ "profiler": section }).to_string(), &[]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(ended.stderr.contains("warning: /profiler/switch"), recordings == 0, "{ended:?}");
        assert_eq!(
            place.tree("result/profiler").iter().filter(|path| path.ends_with("records.bin")).count(),
            recordings
        );
        assert_eq!(place.tree("").len() > 1, recordings == 1, "{:?}", place.tree(""));
    }
}

/// Makes a recording with these keys beside switch and output. Returns the switches of its manifest, and the categories
/// of its timeline.
fn profiled(keys: Value) -> (Value, BTreeSet<String>) {
    let mut section = json!({"switch": "on", "output": "./result/profiler"});
    section.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    let (place, ended) = with_file(&json!({ "profiler": section }).to_string(), &["--loop", "3"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let recording = place.only("result/profiler");
    let switches = place.json(&format!("{recording}/manifest.json"))["switches"].clone();
    assert_eq!(place.export(&[&recording, "--format", "chrome"]).code, Some(0));
    let timeline = place.json(&format!("{recording}/timeline.json"));
    let name = |event: &Value| match event["ph"].as_str()? {
        "X" => Some(event["cat"].as_str()?.to_owned()),
        "C" => Some(event["name"].as_str()?.to_owned()),
        _ => None,
    };
    (switches, timeline.as_array().unwrap().iter().filter_map(name).collect())
}

#[test]
fn each_switch_of_the_profiler_section_decides_about_its_own_records_and_no_others() {
    let (alone, kinds) = profiled(json!({}));
    let usual = json!({"model-execution": true, "runtime-api": true, "sys-cpu-profiling": false,
        "sys-hardware-mem": false, "sys-pid-profiling": false, "sys-profiling": false,
        "task-memory": false, "task-time": true});
    assert_eq!(alone, usual);
    let expected = ["copy", "engine_call", "operator", "run"].map(str::to_owned);
    assert_eq!(kinds, BTreeSet::from(expected));
    for (keys, switch, on, records) in [
        (json!({"task_time": "off"}), "task-time", false, &["operator"][..]),
        (json!({"task_time": "on"}), "task-time", true, &["operator"]),
        (json!({"task_time": "l0"}), "task-time", true, &["operator"]),
        (json!({"task_time": "l1"}), "task-time", true, &["operator"]),
        (json!({"task_time": "l2"}), "task-time", true, &["operator"]),
        (json!({"task_time": "l3"}), "task-time", true, &["operator"]),
        (json!({"runtime_api": "off"}), "runtime-api", false, &["copy", "engine_call"]),
        (json!({"runtime_api": "on"}), "runtime-api", true, &["copy", "engine_call"]),
        (json!({"sys_hardware_mem_freq": 50}), "sys-hardware-mem", true, &["memory used", "memory for files"]),
        // The load of processors is known only after some of the system's ticks: profiler.rs waits for them.
        (json!({"sys_cpu_freq": 20}), "sys-cpu-profiling", true, &[]),
        (json!({"host_sys_usage": "cpu"}), "sys-profiling", true, &[]),
        (json!({"host_sys_usage": "mem", "host_sys_usage_freq": 20}), "sys-pid-profiling", true, &[]),
    ] {
        let (switches, found) = profiled(keys.clone());
        let mut expected = usual.clone();
        expected[switch] = json!(on);
        assert_eq!(switches, expected, "{keys}");
        for record in records {
            assert_eq!(found.contains(*record), on, "{keys}: {found:?}");
        }
        let others = kinds.iter().filter(|kind| !records.contains(&kind.as_str()));
        assert!(others.clone().all(|kind| found.contains(kind)), "{keys}: {found:?}");
    }
}

/// Returns the keys of a section, as the refusal of an unknown key lists them.
fn keys_of(file: &Value) -> BTreeSet<String> {
    let (_, ended) = with_file(&file.to_string(), &[]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let (_, list) = ended.stderr.split_once("the keys here are ").unwrap_or_else(|| panic!("{ended:?}"));
    let (list, _) = list.split_once(" (E").unwrap_or_else(|| panic!("{ended:?}"));
    list.replace(" and ", ", ").split(", ").map(str::to_owned).collect()
}

/// Checks that every key of the object, except these, is reported to have no effect.
fn all_but_these_have_no_effect(ended: &process::Ended, pointer: &str, object: &Value, applied: &[&str]) {
    for key in object.as_object().unwrap().keys() {
        let said = ended.stderr.contains(&format!("note: {pointer}/{key}: no effect"));
        assert_eq!(said, !applied.contains(&key.as_str()), "{pointer}/{key}: {ended:?}");
    }
}

#[test]
fn every_profiler_key_of_the_manual_is_applied_or_named_as_without_effect() {
    let keys = json!({"switch": "on", "output": "./result/profiler", "storage_limit": "200MB",
        "aic_metrics": "PipeUtilization", "ascendcl": "on", "runtime_api": "off", "task_time": "off", "ge_api": "l0",
        "aicpu": "on", "l2": "on", "hccl": "on", "msproftx": "on", "task_memory": "on", "task_tsfw": "on",
        "instr_profiling": "off", "instr_profiling_freq": 1000, "sys_hardware_mem_freq": 50,
        "sys_io_sampling_freq": 50, "dvpp_freq": 50, "sys_lp_freq": 50, "sys_interconnection_freq": 20,
        "sys_cpu_freq": 20, "host_sys_usage_freq": 20, "llc_profiling": "read", "host_sys": "cpu,mem",
        "host_sys_usage": "cpu,mem", "sys_mem_serviceflow": "x", "optype": "Conv"});
    let named: BTreeSet<String> = keys.as_object().unwrap().keys().cloned().collect();
    assert_eq!(named, keys_of(&json!({"profiler": {"?": 1}})), "every key is in this test");
    let (place, ended) = with_file(&json!({ "profiler": keys }).to_string(), &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let applied = [
        "switch",
        "output",
        "task_time",
        "runtime_api",
        "task_memory",
        "sys_hardware_mem_freq",
        "sys_cpu_freq",
        "host_sys_usage",
        "host_sys_usage_freq",
    ];
    all_but_these_have_no_effect(&ended, "/profiler", &keys, &applied);
    let manifest = place.json(&format!("{}/manifest.json", place.only("result/profiler")));
    let switches = json!({"model-execution": true, "runtime-api": false, "sys-cpu-profiling": true,
        "sys-hardware-mem": true, "sys-pid-profiling": true, "sys-profiling": true,
        "task-memory": true, "task-time": false});
    assert_eq!(manifest["switches"], switches);
    assert_eq!(manifest["sample_interval_ns"], 20_000_000, "the highest of the frequencies, 50 a second");
}

#[test]
fn all_problems_of_the_file_are_reported_at_once_with_pointers_and_corrections() {
    let file = r#"{"profiler": {"switchx": "on", "output": "p", "aicpu": "maybe", "sys_cpu_freq": "20"}}"#;
    let (place, ended) = with_file(file, &[]);
    ended.refused(2, &["/profiler/switchx", "did you mean \"switch\"", "/profiler/aicpu", "/profiler/sys_cpu_freq"]);
    assert_eq!(place.tree(""), ["acl.json"]);
}

#[test]
fn a_dump_section_writes_the_outputs_of_all_operators_to_its_own_path() {
    let (place, ended) = with_file(&dump_file(json!({})), &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let found = dumped(&place);
    assert_eq!(found.len(), 16, "the model has 16 operators of one output each");
    assert!(found.iter().all(|(_, io, slot)| io == "output" && *slot == 0), "{found:?}");
    assert_eq!(place.only("result"), "result/dump");
    assert_eq!(place.tree("").iter().filter(|path| !path.contains('/')).collect::<Vec<_>>(), ["acl.json", "result"]);
}

#[test]
fn a_dump_list_names_the_model_by_its_file_and_selects_layers() {
    let list = json!({"dump_list": [{"model_name": "digits_cnn", "layer": ["/conv1/Conv", "/Softmax"]}]});
    let (place, ended) = with_file(&dump_file(list), &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let operators: Vec<_> = dumped(&place).into_iter().map(|(operator, ..)| operator).collect();
    assert_eq!(operators, ["/conv1/Conv", "/Softmax"]);

    let (place, ended) = with_file(&dump_file(json!({"dump_list": [{"model_name": "other"}]})), &[]);
    ended.refused(2, &["/dump/dump_list/0/model_name", "\"other\" is not this model", "digits_cnn"]);
    assert_eq!(place.tree(""), ["acl.json"]);
}

#[test]
fn the_dump_mode_chooses_inputs_outputs_or_both() {
    let softmax = |mode: &str| {
        let list = json!({"dump_mode": mode, "dump_list": [{"model_name": "digits_cnn", "layer": ["/Softmax"]}]});
        let (place, ended) = with_file(&dump_file(list), &[]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        dumped(&place).into_iter().map(|(_, io, _)| io).collect::<Vec<_>>()
    };
    assert_eq!(softmax("output"), ["output"]);
    assert_eq!(softmax("input"), ["input"]);
    assert_eq!(softmax("all"), ["input", "output"]);
}

#[test]
fn weights_that_an_operator_takes_are_dumped_from_the_file() {
    let list = json!({"dump_mode": "input", "dump_list": [{"model_name": "digits_cnn", "layer": ["/conv1/Conv"]}]});
    let (place, ended) = with_file(&dump_file(list), &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mut slots: Vec<u64> = dumped(&place).into_iter().map(|(_, _, slot)| slot).collect();
    slots.sort_unstable();
    assert_eq!(slots, [0, 1, 2], "the image, the filter and the bias");
}

#[test]
fn the_other_dump_keys_of_the_manual_select_runs_ranges_and_statistics() {
    let file = dump_file(json!({"dump_level": "op", "dump_step": "0|2-3", "dump_data": "stats",
    "dump_stats": ["Max", "Min"], "dump_list": [{
        "model_name": "digits_cnn",
        "opname_range": [{"begin": "/conv1/Conv", "end": "/conv2/Conv"}],
        "optype_blacklist": [{"name": "Relu", "pos": ["output0"]}],
        "opname_blacklist": [{"name": "/bn1/BatchNormalization", "pos": ["output0"]}]
    }]}));
    let (place, ended) = with_file(&file, &["--loop", "5"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let index = place.json_lines(&format!("{}/index.jsonl", place.only("result/dump")));
    let found: Vec<_> =
        index.iter().map(|line| (line["run"].as_u64().unwrap(), line["operator"].as_str().unwrap())).collect();
    let both = ["/conv1/Conv", "/conv2/Conv"];
    assert_eq!(found, [0, 2, 3].into_iter().flat_map(|run| both.map(|name| (run, name))).collect::<Vec<_>>());
    assert!(place.tree("result").iter().all(|path| !path.ends_with(".npy")), "statistics are no tensors");
}

#[test]
fn every_dump_key_of_the_manual_is_applied_or_named_as_without_effect() {
    let keys = json!({"dump_path": "./result/dump", "dump_list": [{"model_name": "digits_cnn"}], "dump_mode": "all",
        "dump_data": "stats", "dump_stats": ["Max"], "dump_level": "kernel", "dump_step": "0",
        "dump_op_switch": "off", "dump_debug": "off", "dump_kernel_data": "printf,tensor"});
    let mut named: BTreeSet<String> = keys.as_object().unwrap().keys().cloned().collect();
    named.insert("dump_scene".to_owned());
    assert_eq!(named, keys_of(&json!({"dump": {"?": 1}})), "every key is in this test");
    let (place, ended) = with_file(&json!({ "dump": keys }).to_string(), &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let applied = ["dump_path", "dump_list", "dump_mode", "dump_data", "dump_level", "dump_step", "dump_debug"];
    all_but_these_have_no_effect(&ended, "/dump", &keys, &applied);
    let table = place.text(&format!("{}/statistics.csv", place.only("result/dump")));
    for column in ["Max Value", "Min Value", "L2norm"] {
        assert!(table.lines().next().unwrap().contains(column), "all are written, also those that are not listed");
    }

    // Nothing in this model overflows.
    let overflow = json!({"dump_debug": "on", "dump_path": "./result/dump"});
    let (_, ended) = with_file(&json!({ "dump": overflow }).to_string(), &[]);
    assert!(ended.code == Some(0) && ended.stdout.contains("0 tensors, 0 B, 0 missing"), "{ended:?}");

    let scene = json!({"dump_scene": "lite_exception", "dump_path": "./result/dump"});
    let (place, ended) = with_file(&json!({ "dump": scene }).to_string(), &[]);
    assert_eq!((ended.code, place.tree("")), (Some(0), vec!["acl.json".to_owned()]), "{ended:?}");
    ended.says(&["/dump/dump_scene: no effect", "warning: /dump/dump_scene"]);
}

#[test]
fn every_key_of_an_entry_of_the_dump_list_is_one_that_these_tests_apply() {
    let entry = json!({"dump": {"dump_path": "./result/dump", "dump_list": [{"?": 1}]}});
    let applied = ["model_name", "layer", "opname_range", "optype_blacklist", "opname_blacklist", "watcher_nodes"];
    assert_eq!(keys_of(&entry), applied.map(str::to_owned).into_iter().collect());
    // The last one belongs to a scene that captures nothing here.
    let nodes = json!({"dump_scene": "watcher", "dump_path": "./result/dump",
        "dump_list": [{"watcher_nodes": ["/conv1/Conv"]}]});
    let (place, ended) = with_file(&json!({ "dump": nodes }).to_string(), &[]);
    assert_eq!((ended.code, place.tree("")), (Some(0), vec!["acl.json".to_owned()]), "{ended:?}");
    ended.says(&["warning: /dump/dump_scene"]);
}

#[test]
fn acl_json_outranks_profiler_and_dump_which_are_ignored_with_a_warning() {
    let (place, ended) = with_file(&dump_file(json!({})), &["--profiler", "1", "--dump", "1"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.says(&["warning: --profiler: ignored, because --acl-json-path", "warning: --dump: ignored"]);
    assert_eq!(dumped(&place).len(), 16);

    let (place, ended) = with_file(PROFILER, &["--dump", "--output", "mine", "--output-dirname", "run"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(place.tree("mine"), ["run", "run/pure_infer_data_0.bin", "run_summary.json"], "no dump, no profile");
    assert_eq!(place.tree(&place.only("result/profiler")).len(), 3);
}

#[test]
fn a_file_that_switches_both_sections_on_is_refused() {
    let mut file: Value = serde_json::from_str(&dump_file(json!({}))).unwrap();
    file["profiler"] = json!({"switch": "on", "output": "./result/profiler"});
    let (place, ended) = with_file(&file.to_string(), &[]);
    ended.refused(2, &["/profiler/switch", "keep one of the two sections"]);
    assert_eq!(place.tree(""), ["acl.json"]);
}

#[test]
fn check_compares_the_file_with_the_model_and_runs_nothing() {
    let (place, ended) = with_file(&dump_file(json!({})), &["--check"]);
    assert_eq!((ended.code, place.tree("")), (Some(0), vec!["acl.json".to_owned()]), "{ended:?}");
    let list = json!({"dump_list": [{"model_name": "digits_cnn", "layer": ["/conv1/Conf"]}]});
    let (_, ended) = with_file(&dump_file(list), &["--check"]);
    ended.refused(2, &["/dump/dump_list/0/layer/0", "/conv1/Conv"]);
}
