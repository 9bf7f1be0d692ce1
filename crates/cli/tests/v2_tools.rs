//! Tools that were made for rocprofiler v2, preloaded into the command. Beside the library that runs them, a consumer is told of
//! the same runs.

#[path = "../../producer/tests/support/mod.rs"]
mod consumer;
#[path = "../../../abi/opscope/tests/c_programs/support/language.rs"]
mod language;
#[path = "../../../abi/opscope/tests/c_programs/support/linked.rs"]
#[allow(dead_code)]
mod linked;
mod process;
#[path = "../../../abi/rocprofiler-v2/tests/models/trace.rs"]
mod trace;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use consumer::{SDK, calls, of};
use language::Language;
use process::{Workplace, end, fixture, model};

/// The directory of librocprofiler64.so.2, linked from what cargo built.
fn v2() -> &'static Path {
    static V2: OnceLock<PathBuf> = OnceLock::new();
    V2.get_or_init(|| linked::link(&linked::root().join("../../abi/rocprofiler-v2"), "opscope-rocprofiler-v2"))
}

fn compile_tool(to: &Path, language: Language) {
    let source = linked::root().join("../../abi/rocprofiler-v2");
    let mut compiler = language.compiler();
    compiler.args(["-D_GNU_SOURCE", "-DPRELOADED", "-shared", "-fPIC", "-I"]).arg(source.join("include"));
    compiler.arg(source.join("tests/models/tool.c")).arg("-o").arg(to);
    let found = format!("-Wl,-rpath,{}", v2().display());
    linked::succeeds(compiler.arg("-L").arg(v2()).args([&found, "-lrocprofiler64v2"]));
}

/// Runs the command over a model with the tool, and checks all that the tool wrote of so many runs.
#[track_caller]
fn traced_all(language: Language, model: &str, threads: &str) {
    let place = Workplace::new();
    let (tool, log) = (place.path("tool.so"), place.path("tool.log"));
    compile_tool(&tool, language);
    consumer::consumer(&place.path("lib").join(SDK), &[]);
    let mut command = place.command(&["benchmark", model, "--loop", "5", "--warmup-count", "2", "--threads", threads]);
    command.env("OPSCOPE_LIB_DIR", place.path("lib")).env("CONSUMER_LOG", place.path("consumer.log"));
    let ended = end(command.env("LD_PRELOAD", &tool).env("V2_LOG", &log));
    assert_eq!((ended.code, ended.stderr.contains("does not hold")), (Some(0), false), "{ended:?}");
    let told = calls(&place.path("consumer.log"));
    assert!(of(&told, "run_end").len() >= 7);
    assert!(fs::metadata(&log).is_ok(), "the tool was not loaded: {ended:?}");
    trace::is_all_of(&calls(&log), &told);
}

#[test]
fn every_dispatch_of_a_model_arrives_with_its_operators_name() {
    for language in Language::ALL {
        traced_all(language, &model("digits_cnn.onnx"), "1");
    }
    traced_all(Language::C11, &model("tiny_transformer.onnx"), "1");
}

#[test]
fn dispatches_in_the_bodies_of_loops_arrive_too() {
    for name in ["loop.onnx", "if.onnx", "scalar.onnx", "empty_tensor.onnx"] {
        traced_all(Language::C11, &fixture(name), "1");
    }
}

#[test]
fn threads_that_run_the_model_at_a_time_are_all_traced() {
    traced_all(Language::C11, &model("digits_cnn.onnx"), "3");
}
