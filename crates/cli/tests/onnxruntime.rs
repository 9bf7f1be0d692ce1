//! ONNX Runtime as the engine of the command. The tests are skipped where no library is found.

mod process;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::num::NonZeroUsize;
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use opscope::Session;
use opscope::engine::{EngineName, EngineSpec, Library};
use opscope::model::{Fidelity, LoadOptions};
use opscope::profile::{Profiler, ProfilerOptions, Recording};
use opscope::tensor::{Tensor, npy};
use opscope_c_programs::consumers::library;
use opscope_model::testing::skipped;
use process::onnx::{file, node, with_changed_initializer};
use process::tensors::{close, read};
use process::{Workplace, csv, end, model};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// Returns a place to run commands in, or `None` if there is no ONNX Runtime.
fn place() -> Option<Workplace> {
    match Library::find(None) {
        Ok(_) => Some(Workplace::new()),
        Err(error) => {
            skipped(error.to_string().lines().next().unwrap_or_default());
            None
        }
    }
}

const ORT: [&str; 2] = ["--engine", "onnxruntime"];

const MODELS: [(&str, &str, &str); 3] = [
    ("digits_cnn", "image", "probabilities"),
    ("tiny_transformer", "hidden_states", "last_hidden_state"),
    ("token_classifier", "input_ids", "logits"),
];

/// Returns a model of an operator that tract does not have, in this domain.
fn determinant(domain: &str) -> Vec<u8> {
    let mut det = node("determinant", "Det", &["x"], &["y"]);
    det.domain = domain;
    file("det", "a test", &[("x", &["2", "2"])], &[det], &[("y", &[])])
}

#[test]
fn a_benchmark_gives_the_right_outputs_and_the_summary_says_how_the_engine_is_set_up() {
    let Some(place) = place() else { return };
    for (name, input, output) in MODELS {
        let (file, input) = (model(&format!("{name}.onnx")), model(&format!("{name}.input.{input}.npy")));
        let fixed = ["--outfmt", "NPY", "-o", "out", "-od", name, "--allow-spinning", "0", "--verify", "on"];
        let ended = place.benchmark_well(&[&["-om", file.as_str(), "--input", &input], &fixed[..], &ORT].concat());
        let found = read(place.path(&format!("out/{name}/{name}_0.npy")));
        assert!(close(&found, &read(model(&format!("{name}.output.{output}.npy")))), "{name}");
        assert!(ended.stdout.contains("\nengine    onnxruntime "), "{ended:?}");
        assert!(ended.stdout.contains("graph_optimization_level all"), "{ended:?}");
        assert!(ended.stdout.contains("providers CPUExecutionProvider"), "{ended:?}");
        assert!(!ended.stdout.contains("\nmemory "), "the engine does not say: {ended:?}");
        let summary = place.json(&format!("out/{name}_summary.json"));
        assert_eq!(summary["run_memory"], Value::Null);
        assert_eq!(summary["verification"]["outcome"], "right", "{summary}");
        let settings = &summary["engine"]["settings"];
        let library = settings["library"].as_str().unwrap();
        assert!(fs::exists(library).unwrap(), "{library}");
        let expected = json!({
            "allow_spinning": "false", "execution_mode": "sequential", "graph_optimization_level": "all",
            "library": library, "providers": "CPUExecutionProvider",
        });
        assert_eq!(*settings, expected);
    }
}

#[test]
fn a_profile_names_the_operators_of_the_file_and_credits_conversions_to_those_that_they_serve() {
    let Some(place) = place() else { return };
    let (file, input) = (model("digits_cnn.onnx"), model("digits_cnn.input.image.npy"));
    let fixed = ["--profiler", "--loop", "3", "--verify", "off", "-o", "out", "-od", "run", "--details"];
    let ended = place.benchmark_well(&[&[file.as_str(), "--input", &input], &fixed[..], &ORT].concat());
    assert!(!ended.stdout.contains("\nadded by the engine "), "{ended:?}");
    // The processor decides before which operator the library changes the layout.
    assert!(["Conv, Reorder", "MaxPool, Reorder"].iter().any(|kernels| ended.stdout.contains(kernels)), "{ended:?}");
    assert!(ended.stdout.contains("\nprofile "), "{ended:?}");
    assert!(ended.stdout.contains("\nengine's profile ") && ended.stdout.contains("3 runs without: "), "{ended:?}");
    assert!(ended.stdout.contains("have a resolution of 1 µs"), "{ended:?}");
    let manifest = place.json("out/profiler/run/manifest.json");
    assert_eq!((&manifest["complete"], &manifest["engine"]["time_resolution_ns"]), (&json!(true), &json!(1000)));
    let events = place.json("out/profiler/run/timeline.json");
    let all = events.as_array().unwrap();
    let operators: Vec<_> = all.iter().filter(|event| event["cat"] == "operator").collect();
    let is_change = |event: &&Value| event["args"]["kernel_op"].as_str().unwrap().starts_with("Reorder");
    let (changes, own): (Vec<&Value>, Vec<&Value>) = operators.into_iter().partition(is_change);
    assert!(
        !changes.is_empty() && changes.iter().all(|event| event["args"]["attribution"] == "inferred"),
        "{changes:?}"
    );
    assert!(changes.iter().all(|event| ["Conv", "MaxPool"].contains(&event["args"]["op_type"].as_str().unwrap())));
    assert!(own.iter().any(|event| event["args"]["op_type"] == "Conv" && event["args"]["kernel_op"] == "Conv"));
    assert!(own.iter().all(|event| !event.to_string().contains("opscope:")), "names are those of the file");
    let profiles = all.iter().filter(|event| event["cat"] == "engine_call" && event["name"] == "profile").count();
    assert_eq!(profiles, 4, "one for each run, the warm-up run among them");
    assert_eq!(end(&mut place.command(&["export", "out/profiler/run", "--format", "csv"])).code, Some(0));
}

#[test]
fn the_time_of_a_loop_is_that_of_its_body_and_its_own_and_no_time_counts_twice() {
    let Some(place) = place() else { return };
    let engine = EngineSpec { name: EngineName::OnnxRuntime, ..EngineSpec::default() }.open().unwrap();
    let options = LoadOptions::new(Fidelity::Exact, NonZeroUsize::MIN);
    let path = model("inner_graphs/nested_loops.onnx");
    let session = Session::open_with(engine, path.as_ref(), &options).unwrap();
    let directory = place.path("recording");
    let profiler = Profiler::create(&directory, &session.recording_info(1), &ProfilerOptions::default()).unwrap();
    for _ in 0..5 {
        session.run(&[Tensor::from_f32(vec![2], &[1.0, -3.0]).unwrap()], &[&profiler]).unwrap();
    }
    profiler.finish().unwrap();
    let recording = Recording::open(&directory).unwrap();
    let account = recording.account().unwrap();
    let all = account.shares.unwrap().operators.total_ns;
    let of_operators: f64 = account.operators.iter().map(|row| row.total_ns).sum();
    let of_types: f64 = account.op_types.iter().map(|row| row.total_ns).sum();
    assert!((of_operators / all - 1.0).abs() < 1e-6, "{of_operators} of {all}: {}", account.to_text(20));
    assert!((of_types / all - 1.0).abs() < 1e-6, "{of_types} of {all}");
    for name in ["outer", "outer/inner", "outer/inner/add"] {
        let row = account.operators.iter().find(|row| row.operator == name);
        assert!(row.is_some_and(|row| row.total_ns > 0.0), "{name}: {}", account.to_text(20));
    }
    end(&mut place.command(&["export", "recording", "--format", "csv"]));
    let types = csv(&place.text("recording/op_statistic.csv"));
    let micros: f64 = types[1..].iter().map(|row| row[5].parse::<f64>().unwrap()).sum();
    assert!((micros * 1000.0 / all - 1.0).abs() < 0.01, "{micros} us of {all} ns");
}

#[test]
fn a_profile_that_cannot_be_written_is_an_error_that_names_the_directory() {
    let Some(place) = place() else { return };
    let (file, input) = (model("digits_cnn.onnx"), model("digits_cnn.input.image.npy"));
    let arguments = [file.as_str(), "--input", &input, "--profiler", "--verify", "off", "-o", "out"];
    let mut command = place.command(&[&["benchmark"], &arguments[..], &ORT].concat());
    let ended = end(command.env("TMPDIR", "/proc/none"));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("the profile of a run cannot be written to /proc/none"), "{ended:?}");
}

#[test]
fn two_engines_compute_the_same_values_of_the_file() {
    let Some(place) = place() else { return };
    for (name, input, _) in MODELS {
        let (file, input) = (model(&format!("{name}.onnx")), model(&format!("{name}.input.{input}.npy")));
        let both = [&[file.as_str(), &file, "--input", &input, "--json"], &ORT[..], &["--reference-engine", "tract"]];
        let ended = place.compare(&both.concat());
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        let json = ended.json();
        assert_eq!(json["tensors"], format!("{file} (onnxruntime, exact)"));
        assert_eq!(json["reference"], format!("{file} (tract, exact)"));
        assert_eq!((&json["complete"], &json["verdict"]), (&true.into(), &"same".into()), "{name}");
        let graph = end(&mut place.command(&["inspect", &file, "--json"])).json();
        let rows = json["rows"].as_array().unwrap().len();
        assert_eq!(rows, graph["operators"].as_array().unwrap().len(), "{name}");
    }
}

#[test]
fn the_first_operator_that_differs_is_named_across_engines() {
    let Some(place) = place() else { return };
    let digits = model("digits_cnn.onnx");
    place.write("changed.onnx", with_changed_initializer(&fs::read(&digits).unwrap(), "conv2.bias"));
    for engines in [["onnxruntime", "tract"], ["tract", "onnxruntime"]] {
        let line = ["changed.onnx", &digits, "--engine", engines[0], "--reference-engine", engines[1], "--json"];
        let ended = place.compare(&line);
        assert_eq!(ended.code, Some(4), "{ended:?}");
        assert_eq!(ended.json()["first_divergence"]["operator"], "/conv2/Conv", "{engines:?}");
    }
}

#[test]
fn a_dump_of_either_engine_is_compared_with_the_other() {
    let Some(place) = place() else { return };
    let (file, input) = (model("digits_cnn.onnx"), model("digits_cnn.input.image.npy"));
    for engine in ["tract", "onnxruntime"] {
        let line = [&file, "--input", &input, "--engine", engine, "--dump", "-o", ".", "-od", engine];
        place.benchmark_well(&line);
    }
    let dumps = place.compare(&["dump/onnxruntime", "dump/tract", "--model", &file]);
    assert_eq!(dumps.code, Some(0), "{dumps:?}");
    for (engine, other) in [("tract", "onnxruntime"), ("onnxruntime", "tract")] {
        let ended = place.compare(&[&file, &format!("dump/{other}"), "--input", &input, "--engine", engine]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        assert!(ended.stdout.contains("16 tensors compared, 16 within tolerance"), "{ended:?}");
    }
}

#[test]
fn the_outputs_of_an_optimised_run_are_compared_with_the_exact_ones() {
    let Some(place) = place() else { return };
    let (file, input) = (model("digits_cnn.onnx"), model("digits_cnn.input.image.npy"));
    let line = [&file, &file, "--input", &input, "--fidelity", "optimised", "--reference-engine", "tract", "--json"];
    let json = place.compare(&[&line[..], &ORT].concat()).json();
    let rows = json["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["value"]), (1, &"probabilities".into()), "{json}");
    assert_eq!((&json["verdict"], &json["complete"]), (&"same".into(), &true.into()));
    assert_eq!(json["fused"].as_array().unwrap().len(), 15, "what the engine hides is not missing");
}

#[test]
fn a_model_that_tract_refuses_names_the_engine_that_runs_it() {
    let Some(place) = place() else { return };
    place.write("det.onnx", determinant(""));
    let hint = "runs it: --engine onnxruntime";
    for command in [
        &["benchmark", "det.onnx"][..],
        &["benchmark", "det.onnx", "--dump", "-o", "out"],
        &["compare", "det.onnx", "det.onnx"],
        &["debug", "det.onnx", "--batch", "-ex", "run"],
    ] {
        let ended = end(&mut place.command(command));
        assert!(ended.code == Some(1) || ended.code == Some(2), "{ended:?}");
        ended.refused(ended.code.unwrap(), &["Det", "determinant", hint]);
        let there = end(&mut place.command(&[command, &ORT].concat()));
        assert_eq!(there.code, Some(0), "{there:?}");
    }
    place.write("vendor.onnx", determinant("vendor.example"));
    let neither = place.benchmark(&["vendor.onnx"]);
    assert!(!neither.stderr.contains("onnxruntime"), "{neither:?}");
}

/// ONNX Runtime's library, with a change: in a process that was started to try a model, it writes the process number
/// and then waits forever.
const WAITS: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
const void *OrtGetApiBase(void);
const void *OrtGetApiBase(void)
{
    char words[4096] = {0};
    FILE *line = fopen("/proc/self/cmdline", "r");
    size_t length = fread(words, 1, sizeof words - 1, line);
    fclose(line);
    if (length > strlen(words) && !strcmp(words + strlen(words) + 1, "attempt")) {
        FILE *said = fopen(getenv("SAID"), "w");
        fprintf(said, "%d\n", (int)getpid());
        fflush(said);
        for (;;)
            pause();
    }
    const void *(*base)(void);
    void *found = dlsym(dlopen(getenv("REAL"), RTLD_NOW), "OrtGetApiBase");
    memcpy(&base, &found, sizeof base);
    return base();
}
"#;

#[test]
fn a_process_that_tries_a_model_dies_with_the_command_that_started_it() {
    let Some(place) = place() else { return };
    place.write("det.onnx", determinant(""));
    let (said, waits) = (place.path("said"), place.path("libonnxruntime.so"));
    rustix::fs::mkfifoat(rustix::fs::CWD, &said, rustix::fs::Mode::RWXU).unwrap();
    library(&waits, WAITS, &[]);
    let real = Library::find(None).unwrap().path().to_owned();
    let (send, lines) = mpsc::channel();
    let reader = said.clone();
    thread::spawn(move || {
        let mut from = BufReader::new(File::open(reader).unwrap());
        let mut number = String::new();
        from.read_line(&mut number).unwrap();
        let _ = send.send(number);
        // The pipe ends when no process has it open for writing.
        from.read_to_end(&mut Vec::new()).unwrap();
        let _ = send.send("ended".to_owned());
    });
    let mut command = place.command(&["benchmark", "det.onnx"]);
    command.env("ORT_DYLIB_PATH", &waits).env("REAL", real).env("SAID", &said);
    let mut parent = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Only a test that fails waits this long.
    let patience = Duration::from_secs(30);
    let child = lines.recv_timeout(patience);
    parent.kill().unwrap();
    parent.wait().unwrap();
    let child = Pid::from_raw(child.expect("it tries the model").trim().parse().unwrap()).unwrap();
    let ended = lines.recv_timeout(patience);
    if ended.is_err() {
        kill_process(child, Signal::KILL).unwrap();
    }
    assert_eq!(ended.as_deref(), Ok("ended"));
}

#[test]
fn without_a_library_a_refused_model_says_how_to_get_one() {
    let place = Workplace::new();
    place.write("det.onnx", determinant(""));
    place.write("vendor.onnx", determinant("vendor.example"));
    let run = |file: &str| {
        let mut command = place.command(&["benchmark", file, "--loop", "1"]);
        for name in ["ORT_DYLIB_PATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH"] {
            command.env_remove(name);
        }
        end(command.env("PATH", ""))
    };
    if run("det.onnx").stderr.contains("runs it") {
        skipped("the system has an ONNX Runtime");
        return;
    }
    run("det.onnx")
        .refused(1, &["Det", "ONNX Runtime may run it: `pip install onnxruntime`, then --engine onnxruntime"]);
    let vendor = run("vendor.onnx");
    vendor.refused(1, &["vendor.example"]);
    assert!(!vendor.stderr.contains("onnxruntime"), "{vendor:?}");
}

#[test]
fn a_provider_that_the_library_lacks_is_refused_with_those_that_it_has() {
    let Some(place) = place() else { return };
    let digits = model("digits_cnn.onnx");
    let ended = place.benchmark(&[&[digits.as_str(), "--provider", "abacus"], &ORT[..]].concat());
    ended.refused(2, &["abacus", "CPUExecutionProvider"]);
    place.benchmark_well(&[&[digits.as_str(), "--provider", "CPUExecutionProvider"], &ORT[..]].concat());
}

#[test]
fn a_debugger_skips_an_operator_by_its_outputs_and_is_told_that_it_is_executed() {
    let Some(place) = place() else { return };
    let digits = model("digits_cnn.onnx");
    let debug = |commands: &[&str]| {
        let commands: Vec<&str> = commands.iter().flat_map(|command| ["-ex", *command]).collect();
        end(&mut place.command(&[&["debug", &digits, "--batch"], &ORT[..], &commands].concat()))
    };
    let tenths = Tensor::from_f32(vec![1, 10], &[0.1; 10]).unwrap();
    let mut file = Vec::new();
    npy::write(&tenths.view(), &mut file).unwrap();
    place.write("tenths.npy", file);
    let ended =
        debug(&["break Softmax", "break Softmax after", "run", "skip tenths.npy", "print output[0]", "continue"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.stdout.contains("it executes the operator and then replaces its outputs"), "{ended:?}");
    assert!(ended.stdout.contains("[[0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1]]"), "{ended:?}");
    assert!(ended.stdout.contains("input[0]   /fc2/Gemm_output_0  float32 [1, 10]"), "{ended:?}");

    let other = Tensor::from_f32(vec![2, 5], &[0.1; 10]).unwrap();
    let mut file = Vec::new();
    npy::write(&other.view(), &mut file).unwrap();
    place.write("other.npy", file);
    let misfit = debug(&["break Softmax", "run", "skip other.npy"]);
    assert_eq!(misfit.code, Some(1), "{misfit:?}");
}

#[test]
fn the_time_of_an_inference_does_not_hold_the_librarys_work_on_its_own_profile() {
    let Some(place) = place() else { return };
    let line = ["--profiler", "-o", "out", "-od", "run", "--loop", "20", "--verify", "off", "--json"];
    let report = place.benchmark_well(&[&[&*model("digits_cnn.onnx")], &line[..], &ORT].concat()).json();
    let account = &report["profile"]["account"];
    let number = |value: &Value| value.as_f64().unwrap();
    let profile = number(&account["engine_profile"]["mean_ns"]);
    let inference = number(&report["NPU_compute_time"]["median"]) * 1e6;
    let run = number(&account["run"]["median_ns"]);
    assert!(
        inference < run + profile / 2.0,
        "{inference} ns of inference, {run} ns of a run, {profile} ns for the profile"
    );
}

#[test]
fn a_recording_says_how_the_engine_was_set_up() {
    let Some(place) = place() else { return };
    let digits = model("digits_cnn.onnx");
    let line =
        ["--profiler", "-o", "out", "-od", "run", "--graph-optimization-level", "extended", "--loop", "3", "--details"];
    let ended = place.benchmark_well(&[&[digits.as_str()], &line[..], &ORT].concat());
    assert!(ended.stdout.contains("graph_optimization_level extended"), "{ended:?}");
    let verification = &place.json("out/run_summary.json")["verification"];
    assert_eq!(verification["form"], "graph optimisations: extended", "{verification}");
    let settings = &place.json("out/profiler/run/manifest.json")["engine"]["settings"];
    assert_eq!(settings["graph_optimization_level"], "extended", "{settings}");
    let shown = end(&mut place.command(&["inspect", "out/profiler/run"])).stdout;
    assert!(shown.contains("\n  graph_optimization_level extended\n"), "{shown}");
}

#[test]
fn a_profile_of_what_the_engine_cannot_record_is_refused_before_anything_runs() {
    let Some(place) = place() else { return };
    let digits = model("digits_cnn.onnx");
    let line = ["--profiler", "--profiler-option", "task-memory=on", "-o", "out", "-od", "run"];
    let ended = place.benchmark(&[&[digits.as_str()], &line[..], &ORT].concat());
    ended.refused(2, &["the profiler needs an engine that can report the memory of tensors, and onnxruntime "]);
    assert!(place.tree("out").iter().all(|path| !path.contains("run")), "{:?}", place.tree("out"));
}

#[test]
fn a_debugger_of_an_optimised_run_is_refused_and_pointed_to_exact_ones() {
    let Some(place) = place() else { return };
    let digits = model("digits_cnn.onnx");
    let line = ["debug", &digits, "--fidelity", "optimised", "--batch", "-ex", "run"];
    let ended = end(&mut place.command(&[&line[..], &ORT].concat()));
    ended.refused(2, &["the debugger needs an engine that can stop before an operator", "; in exact runs it can"]);
}

#[test]
fn the_library_is_listed_with_its_version_and_providers() {
    let Some(place) = place() else { return };
    let library = Library::find(None).unwrap();
    let document = end(&mut place.command(&["engines", "--json"])).json();
    let found = &document["engines"][1];
    assert_eq!((&found["name"], &found["version"]), (&"onnxruntime".into(), &library.version().into()));
    assert_eq!(found["library"], library.path().to_str().unwrap());
    assert_eq!(found["providers"], json!(library.providers()));
    let exact = found["capabilities"].as_array().unwrap().iter().find(|entry| entry["fidelity"] == "exact").unwrap();
    assert_eq!((&exact["stop"], &exact["intermediates"], &exact["skip"]), (&true.into(), &true.into(), &false.into()));
    let text = end(&mut place.command(&["engines"])).stdout;
    assert!(text.contains(&format!("onnxruntime {}, ", library.version())), "{text}");
}

#[test]
fn inspect_says_that_the_engine_loads_a_model_or_why_not() {
    let Some(place) = place() else { return };
    place.write("det.onnx", determinant(""));
    place.write("vendor.onnx", determinant("vendor.example"));
    let inspect = |file: &str| end(&mut place.command(&[&["inspect", file, "--json"], &ORT[..]].concat()));
    let loaded = inspect("det.onnx");
    assert_eq!((loaded.code, &loaded.json()["engine"]["plans"][1]["loads"]), (Some(0), &true.into()), "{loaded:?}");
    let refused = inspect("vendor.onnx");
    let because = refused.json()["engine"]["plans"][0]["because"].clone();
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(because.as_str().unwrap().contains("determinant"), "{because}");
}

#[test]
fn recordings_of_two_engines_are_compared_by_the_operators_that_each_fuses() {
    let Some(place) = place() else { return };
    let file = model("digits_cnn.onnx");
    for (name, engine) in [("a", "tract"), ("b", "onnxruntime")] {
        let fixed = ["--profiler", "--loop", "50", "--output", "out", "--output-dirname", name, "--engine", engine];
        place.benchmark_well(&[&[file.as_str()], &fixed[..]].concat());
    }
    let ended = end(&mut place.command(&["compare", "out/profiler/a", "out/profiler/b", "--json"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let json = ended.json();
    let of = |presence: &str| -> Vec<&Value> {
        json["operators"].as_array().unwrap().iter().filter(|row| row["presence"] == presence).collect()
    };
    let (both, fused) = (of("both"), of("fused_otherwise"));
    assert!(both.iter().any(|row| row["operators"] == json!(["/Softmax"])), "{both:?}");
    let normalised = json!(["/conv1/Conv", "/bn1/BatchNormalization", "/relu1/Relu"]);
    assert!(fused.iter().any(|row| row["operators"] == normalised), "{fused:?}");
    for row in &fused {
        assert!(row["change"]["a_ns"].as_f64() > Some(0.0) && row["change"]["b_ns"].as_f64() > Some(0.0), "{row}");
    }
    // Conversions of layout are part of the rows of the operators that need them.
    assert_eq!((of("new"), of("gone")), (vec![], vec![]));
    assert!(json["surroundings"].as_array().unwrap().iter().any(|fact| fact["what"] == "engine"), "{json}");
    // 50 runs of this model take milliseconds.
    assert_eq!(json["run"]["difference_interval_ns"], Value::Null);
    let notes = json["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note.as_str().unwrap().contains("--duration")), "{notes:?}");
}
