//! A consumer that waits, in its functions, for another thread that uses the producer.

use std::ffi::{CStr, CString, c_int, c_void};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use opscope_c_programs::consumers::library;
use opscope_producer::{
    Fidelity, KernelFacts, LoadedModel, LoadedPlan, ModelFacts, OperatorFacts, RunFeed, Search, attach,
};

/// Calls a function of the test while it is being attached (0) and while a plan is announced to it (1).
const CONSUMER: &str = r"
#include <opscope_producer.h>
static void (*hook)(int);
void set_hook(void (*function)(int));
void set_hook(void (*function)(int))
{
    hook = function;
}
static void plan_made(void *consumer, const opscope_producer_plan_t *plan)
{
    (void)consumer, (void)plan;
    hook(1);
}
int opscope_attach_producer(opscope_producer_t *table);
int opscope_attach_producer(opscope_producer_t *table)
{
    table->plan_made = plan_made;
    hook(0);
    return OPSCOPE_ATTACHED;
}
";

static PLAN: OnceLock<LoadedPlan> = OnceLock::new();
static ATTACHED: AtomicUsize = AtomicUsize::new(usize::MAX);
static RUNS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn wait_for_a_thread(when: c_int) {
    let use_the_producer = move || {
        if when == 0 {
            ATTACHED.store(attach(c"another thread", &nowhere()).attached.len(), Ordering::SeqCst);
        } else {
            RUNS.fetch_add(1, Ordering::SeqCst);
            drop(RunFeed::begin(PLAN.get().expect("it runs"), 2));
        }
    };
    thread::spawn(use_the_producer).join().expect("it does not panic");
}

fn nowhere() -> Search {
    Search { names: Vec::new(), named: None, beside: Vec::new(), tools: Vec::new() }
}

/// Loads the consumer and sets its hook.
fn load(path: &Path) {
    let path = CString::new(path.to_str().expect("UTF-8")).expect("no NUL");
    let symbol = |library: *mut c_void, name: &CStr| {
        // SAFETY: the handle is open, and the name ends with NUL.
        unsafe { libc::dlsym(library, name.as_ptr()) }
    };
    // SAFETY: the path ends with NUL.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    let set_hook = symbol(library, c"set_hook");
    assert!(!set_hook.is_null());
    // SAFETY: the function with this name has these arguments.
    unsafe {
        let set_hook: unsafe extern "C" fn(extern "C" fn(c_int)) = std::mem::transmute(set_hook);
        set_hook(wait_for_a_thread);
    }
}

#[test]
fn a_consumer_that_waits_for_a_thread_which_uses_the_producer_does_not_wait_for_ever() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("libwaits.so");
    library(&path, CONSUMER, &[]);
    load(&path);
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let report = attach(c"a test", &nowhere());
        sender.send(report.attached.len()).expect("the test receives");
        let facts = ModelFacts {
            name: "small",
            path: Path::new("models/small.onnx"),
            engine: "paper",
            engine_version: "0.1",
            fidelity: Fidelity::Exact,
        };
        let model = LoadedModel::new(&facts, [OperatorFacts { name: "a", op_type: "Relu", domain: "" }]);
        let kernel = KernelFacts {
            operator_name: "a",
            operator_type: "Relu",
            name: "k",
            op: "OptRelu",
            operators: vec![(0, true)],
            output_dtype: "float32",
            output_shape: vec![1],
        };
        let plan = PLAN.get_or_init(|| model.plan([kernel]));
        drop(RunFeed::begin(plan, 1));
        sender.send(RUNS.load(Ordering::SeqCst)).expect("the test receives");
    });
    // If the producer held a lock, neither would ever return.
    let limit = Duration::from_secs(100);
    assert_eq!(receiver.recv_timeout(limit), Ok(1), "the consumer is attached");
    assert_eq!(ATTACHED.load(Ordering::SeqCst), 0, "and not once more by the thread that it waits for");
    assert_eq!(
        receiver.recv_timeout(limit),
        Ok(1),
        "the plan is announced, and the other thread's run continues without it"
    );
}
