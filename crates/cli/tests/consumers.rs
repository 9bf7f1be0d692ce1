//! Consumers, the libraries that receive what the command runs: how they are found, and what they get. Also, what
//! happens to a library that is no consumer, refuses, or was compiled with another header. The consumer is written in
//! C.

mod process;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use opscope_c_programs::consumers::{Call, SDK, V2, calls, consumer, library, of};
use process::{Ended, Workplace, end, engine, model};
use serde_json::Value;

/// A command with a consumer's log.
struct Fed {
    place: Workplace,
}

impl Fed {
    fn new() -> Self {
        Self { place: Workplace::new() }
    }

    /// Compiles the consumer under this name in the directory `lib`.
    fn with(name: &str, options: &[&str]) -> Self {
        let fed = Self::new();
        consumer(&fed.place.path("lib").join(name), options);
        fed
    }

    fn log(&self) -> PathBuf {
        self.place.path("log")
    }

    fn calls(&self) -> Vec<Call> {
        calls(&self.log())
    }

    /// Returns a command that writes to the log and looks for consumers in `lib`.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.command(arguments);
        command.env("CONSUMER_LOG", self.log()).env("OPSCOPE_LIB_DIR", self.place.path("lib"));
        command
    }

    /// Runs `digits_cnn.onnx` and returns how the command ended. It must succeed.
    fn benchmark(&self, arguments: &[&str]) -> Ended {
        let ended = end(&mut self.command(&benchmark(arguments)));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended
    }
}

fn benchmark<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let digits: &'static str = model("digits_cnn.onnx").leak();
    [&["benchmark", digits][..], arguments, process::once(arguments)].concat()
}

/// Returns the operators of the model by name and type, as `opscope inspect` shows them.
fn operators(place: &Workplace) -> Vec<(String, String)> {
    let shown = end(&mut place.command(&["inspect", &model("digits_cnn.onnx"), "--json"])).json();
    let text = |operator: &Value, key: &str| operator[key].as_str().unwrap().to_owned();
    let operators = shown["operators"].as_array().unwrap().iter();
    operators.map(|operator| (text(operator, "name"), text(operator, "op_type"))).collect()
}

fn by_run<'a>(calls: &'a [Call], function: &str) -> BTreeMap<u64, Vec<&'a Call>> {
    let mut runs: BTreeMap<u64, Vec<&Call>> = BTreeMap::new();
    for call in of(calls, function) {
        runs.entry(call.number("run")).or_default().push(call);
    }
    runs
}

#[test]
fn every_dispatch_of_every_run_arrives_with_its_operators_name() {
    let fed = Fed::with(SDK, &[]);
    let report = fed.benchmark(&["--loop", "5", "--warmup-count", "2", "--json"]).json();
    let measured = report["npu_compute_time_list"].as_array().unwrap().len();
    let calls = fed.calls();
    let runs = of(&calls, "run_end");
    assert_eq!(runs.len(), measured + 2, "the warm-ups are runs, too");
    assert_eq!(runs.iter().map(|run| run.number("number")).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
    assert!(runs.iter().all(|run| run.number("failed") == 0));

    let known = operators(&fed.place);
    let plan = of(&calls, "plan_made");
    assert_eq!(plan.len(), 1);
    let kernels: Vec<&str> = of(&calls, "kernel").iter().map(|kernel| kernel.text("name")).collect();
    assert_eq!(kernels.len() as u64, plan[0].number("kernels"));
    let (begins, ends) = (by_run(&calls, "dispatch_begin"), by_run(&calls, "dispatch_end"));
    assert_eq!((begins.len(), ends.len()), (runs.len(), runs.len()));
    for run in runs {
        let (begins, ends) = (&begins[&run.number("run")], &ends[&run.number("run")]);
        assert_eq!(ends.iter().map(|end| end.text("name")).collect::<Vec<_>>(), kernels);
        assert_eq!(begins.iter().map(|begin| begin.text("name")).collect::<Vec<_>>(), kernels);
        let mut before = run.number("begin");
        for (begin, end) in begins.iter().zip(ends) {
            let operator = (end.text("name").to_owned(), end.text("type").to_owned());
            // A kernel that the engine added has a name of the engine's.
            let is_added = engine::is_onnxruntime() && operator.0.starts_with("Reorder");
            assert!(known.contains(&operator) || is_added, "{operator:?}");
            assert_eq!((begin.text("kernel"), begin.number("end")), (end.text("kernel"), 0));
            // Both times come from one calibration, so they are in order. ONNX Runtime reports dispatches when their
            // run has ended.
            let begun = if engine::is_onnxruntime() { end.number("start") } else { begin.number("start") };
            assert!(before <= begun && begun <= end.number("start"), "{begin:?} {end:?}");
            before = end.number("end");
            assert!(end.number("start") <= before);
        }
        assert!(before <= run.number("end"));
    }
}

#[test]
fn the_consumer_knows_the_program_the_model_and_its_kernels_before_the_first_run() {
    let fed = Fed::with(V2, &[]);
    fed.benchmark(&["--loop", "1", "--verify", "off"]);
    let calls = fed.calls();
    let first_run = calls.iter().position(|call| call.function == "run_begin").unwrap();
    let (before, after) = calls.split_at(first_run);
    let functions: Vec<&str> = before.iter().map(|call| call.function.as_str()).collect();
    let announced: Vec<&str> =
        functions.iter().filter(|name| !["operator", "kernel"].contains(name)).copied().collect();
    assert_eq!(announced, ["attach", "runtime_initialized", "model_loaded", "plan_made", "thread_started"]);
    let runtime = of(before, "runtime_initialized")[0];
    assert_eq!((runtime.text("name"), runtime.text("version")), ("opscope", env!("CARGO_PKG_VERSION")));
    let loaded = of(before, "model_loaded")[0];
    assert_eq!(
        (loaded.text("name"), loaded.text("engine"), loaded.number("fidelity")),
        ("digits_cnn", engine::name(), 1)
    );
    assert_eq!(loaded.text("path"), model("digits_cnn.onnx"));
    let told: Vec<(String, String)> = of(before, "operator")
        .iter()
        .map(|operator| (operator.text("name").to_owned(), operator.text("type").to_owned()))
        .collect();
    assert_eq!(told, operators(&fed.place));
    for kernel in of(before, "kernel").into_iter().filter(|kernel| kernel.number("operator") != u64::MAX) {
        let operator = kernel.number("operator") as usize;
        assert_eq!((kernel.text("name"), kernel.text("type")), (told[operator].0.as_str(), told[operator].1.as_str()));
        assert_eq!(kernel.text("operators").split(',').next().unwrap().trim_end_matches('?'), operator.to_string());
    }
    let softmax = of(before, "kernel").into_iter().find(|kernel| kernel.text("name") == "/Softmax").unwrap();
    assert_eq!((softmax.text("dtype"), softmax.text("shape")), ("float32", "1x10"));
    assert_eq!(after.last().unwrap().function, "model_unloaded");
}

#[test]
fn the_model_that_runs_is_announced_even_if_another_was_verified_first() {
    let fed = Fed::with(SDK, &[]);
    fed.benchmark(&["--loop", "1", "--verify", "on"]);
    let calls = fed.calls();
    let ran: BTreeSet<u64> = of(&calls, "run_end").iter().map(|run| run.number("model")).collect();
    let ids = |function| of(&calls, function).iter().map(|call| call.number("model")).collect::<Vec<_>>();
    let mut loaded = ids("model_loaded");
    assert!(ran.iter().all(|model| loaded.contains(model)), "{ran:?} {loaded:?}");
    assert_eq!(of(&calls, "run_end").len(), 2, "the runs that verify are not those of the benchmark");
    let mut unloaded = ids("model_unloaded");
    loaded.sort_unstable();
    unloaded.sort_unstable();
    assert_eq!(loaded, unloaded);
}

#[test]
fn copies_and_memory_of_every_run_arrive_and_what_is_allocated_is_freed() {
    let fed = Fed::with(SDK, &[]);
    fed.benchmark(&["--loop", "3"]);
    let calls = fed.calls();
    let copies = by_run(&calls, "copy");
    assert_eq!(copies.len(), 4);
    for (run, copies) in &copies {
        let told: Vec<_> = copies
            .iter()
            .map(|copy| (copy.number("direction"), copy.number("bytes"), copy.number("tensors")))
            .collect();
        assert_eq!(told, [(1, 64 * 4, 1), (2, 10 * 4, 1)], "run {run}");
        assert!(copies.iter().all(|copy| copy.number("start") <= copy.number("end")));
    }
    for (run, allocations) in by_run(&calls, "allocation") {
        let mut held = BTreeMap::new();
        for allocation in allocations {
            let (address, bytes) = (allocation.number("address"), allocation.number("bytes"));
            match allocation.number("operation") {
                1 => assert_eq!(held.insert(address, bytes), None, "run {run}"),
                2 => assert_eq!(held.remove(&address), Some(bytes), "run {run}"),
                other => panic!("operation {other}"),
            }
        }
        assert!(held.is_empty(), "run {run}: {held:?}");
    }
}

#[test]
fn each_thread_is_announced_once_before_it_runs_anything() {
    let fed = Fed::with(SDK, &[]);
    fed.benchmark(&["--loop", "40", "--threads", "4"]);
    let mut known = BTreeSet::new();
    for call in fed.calls() {
        let thread = || call.number("thread");
        match call.function.as_str() {
            "thread_started" => assert!(known.insert(thread()), "{call:?}"),
            "run_begin" | "dispatch_begin" | "dispatch_end" | "copy" | "allocation" | "run_end" => {
                assert!(known.contains(&thread()), "{call:?}");
            }
            _ => {}
        }
    }
    assert!((1..=4).contains(&known.len()), "{known:?}");
}

#[test]
fn a_run_that_is_aborted_ends_as_failed() {
    let fed = Fed::with(SDK, &[]);
    let digits = model("digits_cnn.onnx");
    let commands = ["debug", &digits, "--batch", "-ex", "break /conv2/Conv", "-ex", "run", "-ex", "abort"];
    end(&mut fed.command(&commands));
    let calls = fed.calls();
    let ends = of(&calls, "run_end");
    assert_eq!(ends.iter().map(|end| end.number("failed")).collect::<Vec<_>>(), [1]);
    let dispatched = of(&calls, "dispatch_end");
    assert!(!dispatched.is_empty() && dispatched.iter().all(|dispatch| dispatch.text("name") != "/Softmax"));
}

/// Returns a directory, on the same disk as the command itself, with a copy of the command in `bin`.
fn installed() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = place.path().join("bin/opscope");
    fs::create_dir(place.path().join("bin")).unwrap();
    fs::hard_link(env!("CARGO_BIN_EXE_opscope"), &program).unwrap();
    (place, program)
}

#[test]
fn a_consumer_beside_the_command_or_in_lib_is_found_without_a_variable() {
    let fed = Fed::new();
    for directory in ["bin", "lib"] {
        let (place, program) = installed();
        consumer(&place.path().join(directory).join(SDK), &["-DONLY_ENDS"]);
        // A link elsewhere leads to the same command.
        let link = fed.place.path(directory);
        std::os::unix::fs::symlink(&program, &link).unwrap();
        for program in [&program, &link] {
            fs::remove_file(fed.log()).ok();
            let mut command = Command::new(program);
            let ended =
                end(command.args(benchmark(&[])).env("CONSUMER_LOG", fed.log()).env("XDG_CACHE_HOME", "/dev/null"));
            assert_eq!(ended.code, Some(0), "{ended:?}");
            assert_eq!(of(&fed.calls(), "run_end").len(), 2, "{directory}, {}", program.display());
        }
    }
}

#[test]
fn the_named_directory_comes_before_those_beside_the_command() {
    let fed = Fed::with(SDK, &["-DONLY_ENDS", "-DNAME=\"named\""]);
    let (place, program) = installed();
    consumer(&place.path().join("lib").join(SDK), &["-DONLY_ENDS", "-DNAME=\"beside\""]);
    consumer(&place.path().join("lib").join(V2), &["-DONLY_ENDS", "-DNAME=\"v2\""]);
    let mut command = Command::new(program);
    command.args(benchmark(&[])).env("CONSUMER_LOG", fed.log()).env("OPSCOPE_LIB_DIR", fed.place.path("lib"));
    assert_eq!(end(command.env("XDG_CACHE_HOME", "/dev/null")).code, Some(0));
    let calls = fed.calls();
    let attached: Vec<&str> = of(&calls, "attach").iter().map(|call| call.text("by")).collect();
    assert_eq!(attached, ["named", "v2"]);
    let by = |name| of(&calls, "dispatch_end").iter().filter(|call| call.text("by") == name).count();
    assert_eq!(by("named"), by("v2"), "each consumer has a table of its own");
    assert!(by("v2") > 0);
}

#[test]
fn a_preloaded_consumer_is_attached_once_under_any_name() {
    let fed = Fed::with(SDK, &["-DONLY_ENDS"]);
    let preloaded = fed.place.path("elsewhere/libany.so");
    consumer(&preloaded, &["-DONLY_ENDS", "-DNAME=\"any\""]);
    let ended = end(fed.command(&benchmark(&["--debug"])).env("LD_PRELOAD", &preloaded));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let attached =
        |fed: &Fed| of(&fed.calls(), "attach").iter().map(|call| call.text("by").to_owned()).collect::<Vec<_>>();
    assert_eq!(attached(&fed), ["any", "consumer"]);
    ended.says(&["libany.so is attached"]);

    // The library that the variable leads to is loaded already.
    fs::remove_file(fed.log()).unwrap();
    let library = fed.place.path("lib").join(SDK);
    assert_eq!(end(fed.command(&benchmark(&[])).env("LD_PRELOAD", library)).code, Some(0));
    assert_eq!(attached(&fed), ["consumer"]);
}

#[test]
fn a_consumer_that_another_library_depends_on_is_the_one_that_is_attached() {
    let fed = Fed::new();
    let lib = fed.place.path("lib");
    let below = lib.join("libbelow.so");
    consumer(&below, &["-DONLY_ENDS", "-DNAME=\"below\""]);
    let above = lib.join("libabove.so");
    let options = ["-Wl,--no-as-needed", below.to_str().unwrap()];
    library(&above, "int above(void);\nint above(void) { return 1; }\n", &options);
    let ended = end(fed.command(&benchmark(&["--debug"])).env("LD_PRELOAD", &above));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(of(&fed.calls(), "attach").len(), 1);
    ended.says(&["libbelow.so is attached"]);
    assert!(!ended.stderr.contains("libabove.so is attached"), "{ended:?}");
}

#[test]
fn a_vendors_library_of_the_same_name_is_not_even_loaded() {
    let fed = Fed::new();
    let touched = fed.place.path("touched");
    let code = format!(
        "#include <stdio.h>\n\
         int opscope_attach_producer(void *);\n\
         int rocprofiler_configure(void);\n\
         int rocprofiler_configure(void) {{ return opscope_attach_producer(0); }}\n\
         __attribute__((constructor)) static void loaded(void)\n\
         {{ FILE *file = fopen(\"{}\", \"w\"); if (file) fclose(file); }}\n",
        touched.display()
    );
    // The library only imports the function, and does not export it.
    library(&fed.place.path("lib").join(SDK), &code, &[]);
    let ended = fed.benchmark(&["--debug"]);
    assert!(!touched.exists(), "its constructor ran");
    ended.says(&["is another library of this name (it does not export opscope_attach_producer) and was not loaded"]);
    assert!(!fed.benchmark(&[]).stderr.contains("another library"), "a vendor's library is no reason for a message");
}

#[test]
fn what_cannot_be_attached_is_named_and_the_command_continues() {
    let fed = Fed::with(SDK, &["-DSTATUS=7"]);
    fed.benchmark(&[]).says(&["warning: ", SDK, "it refused to be attached, with status 7"]);

    let fed = Fed::with(SDK, &["-DSTATUS=OPSCOPE_ATTACH_WRONG_VERSION"]);
    fed.benchmark(&[]).says(&["it was made for another version of opscope's producer table"]);
    assert_eq!(of(&fed.calls(), "attach").len(), 1);

    let fed = Fed::new();
    fed.place.write(&format!("lib/{SDK}"), "no library");
    fed.benchmark(&[]).says(&["it cannot be read: "]);

    let fed = Fed::new();
    let code = "int opscope_attach_producer(void *);\nint missing(void);\n\
                int opscope_attach_producer(void *table) { return table == 0 || missing(); }\n";
    library(&fed.place.path("lib").join(SDK), code, &[]);
    fed.benchmark(&[]).says(&["it cannot be loaded: ", "missing"]);

    let fed = Fed::new();
    fed.benchmark(&[]).says(&["OPSCOPE_LIB_DIR names this directory, and it does not exist"]);
    assert!(!fed.benchmark(&["--quiet"]).stderr.contains("OPSCOPE_LIB_DIR"));
}

#[test]
fn a_consumer_that_sets_nothing_changes_nothing() {
    let fed = Fed::with(SDK, &["-DNOTHING"]);
    fed.benchmark(&["--loop", "3"]);
    let functions: Vec<String> = fed.calls().into_iter().map(|call| call.function).collect();
    assert_eq!(functions, ["attach"]);
}

#[test]
fn a_function_that_is_put_back_is_not_called_from_the_next_run_on() {
    let fed = Fed::with(SDK, &["-DONLY_ENDS", "-DSTOP_AFTER=2"]);
    fed.benchmark(&["--loop", "4"]);
    let calls = fed.calls();
    let dispatches = by_run(&calls, "dispatch_end");
    assert_eq!(of(&calls, "run_end").len(), 5);
    assert_eq!(dispatches.keys().copied().collect::<Vec<_>>(), [1, 2]);
    assert_eq!(dispatches[&1].len(), dispatches[&2].len());
}

#[test]
fn consumers_of_an_older_and_a_newer_header_work() {
    // The first fields of the table, as an older header had them.
    let older = r#"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
struct table { size_t size; uint64_t version; void *consumer; void *earlier[6]; void (*run_end)(void *, const void *); };
int opscope_attach_producer(struct table *table);
static void run_end(void *consumer, const void *run)
{
    FILE *log = fopen(getenv("CONSUMER_LOG"), "a");
    fprintf(log, "run_end\tolder=%d\n", consumer == 0 && *(const size_t *)run >= 64);
    fclose(log);
}
int opscope_attach_producer(struct table *table)
{
    if (table->size < sizeof *table)
        return 1;
    table->run_end = run_end;
    return 0;
}
"#;
    // The header has a field that this producer does not have.
    let newer = r#"
#include "opscope_producer.h"
#include <stdio.h>
#include <stdlib.h>
struct table { opscope_producer_t now; void (*later)(void *, const void *); };
static void later(void *consumer, const void *argument) { (void)consumer; (void)argument; abort(); }
int opscope_attach_producer(opscope_producer_t *table)
{
    FILE *log = fopen(getenv("CONSUMER_LOG"), "a");
    fprintf(log, "attach\thas_later=%d\n", table->size >= sizeof(struct table));
    fclose(log);
    if (table->size >= sizeof(struct table))
        ((struct table *)table)->later = later;
    return OPSCOPE_ATTACHED;
}
"#;
    let fed = Fed::new();
    library(&fed.place.path("lib").join(SDK), older, &[]);
    library(&fed.place.path("lib").join(V2), newer, &[]);
    fed.benchmark(&["--loop", "2"]);
    let calls = fed.calls();
    assert_eq!(of(&calls, "run_end").iter().map(|call| call.text("older")).collect::<Vec<_>>(), ["1"; 3]);
    assert_eq!(of(&calls, "attach").iter().map(|call| call.text("has_later")).collect::<Vec<_>>(), ["0"]);
}
