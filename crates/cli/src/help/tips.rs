//! What to write instead of a word that another tool has, or that people try.

/// Words that opscope does not have, and what to write instead.
type Tip = (&'static [&'static str], &'static str);

/// Words in place of a command.
const COMMANDS: &[Tip] = &[
    (
        &["run", "bench", "time", "perf", "measure", "trtexec", "perf_test", "ais_bench"],
        "to run a model, write: opscope benchmark MODEL",
    ),
    (
        &["prof", "trace", "record", "timeline", "nsys", "ncu"],
        "to see where the time goes, write: opscope benchmark MODEL --profiler --output DIR",
    ),
    (
        &["capture", "save", "extract"],
        "to write what operators compute, write: opscope benchmark MODEL --dump --output DIR",
    ),
    (
        &["diff", "cmp", "verify", "check", "accuracy", "validate"],
        "to compare models, dumps or times, write: opscope compare A B",
    ),
    (
        &["show", "info", "view", "list", "ls", "cat", "summary", "stats", "print", "model", "ops", "operators"],
        "to see what a file or directory holds, write: opscope inspect PATH",
    ),
    (&["html", "page", "web", "open", "ui", "serve"], "to get a page for a browser, write: opscope report PATH"),
    (&["attach"], "to debug a program that runs, write: opscope debug --attach PID"),
    (&["gdb", "break", "step", "debugger", "pdb"], "to stop at operators, write: opscope debug MODEL"),
    (
        &["convert", "csv", "perfetto", "chrome", "parquet", "pandas"],
        "to write timelines and tables of a recording, write: opscope export RECORDING",
    ),
    (&["version"], "to see the version, write: opscope --version"),
    (&["providers", "devices", "backends", "runtimes"], "to see what can run models here, write: opscope engines"),
    (&["roofline", "peak", "system", "hardware", "cpu"], "to see what this machine reaches, write: opscope machine"),
    (&["completion", "autocomplete"], "to complete in a shell, write: opscope completions SHELL"),
    (&["man", "docs", "usage", "commands"], "`opscope --help` shows the commands"),
    (
        &["quantize", "autocast"],
        "to convert a model to fp16, bf16 or int8, write: opscope precision FILE --to fp16 --output DIRECTORY",
    ),
    (
        &["bisect", "minimize"],
        "for the smallest model that still fails, write: opscope reduce; `opscope reduce --help` shows how",
    ),
    (&["surgeon", "build", "optimize", "template"], "opscope has no such command; `opscope --help` shows what it does"),
];

/// The execution providers of ONNX Runtime that people mistake for engines.
const PROVIDERS: [&str; 14] = [
    "cpu",
    "cuda",
    "tensorrt",
    "nv_tensorrt_rtx",
    "openvino",
    "dnnl",
    "migraphx",
    "rocm",
    "cann",
    "qnn",
    "coreml",
    "xnnpack",
    "acl",
    "webgpu",
];

/// Options, without dashes and without regard to case.
const OPTIONS: &[Tip] = &[
    (
        &[
            "iters",
            "iterations",
            "iteration",
            "runs",
            "repeat",
            "repeats",
            "repetitions",
            "avgruns",
            "nruns",
            "niter",
            "n",
            "r",
            "times",
            "count",
            "loops",
        ],
        "the number of runs is --loop N",
    ),
    (&["warmup", "warmups", "warmupruns", "warmupiterations", "w"], "the number of warm-up runs is --warmup-count N"),
    (&["secondstorun", "t", "seconds", "timeout"], "the time to measure for is --duration SECONDS"),
    (
        &[
            "shape",
            "shapes",
            "inputshape",
            "inputshapes",
            "inputdims",
            "optshapes",
            "f",
            "freedimoverride",
            "freedimensionoverride",
        ],
        "the shapes of inputs are --dym-shape \"NAME:1,3,224,224;NAME:...\"",
    ),
    (
        &["minshapes", "maxshapes", "trtminshapes", "trtoptshapes", "trtmaxshapes"],
        "there is no profile of shapes; several shapes are --dym-shape-range, one is --dym-shape \"NAME:1,3,224,224\"",
    ),
    (
        &["loadinputs", "loadinputdata", "inputfile", "inputfiles", "inputdata", "inputs", "dataloaderscript"],
        "the files of inputs are --input FILES",
    ),
    (
        &[
            "valrange",
            "intmin",
            "intmax",
            "floatmin",
            "floatmax",
            "random",
            "randominput",
            "generateinputs",
            "filldata",
            "I",
        ],
        "generated inputs are --pure-data-type zero or random, with --seed N",
    ),
    (
        &[
            "out",
            "outdir",
            "outputdir",
            "outputpath",
            "outputfolder",
            "exportoutput",
            "saveoutputs",
            "saveresults",
            "exporttimes",
            "exportprofile",
            "p",
            "profilefile",
            "resultfile",
        ],
        "the directory of results is --output DIR; it holds times, outputs and recordings",
    ),
    (&["saveinputs"], "inputs of operators are written by --dump --dump-io all --output DIR"),
    (
        &["loadoutputs", "loadresults", "golden", "reference"],
        "to compare with stored outputs: opscope compare MODEL DIR --input FILES",
    ),
    (&["name", "runname", "tag", "label"], "the name of a run is --output-dirname NAME"),
    (&["format", "outputformat"], "the format of outputs is --outfmt NPY, BIN or TXT; that of a dump is --dump-format"),
    (
        &["onnx", "modelpath", "modelfile", "graph", "loadengine", "file"],
        "the model is named without an option: MODEL.onnx",
    ),
    (
        &[
            "e",
            "ep",
            "backends",
            "runtime",
            "onnxrt",
            "ort",
            "trt",
            "pluginref",
            "tf",
            "cpu",
            "gpu",
            "cuda",
            "rocm",
            "executionprovider",
            "providers",
            "usegpu",
            "usecuda",
            "usecpu",
            "usetrt",
            "npu",
        ],
        "what runs the model is --engine tract or --engine onnxruntime, with --provider cpu, cuda, tensorrt...",
    ),
    (
        &["fp16", "half", "bf16", "int8", "fp8", "best", "tf32", "notf32", "precision", "amp", "inttypes"],
        "the model is run in the types of its file; `opscope precision FILE --to fp16 --output DIRECTORY` converts it",
    ),
    (
        &[
            "rtol",
            "atol",
            "rel",
            "abs",
            "checkerrorstat",
            "errorquantile",
            "threshold",
            "tol",
            "tolerances",
            "failfast",
        ],
        "tolerances are `opscope compare A B --tolerance REL[,OF_MAX]`",
    ),
    (
        &["x", "intraop", "intraopnumthreads", "intraopthreads", "numthreads", "j", "jobs"],
        "the threads within an operator are --engine-threads N; runs at a time are --threads N",
    ),
    (
        &["y", "interop", "interopnumthreads"],
        "the threads among operators are --inter-op-threads N, with --execution-mode parallel",
    ),
    (&["P", "parallelexecutor"], "parallel operators are --execution-mode parallel"),
    (&["c", "streams", "infstreams", "concurrency", "concurrentruns", "parallel"], "runs at a time are --threads N"),
    (
        &["u", "optlevel", "optimization", "optimizationlevel", "builderoptimizationlevel", "graphopt"],
        "how far ONNX Runtime optimises is --graph-optimization-level LEVEL",
    ),
    (
        &["D", "spin", "usespinwait", "disablespinning"],
        "busy waiting is --allow-spinning BOOL, with --engine onnxruntime",
    ),
    (
        &[
            "usecudagraph",
            "cudagraph",
            "exposedma",
            "nodatatransfers",
            "usemanagedmemory",
            "usedlacore",
            "workspace",
            "mempoolsize",
            "poollimit",
            "timingcachefile",
            "saveengine",
            "buildonly",
            "skipinference",
            "tacticsources",
            "sparsity",
            "calib",
            "plugins",
        ],
        "that is TensorRT's; a provider takes options as --provider-option KEY=VALUE",
    ),
    (
        &[
            "dumpprofile",
            "separateprofilerun",
            "profile",
            "profiling",
            "enableprofiling",
            "dumplayerinfo",
            "exportlayerinfo",
            "profilingverbosity",
            "trace",
            "dumplayertime",
        ],
        "where the time goes is --profiler --output DIR",
    ),
    (
        &[
            "dumpoutput",
            "dumpoutputs",
            "dumptensors",
            "dumprawbindingstofile",
            "onnxoutputs",
            "trtoutputs",
            "markall",
            "intermediates",
        ],
        "the outputs of operators are --dump --output DIR; --dump-operator NAME chooses",
    ),
    (&["percentile", "percentiles", "stats", "latency"], "percentiles are always shown; all of them are in --json"),
    (&["verbose", "v", "vv", "loglevel", "extraverbose", "log"], "more messages are --debug"),
    (&["q", "silent"], "fewer messages are --quiet"),
    (&["idletime", "sleeptime", "sleep"], "there is no pause between runs; --duration SECONDS measures for longer"),
    (&["maxbatch", "bs"], "the batch dimension is --dym-batch N"),
    (&["S", "randomseed", "randomseedforinputdata"], "the seed of random input is --seed N"),
    (&["validate"], "a NaN or an infinity is found by: opscope debug MODEL --ex 'catch nan' --ex run"),
    (
        &["C", "sessionconfig", "A", "M", "z", "T"],
        "opscope has no such option of ONNX Runtime; those that it has are in `opscope benchmark --help` under Engine",
    ),
    (&["top", "topk", "limit", "head"], "the rows of a table are --rows N"),
];

/// Returns what to write instead of an engine that is an execution provider.
pub fn of_engine(word: &str) -> Option<String> {
    let provider = PROVIDERS.iter().find(|provider| provider.eq_ignore_ascii_case(word))?;
    Some(format!(
        "there is no engine '{word}': it is an execution provider of ONNX Runtime; write --engine onnxruntime --provider \
         {provider}"
    ))
}

/// Returns what to write instead of a command that does not exist.
pub fn of_command(word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    COMMANDS.iter().find(|(words, _)| words.contains(&word.as_str())).map(|(_, tip)| *tip)
}

/// Returns what to write instead of an option that does not exist. Case counts only for names of one letter.
pub fn of_option(option: &str) -> Option<&'static str> {
    let name = option.split('=').next().unwrap_or_default().trim_start_matches('-');
    let name = match name.chars().count() {
        1 => name.to_owned(),
        _ => name.replace(['-', '_'], "").to_lowercase(),
    };
    OPTIONS.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, tip)| *tip)
}

/// Returns what is wrong with a command line that gives one of opscope's options a value in another tool's meaning: `-m
/// times`.
pub fn mistaken(words: &[std::ffi::OsString]) -> Option<String> {
    let is_benchmark = words.get(1).is_some_and(|word| word == "benchmark");
    let of_test = |pair: &&[std::ffi::OsString]| {
        pair[0] == "--model"
            && (pair[1] == "times" || pair[1] == "duration")
            && !std::path::Path::new(&pair[1]).exists()
    };
    let given = words.windows(2).find(of_test).filter(|_| is_benchmark)?;
    let right = if given[1] == "times" { "--loop N" } else { "--duration SECONDS" };
    Some(format!(
        "-m {} belongs to onnxruntime_perf_test, and -m names the model here; write {right}",
        given[1].display()
    ))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::Cli;

    #[test]
    fn no_tip_hides_an_option_or_a_command_that_exists() {
        let opscope = Cli::command();
        for (words, _) in COMMANDS {
            for word in *words {
                assert!(opscope.find_subcommand(word).is_none(), "{word} is a command");
            }
        }
        let benchmark = opscope.find_subcommand("benchmark").unwrap();
        let ours: Vec<String> =
            benchmark.get_arguments().filter_map(|option| Some(option.get_long()?.replace('-', ""))).collect();
        for name in OPTIONS.iter().flat_map(|(names, _)| *names) {
            assert!(!ours.iter().any(|ours| ours == name), "--{name} is an option");
        }
    }

    #[test]
    fn no_word_has_two_tips() {
        for tips in [COMMANDS, OPTIONS] {
            let mut words: Vec<&str> = tips.iter().flat_map(|(words, _)| *words).copied().collect();
            words.sort_unstable();
            let all = words.len();
            words.dedup();
            assert_eq!(words.len(), all);
        }
    }

    #[test]
    fn every_option_that_a_tip_names_exists() {
        let opscope = Cli::command();
        let known: Vec<&str> = opscope
            .get_subcommands()
            .flat_map(|command| command.get_arguments().filter_map(clap::Arg::get_long))
            .chain(["help", "version"])
            .collect();
        for (_, tip) in COMMANDS.iter().chain(OPTIONS) {
            for word in tip.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-') {
                let Some(option) = word.strip_prefix("--") else { continue };
                assert!(known.contains(&option), "--{option} of '{tip}' does not exist");
            }
        }
    }
}
