//! The help in its three lengths, a model in place of a command, and the messages for words of other tools.

mod process;

use process::{Ended, Workplace, end, model};

const COMMANDS: [&str; 15] = [
    "benchmark",
    "export",
    "import",
    "precision",
    "compare",
    "reduce",
    "inspect",
    "report",
    "debug",
    "torch",
    "engines",
    "machine",
    "recover",
    "completions",
    "vendor-env",
];

fn opscope(place: &Workplace, arguments: &[&str]) -> Ended {
    end(place.command(arguments).env("COLUMNS", "80"))
}

fn help(arguments: &[&str]) -> String {
    let ended = opscope(&Workplace::new(), arguments);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    ended.stdout
}

#[test]
fn the_short_help_of_every_command_is_one_screen_with_three_examples() {
    for command in [&[][..]].into_iter().chain(COMMANDS.each_ref().map(std::slice::from_ref)) {
        let text = help(&[command, &["-h"]].concat());
        assert!(text.lines().count() <= 24, "{command:?} has {} lines:\n{text}", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let examples = text.split("Examples:\n").nth(1).expect("examples").split("\n\n").next().unwrap();
        assert_eq!(examples.lines().filter(|line| line.starts_with("  opscope ")).count(), 3, "{text}");
    }
}

#[test]
fn options_of_other_tools_are_only_in_the_longest_help_and_not_completed() {
    let foreign = ["--npu-id", "--aipp-config", "--energy-consumption", "--backend"];
    let (full, all) = (help(&["benchmark", "--help"]), help(&["benchmark", "--help-all"]));
    let completions = help(&["completions", "bash"]);
    for option in foreign {
        assert!(!full.contains(option) && all.contains(option), "{option}:\n{full}");
        assert!(!completions.contains(option), "{option} is completed");
    }
    assert!(full.contains("--help-all") && full.contains("Exit codes: 0 done, 1 failed"), "{full}");
    for (option, heading) in
        [("--loop <N>", "Measuring:"), ("--dump-type <PATTERN>", "(with --dump):"), ("--seed <N>", "Model and input:")]
    {
        let behind = full.split(heading).nth(1).unwrap_or_else(|| panic!("no {heading} in\n{full}"));
        assert!(behind.contains(option), "{option} is not behind {heading}:\n{full}");
    }
}

#[test]
fn all_defaults_and_values_have_one_style() {
    for command in COMMANDS {
        let text = help(&[command, "--help-all"]);
        for other in ["if not given", "<BOOL>]", "(default", "default:1", "<ENGINE_THREADS>"] {
            assert!(!text.contains(other), "{command}: '{other}' in\n{text}");
        }
    }
}

#[test]
fn help_comes_by_every_spelling_and_without_arguments_as_an_error() {
    assert_eq!(help(&["help", "compare"]), help(&["compare", "--help"]));
    assert_eq!(help(&["help"]), help(&["--help"]));
    let nothing = opscope(&Workplace::new(), &[]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(2), ""), "{nothing:?}");
    assert_eq!(nothing.stderr, help(&["-h"]));
}

#[test]
fn a_model_in_the_place_of_a_command_is_benchmarked() {
    let place = Workplace::new();
    std::fs::copy(model("digits_cnn.onnx"), place.path("m.onnx")).unwrap();
    std::fs::copy(model("digits_cnn.onnx"), place.path("model")).unwrap();
    for line in [&["m.onnx"][..], &["./model"], &["m.onnx", "-wcount", "1", "--loop", "2"]] {
        let ended = opscope(&place, &[line, &["--json", "--loop", "2"]].concat());
        assert_eq!(ended.code, Some(0), "{line:?}: {ended:?}");
        assert_eq!(ended.json()["schema"], opscope(&place, &["benchmark", "m.onnx", "--json"]).json()["schema"]);
    }
    // The model may also come last.
    let ended = opscope(&place, &["--loop", "2", "--json", "m.onnx"]);
    assert_eq!((ended.code, &ended.json()["NPU_compute_time"]["count"]), (Some(0), &2.into()), "{ended:?}");
    opscope(&place, &["--loop", "2", "inspect", "m.onnx"]).refused(2, &["unexpected argument '--loop'"]);
    opscope(&place, &["missing.onnx"]).refused(2, &["missing.onnx"]);
    // A name without a path is a command, even if a file has this name.
    opscope(&place, &["model"]).refused(2, &["unknown command 'model'"]);
}

#[test]
fn words_of_other_tools_get_the_option_that_does_the_same() {
    let place = Workplace::new();
    for (line, says) in [
        (
            "profile m.onnx",
            "which --attach names; to see where the time goes, write: opscope benchmark MODEL --profiler",
        ),
        ("run m.onnx", "opscope benchmark MODEL"),
        ("dump m.onnx", "opscope benchmark MODEL --dump --output DIR"),
        ("diff a b", "opscope compare A B"),
        ("version", "opscope --version"),
        ("benchmark m.onnx --iters 5", "unknown option '--iters'; the number of runs is --loop N"),
        ("benchmark m.onnx --iterations=5", "the number of runs is --loop N"),
        ("m.onnx --runs 5", "the number of runs is --loop N"),
        ("m.onnx --avgRuns=10", "the number of runs is --loop N"),
        ("m.onnx -r 10", "the number of runs is --loop N"),
        ("m.onnx --shape x:1,3", "--dym-shape"),
        ("m.onnx --input-shapes x:[1,3]", "--dym-shape"),
        ("m.onnx --minShapes=x:1x3", "--dym-shape-range"),
        ("m.onnx --loadInputs=x:x.bin", "--input FILES"),
        ("m.onnx --val-range [0,1]", "--pure-data-type"),
        ("m.onnx --out d", "--output DIR"),
        ("m.onnx --fp16", "the types of its file"),
        ("m.onnx --gpu", "--provider"),
        ("m.onnx --trt", "--provider"),
        ("m.onnx --onnxrt", "--engine onnxruntime"),
        ("m.onnx -e cpu", "--engine onnxruntime"),
        ("m.onnx -x 4", "--engine-threads N"),
        ("-m times", "--help"),
        ("benchmark -m times -r 5 m.onnx", "-m names the model here; write --loop N"),
        ("m.onnx --useCudaGraph", "TensorRT"),
        ("compare a b --rtol 1e-3", "--tolerance REL"),
        ("compare a b --atol 1e-3", "--tolerance REL"),
        ("compare a b --check-error-stat mean", "--tolerance REL"),
    ] {
        opscope(&place, &line.split(' ').collect::<Vec<_>>()).refused(2, &[says]);
    }
}

#[test]
fn a_number_that_an_option_does_not_take_is_answered_with_those_that_it_takes() {
    let place = Workplace::new();
    for (line, says) in [
        ("m.onnx --loop 0", "--loop: '0' is not a number that it takes; write 1 or more"),
        ("m.onnx --loop abc", "--loop: 'abc' is not a number that it takes; write 1 or more"),
        ("m.onnx --loop -1", "--loop: '-1' is not a number that it takes; write 1 or more"),
        ("m.onnx --threads=1.5", "--threads: '1.5' is not a number that it takes; write 1 or more"),
        ("m.onnx -wcount -2", "--warmup-count: '-2' is not a number that it takes; write 0 or more"),
        ("m.onnx --seed 99999999999999999999", "--seed: 99999999999999999999 is too large"),
        ("inspect m.onnx --rows x", "--rows: 'x' is not a number that it takes; write 0 or more"),
        ("compare a b --engine-threads 0", "--engine-threads: '0' is not a number that it takes; write 1 or more"),
        ("m.onnx --engine tensorrt", "write --engine onnxruntime --provider tensorrt"),
        ("compare a b --reference-engine CUDA", "write --engine onnxruntime --provider cuda"),
    ] {
        let ended = opscope(&place, &line.split(' ').collect::<Vec<_>>());
        ended.refused(2, &[says]);
        assert!(!ended.stderr.contains("digit") && !ended.stderr.contains("-- -"), "{ended:?}");
    }
}

#[test]
fn the_end_of_the_help_fits_80_columns() {
    let place = Workplace::new();
    for arguments in [&["--help"][..], &["benchmark", "--help"]] {
        let help = opscope(&place, arguments).stdout;
        let end = help.split("\nEnvironment:").last().unwrap().split("\nExit codes:").last().unwrap();
        let end = help.split_once("\nEnvironment:").map_or(end, |(_, end)| end);
        assert!(end.lines().all(|line| line.chars().count() <= 80), "{end}");
    }
}

#[test]
fn an_option_that_is_nearly_right_is_offered() {
    let place = Workplace::new();
    opscope(&place, &["benchmark", "m.onnx", "--lop", "3"]).refused(2, &["'--lop'", "'--loop"]);
    opscope(&place, &["benchmrk", "m.onnx"]).refused(2, &["'benchmrk'", "'benchmark'"]);
}

#[test]
fn quiet_prints_nothing_that_was_not_asked_for() {
    let place = Workplace::new();
    std::fs::copy(model("digits_cnn.onnx"), place.path("m.onnx")).unwrap();
    let silent = |arguments: &[&str]| {
        let ended = opscope(&place, arguments);
        assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "", ""), "{arguments:?}");
    };
    silent(&["benchmark", "m.onnx", "--profiler", "--output", "out", "--output-dirname", "run", "--quiet"]);
    silent(&["export", "out/profiler/run", "--output", "exports", "--quiet"]);
    silent(&["export", "out/profiler/run", "--into", "set", "--quiet"]);
    silent(&["report", "out", "--quiet"]);
    // Requested output is still printed.
    let json = opscope(&place, &["benchmark", "m.onnx", "--json", "--quiet"]);
    assert_eq!((json.json()["schema"].as_str(), json.stderr.as_str()), (Some("opscope.summary/1"), ""));
    let table = opscope(&place, &["compare", "m.onnx", "m.onnx", "--quiet"]);
    assert!(table.stdout.contains("16 tensors compared") && table.stderr.is_empty(), "{table:?}");
}

#[test]
fn a_set_says_how_much_came_into_it() {
    let place = Workplace::new();
    place.benchmark_well(&[&model("digits_cnn.onnx"), "--profiler", "-o", "out", "-od", "run"]);
    let ended = opscope(&place, &["export", "out/profiler/run", "--into", "set"]);
    let files = ended.stdout.lines().count();
    ended.says(&[&format!("1 of 1 recording added to set: {files} files, ")]);
}
