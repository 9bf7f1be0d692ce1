//! Clients of the CUDA Debugger API debug a benchmark that runs.

mod process;

use opscope_c_programs::{Language, Library, Program};
use process::Workplace;
use process::running::Running;
use rustix::process::Signal;

/// Returns a client that is linked with the library. Its target is a program: a socket at which it listens, or its
/// process number.
fn client(source: &str, target: impl Into<String>) -> Program {
    opening(source, target).option("-l:libcudadebugger.so.1")
}

/// Returns a client that is not linked with the library.
fn opening(source: &str, target: impl Into<String>) -> Program {
    let library = Library::Cudbg.files().to_str().unwrap();
    let program = Program::of(Library::Cudbg, source).option("-Wno-unused-function");
    program.with("LD_LIBRARY_PATH", library).with("OPSCOPE_DEBUG_TARGET", target)
}

#[test]
fn the_loops_of_all_generations_run_over_a_real_model_in_another_process() {
    for generation in ["30", "32", "42", "50", "55", "60"] {
        let place = Workplace::new();
        let running = Running::start(&place, &["--debug-server=socket"]);
        let socket = place.path("socket");
        let client = client("events.c", socket.to_str().unwrap()).arguments([generation, "40"]);
        let mut client = client.start(Language::C11);
        // Several runs of the model, whose operators are kernels.
        let mut printed: Vec<String> = Vec::new();
        while printed.last().is_none_or(|line| line != "KERNEL_READY grid 40") {
            printed.push(client.line());
        }
        let ended = running.interrupt();
        assert_eq!(ended.code, Some(3), "{ended:?}");
        printed.extend(client.end().stdout.lines().map(str::to_owned));
        let count = |start: &str| printed.iter().filter(|line| line.starts_with(start)).count();
        assert_eq!((count("ELF_IMAGE_LOADED an image"), count("attached")), (1, 1), "{printed:?}");
        for grid in 1..=40 {
            assert_eq!(printed.iter().filter(|line| **line == format!("KERNEL_READY grid {grid}")).count(), 1);
        }
        assert_eq!(count("CTX_PUSH") >= 3, generation != "30", "{printed:?}");
        assert_eq!(count("CTX_DESTROY context 1") == 1, generation != "30", "{printed:?}");
        assert_eq!(count("ATTACH_COMPLETE") == 1, generation >= "50", "{printed:?}");
        // A client that ends may miss the last events of this queue, because they are not ordered with those of the
        // other queue.
        assert_eq!(count("async KERNEL_FINISHED") >= 30, generation >= "50", "{printed:?}");
        assert_eq!(count("ELF_IMAGE_UNLOADED") == 1, generation == "60", "{printed:?}");
    }
}

#[test]
fn a_client_changes_what_a_real_model_computes() {
    let place = Workplace::new();
    let running = Running::start(&place, &["--debug-server"]);
    // By the number of the process.
    client("model.c", running.child.id().to_string()).run_as(Language::C11);
    let ended = running.interrupt();
    assert!(ended.json()["debugger"]["stopped_runs"].as_u64() >= Some(2), "{ended:?}");
}

#[test]
fn clients_open_the_library_by_each_of_its_names() {
    let place = Workplace::new();
    let running = Running::start(&place, &["--debug-server=socket"]);
    let socket = place.path("socket");
    let files = Library::Cudbg.files();
    for (directory, name) in [(files.to_owned(), "libcudadebugger.so.1"), (files.join("opscope/cudbg"), "libcuda.so.1")]
    {
        let client = opening("kernels.c", socket.to_str().unwrap()).option("-DOPENED").argument(name);
        client.with("LD_LIBRARY_PATH", directory.to_str().unwrap()).run_as(Language::C11);
    }
    running.interrupt();
}

#[test]
fn a_program_that_is_killed_is_an_internal_error_for_its_client() {
    let place = Workplace::new();
    let running = Running::start(&place, &["--debug-server=socket"]);
    let socket = place.path("socket");
    let client = client("exception.c", socket.to_str().unwrap()).argument("gone");
    let mut client = client.start(Language::C11);
    assert_eq!(client.line(), "attached");
    running.signal(Signal::KILL);
    client.end();
}
