//! Tools for rocprofiler v2, preloaded into the command. A consumer receives the same runs as the library that runs the
//! tools.

mod process;

use std::fs;
use std::path::Path;

use opscope_c_programs::consumers::{SDK, calls, consumer, of};
use opscope_c_programs::{Language, Library, Program, v2_trace};
use process::{Workplace, end, fixture, model};

fn compile_tool(to: &Path, language: Language) {
    let tool = Program::of(Library::RocprofilerV2, Library::RocprofilerV2.root().join("tests/models/tool.c"));
    let tool = tool.options(&["-DPRELOADED", "-lrocprofiler64v2", &Library::RocprofilerV2.rpath()]);
    tool.compile_shared(language, to);
}

/// Runs the command with a model and the tool, and checks everything that the tool wrote about this many runs.
#[track_caller]
fn traced_all(language: Language, model: &str, threads: &str) {
    let place = Workplace::new();
    let (tool, log) = (place.path("tool.so"), place.path("tool.log"));
    compile_tool(&tool, language);
    consumer(&place.path("lib").join(SDK), &[]);
    let mut command = place.command(&["benchmark", model, "--loop", "5", "--warmup-count", "2", "--threads", threads]);
    command.env("OPSCOPE_LIB_DIR", place.path("lib")).env("CONSUMER_LOG", place.path("consumer.log"));
    let ended = end(command.env("LD_PRELOAD", &tool).env("V2_LOG", &log));
    assert_eq!((ended.code, ended.stderr.contains("does not hold")), (Some(0), false), "{ended:?}");
    let told = calls(&place.path("consumer.log"));
    assert!(of(&told, "run_end").len() >= 7);
    assert!(fs::metadata(&log).is_ok(), "the tool was not loaded: {ended:?}");
    v2_trace::is_all_of(&calls(&log), &told);
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
