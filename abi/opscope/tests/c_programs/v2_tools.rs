//! Programs that are linked with librocprofiler64.so.2 and have a tool in them, over models that they run with libopscope. A consumer
//! is told of the same runs.

use std::process::Command;

use super::consumer::{self, Call, SDK, calls, of};
use super::support::{Language, library, link, models, root, succeeds};
use super::v2_trace::is_all_of;

/// Compiles `v2_tools.c` with the tool, runs it, and returns what the tool wrote, and what the consumer was told.
fn run(language: Language, what: &str) -> (Vec<Call>, Vec<Call>) {
    let place = tempfile::tempdir().expect("a directory");
    let path = |name: &str| place.path().join(name);
    consumer::consumer(&path("lib").join(SDK), &[]);
    let abi = root().join("..");
    let v2 = link(&abi.join("rocprofiler-v2"), "opscope-rocprofiler-v2");
    let mut compiler = language.compiler();
    compiler.arg("-D_GNU_SOURCE");
    for include in ["opscope/include", "rocprofiler-v2/include"] {
        compiler.arg("-I").arg(abi.join(include));
    }
    compiler.arg(root().join("tests/c/v2_tools.c")).arg(abi.join("rocprofiler-v2/tests/models/tool.c"));
    for library in [library(), &v2] {
        compiler.arg("-L").arg(library).arg(format!("-Wl,-rpath,{}", library.display()));
    }
    succeeds(compiler.arg("-o").arg(path("program")).args(["-lopscope", "-lrocprofiler64v2", "-lpthread"]));
    let mut command = Command::new("timeout");
    command.arg("300").arg(path("program")).arg(what).arg(models().join("digits_cnn.onnx"));
    command.env("V2_LOG", path("tool.log")).env("CONSUMER_LOG", path("consumer.log"));
    let output = succeeds(command.env("OPSCOPE_LIB_DIR", path("lib")).env_remove("ROCP_TOOL_LIBRARIES"));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (calls(&path("tool.log")), calls(&path("consumer.log")))
}

#[test]
fn a_program_with_a_tool_of_rocprofiler_v2_gets_all_of_its_own_runs() {
    for language in Language::ALL {
        let (written, told) = run(language, "first");
        assert_eq!(of(&told, "run_end").len(), 3);
        is_all_of(&written, &told);
    }
}

#[test]
fn a_session_that_starts_after_the_model_gets_the_runs_after_it_with_their_names() {
    for language in Language::ALL {
        let (written, told) = run(language, "late");
        let runs: Vec<u64> = of(&told, "run_end").iter().map(|run| run.number("run")).collect();
        assert_eq!(runs.len(), 6);
        let is_late = |call: &&Call| {
            !["dispatch_end", "copy"].contains(&call.function.as_str()) || runs[3..].contains(&call.number("run"))
        };
        is_all_of(&written, &told.iter().filter(is_late).cloned().collect::<Vec<_>>());
    }
}
