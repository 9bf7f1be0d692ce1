//! `opscope benchmark --acl-json-path`: what the file asks for, where it goes, and what outranks what.

mod process;

use process::{Workplace, model};
use serde_json::{Value, json};

/// The example file for a profile, as the documentation of the tools that this command replaces has it.
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

/// `(operator, input or output, slot)` of every tensor in the dump of `./result/dump`.
fn dumped(place: &Workplace) -> Vec<(String, String, u64)> {
    let index = place.json_lines(&format!("{}/index.jsonl", place.only("result/dump")));
    let text = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
    index.iter().map(|line| (text(line, "operator"), text(line, "io"), line["slot"].as_u64().unwrap())).collect()
}

#[test]
fn a_profiler_section_leaves_a_raw_recording_in_its_own_output() {
    let (place, ended) = with_file(PROFILER, &["--loop", "3"]);
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
fn a_profiler_switch_that_is_not_on_records_nothing_and_says_so() {
    let (place, ended) = with_file(r#"{"profiler": {"switch": "off", "output": "./result/profiler"}}"#, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.says(&["warning: /profiler/switch"]);
    assert_eq!(place.tree(""), ["acl.json"]);
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
    let (place, ended) = with_file(&json!({ "profiler": keys }).to_string(), &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.says(&["/profiler/aic_metrics: no effect", "/profiler/l2: no effect", "/profiler/dvpp_freq: no effect"]);
    let manifest = place.json(&format!("{}/manifest.json", place.only("result/profiler")));
    let switches = json!({"model-execution": true, "runtime-api": false, "sys-cpu-profiling": true,
        "sys-hardware-mem": true, "sys-pid-profiling": true, "sys-profiling": true, "task-time": false});
    assert_eq!(manifest["switches"], switches);
    assert_eq!(manifest["sample_interval_ns"], 20_000_000, "the highest of the frequencies, 50 a second");
}

#[test]
fn what_is_wrong_in_the_file_is_told_all_at_once_with_pointers_and_corrections() {
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
    "dump_stats": ["Max", "Min"], "dump_op_switch": "off", "dump_debug": "off", "dump_list": [{
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
