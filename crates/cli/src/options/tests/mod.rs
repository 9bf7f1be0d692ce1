mod table;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{CommandFactory, Parser};
use opscope::dump::{Delivery, DumpFormat, IoSelection, Pattern, Policy, Request, Runs};
use opscope::engine::{EngineName, ExecutionMode, GraphOptimizationLevel};
use opscope::profile::{ProfilerOptions, Switches, TimelineRuns};
use opscope::trace::{self, Bytes};
use opscope_job::benchmark::{CaptureSpec, OutputFormat, OutputNames, Repetition, TakenName};
use opscope_job::inputs::{Data, InputSpec, NamedShape, ShapeSpec};
use opscope_job::verify::Verify;
use proptest::prelude::*;

use self::table::OPTIONS;
use super::request::Resolved;
use super::spellings::SPELLINGS;
use super::*;

#[derive(Debug, Parser)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Benchmark(Box<BenchmarkArguments>),
}

/// Returns the result of a command line, or its error as text.
fn run_words(words: Vec<OsString>, environment: &Environment) -> Result<Resolved, String> {
    let Command::Benchmark(arguments) = Program::try_parse_from(expand(words)).map_err(|e| e.to_string())?.command;
    resolve(*arguments, environment).map_err(|refusal| refusal.to_string())
}

fn run(line: &str) -> Result<Resolved, String> {
    let words = ["opscope", "benchmark"].into_iter().chain(line.split_whitespace()).map(OsString::from);
    run_words(words.collect(), &Environment::default())
}

fn request(line: &str) -> BenchmarkRequest {
    run(line).unwrap_or_else(|error| panic!("{line}: {error}")).request
}

fn refusal(line: &str) -> String {
    run(line).expect_err(line)
}

fn notes(line: &str) -> Vec<String> {
    let resolved = run(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    resolved.notes.iter().map(ToString::to_string).collect()
}

fn dumped(request: &BenchmarkRequest) -> &Request {
    match &request.job.capture {
        CaptureSpec::Dump { request, .. } => request,
        other => panic!("{other:?} is not a dump"),
    }
}

fn policy(request: &BenchmarkRequest) -> (usize, &Policy) {
    match &dumped(request).delivery {
        Some(Delivery::Queued(flow)) => (flow.cap, &flow.policy),
        other => panic!("{other:?} is not a queue"),
    }
}

fn profiler(request: &BenchmarkRequest) -> &ProfilerOptions {
    match &request.job.capture {
        CaptureSpec::Profile { options, .. } => options,
        other => panic!("{other:?} is not a profile"),
    }
}

fn providers(request: &BenchmarkRequest) -> Vec<(&str, Vec<(&str, &str)>)> {
    fn words((key, value): &(String, String)) -> (&str, &str) {
        (key, value)
    }
    let providers = request.job.engine.onnxruntime.providers.iter();
    providers.map(|provider| (provider.name.as_str(), provider.options.iter().map(words).collect())).collect()
}

fn is_only(shapes: &[ShapeSpec], name: &str, dims: &[usize]) -> bool {
    shapes == [ShapeSpec::Fixed(vec![NamedShape { name: name.to_owned(), dims: dims.to_vec() }])]
}

#[test]
fn the_short_names_are_those_of_the_original() {
    let found: BTreeSet<&str> = SPELLINGS.iter().flat_map(|spelling| spelling.others).copied().collect();
    let shorts = "-i -o -od -pf -acl -om -m -wcount -pdt -db -dhw -dd -ds -dr -d -das -rm -outsize -asdsm -asddm -oba \
                  -aipp -ec";
    for short in shorts.split_whitespace() {
        assert!(found.contains(short), "{short}");
    }
}

#[test]
fn the_seeds_three_command_lines_are_understood() {
    let request_of = |rest: &str| request(&format!("--om-model ./resnet50_v1.onnx {rest}"));
    let acl = request_of("--acl-json-path ./acl.json");
    let Action::AclJson { path, check_only: false, profiler: options } = acl.action else { panic!("{:?}", acl.action) };
    assert_eq!((path.to_str(), acl.job.output), (Some("./acl.json"), None));
    assert_eq!(format!("{options:?}"), format!("{:?}", ProfilerOptions::default()));
    let dump = request_of("--output ./ --dump 1");
    let CaptureSpec::Dump { directory, format, .. } = &dump.job.capture else { panic!("{:?}", dump.job.capture) };
    assert_eq!((directory, *format), (&Path::new("./dump").join(&dump.job.run_name), &DumpFormat::NPY));
    let profile = request_of("--output ./ --profiler 1");
    let CaptureSpec::Profile { directory, options, exports, .. } = &profile.job.capture else { panic!("{profile:?}") };
    assert_eq!(directory, &Path::new("./profiler").join(&profile.job.run_name));
    assert_eq!((options.switches, exports.len()), (Switches::default(), 3));
}

#[test]
fn without_another_tools_spelling_or_a_number_of_runs_it_measures_for_two_seconds() {
    let (two, warm_up) = (Some(Duration::from_secs(2)), Duration::from_millis(200));
    for line in [
        "m.onnx",
        "m.onnx -o o",
        "m.onnx --profiler -o o",
        "m.onnx --threads 2",
        "m.onnx --details",
        "m.onnx --outfmt NPY",
    ] {
        let repetition = request(line).job.repetition;
        assert_eq!((repetition.loops, repetition.warmups), (1, 1), "{line}");
        assert_eq!((repetition.duration, repetition.warm_up), (two, warm_up), "{line}");
    }
    let once = Repetition::default();
    let counted = request("m.onnx --warmup-count 3").job.repetition;
    assert_eq!((counted.warmups, counted.duration, counted.warm_up), (3, two, Duration::ZERO));
    for line in ["-om m.onnx", "--model m.onnx", "m.onnx --loop 1"] {
        assert_eq!(request(line).job.repetition, once, "{line}");
    }
    for line in ["m.onnx --debug-server", "m.onnx --tool ./t.so", "m.onnx -acl a.json"] {
        assert_eq!(request(line).job.repetition, once, "{line}");
    }
    let dumped = request("m.onnx --dump -o o").job.repetition;
    assert_eq!(dumped, Repetition { warmups: 0, ..once });
    let said = request("m.onnx --duration 5").job.repetition;
    assert_eq!((said.duration, said.warm_up), (Some(Duration::from_secs(5)), Duration::ZERO));
}

#[test]
fn the_text_is_a_screen_or_all_details_or_that_of_the_other_tool() {
    for (line, form) in [
        ("m.onnx", TextForm::Screen),
        ("m.onnx --details", TextForm::Details),
        ("-om m.onnx", TextForm::OtherTools),
        ("-om m.onnx --details", TextForm::OtherTools),
    ] {
        assert_eq!(request(line).reporting.text, form, "{line}");
    }
}

#[test]
fn what_is_not_given_has_the_originals_defaults() {
    let BenchmarkRequest { job, action, reporting, .. } = request("-om m.onnx");
    assert_eq!((job.repetition.concurrent.get(), job.engine_threads.get()), (1, 1));
    assert_eq!((job.repetition, job.inputs), (Repetition::default(), InputSpec::Generated(Data::Zero)));
    assert_eq!((job.shapes, job.output, job.batch_size), (vec![ShapeSpec::Smallest], None, None));
    let text = TextForm::OtherTools;
    assert_eq!(reporting, Reporting { text, rows: 10, json: false, quiet: false, debug: false });
    assert!(matches!((action, job.capture), (Action::Run, CaptureSpec::Nothing)));
}

#[test]
fn outputs_have_their_own_names_and_other_tools_those_that_they_expect() {
    let of = |line: &str| {
        let output = request(line).job.output.unwrap();
        (output.format, output.names)
    };
    for (line, format) in [
        ("m.onnx --output o", OutputFormat::Npy),
        ("m.onnx -o o --warmup-count 0", OutputFormat::Npy),
        ("m.onnx -o o --outfmt TXT", OutputFormat::Txt),
    ] {
        assert_eq!(of(line), (format, OutputNames::OfOutputs), "{line}");
    }
    for (line, format) in [
        ("--om-model m.onnx --output o", OutputFormat::Bin),
        ("-om m.onnx --output o --outfmt NPY", OutputFormat::Npy),
        ("-om m.onnx --output o --outfmt TXT", OutputFormat::Txt),
    ] {
        assert_eq!(of(line), (format, OutputNames::OfInputFiles), "{line}");
    }
}

#[test]
fn a_taken_name_is_refused_unless_another_tool_would_number_it_or_it_is_to_be_replaced() {
    let of = |line: &str| request(line).job.taken;
    assert_eq!(of("m.onnx --output o --output-dirname r"), TakenName::Refuse);
    assert_eq!(of("m.onnx --output o"), TakenName::Number, "the name is the time");
    assert_eq!(of("-om m.onnx -o o -od r"), TakenName::Number);
    assert_eq!(of("m.onnx -o o -od r --overwrite"), TakenName::Replace);
    assert!(refusal("m.onnx -o o --overwrite").contains("--overwrite needs --output-dirname"));
}

#[test]
fn acl_json_outranks_profiler_and_dump_and_needs_no_output() {
    let line = "m.onnx -acl a.json --profiler --dump --profiler-option task-time=off";
    let BenchmarkRequest { job, action, .. } = request(line);
    assert!(matches!((action, job.capture), (Action::AclJson { .. }, CaptureSpec::Nothing)));
    let resolved = run(line).unwrap();
    let warned: Vec<_> = resolved.notes.iter().map(|note| (note.kind, note.option.as_str())).collect();
    let expected = ["--profiler", "--dump", "--profiler-option"].map(|option| (NoteKind::Warning, option));
    assert_eq!(warned, expected);
}

#[test]
fn the_seeds_rules_are_refusals_that_say_what_to_do() {
    for (line, says) in [
        ("m.onnx --profiler", "--profiler needs --output"),
        ("m.onnx --dump", "--dump needs --output"),
        ("m.onnx -o o --dump --profiler", "distorts the times"),
        ("m.onnx -o o --dump --profiler", "run twice"),
        ("m.onnx -od r", "--output-dirname needs --output"),
        ("m.onnx --overwrite", "--overwrite needs --output"),
        ("m.onnx -o o -od /r", "would not lie in the directory of --output"),
        ("m.onnx -o o -od a/../../r", "would not lie in the directory of --output"),
        ("m.onnx -o o -od=", "a value is required for '--output-dirname"),
        ("m.onnx -o o --dump-npy", "--dump-npy needs --dump"),
        ("m.onnx --check", "--check needs --acl-json-path"),
        ("m.onnx -asdsm", "--auto-set-dymshape-mode needs --input"),
        ("m.onnx -db 1 -ds a:1", "--dym-batch and --dym-shape exclude each other"),
        ("m.onnx --profiler-size 1M", "--profiler-size needs --profiler"),
        ("m.onnx --profiler-option aicpu=on", "--profiler-option needs --profiler"),
        ("m.onnx --profile-budget 1G", "--profile-budget needs --profiler"),
        ("m.onnx --timeline-runs 3", "--timeline-runs needs --profiler"),
        (
            "m.onnx -o o -pf --profile-budget much",
            "write a size above 0 such as 65536, 64K or 8M (powers of 1024), or none",
        ),
        ("m.onnx -o o -pf --timeline-runs 0", "a number from 1, or 'all', would be right"),
        ("m.onnx -o o -pf --profiler-size 1K --profiler-watermark 2K", "2048 bytes are more than the 1024 bytes"),
        (
            "m.onnx -o o -pf --profiler-option speed=on",
            "there is no profiler switch 'speed'; there are model-execution, ",
        ),
        (
            "m.onnx -o o -pf --profiler-option task-time",
            "'task-time' is not a profiler switch: write KEY=on or KEY=off",
        ),
        ("m.onnx -o o -pf --profiler-option task-time=1", "profiler switch 'task-time' is on or off, not '1'"),
        ("m.onnx -d 0,1", "for several runs at a time use --threads"),
        ("m.onnx -d 256", "'256' is not a device"),
        ("m.onnx -outsize x", "'x' is not a list of sizes"),
        ("m.onnx -i a,,b", "has an empty entry"),
        ("resnet50_v1_bs1_fp32.OM", "pass the ONNX file it was converted from"),
        ("--loop 1", "no model was given"),
        ("a.onnx -om b.onnx", "the model was given twice, as 'a.onnx' and as `--model b.onnx`"),
        ("m.onnx --loop 0", "invalid value '0' for '--loop"),
        ("m.onnx --until-stable nan", "above 0 and up to 100"),
        ("m.onnx --duration 0", "a number of seconds above 0"),
        ("m.onnx --duration nan", "a number of seconds above 0"),
        ("m.onnx --duration 1e300", "a number of seconds above 0"),
        ("m.onnx -o o --dump --dump-io both", "[possible values: inputs, outputs, all]"),
        ("m.onnx --verify maybe", "[possible values: auto, on, off]"),
        ("m.onnx -o o --dump --dump-range a..", "'a..' is not a range; write two names"),
        ("m.onnx -o o --dump --dump-run x", "--dump-run: "),
        ("m.onnx -o o --dump --dump-format ascend --dump-histograms", "--dump-format exclude each other"),
        ("m.onnx -o o --dump --dump-cap 63K", "--dump-cap: 64512 bytes are too few; write 64K or more"),
        ("m.onnx --dump=maybe -o o", "write one of 1, true"),
        ("m.onnx --outfmt CSV -o o", "[possible values: NPY, BIN, TXT]"),
        ("m.onnx --prfiler", "a similar argument exists: '--profiler"),
        ("m.onnx --npu-id 2049", "2049 is not in"),
    ] {
        assert!(refusal(line).contains(says), "{line}: {}", refusal(line));
    }
    let many = vec!["a"; 1025].join(",");
    assert!(refusal(&format!("m.onnx -i {many}")).contains("1025 entries are more than 1024"));
}

#[test]
fn what_is_switched_off_counts_as_not_given() {
    let line = "m.onnx --profiler 0 --dump=no --perf f -asdsm 0 --dym-batch 0 --check n --divide-input 0";
    let unnamed = |line| format!("{:?}", request(&format!("{line} -o o -od r")));
    assert_eq!(unnamed(line), unnamed("m.onnx"));
    assert_eq!(notes(line), [""; 0]);
    assert_eq!(request("m.onnx --loop 2 --loop 3").job.repetition.loops, 3, "the last one counts");
}

#[test]
fn profiler_options_are_the_seeds_and_may_be_repeated() {
    let switches = profiler(&request("m.onnx -o o -pf")).switches;
    let defaults = Switches {
        runs: true,
        dispatches: true,
        tensor_memory: false,
        calls: true,
        machine_memory: true,
        processors: false,
        machine: false,
        process: false,
    };
    assert_eq!(switches, defaults);
    let all = "model-execution task-time task-memory runtime-api sys-hardware-mem sys-cpu-profiling sys-profiling sys-pid-profiling";
    let line = |value: &str| {
        let options = all.split(' ').map(|key| format!(" --profiler-option {key}={value}"));
        format!("m.onnx -o o -pf{}", options.collect::<String>())
    };
    let off = Switches { runs: false, dispatches: false, calls: false, machine_memory: false, ..defaults };
    assert_eq!(profiler(&request(&line("off"))).switches, off);
    let on = Switches { tensor_memory: true, processors: true, machine: true, process: true, ..defaults };
    assert_eq!(profiler(&request(&line("on"))).switches, on);
    let noted = notes("m.onnx -o o -pf --profiler-option dvpp-profiling=on --profiler-option aicpu=off");
    assert_eq!(
        noted,
        ["--profiler-option dvpp-profiling=on: no such unit here", "--profiler-option aicpu=off: no such unit here"]
    );
}

#[test]
fn a_profile_of_given_inputs_keeps_its_warm_up_and_says_so() {
    let line = "m.onnx -o o -pf -i a.npy -wcount 3";
    assert_eq!(request(line).job.repetition.warmups, 3);
    assert!(notes(line)[0].contains("its account leaves them out"));
}

#[test]
fn the_switch_for_raw_recordings_is_known_by_all_its_names() {
    let words = || ["opscope", "benchmark", "m.onnx", "-o", "o", "-pf"].map(OsString::from).to_vec();
    let is_exported = |request: &BenchmarkRequest| matches!(&request.job.capture, CaptureSpec::Profile { exports, .. } if !exports.is_empty());
    let variables = ["GE_PROFILING_TO_STD_OUT", "GE_PROFILIGN_TO_STD_OUT", "AIT_NO_MSPROF_MODE", "MSIT_NO_MSPROF_MODE"];
    for variable in variables {
        let resolved = run_words(words(), &Environment::from_iter([(variable, "1")])).unwrap();
        assert!(!is_exported(&resolved.request), "{variable}");
        assert!(resolved.notes[0].to_string().starts_with(variable));
        assert!(resolved.notes[0].text.contains("opscope export DIR"));
        let off = run_words(words(), &Environment::from_iter([(variable, "0")])).unwrap();
        assert!(is_exported(&off.request) && off.notes.is_empty());
    }
}

#[test]
fn an_option_of_a_provider_belongs_to_the_one_in_front_of_it() {
    let line = "m.onnx --engine onnxruntime --provider tensorrt --provider_option a=1 --provider-option b=x=y --provider cuda \
                --provider-option device_id=1 --provider cpu";
    let expected = [("tensorrt", vec![("a", "1"), ("b", "x=y")]), ("cuda", vec![("device_id", "1")]), ("cpu", vec![])];
    assert_eq!(providers(&request(line)), expected);
    for wrong in ["device_id", "=1"] {
        let refused = refusal(&format!("m.onnx --engine ort --provider cuda --provider-option {wrong}"));
        assert!(refused.contains("write KEY=VALUE"), "{refused}");
    }
}

#[test]
fn options_of_onnx_runtime_are_refused_where_another_engine_runs_the_model() {
    for option in [
        "--engine-library lib.so",
        "--provider cpu",
        "--execution-mode parallel",
        "--graph-optimization-level all",
        "--allow-spinning 1",
        "--inter-op-threads 2",
    ] {
        let name = option.split(' ').next().unwrap();
        let expected = format!(
            "{name} belongs to onnxruntime, and tract runs the model; add --engine onnxruntime, or leave it out"
        );
        assert_eq!(refusal(&format!("m.onnx {option}")), expected);
        assert_eq!(refusal(&format!("m.onnx {option} --engine tract")), expected);
    }
    let needs = refusal("m.onnx --engine ort --inter-op-threads 2");
    assert!(needs.contains("--inter-op-threads needs --execution-mode parallel"), "{needs}");
    assert!(refusal("m.onnx --engine mxnet").contains("[possible values: tract, onnxruntime]"));
}

#[test]
fn the_environment_names_the_engine_where_no_option_does() {
    let engine = |line: &str, value: &str| {
        let words = ["opscope", "benchmark", "m.onnx"].into_iter().chain(line.split_whitespace()).map(OsString::from);
        let resolved = run_words(words.collect(), &Environment::from_iter([("OPSCOPE_ENGINE", value)]));
        resolved.map(|resolved| resolved.request.job.engine.name)
    };
    assert_eq!(engine("", "ort"), Ok(EngineName::OnnxRuntime));
    assert_eq!(engine("--provider cpu", "onnxruntime"), Ok(EngineName::OnnxRuntime));
    assert_eq!(engine("--engine tract", "ort"), Ok(EngineName::Tract));
    assert_eq!(engine("", ""), Ok(EngineName::Tract));
    let wrong = engine("", "mxnet").unwrap_err();
    assert_eq!(wrong, "OPSCOPE_ENGINE: there is no engine 'mxnet'; there are tract and onnxruntime (short: ort)");
}

proptest! {
    #[test]
    fn no_command_line_panics(words in prop::collection::vec(likely_word(), 0..8)) {
        let words = ["opscope".to_owned(), "benchmark".to_owned()].into_iter().chain(words).map(OsString::from);
        let _ = run_words(words.collect(), &Environment::default());
    }
}

/// An option in some spelling, a value, or anything.
fn likely_word() -> BoxedStrategy<String> {
    let names: Vec<String> = OPTIONS
        .iter()
        .map(|(name, ..)| format!("--{name}"))
        .chain(SPELLINGS.iter().flat_map(|spelling| spelling.others).map(|name| (*name).to_owned()))
        .collect();
    let values: Vec<String> = OPTIONS.iter().map(|(_, value, ..)| (*value).to_owned()).collect();
    let name = prop::sample::select(names);
    let value = prop_oneof![prop::sample::select(values), "[0-9a-z~,;:-]{0,12}", any::<String>()];
    prop_oneof![name.clone(), value.clone(), (name, value).prop_map(|(name, value)| format!("{name}={value}"))].boxed()
}

#[test]
fn several_tools_keep_their_order_and_are_only_there_where_something_runs() {
    let tools = request("m.onnx --tool a.so --tool=b.so --tool a.so").tools;
    assert_eq!(tools, ["a.so", "b.so", "a.so"].map(Path::new));
    for line in ["m.onnx --tool a.so -acl a --check", "m.onnx --tool a.so --dump --dump-estimate"] {
        assert!(refusal(line).contains("nothing runs then that a tool could trace"), "{line}");
    }
}

#[test]
fn the_debug_server_takes_a_path_only_behind_its_equals_sign_and_only_where_something_runs() {
    let server = |line| request(line).debug_server;
    assert_eq!(server("m.onnx"), None);
    assert_eq!(server("--debug-server=/tmp/a.sock m.onnx").unwrap().path.unwrap().to_str(), Some("/tmp/a.sock"));
    assert_eq!(server("--debug-server m.onnx"), Some(DebugServerSpec { path: None }));
    for line in ["m.onnx --debug-server -acl a --check", "m.onnx --debug-server --dump --dump-estimate"] {
        assert!(refusal(line).contains("nothing runs then"), "{}", refusal(line));
    }
}
