//! Clients of the CUDA Debugger API debug a benchmark that runs.

#[path = "../../../abi/opscope/tests/c_programs/support/language.rs"]
#[allow(dead_code)]
mod language;
#[path = "../../../abi/opscope/tests/c_programs/support/linked.rs"]
#[allow(dead_code)]
mod linked;
mod process;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use language::Language;
use process::Workplace;
use process::running::Running;
use rustix::process::Signal;

/// The directory of libcudadebugger.so.1, linked from what cargo built.
fn cudbg() -> &'static Path {
    static CUDBG: OnceLock<PathBuf> = OnceLock::new();
    CUDBG.get_or_init(|| linked::link(&linked::root().join("../../abi/cudbg"), "opscope-cudbg"))
}

/// Compiles a client, linked with the library or, with `OPENED`, without.
fn compile(place: &Workplace, source: &str, is_linked: bool) -> PathBuf {
    let (root, client) = (linked::root().join("../../abi/cudbg"), place.path("client"));
    let mut compiler = Language::C11.compiler();
    compiler.args(["-D_GNU_SOURCE", "-Wno-unused-function", "-I"]).arg(root.join("include"));
    compiler.arg(root.join("tests/c").join(source)).arg("-o").arg(&client);
    if is_linked {
        compiler.arg("-L").arg(cudbg()).arg("-l:libcudadebugger.so.1");
    } else {
        compiler.arg("-DOPENED");
    }
    linked::succeeds(compiler.args(["-lpthread", "-ldl"]));
    client
}

/// A client's command, for the program that listens at a socket, or has a number.
fn client(path: &Path, library: &Path, target: &str) -> Command {
    // A client that hangs is a failure, not a test that never ends.
    let mut command = Command::new("timeout");
    command.args(["-s", "ABRT", "120"]).arg(path);
    command.env("LD_LIBRARY_PATH", library).env("OPSCOPE_DEBUG_TARGET", target).stdin(Stdio::null());
    command
}

#[test]
fn the_loops_of_all_generations_run_over_a_real_model_in_another_process() {
    for generation in ["30", "32", "42", "50", "55", "60"] {
        let place = Workplace::new();
        let path = compile(&place, "events.c", true);
        let running = Running::start(&place, &["--debug-server=socket"]);
        let socket = place.path("socket");
        let mut client = client(&path, cudbg(), socket.to_str().unwrap());
        let mut client = client.args([generation, "40"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(client.stdout.take().unwrap()).lines().map(Result::unwrap);
        // Several runs of the model, whose operators are kernels.
        let mut printed: Vec<String> = Vec::new();
        while printed.last().is_none_or(|line| line != "KERNEL_READY grid 40") {
            printed.push(lines.next().expect("another line"));
        }
        let ended = running.interrupt();
        assert_eq!(ended.code, Some(3), "{ended:?}");
        printed.extend(lines);
        assert!(client.wait().unwrap().success(), "{generation}: {printed:?}");
        let count = |start: &str| printed.iter().filter(|line| line.starts_with(start)).count();
        assert_eq!((count("ELF_IMAGE_LOADED an image"), count("attached")), (1, 1), "{printed:?}");
        for grid in 1..=40 {
            assert_eq!(printed.iter().filter(|line| **line == format!("KERNEL_READY grid {grid}")).count(), 1);
        }
        assert_eq!(count("CTX_PUSH") >= 3, generation != "30", "{printed:?}");
        assert_eq!(count("CTX_DESTROY context 1") == 1, generation != "30", "{printed:?}");
        assert_eq!(count("ATTACH_COMPLETE") == 1, generation >= "50", "{printed:?}");
        // A client that ends may miss the last ones: nothing orders them with the events of the other queue.
        assert_eq!(count("async KERNEL_FINISHED") >= 30, generation >= "50", "{printed:?}");
        assert_eq!(count("ELF_IMAGE_UNLOADED") == 1, generation == "60", "{printed:?}");
    }
}

#[test]
fn a_client_changes_what_a_real_model_computes() {
    let place = Workplace::new();
    let path = compile(&place, "model.c", true);
    let running = Running::start(&place, &["--debug-server"]);
    // By the number of the process.
    linked::succeeds(&mut client(&path, cudbg(), &running.child.id().to_string()));
    let ended = running.interrupt();
    assert!(ended.json()["debugger"]["stopped_runs"].as_u64() >= Some(2), "{ended:?}");
}

#[test]
fn clients_open_the_library_by_each_of_its_names() {
    let place = Workplace::new();
    let path = compile(&place, "kernels.c", false);
    let running = Running::start(&place, &["--debug-server=socket"]);
    let socket = place.path("socket");
    let of_its_own = cudbg().join("opscope/cudbg");
    for (library, name) in [(cudbg(), "libcudadebugger.so.1"), (&of_its_own, "libcuda.so.1")] {
        linked::succeeds(client(&path, library, socket.to_str().unwrap()).arg(name));
    }
    running.interrupt();
}

#[test]
fn a_program_that_is_killed_is_an_internal_error_for_its_client() {
    let place = Workplace::new();
    let path = compile(&place, "exception.c", true);
    let running = Running::start(&place, &["--debug-server=socket"]);
    let socket = place.path("socket");
    let mut client = client(&path, cudbg(), socket.to_str().unwrap());
    let mut client = client.arg("gone").stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(client.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some("attached"));
    running.signal(Signal::KILL);
    assert!(client.wait().unwrap().success());
}
