//! Programs that are linked with librocprofiler-sdk.so.1, contain a tool, and run models with libopscope. A consumer
//! receives reports of the same runs.

use std::collections::BTreeSet;

use opscope_c_programs::consumers::{Call, V2, calls, consumer, of};
use opscope_c_programs::sdk_trace::Trace;
use opscope_c_programs::{DIRECTORY, Language, Library, source};

use super::{CONSUMER_LOG, TOOL_LOG, program, with_tool};

/// What the tool of a program wrote, and what the consumer received.
struct Ran {
    trace: Trace,
    told: Vec<Call>,
    stderr: String,
}

const FORCED: &[&str] = &["-DFORCED"];
/// The library finds the program's own rocprofiler_configure.
const FOUND: &[&str] = &[];

/// Compiles `tools.c` with the tool, runs it, and returns what was written.
fn run_as(language: Language, options: &[&str], what: &str) -> Ran {
    let place = tempfile::tempdir().expect("a directory");
    consumer(&place.path().join("lib").join(V2), &[]);
    let roctx = Library::Roctx;
    let program = with_tool("tools.c", Library::RocprofilerSdk, what, place.path()).uses(roctx).options(options);
    let program = program.options(&["-lrocprofiler-sdk", "-lrocprofiler-sdk-roctx", &roctx.rpath()]);
    let stderr = program.run_as(language).stderr;
    let [tool, consumer] = [TOOL_LOG, CONSUMER_LOG].map(|name| place.path().join(name));
    assert!(tool.exists(), "no tool was configured: {stderr}");
    Ran { trace: Trace::of(&calls(&tool), "tool"), told: calls(&consumer), stderr }
}

fn run(options: &[&str], what: &str) -> [Ran; 2] {
    Language::ALL.map(|language| run_as(language, options, what))
}

/// The lines about runs of these numbers, and all others.
fn of_runs(told: &[Call], numbers: &[u64]) -> Vec<Call> {
    let is_one = |run: &&&Call| numbers.contains(&run.number("number"));
    let runs: BTreeSet<u64> = of(told, "run_begin").iter().filter(is_one).map(|run| run.number("run")).collect();
    let is_kept = |call: &&Call| {
        !["dispatch_end", "dispatch_begin", "copy", "allocation"].contains(&&*call.function)
            || runs.contains(&call.number("run"))
    };
    told.iter().filter(is_kept).cloned().collect()
}

fn count(told: &[Call], function: &str) -> usize {
    of(told, function).len()
}

#[test]
fn a_program_with_a_tool_gets_all_of_its_own_runs() {
    for options in [FOUND, FORCED] {
        for Ran { trace, told, stderr } in run(options, "runs") {
            assert_eq!((stderr.as_str(), count(&told, "run_end")), ("", 3));
            assert_eq!(count(&told, "dispatch_end") % 3, 0);
            trace.is_all_of(&told);
            trace.callbacks_say_the_same();
            assert_eq!(trace.code_objects_come_and_go(), 1);
            assert_eq!(trace.all("finalize").len(), 1);
        }
    }
}

#[test]
fn a_tool_that_comes_after_the_model_gets_the_runs_after_it() {
    for Ran { trace, told, .. } in run(FORCED, "late") {
        let told = of_runs(&told, &[2, 3, 4]);
        assert!(count(&told, "dispatch_end") > 0);
        trace.is_all_of(&told);
        trace.callbacks_say_the_same();
        assert_eq!(trace.code_objects_come_and_go(), 1);
    }
}

#[test]
fn a_context_gets_runs_while_it_is_started() {
    for Ran { trace, told, .. } in run(FOUND, "switched") {
        assert_eq!(count(&told, "run_end"), 6);
        trace.is_all_of(&of_runs(&told, &[0, 2, 4]));
        trace.callbacks_say_the_same();
    }
}

#[test]
fn models_that_are_loaded_again_have_ids_of_their_own() {
    for Ran { trace, told, .. } in run(FORCED, "again") {
        trace.is_all_of(&told);
        assert_eq!(trace.code_objects_come_and_go(), 6);
        // The objects of a model are unloaded with it, before the next model is loaded.
        let phases: Vec<_> = trace.all("call_object").iter().map(|line| line.text("phase").to_owned()).collect();
        assert_eq!(phases, ["enter", "enter", "exit", "exit"].repeat(3));
        let objects: BTreeSet<u64> = trace.all("call_object").iter().map(|line| line.number("object")).collect();
        assert_eq!(objects, (1..=6).collect());
    }
}

#[test]
fn threads_that_share_a_model_are_told_apart() {
    for Ran { trace, told, .. } in run(FOUND, "threads") {
        assert!(count(&told, "run_end") >= 40);
        trace.is_all_of(&told);
        trace.callbacks_say_the_same();
        let threads: BTreeSet<u64> = trace.all("dispatch").iter().map(|line| line.number("thread")).collect();
        assert_eq!(threads.len(), 4);
    }
}

#[test]
fn a_tool_that_comes_while_threads_run_the_model_gets_whole_runs_with_all_names() {
    for Ran { trace, told, .. } in run(FORCED, "late threads") {
        let place = |line: &Call| ["thread", "start", "end"].map(|key| line.number(key));
        let traced: BTreeSet<_> = trace.all("dispatch").into_iter().map(place).collect();
        let dispatches = of(&told, "dispatch_end");
        let mut kept = Vec::new();
        for run in of(&told, "run_end").iter().map(|end| end.number("run")) {
            let of_run: Vec<_> = dispatches.iter().filter(|line| line.number("run") == run).copied().collect();
            let found = of_run.iter().filter(|line| traced.contains(&place(line))).count();
            assert!(found == 0 || found == of_run.len(), "{found} of the {} dispatches of run {run}", of_run.len());
            kept.extend(of_run.into_iter().filter(|_| found > 0).cloned());
        }
        assert!(!kept.is_empty() && kept.len() < dispatches.len(), "{} of {}", kept.len(), dispatches.len());
        trace.dispatches_are(&told, &kept);
        assert_eq!(trace.code_objects_come_and_go(), 1);
    }
}

#[test]
fn marks_and_ranges_of_the_program_are_around_its_dispatches() {
    for Ran { trace, told, .. } in run(FOUND, "markers") {
        // The ROCTx runtime registers itself, too.
        let (program, others): (Vec<Call>, Vec<Call>) = trace
            .lines
            .iter()
            .cloned()
            .partition(|line| !line.function.ends_with("runtime") || line.number("operation") == 0);
        assert_eq!(others.iter().map(|line| line.number("operation")).collect::<Vec<_>>(), [3, 3], "MARKER");
        let trace = Trace { lines: program };
        trace.is_all_of(&told);
        let markers = trace.all("marker");
        let operations: Vec<u64> = markers.iter().map(|line| line.number("operation")).collect();
        assert_eq!(operations, [1, 0, 2].repeat(3), "push, mark, pop");
        for (run, marks) in markers.chunks(3).enumerate() {
            let run = of(&told, "run_end")[run];
            assert!(marks[0].number("end") <= run.number("begin"), "{marks:?} {run:?}");
            assert!(run.number("end") <= marks[1].number("start"), "{marks:?} {run:?}");
        }
    }
}

#[test]
fn a_tool_that_is_bound_to_another_library_stays_with_it() {
    // This stands for the vendor's library, in which nothing may be called.
    let vendor =
        "int rocprofiler_create_context(void *);\nint rocprofiler_create_context(void *id) { return id == 0; }\n";
    let code = r#"
#include "check.h"
int rocprofiler_create_context(void *);
void *rocprofiler_configure(unsigned, const char *, unsigned, void *);
void *rocprofiler_configure(unsigned version, const char *text, unsigned priority, void *id)
{
    printf("%u %s %u %d\n", version, text, priority, id == 0);
    exit(1);
}
int main(int argc, char **argv)
{
    CHECK(argc == 2 && rocprofiler_create_context(argv) == 0);
    opscope_session_t session;
    OK(opscope_session_load(argv[1], NULL, &session));
    float pixels[64] = {0};
    const opscope_tensor_t input = input_of(pixels);
    OK(opscope_session_run(session, &input, 1, NULL, NULL));
    OK(opscope_session_free(session));
    return 0;
}
"#;
    let place = tempfile::tempdir().expect("a directory");
    let name = "librocprofiler-sdk.so.1";
    std::os::unix::fs::symlink(Library::RocprofilerSdk.files().join(name), place.path().join(name)).expect("a link");
    let soname = format!("-Wl,-soname,{name}");
    let check = format!("-I{}", Library::Opscope.root().join("tests/c").display());
    let program = program(source("program.c", code).to_str().expect("UTF-8")).option(check);
    let program = program.linked_beside(source("vendor.c", vendor), name, &[&soname]).argument("digits_cnn.onnx");
    let program = program.with("OPSCOPE_LIB_DIR", place.path().to_str().expect("UTF-8"));
    let stderr = program.with("LD_LIBRARY_PATH", DIRECTORY).run_as(Language::C11).stderr;
    assert!(stderr.contains("was loaded before this library, so tools belong to it"), "{stderr}");
    assert!(stderr.contains(&format!("{DIRECTORY}/{name}")), "{stderr}");
}

#[test]
fn models_that_callbacks_run_are_recorded_as_well() {
    for what in ["own in enqueue", "other in enqueue", "own in code object", "other in code object"] {
        for Ran { trace, told, stderr } in run(&["-DIN_CALLBACKS"], what) {
            assert_eq!(stderr, "", "{what}");
            let dispatches: Vec<Call> = of(&told, "dispatch_end").into_iter().cloned().collect();
            let runs = count(&told, "run_end");
            assert!(
                runs > 4 && dispatches.len().is_multiple_of(runs),
                "{what}: {runs} runs, {} dispatches",
                dispatches.len()
            );
            trace.dispatches_are_in_any_order(&told, &dispatches);
            assert_eq!(trace.code_objects_come_and_go(), 2, "{what}");
        }
    }
}

#[test]
fn a_program_that_ends_with_a_model_loaded_loses_no_record() {
    for Ran { trace, told, stderr } in run(FORCED, "unloaded at exit") {
        assert_eq!(stderr, "");
        trace.is_all_of(&told);
        assert!(trace.all("call_object").iter().all(|line| line.text("phase") == "enter"));
    }
}
