//! What a producer reports to a consumer that was compiled from C, without an engine.

use std::path::Path;

use opscope_c_programs::consumers::{Call, calls, consumer, library, of};
use opscope_clock::Ticks;
use opscope_producer::layout::Iteration;
use opscope_producer::{
    Copied, Direction, Fidelity, KernelFacts, LoadedModel, LoadedPlan, MemoryOperation, ModelFacts, OperatorFacts,
    RunFeed, Search, ToolRefusal, attach, is_any_attached,
};
use opscope_sys::Mutex;

/// Only one test runs at a time, because consumers stay attached to the process.
static TURN: Mutex<()> = Mutex::new(());

fn model(name: &str) -> std::sync::Arc<LoadedModel> {
    let facts = ModelFacts {
        name,
        path: Path::new("models/small.onnx"),
        engine: "paper",
        engine_version: "0.1",
        fidelity: Fidelity::Exact,
    };
    let operator = |name| OperatorFacts { name, op_type: "Relu", domain: "" };
    LoadedModel::new(&facts, ["a", "b\0c"].map(operator))
}

fn plan(model: &std::sync::Arc<LoadedModel>) -> LoadedPlan {
    let kernel = |(index, name)| KernelFacts {
        operator_name: name,
        operator_type: "Relu",
        name: "k",
        op: "OptRelu",
        operators: vec![(index, true), (7, false)],
        output_dtype: "float32",
        output_shape: vec![1, 3],
    };
    model.plan([(0, "a"), (1, "b\0c")].map(kernel))
}

fn only(name: &str, directory: &Path) -> Search {
    Search { names: vec![name.to_owned()], named: Some(directory.to_owned()), beside: Vec::new(), tools: Vec::new() }
}

/// Attaches a consumer with this name from its own directory. Returns the directory and the file that it writes to.
fn attached(name: &str, options: &[&str]) -> (tempfile::TempDir, std::path::PathBuf) {
    let place = tempfile::tempdir().expect("a directory");
    let log = place.path().join("log");
    let macro_log = format!("-DLOG=\"{}\"", log.display());
    consumer(&place.path().join(name), &[&[macro_log.as_str()], options].concat());
    let report = attach(c"a test", &only(name, place.path()));
    assert_eq!(report.attached.len(), 1, "{report:?}");
    assert!(is_any_attached());
    (place, log)
}

fn names(calls: &[Call]) -> Vec<&str> {
    calls.iter().map(|call| call.function.as_str()).collect()
}

#[test]
fn a_run_is_told_in_order_and_to_its_end() {
    let _turn = TURN.lock();
    let (_place, log) = attached("liborder.so", &[]);
    let loaded = model("small");
    loaded.announce();
    let plan = plan(&loaded);
    {
        let run = RunFeed::begin(&plan, 5).expect("the consumer wants runs");
        let now = Ticks::now();
        run.copied(Copied { direction: Direction::HostToDevice, bytes: 12, tensors: 1 }, now, now);
        let path = [Iteration { operator_id: 0, iteration: 3 }, Iteration { operator_id: 1, iteration: 0 }];
        run.dispatch_begin(1, &path);
        run.dispatch_end(1, &path, now, Ticks::now());
        run.dispatch_end(9, &[], now, now);
        run.memory(MemoryOperation::Allocate, 4096, 12, now);
        run.memory(MemoryOperation::Allocate, 8192, 24, now);
        run.memory(MemoryOperation::Free, 4096, 12, now);
        run.finished(true);
    }
    {
        // A run that is not reported as successful has failed.
        let _run = RunFeed::begin(&plan, 6).expect("the consumer wants runs");
    }
    drop(plan);
    let before = calls(&log);
    assert_eq!(of(&before, "model_unloaded"), Vec::<&Call>::new(), "the model is still there");
    drop(loaded);
    let calls = calls(&log);
    let expected = [
        "attach",
        "runtime_initialized",
        "model_loaded",
        "operator",
        "operator",
        "plan_made",
        "kernel",
        "kernel",
        "thread_started",
        "run_begin",
        "copy",
        "dispatch_begin",
        "dispatch_end",
        "allocation",
        "allocation",
        "allocation",
        "allocation",
        "run_end",
        "run_begin",
        "run_end",
        "model_unloaded",
    ];
    assert_eq!(names(&calls), expected);
    assert_eq!(calls[1].text("name"), "a test");
    assert_eq!((calls[2].text("path"), calls[2].text("fidelity")), ("models/small.onnx", "2"));
    assert_eq!(calls[4].text("name"), "b\u{fffd}c", "C would see an end at the NUL");
    assert_eq!((calls[7].text("operators"), calls[7].text("shape")), ("1,7?", "1x3"));
    assert_eq!(calls[9].number("number"), 5);
    let end = &calls[12];
    assert_eq!((end.text("path"), end.text("name")), ("0:3,1:0", "b\u{fffd}c"));
    assert!(end.number("start") <= end.number("end"));
    assert!(calls[9].number("begin") <= end.number("start") && end.number("end") <= calls[17].number("end"));
    let freed = &calls[16];
    assert_eq!((freed.number("operation"), freed.number("address"), freed.number("bytes")), (2, 8192, 24));
    assert_eq!((calls[17].number("failed"), calls[19].number("failed")), (0, 1));
    assert_ne!(calls[17].number("run"), calls[19].number("run"));
}

#[test]
fn a_consumer_that_comes_late_learns_of_what_is_loaded_with_the_next_run() {
    let _turn = TURN.lock();
    let loaded = model("early");
    loaded.announce();
    let plan = plan(&loaded);
    drop(RunFeed::begin(&plan, 0));
    let (_place, log) = attached("liblate.so", &["-DNAME=\"late\""]);
    drop(RunFeed::begin(&plan, 1));
    drop((plan, loaded));
    let calls = calls(&log);
    let functions = names(&calls);
    let told = ["model_loaded", "plan_made", "thread_started", "run_begin", "run_end", "model_unloaded"];
    let told_once: Vec<_> = functions.into_iter().filter(|function| told.contains(function)).collect();
    assert_eq!(told_once, told);
    assert_eq!(of(&calls, "run_begin")[0].number("number"), 1);
}

#[test]
fn null_in_the_place_of_a_function_is_taken_for_nothing() {
    let _turn = TURN.lock();
    let place = tempfile::tempdir().expect("a directory");
    let code = r#"
#include "opscope_producer.h"
int opscope_attach_producer(opscope_producer_t *table)
{
    for (void **entry = (void **)&table->runtime_initialized; (char *)entry < (char *)table + table->size; entry++)
        *entry = NULL;
    return OPSCOPE_ATTACHED;
}
"#;
    library(&place.path().join("libnull.so"), code, &[]);
    let report = attach(c"a test", &only("libnull.so", place.path()));
    assert_eq!(report.attached.len(), 1, "{report:?}");
    let loaded = model("small");
    loaded.announce();
    drop(RunFeed::begin(&plan(&loaded), 0));
}

#[test]
fn what_was_attached_is_not_attached_again() {
    let _turn = TURN.lock();
    let (place, log) = attached("libonce.so", &["-DONLY_ENDS"]);
    let again = attach(c"a test", &only("libonce.so", place.path()));
    assert!(again.attached.is_empty() && again.skipped.is_empty(), "{again:?}");
    assert_eq!(of(&calls(&log), "attach").len(), 1);
}

/// A consumer that accepts the tools whose names begin with its own, and records its calls.
const RUNS_TOOLS: &str = r#"
#include "opscope_producer.h"
#include <stdio.h>
#include <string.h>
static void note(const char *function, const char *path)
{
    FILE *log = fopen(LOG, "a");
    fprintf(log, "%s\tby=%s\tpath=%s\n", function, OWN, path);
    fclose(log);
}
int opscope_use_tool(const char *path)
{
    note("use_tool", path);
    if (strstr(path, "/late"))
        return OPSCOPE_TOOL_TOO_LATE;
    return strstr(path, "/" OWN) ? OPSCOPE_TOOL_TAKEN : OPSCOPE_TOOL_NOT_MINE;
}
int opscope_attach_producer(opscope_producer_t *table)
{
    (void)table;
    note("attach", "");
    return OPSCOPE_ATTACHED;
}
"#;

#[test]
fn tools_are_offered_before_anything_is_attached() {
    let _turn = TURN.lock();
    let place = tempfile::tempdir().expect("a directory");
    let path = |name: &str| place.path().join(name);
    let log = path("log");
    for own in ["first", "second"] {
        let options = [format!("-DLOG=\"{}\"", log.display()), format!("-DOWN=\"{own}\"")];
        library(&path(&format!("runs-{own}.so")), RUNS_TOOLS, &options.each_ref().map(String::as_str));
    }
    for tool in ["first-tool.so", "second-tool.so", "other-tool.so", "late-tool.so"] {
        library(&path(tool), "int tool;\n", &[]);
    }
    std::fs::write(path("text.so"), "no library").expect("the disk has room");
    let search = |tools: &[&str]| Search {
        names: vec!["runs-first.so".to_owned(), "runs-second.so".to_owned()],
        named: None,
        beside: vec![place.path().to_owned()],
        tools: tools.iter().map(|tool| path(tool)).collect(),
    };
    let taken = |tools: &[&str]| {
        let report = attach(c"a test", &search(tools));
        assert!(report.skipped.is_empty(), "{report:?}");
        assert_eq!(report.searched, [place.path()]);
        let taken_by = report.tools.into_iter().map(|tool| tool.taken_by.map_err(|refusal| refusal.to_string()));
        let refusals = taken_by.collect::<Vec<_>>();
        (report.attached, refusals)
    };

    // Nothing is attached while one tool is refused.
    let (attached, refusals) = taken(&["first-tool.so", "missing.so", "text.so", "other-tool.so", "late-tool.so"]);
    assert!(attached.is_empty(), "{attached:?}");
    let (first, second) = (path("runs-first.so"), path("runs-second.so"));
    assert_eq!(refusals[0], Ok(first.clone()));
    assert_eq!(refusals[1], Err(ToolRefusal::Missing.to_string()));
    let is_refused = |refusal: &String| refusal.starts_with("it is not a shared library (");
    assert!(refusals[2].as_ref().is_err_and(is_refused), "{refusals:?}");
    assert_eq!(refusals[3], Err(ToolRefusal::NotTaken(vec![first.clone(), second.clone()]).to_string()));
    assert_eq!(refusals[4], Err(ToolRefusal::TooLate(second.clone()).to_string()));
    assert!(of(&calls(&log), "attach").is_empty());

    let (attached, refusals) = taken(&["second-tool.so", "first-tool.so"]);
    assert_eq!(attached, [first.clone(), second.clone()]);
    assert_eq!(refusals, [Ok(second), Ok(first)]);

    // Both are attached now, and accept no more tools.
    let (attached, refusals) = taken(&["first-tool.so"]);
    assert_eq!((attached.len(), &refusals[..]), (0, &[Err(ToolRefusal::NoConsumer.to_string())][..]));
}

#[test]
fn functions_that_are_set_later_are_called_with_the_next_run() {
    let _turn = TURN.lock();
    let place = tempfile::tempdir().expect("a directory");
    let log = place.path().join("log");
    // Its first function sets the others in the second run.
    let code = r#"
#include "opscope_producer.h"
#include <stdio.h>
static opscope_producer_t *own;
static void note(const char *function, unsigned long long id)
{
    FILE *log = fopen(LOG, "a");
    if (log == NULL) /* another test's run */
        return;
    fprintf(log, "%s\tid=%llu\n", function, id);
    fclose(log);
}
static void model_loaded(void *consumer, const opscope_producer_model_t *model) { (void)consumer; note("model_loaded", model->id); }
static void model_unloaded(void *consumer, const opscope_producer_model_t *model) { (void)consumer; note("model_unloaded", model->id); }
static void plan_made(void *consumer, const opscope_producer_plan_t *plan) { (void)consumer; note("plan_made", plan->id); }
static void thread_started(void *consumer, const opscope_producer_thread_t *thread) { (void)consumer; note("thread_started", thread->id); }
static void run_end(void *consumer, const opscope_producer_run_t *run)
{
    (void)consumer;
    note("run_end", run->number);
    if (run->number != 1)
        return;
    __atomic_store_n(&own->model_loaded, model_loaded, __ATOMIC_RELEASE);
    __atomic_store_n(&own->model_unloaded, model_unloaded, __ATOMIC_RELEASE);
    __atomic_store_n(&own->plan_made, plan_made, __ATOMIC_RELEASE);
    __atomic_store_n(&own->thread_started, thread_started, __ATOMIC_RELEASE);
}
int opscope_attach_producer(opscope_producer_t *table)
{
    own = table;
    table->run_end = run_end;
    return OPSCOPE_ATTACHED;
}
"#;
    library(&place.path().join("liblater.so"), code, &[&format!("-DLOG=\"{}\"", log.display())]);
    assert_eq!(attach(c"a test", &only("liblater.so", place.path())).attached.len(), 1);
    let never_run = model("other");
    let loaded = model("small");
    loaded.announce();
    never_run.announce();
    let plan = plan(&loaded);
    for number in 0..4 {
        drop(RunFeed::begin(&plan, number));
    }
    drop((plan, loaded, never_run));
    let expected =
        ["run_end", "run_end", "model_loaded", "plan_made", "thread_started", "run_end", "run_end", "model_unloaded"];
    assert_eq!(names(&calls(&log)), expected);
}
