//! Debuggers that are killed in the middle of their work, while a program runs models in parallel: every run ends with
//! the right outputs, and no thread is left.
//!
//! 40 debuggers are killed; `OPSCOPE_KILLS=500` asks for more. `OPSCOPE_SEED` repeats the choices of a run.

use std::io::{BufRead, BufReader};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fastrand::Rng;
use opscope::Session;
use opscope::debug::client::Client;
use opscope::debug::server::{Listen, ServerOptions};
use opscope::debug::{
    AttachOptions, BreakpointSpec, DebugError, Debugger, ErrorCode, Event, EventName, EventSet, Queue, Resume,
};
use opscope::model::{Fidelity, Instrument, Interest, NoObserver, Plan, RunId, RunInfo, RunObserver};
use opscope::tensor::{DifferenceAccumulator, Tensor, Tolerance, npy};

const SOCKET: &str = "OPSCOPE_KILLED_SOCKET";
const SEED: &str = "OPSCOPE_SEED";

/// Far longer than the test: runs must be released because the connection closed.
const LEASE: Duration = Duration::from_secs(3600);

/// How long a run that is not stopped may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn runs_end_with_the_right_outputs_however_their_debuggers_die() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let kills = number("OPSCOPE_KILLS").unwrap_or(40);
    let seed = TellSeed(number(SEED).unwrap_or_else(|| fastrand::u64(..)));
    let mut random = Rng::with_seed(seed.0);

    let said = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&said);
    let debugger = Debugger::with_log(move |message| log.lock().unwrap().push(message.to_owned())).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("debuggee.sock");
    let _server = debugger.serve(ServerOptions { listen: Listen::At(socket.clone()) }).unwrap();
    let program = Program::start(&debugger, &subjects());

    let mut deeds = Deeds::default();
    for _ in 0..kills {
        let victim = Victim::start(&socket, random.u64(..));
        if random.u8(..4) == 0 {
            // The debugger is killed while it connects and attaches.
            thread::sleep(Duration::from_micros(random.u64(..30_000)));
        } else {
            victim.wait_until_attached();
            thread::sleep(Duration::from_micros(random.u64(..30_000)));
        }
        deeds.add(&victim.kill());
        program.every_thread_ends_a_run();
    }
    let runs = program.stop();
    all_masks_go_off(&debugger);

    let said = said.lock().unwrap();
    println!("{kills} debuggers were killed during {runs} runs; they {deeds:?}; the log says {} things", said.len());
    assert!(deeds.attached >= kills / 2, "{deeds:?}");
    assert!(deeds.stopped > 0 && deeds.looked > 0 && deeds.acknowledged > 0, "{deeds:?}");
    assert!(deeds.acknowledged < deeds.stopped, "none died with a run in its hands: {deeds:?}");
    let named = |message: &String| message.contains("was not acknowledged");
    assert!(said.iter().any(named), "the log names what was not acknowledged: {said:?}");
}

/// Prints how to repeat a failure.
struct TellSeed(u64);

impl Drop for TellSeed {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("to repeat it: {SEED}={}", self.0);
        }
    }
}

/// A plan, with its outputs in a run without an observer.
struct Subject {
    session: Session,
    plan: Arc<dyn Plan>,
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
}

/// Returns two models at both fidelities. Their outputs are those of another implementation.
fn subjects() -> Vec<Arc<Subject>> {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let tensor = |name: &str| npy::read_file(&models.join(name)).unwrap();
    let all = [
        ("digits_cnn", "input.image", "output.probabilities"),
        ("tiny_transformer", "input.hidden_states", "output.last_hidden_state"),
    ];
    let each =
        all.into_iter().flat_map(|model| [Fidelity::Exact, Fidelity::Optimised].map(|fidelity| (model, fidelity)));
    let subject = |((model, input, output), fidelity): ((&str, &str, &str), Fidelity)| {
        let path = models.join(format!("{model}.onnx"));
        let session = Session::load(&path, fidelity, NonZeroUsize::MIN).unwrap();
        let inputs = vec![tensor(&format!("{model}.{input}.npy"))];
        let plan = session.model().plan(&inputs).unwrap();
        let outputs = run(&*plan, RunId(0), &inputs, &NoObserver);
        let expected = tensor(&format!("{model}.{output}.npy"));
        let tolerance = Tolerance { absolute: 0.0, relative: 1e-3, of_max: 5e-5 };
        let (found, elements) = (&outputs[0], expected.elements());
        let differences = DifferenceAccumulator::new(found.dtype(), expected.dtype(), elements, tolerance.relative);
        let mut differences = differences.unwrap();
        differences.update(found.bytes(), expected.bytes());
        assert!(differences.finish().is_within(&tolerance), "{model}");
        Arc::new(Subject { session, plan, inputs, outputs })
    };
    each.map(subject).collect()
}

fn run(plan: &dyn Plan, id: RunId, inputs: &[Tensor], observer: &dyn RunObserver) -> Vec<Tensor> {
    let outputs = plan.run(id, &*plan.upload(inputs).unwrap(), observer).unwrap();
    (0..outputs.len()).map(|slot| outputs.view(slot).to_tensor().unwrap()).collect()
}

/// Eight threads that run models.
struct Program {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    stop: AtomicBool,
    next: AtomicU64,
    /// The number of runs that each thread has completed.
    ended: Mutex<[u64; 8]>,
    one_more: Condvar,
}

impl Program {
    fn start(debugger: &Debugger, subjects: &[Arc<Subject>]) -> Self {
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            next: AtomicU64::new(0),
            ended: Mutex::default(),
            one_more: Condvar::new(),
        });
        let thread = |number: usize| {
            let (debugger, shared) = (debugger.clone(), Arc::clone(&shared));
            let subject = Arc::clone(&subjects[number % subjects.len()]);
            thread::spawn(move || shared.work(number, &subject, &debugger))
        };
        let threads = (0..8).map(thread).collect();
        Self { shared, threads }
    }

    /// Waits until each thread has completed a run that began after this call.
    fn every_thread_ends_a_run(&self) {
        let until = Instant::now() + PATIENCE;
        let mut ended = self.shared.ended.lock().unwrap();
        // The first of the two may have begun before this call.
        let goal = ended.map(|runs| runs + 2);
        while ended.iter().zip(goal).any(|(runs, goal)| *runs < goal) {
            let left = until.saturating_duration_since(Instant::now());
            let still: Vec<usize> = (0..8).filter(|thread| ended[*thread] < goal[*thread]).collect();
            assert!(!left.is_zero(), "no debugger is alive, and threads {still:?} do not come on");
            assert!(self.threads.iter().all(|thread| !thread.is_finished()), "a run went wrong");
            ended = self.shared.one_more.wait_timeout(ended, left.min(Duration::from_secs(1))).unwrap().0;
        }
    }

    fn stop(self) -> u64 {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().expect("every output was right"));
        self.shared.ended.lock().unwrap().iter().sum()
    }
}

impl Shared {
    fn work(&self, thread: usize, subject: &Subject, debugger: &Debugger) {
        while !self.stop.load(Ordering::Relaxed) {
            let info = subject.info(RunId(self.next.fetch_add(1, Ordering::Relaxed)));
            let observer = debugger.observe(&info);
            let outputs = run(&*subject.plan, info.id, &subject.inputs, &*observer);
            drop(observer);
            assert!(outputs == subject.outputs, "run {} gave something else", info.id.0);
            self.ended.lock().unwrap()[thread] += 1;
            self.one_more.notify_all();
        }
    }
}

impl Subject {
    fn info(&self, id: RunId) -> RunInfo<'_> {
        let fidelity = self.session.model().fidelity();
        RunInfo { id, graph: self.session.graph(), kernels: self.plan.kernels(), fidelity }
    }
}

/// Checks that runs have no interest after the debugger is gone.
fn all_masks_go_off(debugger: &Debugger) {
    let until = Instant::now() + PATIENCE;
    for subject in subjects() {
        loop {
            let Interest { before, after, keep_inputs, times, starts, memory, .. } =
                debugger.observe(&subject.info(RunId(u64::MAX))).interest();
            let is_on = |which: &opscope::model::KernelSet| {
                subject.plan.kernels().iter().any(|kernel| which.contains(kernel.id))
            };
            if !times && !starts && !memory && ![&before, &after, &keep_inputs].into_iter().any(is_on) {
                break;
            }
            assert!(Instant::now() < until, "kernels are still wanted: {before:?}, {after:?}, {keep_inputs:?}");
            thread::yield_now();
        }
    }
}

/// The actions of debuggers before they were killed.
#[derive(Debug, Default)]
struct Deeds {
    attached: u64,
    stopped: u64,
    looked: u64,
    acknowledged: u64,
}

impl Deeds {
    fn add(&mut self, lines: &[String]) {
        for line in lines {
            match line.as_str() {
                "::attached" => self.attached += 1,
                "::stopped" => self.stopped += 1,
                "::looked" => self.looked += 1,
                "::acknowledged" => self.acknowledged += 1,
                _ => {}
            }
        }
    }
}

/// A debugger that the test kills.
struct Victim {
    child: Child,
    printed: Arc<(Mutex<Vec<String>>, Condvar)>,
    reader: Option<JoinHandle<()>>,
}

impl Victim {
    fn start(socket: &Path, seed: u64) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_debugger_that_is_killed", "--ignored", "--nocapture", "--test-threads=1"])
            .env(SOCKET, socket)
            .env(SEED, seed.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let printed = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let (lines, theirs) = (BufReader::new(child.stdout.take().unwrap()).lines(), Arc::clone(&printed));
        let reader = thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                theirs.0.lock().unwrap().push(line);
                theirs.1.notify_all();
            }
        });
        Self { child, printed, reader: Some(reader) }
    }

    fn wait_until_attached(&self) {
        let lines = self.printed.0.lock().unwrap();
        let not_yet = |lines: &mut Vec<String>| !lines.iter().any(|line| line == "::attached");
        let (lines, waited) = self.printed.1.wait_timeout_while(lines, PATIENCE, not_yet).unwrap();
        assert!(!waited.timed_out(), "the debugger does not attach; it said {} lines", lines.len());
    }

    /// Kills it, and returns what it had printed.
    fn kill(mut self) -> Vec<String> {
        let early = self.child.try_wait().unwrap();
        assert!(early.is_none(), "it died by itself, which it explains above");
        self.end();
        std::mem::take(&mut *self.printed.0.lock().unwrap())
    }

    fn end(&mut self) {
        if let Some(reader) = self.reader.take() {
            self.child.kill().unwrap();
            self.child.wait().unwrap();
            reader.join().unwrap();
        }
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.end();
    }
}

#[test]
#[ignore = "the other test starts it"]
fn the_debugger_that_is_killed() {
    let socket = PathBuf::from(std::env::var_os(SOCKET).expect("a socket is given"));
    let seed = std::env::var(SEED).expect("a seed is given").parse().unwrap();
    let mut random = Rng::with_seed(seed);
    let client = loop {
        let client = Client::connect(&socket).unwrap();
        match client.attach(attach_options(&mut random)) {
            Ok(()) => break client,
            // The previous debugger may still be detaching.
            Err(error) if error.code() == ErrorCode::AlreadyAttached => thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    };
    // The test harness has already begun a line.
    println!("\n::attached");
    if let Err(error) = debug(&client, &mut random) {
        panic!("seed {seed}: {error}");
    }
}

fn attach_options(random: &mut Rng) -> AttachOptions {
    let events = if random.bool() { EventSet::all() } else { EventSet::default() };
    AttachOptions { lease: LEASE, events, statistics: random.bool(), async_capacity: 64, ..AttachOptions::default() }
}

/// Sets breakpoints, reads events, reads tensors, and answers some of the events, until it is killed.
fn debug(client: &Client, random: &mut Rng) -> Result<(), DebugError> {
    const TARGETS: [&str; 5] = ["*", "Conv", "MatMul", "type:Add", "#3"];
    const CONDITIONS: [Option<&str>; 5] =
        [None, None, Some("nan"), Some("absmax > 0.1"), Some("rank >= 2 and not inf")];
    for _ in 0..random.usize(1..4) {
        let spec = BreakpointSpec::at(random.choice(TARGETS).unwrap().parse()?);
        let spec = match random.choice(CONDITIONS).unwrap() {
            None => spec,
            Some(condition) => spec.when(condition),
        };
        client.add_breakpoint(spec)?;
    }
    loop {
        client.wait(Duration::from_millis(5));
        client.next_events(Queue::Async, 16)?;
        for event in client.next_events(Queue::Sync, random.usize(1..4))? {
            if event.waiting {
                println!("::stopped");
                answer(client, &event, random)?;
            }
        }
        match random.u8(..16) {
            0 => drop(client.pause(None)?),
            1 => println!("{}", "::acknowledged\n".repeat(client.acknowledge_sync_events()?).trim_end()),
            2 => drop(client.status()?),
            _ => {}
        }
    }
}

fn answer(client: &Client, event: &Event, random: &mut Rng) -> Result<(), DebugError> {
    use EventName::{Breakpoint, OperatorReady, Paused, StepComplete};
    let is_at_operator = matches!(event.kind.name(), Breakpoint | OperatorReady | Paused | StepComplete);
    let resume = match random.u8(..8) {
        0 | 1 => return Ok(()),
        2 if is_at_operator => Resume::Step,
        3 if is_at_operator => Resume::Finish,
        _ => Resume::Continue,
    };
    if is_at_operator && random.bool() && client.location(event.sequence)?.inputs[0].readable {
        client.statistics(event.sequence, "input[0]")?;
        println!("::looked");
    }
    client.acknowledge(event.sequence, resume)?;
    println!("::acknowledged");
    Ok(())
}
