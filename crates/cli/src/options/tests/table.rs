//! Every option of a benchmark, and its effect.

use super::*;

/// The effect of an option.
pub(super) enum Fate {
    /// It changes the request, without a note.
    Works(fn(&BenchmarkRequest) -> bool),
    /// It is accepted with this note.
    Noted(&'static str),
    /// It is refused with this message.
    Refused(&'static str),
}
use Fate::*;

/// Every option: its name, an example of its value, what else the command line needs, and its effect.
pub(super) const OPTIONS: &[(&str, &str, &str, Fate)] = &[
    ("model", "m.onnx", "", Works(|r| r.job.model.as_os_str() == "m.onnx")),
    (
        "input",
        "a.npy,dir",
        "m.onnx",
        Works(
            |r| matches!(&r.job.inputs, InputSpec::Files { paths, join: true } if paths.lists == [["a.npy", "dir"].map(PathBuf::from)]),
        ),
    ),
    ("pure-data-type", "random", "m.onnx", Works(|r| r.job.inputs == InputSpec::Generated(Data::Random(0)))),
    ("seed", "7", "m.onnx -pdt random", Works(|r| r.job.inputs == InputSpec::Generated(Data::Random(7)))),
    ("output", "out", "m.onnx", Works(|r| r.job.output.as_ref().is_some_and(|o| o.directory.as_os_str() == "out"))),
    ("output-dirname", "r1", "m.onnx -o o", Works(|r| r.job.run_name.as_os_str() == "r1")),
    ("overwrite", "1", "m.onnx -o o -od r", Works(|r| r.job.taken == TakenName::Replace)),
    ("outfmt", "npy", "m.onnx -o o", Works(|r| r.job.output.as_ref().unwrap().format == OutputFormat::Npy)),
    ("loop", "5", "m.onnx", Works(|r| r.job.repetition.loops == 5)),
    ("warmup-count", "0", "m.onnx", Works(|r| r.job.repetition.warmups == 0)),
    ("until-stable", "2.5%", "m.onnx", Works(|r| r.job.repetition.until_stable == Some(2.5))),
    ("duration", "2.5", "m.onnx", Works(|r| r.job.repetition.duration == Some(Duration::from_millis(2500)))),
    ("verify", "Off", "m.onnx", Works(|r| r.job.verify.when == Verify::Off)),
    (
        "reference-engine",
        "ort",
        "m.onnx --verify on",
        Works(|r| r.job.verify.reference.as_ref().is_some_and(|spec| spec.name == EngineName::OnnxRuntime)),
    ),
    ("load-budget", "4", "m.onnx", Works(|r| r.job.load_budget.factor() == 4)),
    ("threads", "4", "m.onnx", Works(|r| r.job.repetition.concurrent.get() == 4)),
    ("engine-threads", "2", "m.onnx", Works(|r| r.job.engine_threads.get() == 2)),
    ("engine", "ort", "m.onnx", Works(|r| r.job.engine.name == EngineName::OnnxRuntime)),
    (
        "engine-library",
        "lib.so",
        "m.onnx --engine ort",
        Works(|r| r.job.engine.library.as_deref() == Some(Path::new("lib.so"))),
    ),
    ("provider", "cuda", "m.onnx --engine ort", Works(|r| providers(r) == [("cuda", vec![])])),
    (
        "provider-option",
        "device_id=1",
        "m.onnx --engine ort",
        Refused("--provider-option needs --provider NAME in front of it"),
    ),
    (
        "execution-mode",
        "parallel",
        "m.onnx --engine ort",
        Works(|r| r.job.engine.onnxruntime.execution_mode == ExecutionMode::Parallel),
    ),
    (
        "graph-optimization-level",
        "basic",
        "m.onnx --engine ort",
        Works(|r| r.job.engine.onnxruntime.graph_optimization_level == GraphOptimizationLevel::Basic),
    ),
    ("allow-spinning", "no", "m.onnx --engine ort", Works(|r| !r.job.engine.onnxruntime.allow_spinning)),
    (
        "inter-op-threads",
        "2",
        "m.onnx --engine ort --execution-mode parallel",
        Works(|r| r.job.engine.onnxruntime.inter_op_threads.is_some_and(|threads| threads.get() == 2)),
    ),
    (
        "batch-size",
        "8",
        "m.onnx",
        Works(|r| r.batch == Some(8) && r.job.batch_size.is_none() && r.job.shapes == [ShapeSpec::OpenBatch(8)]),
    ),
    ("output-batchsize-axis", "1", "m.onnx", Works(|r| r.job.output_batch_axis == 1)),
    ("dym-batch", "8", "m.onnx", Works(|r| r.job.shapes == [ShapeSpec::Batch(8)])),
    ("dym-hw", "3,4", "m.onnx", Works(|r| r.job.shapes == [ShapeSpec::HeightWidth(3, 4)])),
    ("dym-dims", "a:1,2", "m.onnx", Works(|r| is_only(&r.job.shapes, "a", &[1, 2]))),
    ("dym-shape", "a:1,2", "m.onnx", Works(|r| is_only(&r.job.shapes, "a", &[1, 2]))),
    (
        "dym-shape-range",
        "a:1~3",
        "m.onnx",
        Works(|r| r.job.shapes.len() == 3 && is_only(&r.job.shapes[1..2], "a", &[2])),
    ),
    (
        "auto-set-dymshape-mode",
        "1",
        "m.onnx -i a",
        Works(|r| matches!(r.job.inputs, InputSpec::Files { join: false, .. })),
    ),
    (
        "auto-set-dymdims-mode",
        "1",
        "m.onnx -i a",
        Works(|r| matches!(r.job.inputs, InputSpec::Files { join: false, .. })),
    ),
    ("profiler", "1", "m.onnx -o o", Works(|r| matches!(r.job.capture, CaptureSpec::Profile { .. }))),
    ("profiler-option", "task-time=off", "m.onnx -o o -pf", Works(|r| !profiler(r).switches.dispatches)),
    ("profiler-size", "9M", "m.onnx -o o -pf", Works(|r| profiler(r).buffer_size == Bytes::mib(9))),
    ("profiler-watermark", "64K", "m.onnx -o o -pf", Works(|r| profiler(r).watermark == Bytes::kib(64))),
    ("profile-budget", "2G", "m.onnx -o o -pf", Works(|r| profiler(r).budget == Some(Bytes::mib(2048)))),
    (
        "timeline-runs",
        "7",
        "m.onnx -o o -pf",
        Works(
            |r| matches!(r.job.capture, CaptureSpec::Profile { timeline_runs: TimelineRuns::Most(most), .. } if most.get() == 7),
        ),
    ),
    ("profiler-policy", "Discard", "m.onnx -o o -pf", Works(|r| profiler(r).when_full == trace::Policy::Discard)),
    (
        "dump",
        "1",
        "m.onnx -o o",
        Works(|r| dumped(r).selection.io == IoSelection::Outputs && dumped(r).delivery.is_none()),
    ),
    (
        "dump-operator",
        "/conv1",
        "m.onnx -o o --dump",
        Works(|r| matches!(&dumped(r).selection.operators[..], [Pattern::Exact(name)] if name == "/conv1")),
    ),
    (
        "dump-type",
        "Conv",
        "m.onnx -o o --dump",
        Works(|r| matches!(&dumped(r).selection.op_types[..], [Pattern::Exact(name)] if name == "Conv")),
    ),
    ("dump-range", "a..b", "m.onnx -o o --dump", Works(|r| dumped(r).selection.ranges[0].end == "b")),
    ("dump-io", "all", "m.onnx -o o --dump", Works(|r| dumped(r).selection.io == IoSelection::All)),
    ("dump-slot", "1", "m.onnx -o o --dump", Works(|r| dumped(r).selection.slots == Some(vec![1]))),
    (
        "dump-run",
        "0|5-10",
        "m.onnx -o o --dump",
        Works(|r| dumped(r).selection.runs == "0|5-10".parse::<Runs>().unwrap()),
    ),
    ("dump-first", "3", "m.onnx -o o --dump", Works(|r| dumped(r).selection.first == Some(3))),
    ("dump-non-finite", "1", "m.onnx -o o --dump", Works(|r| dumped(r).selection.only_non_finite)),
    ("dump-budget", "1M", "m.onnx -o o --dump", Works(|r| dumped(r).selection.byte_budget == Some(1 << 20))),
    (
        "dump-format",
        "ascend",
        "m.onnx -o o --dump",
        Works(|r| matches!(r.job.capture, CaptureSpec::Dump { format, .. } if format == &DumpFormat::ASCEND)),
    ),
    ("dump-cap", "64M", "m.onnx -o o --dump", Works(|r| policy(r).0 == 64 << 20 && policy(r).1.name() == "block")),
    ("dump-policy", "spill", "m.onnx -o o --dump", Works(|r| policy(r) == (224 << 20, &Policy::all()[2]))),
    (
        "dump-histograms",
        "1",
        "m.onnx -o o --dump",
        Works(|r| matches!(r.job.capture, CaptureSpec::Dump { histograms: true, .. })),
    ),
    ("dump-estimate", "1", "m.onnx --dump", Works(|r| matches!(r.action, Action::EstimateDump))),
    ("acl-json-path", "a.json", "m.onnx", Works(|r| matches!(r.action, Action::AclJson { check_only: false, .. }))),
    ("check", "1", "m.onnx -acl a", Works(|r| matches!(r.action, Action::AclJson { check_only: true, .. }))),
    ("tool", "./libclient.so", "m.onnx", Works(|r| r.tools == [Path::new("./libclient.so")])),
    ("debug-server", "", "m.onnx", Works(|r| r.debug_server == Some(DebugServerSpec { path: None }))),
    ("details", "1", "m.onnx", Works(|r| r.reporting.text == TextForm::Details)),
    ("rows", "3", "m.onnx", Works(|r| r.reporting.rows == 3)),
    ("json", "1", "m.onnx", Works(|r| r.reporting.json)),
    ("isolate", "1", "m.onnx", Works(|r| r.job.survives_crash)),
    ("quiet", "1", "m.onnx", Works(|r| r.reporting.quiet)),
    ("debug", "1", "m.onnx", Works(|r| r.reporting.debug)),
    ("device", "0", "m.onnx", Noted("--device 0: there is one device here, the CPU")),
    ("run-mode", "tensor", "m.onnx", Noted("--run-mode tensor: host and device share one memory")),
    ("display-all-summary", "1", "m.onnx", Noted("the copies in and out are always shown")),
    ("output-size", "4096,1024", "m.onnx", Noted("the engine knows the sizes")),
    ("dump-npy", "1", "m.onnx -o o --dump", Noted("a dump is npy files here anyway")),
    ("pipeline", "1", "m.onnx", Noted("set by --threads alone")),
    ("divide-input", "1", "m.onnx", Noted("one device here")),
    ("profiler-rename", "1", "m.onnx", Noted("no files of msprof")),
    ("energy-consumption", "1", "m.onnx", Noted("the energy is not measured")),
    ("npu-id", "3", "m.onnx", Noted("there is no NPU here")),
    ("aipp-config", "a.config", "m.onnx", Refused("preprocess the inputs and pass them with --input")),
    ("backend", "trtexec", "m.onnx", Refused("--backend trtexec: it would start another program")),
    ("perf", "1", "m.onnx", Refused("it belongs to --backend")),
];

#[test]
fn every_option_in_every_spelling_works_or_is_noted_or_is_refused_with_a_reason() {
    for (option, value, rest, fate) in OPTIONS {
        let spelling = SPELLINGS.iter().find(|spelling| spelling.long == *option);
        let others = spelling.map_or(&[][..], |spelling| spelling.others);
        let mut names = vec![format!("--{option}"), format!("--{}", option.replace('-', "_"))];
        names.extend(others.iter().map(|other| (*other).to_owned()));
        names.extend(others.iter().filter(|o| o.starts_with("--")).map(|o| format!("--{}", o[2..].replace('-', "_"))));
        let mut lines: Vec<_> = names
            .iter()
            .flat_map(|name| match *value {
                "" => [format!("{name} {rest}"), format!("{rest} {name}")],
                value => [format!("{name} {value} {rest}"), format!("{rest} {name}={value}")],
            })
            .collect();
        if spelling.is_some_and(|spelling| spelling.boolean) {
            lines.extend(names.iter().flat_map(|name| [format!("{name} {rest}"), format!("{rest} {name}")]));
        }
        for line in lines {
            match fate {
                Works(check) => {
                    assert!(check(&request(&line)), "{line}");
                    assert_eq!(notes(&line), [""; 0], "{line}");
                }
                Noted(text) => {
                    assert!(notes(&line).iter().any(|note| note.contains(text)), "{line}: {:?}", notes(&line))
                }
                Refused(text) => assert!(refusal(&line).contains(text), "{line}: {}", refusal(&line)),
            }
        }
    }
}

#[test]
fn no_option_is_missing_from_the_table_of_options() {
    let program = Program::command();
    let command = program.find_subcommand("benchmark").unwrap();
    let known: BTreeSet<&str> =
        command.get_arguments().filter_map(|argument| argument.get_long()).filter(|long| *long != "help").collect();
    let tested: BTreeSet<&str> = OPTIONS.iter().map(|(option, ..)| *option).collect();
    assert_eq!(known, tested);
    assert!(SPELLINGS.iter().all(|spelling| known.contains(spelling.long)));
    Program::command().debug_assert();
}

#[test]
fn the_page_of_options_names_every_option_in_every_spelling() {
    let page = include_str!("../../../../../docs/options.md");
    let names = OPTIONS.iter().map(|(option, ..)| format!("--{option}"));
    let others = SPELLINGS.iter().flat_map(|spelling| spelling.others);
    // The page spells the other tools' names as they do, with `_`.
    let hyphened = page.replace('_', "-");
    for name in names.chain(others.map(|name| (*name).to_owned())) {
        assert!(hyphened.contains(&format!("`{name}")), "{name}");
    }
}
