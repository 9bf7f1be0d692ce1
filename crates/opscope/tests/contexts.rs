//! Sessions and the contexts of the process: which records of its runs a program gets.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Barrier};
use std::thread;

use opscope::model::{Fidelity, Kernel};
use opscope::profile::{Fact, Profiler, ProfilerOptions, Recording, plan_names};
use opscope::tensor::Tensor;
use opscope::trace::{
    AllocationRecord, Buffer, BufferOptions, Context, CopyRecord, DispatchRecord, EngineCallRecord, Kind, Operations,
    RecordRef, RetirementRecord, RunOperation, RunRecord, current_thread,
};
use opscope::{Session, mark};
use opscope_sys::{Mutex, MutexGuard};

/// Every kind of a run's records.
const KINDS: [Kind; 6] = [
    Kind::OperatorDispatch,
    Kind::Run,
    Kind::TensorCopy,
    Kind::TensorAllocation,
    Kind::EngineCall,
    Kind::CorrelationRetirement,
];

/// Contexts belong to the whole process, so these tests take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock()
}

/// The records that a context received.
#[derive(Debug, Clone, Default)]
struct Kept {
    dispatches: Vec<DispatchRecord>,
    runs: Vec<RunRecord>,
    copies: Vec<CopyRecord>,
    allocations: Vec<AllocationRecord>,
    calls: Vec<EngineCallRecord>,
    retirements: Vec<RetirementRecord>,
    /// The kinds of all records, in their order.
    order: Vec<Kind>,
}

impl Kept {
    fn keep(&mut self, record: &RecordRef<'_>) {
        self.dispatches.extend(record.get::<DispatchRecord>());
        self.runs.extend(record.get::<RunRecord>());
        self.copies.extend(record.get::<CopyRecord>());
        self.allocations.extend(record.get::<AllocationRecord>());
        self.calls.extend(record.get::<EngineCallRecord>());
        self.retirements.extend(record.get::<RetirementRecord>());
        self.order.extend(record.kind());
        assert_eq!(record.path(), []);
    }

    /// Returns the operation of every call of the engine, and whether it failed.
    fn calls(&self) -> Vec<(u32, u32)> {
        self.calls.iter().map(|call| (call.operation, call.failed)).collect()
    }
}

/// A context with a buffer, and what it received.
struct Listener {
    context: Context,
    buffer: Buffer,
    kept: Arc<Mutex<Kept>>,
}

impl Listener {
    fn new(kinds: &[Kind]) -> Self {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let keep = Arc::clone(&kept);
        let buffer = Buffer::create(BufferOptions::default(), move |batch| {
            let mut kept = keep.lock();
            batch.records().for_each(|record| kept.keep(&record));
        });
        let (buffer, context) = (buffer.unwrap(), Context::create());
        kinds.iter().for_each(|kind| context.configure(*kind, Operations::All, &buffer).unwrap());
        Self { context, buffer, kept }
    }

    fn started(kinds: &[Kind]) -> Self {
        let listener = Self::new(kinds);
        listener.context.start().unwrap();
        listener
    }

    /// Returns what was received since the last call.
    fn take(&self) -> Kept {
        self.buffer.flush().unwrap();
        std::mem::take(&mut self.kept.lock())
    }
}

fn models() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../models")
}

fn load(fidelity: Fidelity) -> Session {
    Session::load(&models().join("digits_cnn.onnx"), fidelity, NonZeroUsize::MIN).unwrap()
}

fn inputs() -> Vec<Tensor> {
    vec![opscope::tensor::npy::read_file(&models().join("digits_cnn.input.image.npy")).unwrap()]
}

fn kernels(session: &Session) -> Arc<[Kernel]> {
    Arc::clone(session.model().plan(&inputs()).unwrap().kernels())
}

/// Returns the names of the operators that a plan's kernels count for.
fn operators(session: &Session) -> Vec<String> {
    kernels(session).iter().map(|kernel| session.graph().operator(kernel.operator().unwrap()).name.clone()).collect()
}

#[test]
fn a_context_gets_every_record_of_a_run_and_the_names_of_its_operators() {
    let _turn = turn();
    let listener = Listener::started(&KINDS);
    let session = load(Fidelity::Optimised);
    let inputs = inputs();
    let outputs = session.run(&inputs, &[]).unwrap();
    let kept = listener.take();
    // Load, plan, upload, run, download.
    assert_eq!(kept.calls(), [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0)]);
    assert_eq!((kept.calls[0].start, kept.calls[0].end), session.loading());

    let run = kept.runs[0];
    assert_eq!((kept.runs.len(), run.run, run.operation, run.failed), (1, 0, RunOperation::Measured as u32, 0));
    let names = plan_names(run.plan).unwrap();
    assert_eq!((names.plan, names.fidelity), (run.plan, Fidelity::Optimised));
    assert!(names.model.ends_with("digits_cnn.onnx"));
    let dispatched = kept.dispatches.iter().map(|dispatch| {
        assert_eq!((dispatch.run, dispatch.plan, dispatch.correlation), (0, run.plan, run.correlation));
        assert!(run.start <= dispatch.start && dispatch.start <= dispatch.end && dispatch.end <= run.end);
        assert_eq!(dispatch.thread, current_thread());
        names.kernels[dispatch.kernel.0 as usize].operator.clone()
    });
    assert_eq!(dispatched.collect::<Vec<_>>(), operators(&session));
    let fused = names.kernels.iter().find(|kernel| !kernel.fused.is_empty()).unwrap();
    assert!(session.graph().operator_named(&fused.fused[0].name).is_some());
    assert!(names.kernels.iter().all(|kernel| !kernel.name.is_empty() && !kernel.op_type.is_empty()));

    let bytes: Vec<_> = kept.copies.iter().map(|copy| (copy.operation, copy.bytes)).collect();
    let of = |tensors: &[Tensor]| tensors.iter().map(|tensor| tensor.bytes().len() as u64).sum::<u64>();
    assert_eq!(bytes, [(1, of(&inputs)), (2, of(&outputs))]);
    let freed = kept.allocations.iter().filter(|allocation| allocation.operation == 1).count();
    assert!(freed > 0 && 2 * freed == kept.allocations.len(), "{freed} of {}", kept.allocations.len());
    assert_eq!(kept.retirements.last().map(|retired| retired.correlation), Some(run.correlation.internal));
    assert_eq!(kept.order[kept.order.len() - 2..], [Kind::Run, Kind::CorrelationRetirement]);

    session.run(&inputs, &[]).unwrap();
    let again = listener.take();
    assert_eq!(again.calls(), [(2, 0), (3, 0), (4, 0)], "the engine has the plan");
    assert_eq!((again.runs[0].run, again.runs[0].plan), (1, run.plan));
}

#[test]
fn a_call_that_fails_is_emitted_as_failed() {
    let _turn = turn();
    let session = load(Fidelity::Optimised);
    let listener = Listener::started(&KINDS);
    session.run(&[], &[]).unwrap_err();
    assert_eq!(listener.take().calls(), [(1, 1)]);
}

#[test]
fn two_sessions_at_once_keep_their_own_plans_and_dispatches() {
    const RUNS: usize = 40;
    let _turn = turn();
    let sessions = [Fidelity::Optimised, Fidelity::Exact].map(load);
    let listener = Listener::started(&KINDS);
    let (inputs, together) = (inputs(), Barrier::new(sessions.len()));
    thread::scope(|scope| {
        for session in &sessions {
            let (inputs, together) = (&inputs, &together);
            scope.spawn(move || {
                together.wait();
                (0..RUNS).for_each(|_| drop(session.run(inputs, &[]).unwrap()));
            });
        }
    });
    let kept = listener.take();
    let mut dispatched: BTreeMap<u64, Vec<&DispatchRecord>> = BTreeMap::new();
    for dispatch in &kept.dispatches {
        dispatched.entry(dispatch.correlation.internal.0).or_default().push(dispatch);
    }
    assert_eq!((kept.runs.len(), dispatched.len()), (2 * RUNS, 2 * RUNS));
    for session in &sessions {
        let expected = operators(session);
        let is_its = |run: &&RunRecord| plan_names(run.plan).unwrap().fidelity == session.model().fidelity();
        let runs: Vec<_> = kept.runs.iter().filter(is_its).collect();
        assert_eq!(runs.iter().map(|run| run.run).collect::<Vec<_>>(), (0..RUNS as u64).collect::<Vec<_>>());
        for run in runs {
            let names = plan_names(run.plan).unwrap();
            let dispatches = &dispatched[&run.correlation.internal.0];
            assert!(dispatches.iter().all(|dispatch| (dispatch.run, dispatch.plan) == (run.run, run.plan)));
            let name = |dispatch: &&DispatchRecord| names.kernels[dispatch.kernel.0 as usize].operator.clone();
            assert_eq!(dispatches.iter().map(name).collect::<Vec<_>>(), expected);
        }
    }
}

#[test]
fn a_context_gets_the_kinds_that_it_wants_and_nothing_before_it_is_started_or_after_it_is_stopped() {
    let _turn = turn();
    let (session, inputs) = (load(Fidelity::Optimised), inputs());
    let listener = Listener::new(&KINDS);
    session.run(&inputs, &[]).unwrap();
    assert_eq!(listener.take().order, []);
    drop(listener);

    let markers = Listener::started(&[Kind::Marker]);
    session.run(&inputs, &[]).unwrap();
    mark("behind the run");
    assert_eq!(markers.take().order, [Kind::Marker], "no record of a run");
    drop(markers);

    for kind in KINDS {
        let listener = Listener::started(&[kind]);
        session.run(&inputs, &[]).unwrap();
        listener.context.stop().unwrap();
        session.run(&inputs, &[]).unwrap();
        let order = listener.take().order;
        assert!(!order.is_empty() && order.iter().all(|found| *found == kind), "{kind}: {order:?}");
        let expected = match kind {
            Kind::OperatorDispatch => kernels(&session).len(),
            Kind::TensorCopy => 2,
            Kind::EngineCall => 3,
            Kind::TensorAllocation => order.len(),
            _ => 1,
        };
        assert_eq!(order.len(), expected, "{kind}");
    }
}

/// Profiles two runs of a session, and returns their facts in the recording, without ticks.
fn profiled(session: &Session, inputs: &[Tensor]) -> (Recording, Vec<DispatchRecord>, Vec<String>) {
    let root = tempfile::tempdir().unwrap();
    let mut options = ProfilerOptions::default();
    options.switches.apply("sys-hardware-mem=off").unwrap();
    let profiler = Profiler::create(&root.path().join("recording"), &session.recording_info(1), &options).unwrap();
    for _ in 0..2 {
        session.run(inputs, &[&profiler]).unwrap();
    }
    assert!(profiler.finish().unwrap().complete);
    let recording = Recording::open(root.path().join("recording")).unwrap();
    let (mut dispatches, mut facts) = (Vec::new(), Vec::new());
    for fact in recording.facts().unwrap().map(Result::unwrap) {
        facts.push(match fact {
            Fact::Run(run) => format!("run of plan {}", run.plan),
            Fact::Dispatch(dispatch) => {
                dispatches.push(DispatchRecord {
                    run: dispatch.run,
                    start: dispatch.span.start,
                    end: dispatch.span.end,
                    correlation: dispatch.correlation,
                    ..DispatchRecord::default()
                });
                format!("dispatch {} of plan {}", dispatch.kernel, dispatch.plan)
            }
            Fact::Copy(copy) => format!("{} {}", copy.direction.name(), copy.bytes),
            Fact::Call(call) => format!("call {}", call.call.name()),
            Fact::Retirement(_) => "retirement".to_owned(),
            other => panic!("{other:?}"),
        });
    }
    (recording, dispatches, facts)
}

#[test]
fn a_profiler_records_the_same_whether_or_not_a_context_gets_the_runs_too() {
    let _turn = turn();
    let (session, inputs) = (load(Fidelity::Optimised), inputs());
    session.run(&inputs, &[]).unwrap();
    let (alone, _, facts_alone) = profiled(&session, &inputs);
    let listener = Listener::started(&KINDS);
    let (beside, dispatches, facts_beside) = profiled(&session, &inputs);
    assert_eq!(facts_beside, facts_alone);
    assert_eq!((beside.plans(), beside.problems()), (alone.plans(), &[] as &[String]));
    let kept = listener.take();
    let times = |dispatch: &DispatchRecord| (dispatch.run, dispatch.start, dispatch.end, dispatch.correlation);
    let (of_context, of_profiler): (Vec<_>, Vec<_>) =
        (kept.dispatches.iter().map(times).collect(), dispatches.iter().map(times).collect());
    assert_eq!(of_context, of_profiler, "both get the times that the engine took");
    assert_eq!(kept.runs.len(), 2);
}
