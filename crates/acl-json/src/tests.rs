use crate::*;

use std::path::PathBuf;

use opscope_dump::{Io, IoSelection, Position};
use proptest::prelude::*;

const OPERATORS: &[NamedOperator<'static>] = &[
    NamedOperator { name: "/conv1/Conv", op_type: "Conv" },
    NamedOperator { name: "/relu/Relu", op_type: "Relu" },
    NamedOperator { name: "/pool/MaxPool", op_type: "MaxPool" },
    NamedOperator { name: "/fc/Gemm", op_type: "Gemm" },
];
const MODEL: ModelNames<'static> = ModelNames { file_stem: "digits_cnn", graph: "main_graph", operators: OPERATORS };

fn position(io: Io, slot: usize) -> Position {
    Position { io, slot }
}

fn parse(text: &str) -> Result<AclConfig, Vec<Problem>> {
    AclConfig::parse(text, Path::new("/nowhere"))
}

/// The problems as `pointer code`, in order.
fn problems(text: &str) -> Vec<String> {
    let problems = parse(text).expect_err(text);
    problems.iter().map(|problem| format!("{} {}", problem.location, problem.code().unwrap_or("-"))).collect()
}

fn dump_of(entries: &str) -> DumpSection {
    let text = format!(r#"{{"dump": {{"dump_path": "d", "dump_level": "op", "dump_list": {entries}}}}}"#);
    parse(&text).unwrap_or_else(|problems| panic!("{problems:?}")).dump.expect("a dump")
}

#[test]
fn the_seeds_two_files_are_read_and_their_paths_start_at_the_working_directory() {
    let profiler = parse(r#"{ "profiler": { "switch": "on", "output": "./result/profiler" } }"#).unwrap();
    assert_eq!(profiler.dump, None);
    assert_eq!(profiler.notes, []);
    let section = profiler.profiler.unwrap();
    assert_eq!(section.output, PathBuf::from("/nowhere/./result/profiler"));
    assert_eq!((section.task_time, section.runtime_api), (TaskTime::On, true));

    let text = r#"{ "dump": { "dump_list": [ { "model_name": "digits_cnn" } ],
                              "dump_mode": "output", "dump_path": "./result/dump" } }"#;
    let dump = parse(text).unwrap();
    assert_eq!((dump.profiler, dump.notes), (None, vec![]));
    let section = dump.dump.unwrap();
    assert_eq!(section.path, PathBuf::from("/nowhere/./result/dump"));
    assert_eq!((section.mode, section.content), (IoSelection::Outputs, DumpContent::Tensors));
    assert_eq!(section.models[0].model_name.as_deref(), Some("digits_cnn"));
}

#[test]
fn a_directory_that_does_not_exist_may_be_relative() {
    let text = r#"{"dump": {"dump_list": [{}], "dump_path": "nowhere/here"}}"#;
    let section = AclConfig::parse(text, Path::new("")).expect("a file").dump.expect("a dump");
    assert_eq!(section.path, PathBuf::from("nowhere/here"));
}

#[test]
fn every_applied_key_becomes_a_value() {
    let text = r#"{"profiler": {"switch": "on", "output": "out", "storage_limit": "300MB", "task_time": "off",
        "runtime_api": "off", "sys_hardware_mem_freq": 100, "sys_cpu_freq": 5,
        "host_sys_usage": "cpu,mem", "host_sys_usage_freq": 10}}"#;
    let expected = ProfilerSection {
        output: "/nowhere/out".into(),
        task_time: TaskTime::Off,
        task_memory: false,
        runtime_api: false,
        hardware_memory: Some(SampleRate(100)),
        cpu: Some(SampleRate(5)),
        host_usage: Some(HostUsage { cpu: true, memory: true, rate: SampleRate(10) }),
    };
    assert_eq!(parse(text).unwrap().profiler, Some(expected));

    let text = r#"{"dump": {"dump_path": "/tmp", "dump_list": [{"model_name": "m", "layer": ["a"],
        "optype_blacklist": [{"name": "Conv", "pos": ["input0", "output1"]}], "opname_blacklist": [{"name": "b"}],
        "opname_range": [{"begin": "a", "end": "b"}]}], "dump_mode": "all", "dump_data": "stats",
        "dump_stats": ["L2norm", "Negative Inf"], "dump_step": "0|5-10", "dump_level": "op"}}"#;
    let dump = parse(text).unwrap().dump.unwrap();
    assert_eq!((dump.path, dump.mode, dump.level), ("/tmp".into(), IoSelection::All, DumpLevel::Op));
    assert_eq!(dump.content, DumpContent::Statistics(vec![Statistic::L2Norm, Statistic::NegativeInf]));
    assert_eq!(dump.runs.unwrap(), "0|5-10".parse().unwrap());
    let expected = DumpedModel {
        pointer: "/dump/dump_list/0".into(),
        model_name: Some("m".into()),
        layers: vec!["a".into()],
        ranges: vec![NameRange { begin: "a".into(), end: "b".into() }],
        optype_blacklist: vec![Excluded {
            name: "Conv".into(),
            slots: vec![position(Io::Input, 0), position(Io::Output, 1)],
        }],
        opname_blacklist: vec![Excluded { name: "b".into(), slots: vec![] }],
    };
    assert_eq!(dump.models, [expected]);
}

#[test]
fn all_problems_are_reported_at_once_with_location_and_remedy() {
    let text = r#"{"dump": {"dump_pth": "x", "dump_mode": "inout", "dump_step": "9-1", "dump_list": [{"layer": []}, 3]},
                   "profiler": {"switch": true, "aic_metric": "Memory", "storage_limit": "1MB"}, "dmp": {}}"#;
    let problems = parse(text).unwrap_err();
    let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_messages(
        &messages,
        &[
            r#"/dmp: this key does not exist; did you mean "dump"? (EP0001)"#,
            r#"/dump/dump_pth: this key does not exist; did you mean "dump_path"? (EP0001)"#,
            r#"/dump/dump_mode: "inout" is not a value of this key; write "input", "output" or "all" (EP0002)"#,
            "/dump/dump_step: 9 is greater than 1; \
             write runs, counted from 0, and ranges of them, such as \"0|5-10|20\" (EP0003)",
            "/dump/dump_list/0/layer: the list is empty; name an operator, or leave the key out for all (EP0001)",
            "/dump/dump_list/1: this is a number; write an object, such as {...} (EP0001)",
            "/dump/dump_path: the key is missing; name the directory that the dump shall go to (EP0001)",
            r#"/profiler/aic_metric: this key does not exist; did you mean "aic_metrics"? (EK0005)"#,
            "/profiler/switch: this is a boolean; write a string, in double quotes (EK0003)",
            r#"/profiler/storage_limit: "1MB" is not a limit; write a size from "200MB" to "4294967295MB" (EK0003)"#,
        ],
    );
}

fn assert_messages(found: &[String], expected: &[&str]) {
    assert_eq!(found, expected, "\n{}", found.join("\n"));
}

#[test]
fn the_vendors_rules_are_kept_with_its_codes() {
    let dump = |rest: &str| format!(r#"{{"dump": {{"dump_path": "d", "dump_list": [{{}}], {rest}}}}}"#);
    for (rest, expected) in [
        (r#""dump_stats": ["Max"]"#, "/dump/dump_stats EP0005"),
        (r#""dump_data": "stats", "dump_stats": []"#, "/dump/dump_stats EP0001"),
        (r#""dump_data": "stats", "dump_stats": ["Mean"]"#, "/dump/dump_stats/0 EP0002"),
        (r#""dump_debug": "on", "dump_op_switch": "on""#, "/dump/dump_debug EP0005"),
        (r#""dump_debug": "on", "dump_scene": "lite_exception""#, "/dump/dump_scene EP0005"),
        (r#""dump_scene": "some_exception""#, "/dump/dump_scene EP0002"),
        (r#""dump_kernel_data": "printf,print""#, "/dump/dump_kernel_data EP0002"),
        (r#""dump_level": "layer""#, "/dump/dump_level EP0002"),
        (r#""dump_step": 3"#, "/dump/dump_step EP0001"),
        (r#""dump_mode": "all", "dump_mode": "all""#, "/dump/dump_mode EP0001"),
    ] {
        assert_eq!(problems(&dump(rest)), [expected], "{rest}");
    }
    let entry = |level: &str, entry: &str| {
        format!(r#"{{"dump": {{"dump_path": "d", "dump_level": "{level}", "dump_list": [{entry}]}}}}"#)
    };
    for (level, text, expected) in [
        ("op", r#"{"model_name": ""}"#, "/dump/dump_list/0/model_name EP0001"),
        ("op", r#"{"watcher_nodes": ["a"]}"#, "/dump/dump_list/0/watcher_nodes EP0005"),
        ("all", r#"{"opname_blacklist": [{"name": "a"}]}"#, "/dump/dump_list/0/opname_blacklist EP0005"),
        ("op", r#"{"opname_range": [{"begin": "a", "end": "b"}]}"#, "/dump/dump_list/0/opname_range EP0005"),
        (
            "op",
            r#"{"model_name": "m", "opname_range": [{"begin": "a"}]}"#,
            "/dump/dump_list/0/opname_range/0/end EP0001",
        ),
        (
            "op",
            r#"{"optype_blacklist": [{"name": "a", "pos": ["input"]}]}"#,
            "/dump/dump_list/0/optype_blacklist/0/pos/0 EP0002",
        ),
    ] {
        assert_eq!(problems(&entry(level, text)), [expected], "{text}");
    }
    let many = format!(r#"{{"optype_blacklist": [{}]}}"#, vec![r#"{"name": "a"}"#; 101].join(","));
    assert_eq!(problems(&entry("op", &many)), ["/dump/dump_list/0/optype_blacklist EP0003"]);
    for (text, expected) in [
        (r#"{"dump_list": [{}]}"#, "/dump/dump_path EP0001"),
        (r#"{"dump_list": [{}], "dump_path": ""}"#, "/dump/dump_path EP0001"),
        (r#"{"dump_list": [{}], "dump_path": "/proc/version"}"#, "/dump/dump_path EP0003"),
        (r#"{"dump_list": [{}], "dump_path": "10.0.0.1:/tmp"}"#, "/dump/dump_path EP0003"),
        (r#"{"dump_list": {}, "dump_path": "d"}"#, "/dump/dump_list EP0001"),
    ] {
        assert_eq!(problems(&format!(r#"{{"dump": {text}}}"#)), [expected], "{text}");
    }
}

#[test]
fn the_watcher_scene_needs_nodes_and_takes_no_model() {
    let watcher = |mode: &str, entry: &str| {
        let rest = format!(r#""dump_path": "d", "dump_mode": "{mode}", "dump_list": [{entry}]"#);
        format!(r#"{{"dump": {{"dump_scene": "watcher", {rest}}}}}"#)
    };
    assert_eq!(parse(&watcher("output", r#"{"watcher_nodes": ["a"]}"#)).unwrap().dump, None);
    assert_eq!(problems(&watcher("all", r#"{"watcher_nodes": ["a"]}"#)), ["/dump/dump_scene EP0005"]);
    assert_eq!(problems(&watcher("output", "{}")), ["/dump/dump_list/0/watcher_nodes EP0001"]);
    let with_model = watcher("output", r#"{"watcher_nodes": ["a"], "model_name": "m"}"#);
    assert_eq!(problems(&with_model), ["/dump/dump_list/0/model_name EP0005"]);
}

#[test]
fn values_of_the_profiler_are_checked_also_where_they_have_no_effect() {
    for (entry, expected) in [
        (r#""output": "a;b""#, "/profiler/output EK0003"),
        (r#""output": """#, "/profiler/output EK0003"),
        (r#""aic_metrics": "Speed""#, "/profiler/aic_metrics EK0003"),
        (r#""instr_profiling_freq": 299"#, "/profiler/instr_profiling_freq EK0003"),
        (r#""sys_cpu_freq": "10""#, "/profiler/sys_cpu_freq EK0003"),
        (r#""sys_hardware_mem_freq": 10001"#, "/profiler/sys_hardware_mem_freq EK0003"),
        (r#""sys_io_sampling_freq": 1.5"#, "/profiler/sys_io_sampling_freq EK0003"),
        (r#""host_sys": "cpu,gpu""#, "/profiler/host_sys EK0003"),
        (r#""task_time": "l9""#, "/profiler/task_time EK0003"),
        (r#""optype": """#, "/profiler/optype EK0003"),
        (r#""l2": "off", "l2": "off""#, "/profiler/l2 EK0005"),
    ] {
        assert_eq!(problems(&format!(r#"{{"profiler": {{"switch": "on", {entry}}}}}"#)), [expected], "{entry}");
    }
}

#[test]
fn a_dump_of_single_operators_without_a_list_is_one_of_every_model() {
    for list in ["", r#", "dump_list": []"#] {
        let text = format!(r#"{{"dump": {{"dump_path": "d", "dump_op_switch": "on"{list}}}}}"#);
        let dump = parse(&text).unwrap().dump.expect("it captures");
        let names: Vec<_> = dump.models.iter().map(|model| (&model.model_name, model.layers.len())).collect();
        assert_eq!(names, [(&None, 0)], "{text}");
        assert!(!dump.overflow);
        assert_eq!(parse(&text.replace("\"on\"", "\"off\"")).unwrap().dump, None);
    }
}

#[test]
fn the_vendors_own_tools_write_no_metrics_as_empty_text() {
    let text = r#"{"profiler": {"switch": "on", "output": "p", "aic_metrics": ""}}"#;
    let options = parse(text).unwrap();
    assert!(options.profiler.is_some());
    assert_eq!(options.notes.iter().map(|note| &*note.pointer).collect::<Vec<_>>(), ["/profiler/aic_metrics"]);
}

#[test]
fn right_keys_without_a_meaning_here_are_listed() {
    let text = r#"{"err_msg_mode": "1", "defaultDevice": {"default_device": "0"}, "max_opqueue_num": "20000",
        "StackSize": {"aicore_stack_size": 32768},
        "profiler": {"switch": "on", "output": "p", "aic_metrics": "Custom:0x1", "aicpu": "on", "dvpp_freq": 10}}"#;
    let notes = parse(text).unwrap().notes;
    assert!(notes.iter().all(|note| note.kind == NoteKind::NoEffect), "{notes:?}");
    let mut pointers: Vec<_> = notes.iter().map(|note| note.pointer.as_str()).collect();
    pointers.sort_unstable();
    let expected = [
        "/StackSize/aicore_stack_size",
        "/defaultDevice/default_device",
        "/err_msg_mode",
        "/max_opqueue_num",
        "/profiler/aic_metrics",
        "/profiler/aicpu",
        "/profiler/dvpp_freq",
    ];
    assert_eq!(pointers, expected);
    assert!(notes[0].to_string().contains("no effect on this engine"), "{}", notes[0]);
}

#[test]
fn the_page_of_keys_names_every_key() {
    let page = include_str!("../../../docs/acl-json.md");
    let report = |text: &str| parse(text).unwrap_err()[0].right.clone();
    let lists = [r#"{"?": 1}"#, r#"{"dump": {"?": 1}}"#, r#"{"profiler": {"?": 1}}"#].map(report);
    let entry = report(r#"{"dump": {"dump_path": "d", "dump_list": [{"?": 1}]}}"#);
    let mut keys = 0;
    for list in lists.iter().chain([&entry]) {
        let list = list.strip_prefix("the keys here are ").expect("all keys").replace(" and ", ", ");
        for key in list.split(", ") {
            let section = ["dump", "profiler"].contains(&key) && page.contains(&format!("## The {key} section"));
            assert!(section || page.contains(&format!("`{key}`")), "{key}");
            keys += 1;
        }
    }
    assert!(keys > 40, "{keys}");
}

#[test]
fn a_file_that_records_nothing_says_so() {
    for (text, says) in [
        ("{}", "nothing will be recorded"),
        (r#"{"dump": {"dump_path": "d", "dump_list": []}}"#, "nothing will be dumped"),
        (r#"{"dump": {"dump_path": "d"}}"#, "nothing will be dumped"),
        (r#"{"dump": {"dump_scene": "lite_exception"}}"#, "nothing will be dumped"),
        (r#"{"profiler": {"output": "p"}}"#, "nothing will be profiled"),
    ] {
        let config = parse(text).unwrap();
        assert_eq!((&config.dump, &config.profiler), (&None, &None));
        assert!(
            config.notes.iter().any(|n| n.kind == NoteKind::Warning && n.text.contains(says)),
            "{:?}",
            config.notes
        );
    }
}

#[test]
fn both_sections_switched_on_are_refused_and_one_switched_off_is_not() {
    let both = |switch: &str| {
        let dump = r#"{"dump_path": "d", "dump_list": [{}]}"#;
        format!(r#"{{"profiler": {{"switch": "{switch}", "output": "p"}}, "dump": {dump}}}"#)
    };
    assert_eq!(problems(&both("on")), ["/profiler/switch EP0005"]);
    let off = parse(&both("off")).unwrap();
    assert!(off.dump.is_some() && off.profiler.is_none());
}

#[test]
fn as_the_vendors_library_reads_a_file_unknown_keys_and_both_sections_are_right_and_directories_exist() {
    let both = r#"{"err_msg_mode": "1", "new": {"a": 1}, "dump": {"dump_path": "d", "dump_list": [{"more": 1}], "later": 2},
                   "profiler": {"switch": "on"}}"#;
    let working_dir = tempfile::tempdir().unwrap();
    let parse = |text| AclConfig::parse_as_vendor(text, working_dir.path());
    let codes = |text| parse(text).unwrap_err().iter().filter_map(Problem::code).collect::<Vec<_>>();
    assert_eq!(codes(both), ["EP0003"]);
    std::fs::create_dir(working_dir.path().join("d")).unwrap();
    let config = parse(both).unwrap();
    assert!(config.dump.is_some() && config.profiler.is_some() && config.failures_of_process);
    let unknown = |note: &&Note| note.text.contains("does not exist");
    let notes: Vec<&str> = config.notes.iter().filter(unknown).map(|note| note.pointer.as_str()).collect();
    assert_eq!(notes, ["/new", "/dump/later", "/dump/dump_list/0/more"]);

    let wrong = r#"{"profiler": {"switch": "on", "new": 1}, "dump": {"dump_path": "d", "dump_mode": "some"}}"#;
    assert_eq!(codes(wrong), ["EP0002", "EK0005"]);
}

#[test]
fn an_overflow_dump_is_of_inputs_and_outputs_and_without_a_list_of_every_model() {
    let dump = parse(r#"{"dump": {"dump_path": "d", "dump_debug": "on"}}"#).unwrap().dump.expect("a dump");
    assert_eq!((dump.overflow, dump.mode, dump.models.len()), (true, IoSelection::All, 1));
    assert_eq!(dump.models[0].model_name, None);
    assert_eq!(problems(r#"{"dump": {"dump_path": "d", "dump_debug": "yes"}}"#), ["/dump/dump_debug EP0002"]);
}

#[test]
fn what_is_not_json_is_refused_with_line_and_column() {
    for (text, place) in [
        ("", "line 1, column 0"),
        ("{\n  \"dump\": {,}\n}", "line 2, column 12"),
        ("{} x", "line 1, column 4"),
        ("{\"dump\": NaN}", "line 1, column 10"),
    ] {
        assert_eq!(problems(text), [format!("{place} EP0004")], "{text}");
    }
    assert_eq!(problems("[]"), ["top level EP0001"]);
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(problems(&nested(DEEPEST_NESTING)), ["top level EP0001"]);
    for levels in [DEEPEST_NESTING + 1, 100_000] {
        let problems = parse(&nested(levels)).unwrap_err();
        assert!(problems[0].to_string().contains("nested too deep"), "{}", problems[0]);
    }
    // As in the vendor's library, objects and arrays are counted separately.
    let both = |objects: usize, arrays: usize| {
        format!(r#"{}{}{}{}"#, r#"{"a": "#.repeat(objects), "[".repeat(arrays), "]".repeat(arrays), "}".repeat(objects))
    };
    assert_eq!(problems(&both(DEEPEST_NESTING, DEEPEST_NESTING)), ["/a EP0001"], "only the key is wrong");
    for (objects, arrays) in [(DEEPEST_NESTING + 1, 0), (1, DEEPEST_NESTING + 1)] {
        assert!(parse(&both(objects, arrays)).unwrap_err()[0].to_string().contains("nested too deep"));
    }
}

#[test]
fn a_file_that_is_missing_or_no_file_or_too_large_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let read = |path: &Path| AclConfig::read(path, dir.path()).unwrap_err()[0].to_string();
    assert!(read(&dir.path().join("none.json")).contains("no such file"));
    assert!(read(dir.path()).contains("not a regular file"));
    let large = dir.path().join("large.json");
    std::fs::File::create(&large).unwrap().set_len(LARGEST_FILE + 1).unwrap();
    assert!(read(&large).contains("larger than 10 MiB"));
    let latin1 = dir.path().join("latin1.json");
    std::fs::write(&latin1, b"{\n\"dump\": \"\xe4\"}").unwrap();
    assert!(read(&latin1).starts_with("line 2, column 10:"), "{}", read(&latin1));
    let marked = dir.path().join("marked.json");
    std::fs::write(&marked, "\u{feff}{\"profiler\": {\"switch\": \"on\", \"output\": \"p\"}}").unwrap();
    let config = AclConfig::read(&marked, dir.path()).unwrap();
    assert_eq!(config.profiler.unwrap().output, dir.path().join("p"));
}

#[test]
fn names_that_the_model_lacks_are_found() {
    let text = r#"{"dump": {"dump_path": "d", "dump_level": "op", "dump_list": [{"model_name": "digits_cnn",
        "layer": ["/conv1/Conv", "/relu/Rel"], "optype_blacklist": [{"name": "Covn"}],
        "opname_blacklist": [{"name": "nothing like it"}],
        "opname_range": [{"begin": "/fc/Gemm", "end": "/relu/Relu"}, {"begin": "/fc/Gem", "end": "/fc/Gemm"}]}]}}"#;
    let problems = parse(text).unwrap().dump.expect("a dump").check(&MODEL).unwrap_err();
    let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let at = "/dump/dump_list/0";
    let inspect = "write names as the ONNX file has them; `opscope inspect` lists them";
    assert_messages(
        &messages,
        &[
            &format!(r#"{at}/layer/1: the model has no operator "/relu/Rel"; did you mean "/relu/Relu"?"#),
            &format!(
                r#"{at}/opname_range/0: "/fc/Gemm" runs after "/relu/Relu"; let "begin" be the one that runs first"#
            ),
            &format!(r#"{at}/opname_range/1/begin: the model has no operator "/fc/Gem"; did you mean "/fc/Gemm"?"#),
            &format!(r#"{at}/opname_blacklist/0/name: the model has no operator "nothing like it"; {inspect}"#),
            &format!(r#"{at}/optype_blacklist/0/name: the model has no type of operator "Covn"; did you mean "Conv"?"#),
        ],
    );
}

#[test]
fn a_model_is_known_by_its_files_name_up_to_the_first_dot_and_by_its_graphs_name() {
    assert_eq!(ModelNames::file_stem(Path::new("/m/digits_cnn.v2.onnx")), "digits_cnn");
    let check = |entries: &str| dump_of(entries).check(&MODEL);
    assert_eq!(check(r#"[{"model_name": "digits_cnn"}]"#), Ok(vec![]));
    assert_eq!(check(r#"[{"model_name": "main_graph"}]"#), Ok(vec![]));
    assert_eq!(check("[{}]"), Ok(vec![]));
    // A range may contain a single operator.
    let range = r#"[{"model_name": "digits_cnn", "opname_range": [{"begin": "/relu/Relu", "end": "/relu/Relu"}]}]"#;
    assert_eq!(check(range), Ok(vec![]));
    let problems = check(r#"[{"model_name": "digits_cnn.onnx"}]"#).unwrap_err();
    assert!(problems[0].right.contains("\"digits_cnn\""), "{}", problems[0]);
    let notes = check(r#"[{"model_name": "other"}, {"model_name": "digits_cnn"}]"#).unwrap();
    assert_eq!(notes[0].pointer, "/dump/dump_list/0/model_name");
}

#[test]
fn layers_ranges_and_blacklists_choose_what_is_captured() {
    let captured = |entries: &str, mode: IoSelection| -> Vec<String> {
        let selected = DumpSection { mode, ..dump_of(entries) }.selected_slots(&MODEL);
        let slots =
            |at| [position(Io::Input, 0), position(Io::Input, 1), position(Io::Output, 0)].map(|slot| (at, slot));
        let all = (0..OPERATORS.len()).flat_map(slots);
        all.filter(|(at, slot)| selected.contains(*at, *slot))
            .map(|(at, slot)| format!("{at}.{}{}", slot.io, slot.slot))
            .collect()
    };
    let all = ["0.output0", "1.output0", "2.output0", "3.output0"];
    assert_eq!(captured("[{}]", IoSelection::Outputs), all);
    assert_eq!(captured(r#"[{"layer": ["/fc/Gemm"]}]"#, IoSelection::All), ["3.input0", "3.input1", "3.output0"]);
    assert_eq!(captured(r#"[{"layer": ["/fc/Gemm"]}]"#, IoSelection::Inputs), ["3.input0", "3.input1"]);
    assert_eq!(captured(r#"[{"model_name": "other"}]"#, IoSelection::All), [""; 0]);
    let range = r#"[{"model_name": "main_graph", "layer": ["/fc/Gemm"],
                     "opname_range": [{"begin": "/conv1/Conv", "end": "/relu/Relu"}]}]"#;
    assert_eq!(captured(range, IoSelection::Outputs), ["0.output0", "1.output0", "3.output0"]);
    let blacklists = r#"[{"optype_blacklist": [{"name": "Conv"}, {"name": "Gemm", "pos": ["input1"]}],
                          "opname_blacklist": [{"name": "/fc/Gemm", "pos": ["output0"]}, {"name": "/relu/Relu"}]}]"#;
    assert_eq!(captured(blacklists, IoSelection::All), ["2.input0", "2.input1", "2.output0", "3.input0"]);
    let two = r#"[{"optype_blacklist": [{"name": "Conv"}]}, {"layer": ["/conv1/Conv"]}]"#;
    assert_eq!(captured(two, IoSelection::Outputs), all, "the second entry brings back what the first leaves out");
}

/// Text that gets far into the reader: real keys and words in any arrangement.
fn likely_json(depth: u32) -> BoxedStrategy<String> {
    let words = [
        "dump",
        "profiler",
        "dump_path",
        "dump_list",
        "dump_mode",
        "dump_stats",
        "dump_step",
        "dump_level",
        "layer",
        "model_name",
        "opname_range",
        "opname_blacklist",
        "pos",
        "name",
        "begin",
        "end",
        "switch",
        "output",
        "storage_limit",
        "on",
        "op",
        "all",
        "stats",
        "input0",
        "0|3-9",
        "watcher",
        "dump_scene",
        "",
        "é\\u0000~/",
    ];
    let word = prop::sample::select(words.to_vec()).prop_map(|word| format!("\"{word}\""));
    let leaf = prop_oneof![word.clone(), any::<i64>().prop_map(|n| n.to_string()), Just("null".to_owned())];
    leaf.prop_recursive(depth, 64, 6, move |inner| {
        let member = (word.clone(), inner.clone()).prop_map(|(key, value)| format!("{key}:{value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(member, 0..6).prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    })
    .boxed()
}

/// Reading any file returns a configuration or at least one problem, and checking it never panics.
fn ends_well(text: &str) {
    match parse(text) {
        Ok(config) => {
            if let Some(dump) = config.dump {
                let _ = dump.check(&MODEL);
                assert!(!dump.models.is_empty());
                dump.selected_slots(&MODEL);
            }
        }
        Err(problems) => {
            assert!(problems.iter().all(|problem| !problem.to_string().is_empty()) && !problems.is_empty())
        }
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>()) {
        ends_well(&text);
    }

    #[test]
    fn no_arrangement_of_real_keys_panics(dump in likely_json(6), profiler in likely_json(3)) {
        ends_well(&format!(r#"{{"dump":{dump},"profiler":{profiler}}}"#));
    }

    #[test]
    fn no_bytes_in_a_file_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(text) = json::decode(bytes) {
            ends_well(&text);
        }
    }
}
