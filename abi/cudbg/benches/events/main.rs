//! Measures how soon a debugger in another process is notified of an event through the C table, and how soon the
//! program continues after `acknowledgeSyncEvents`. Both are compared with the round trip of a message over a Unix
//! socket between two processes, in the same run.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use opscope_bench::{Case, Contender, Goal, Rounds, finish, times};
use opscope_c_programs::{Language, Library};
use opscope_clock::Ticks;
use opscope_debug::Debugger;
use opscope_debug::server::{Listen, ServerOptions};
use opscope_model::testing::{FakePlan, GraphBuilder, kernels};
use opscope_model::{
    Action, Capabilities, Dispatch, EngineError, Fidelity, Instrument, Interest, RunInfo, RunObserver,
};
use opscope_tensor::TensorView;
use rustix::time::{ClockId, clock_gettime};

const ROUNDS: usize = 1001;

/// The pause between two measurements. It is long enough that both processes sleep.
const PAUSE: Duration = Duration::from_micros(200);

fn main() -> ExitCode {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let client = opscope_c_programs::Program::of(Library::Cudbg, Library::Cudbg.root().join("benches/events/client.c"));
    let client = client.options(&["-O2", "-l:libcudadebugger.so.1"]).compile(Language::C11);

    let debugger = Debugger::new().expect("there are descriptors");
    let socket = scratch.path().join("socket");
    let _server = debugger.serve(ServerOptions { listen: Listen::At(socket.clone()) }).expect("it listens");
    let graph = GraphBuilder::new("one").input("x", &[1]).operator("copy", "Identity", &["x"], &["y"]).output("y");
    let graph = Arc::new(graph.build());
    let plan = FakePlan::new(&graph, kernels(&graph, &[&["copy"]]), Fidelity::Exact, |_, inputs| Ok(inputs.to_vec()));
    let _loaded = debugger.load(&graph, Fidelity::Exact);
    let program = Mutex::new(Program { debugger, plan, runs: 0, client: Debugged::start(&client, &socket) });
    let mut echo = Echo::start(&client, &scratch.path().join("echo"));

    let mut rounds = Rounds::new(
        times(ROUNDS, 5),
        [
            Contender::new("a round trip over a Unix socket", || echo.round_trip()),
            Contender::new("from the event to the callback", || program.lock().expect("a lock").dispatch().0),
            Contender::new("from acknowledgeSyncEvents to running", || program.lock().expect("a lock").dispatch().1),
            Contender::new("the whole dispatch", || program.lock().expect("a lock").dispatch().2),
        ],
    );
    let goal = Goal::AtMost(4.0);
    for (case, ours) in
        [("an event to its callback through the C table", 1), ("acknowledgeSyncEvents to running again", 2)]
    {
        let judged = rounds.decide_ratio(goal, ours, 0);
        let (case, trip) = (case.to_owned(), ("round trip over a Unix socket, us", rounds.cost(0).value));
        Case { bench: "cudbg", case, judged, unit: "x", peer: trip, floor: Some(1.0), goal }.print();
    }
    rounds.print("us, between two processes");
    finish()
}

/// This process, whose runs are debugged.
struct Program {
    debugger: Debugger,
    plan: FakePlan,
    runs: u64,
    client: Debugged,
}

/// The client.
struct Debugged {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Program {
    /// Runs one operator. Returns three times in microseconds: from its event to the callback, from the acknowledgement
    /// until the operator is executed, and from the event until the operator is executed.
    fn dispatch(&mut self) -> (f64, f64, f64) {
        sleep(PAUSE);
        self.runs += 1;
        let watched = Watched { debugger: &self.debugger, times: Mutex::default() };
        self.plan.run_with(&watched, self.runs).expect("the run succeeds");
        let (came, went) = watched.times.into_inner().expect("a lock");
        let mut line = String::new();
        self.client.lines.read_line(&mut line).expect("the client answers");
        let (called, acknowledged) = line.trim_end().split_once(' ').expect("two numbers");
        let micros = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e3;
        let number = |text: &str| text.parse().expect("a number");
        (micros(came, number(called)), micros(number(acknowledged), went), micros(came, went))
    }
}

impl Debugged {
    fn start(client: &Path, socket: &Path) -> Self {
        let mut command = Command::new(client);
        command.arg("debug").env("OPSCOPE_DEBUG_TARGET", socket).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the client starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        lines.read_line(&mut line).expect("the client answers");
        assert_eq!(line, "attached\n");
        Self { child, lines }
    }
}

impl Drop for Debugged {
    fn drop(&mut self) {
        self.child.stdin.take();
        let _ = self.child.wait();
    }
}

/// Another process, which returns each message that it receives, and sleeps in between.
struct Echo {
    child: Child,
    stream: UnixStream,
}

impl Echo {
    fn start(client: &Path, socket: &Path) -> Self {
        let listener = UnixListener::bind(socket).expect("it can be listened at");
        let child = Command::new(client).arg("echo").arg(socket).spawn().expect("the client starts");
        let (stream, _) = listener.accept().expect("it connects");
        Self { child, stream }
    }

    /// Returns the time of one round trip in microseconds.
    fn round_trip(&mut self) -> f64 {
        let mut message = [7; 64];
        sleep(PAUSE);
        let start = monotonic();
        self.stream.write_all(&message).expect("it goes there");
        self.stream.read_exact(&mut message).expect("it comes back");
        (monotonic() - start) as f64 / 1e3
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        let _ = self.child.wait();
    }
}

/// The debugger, with the times in nanoseconds at which a run reached its operator's event, and continued.
struct Watched<'a> {
    debugger: &'a Debugger,
    times: Mutex<(u64, u64)>,
}

struct WatchedRun<'a> {
    inner: Box<dyn RunObserver + 'a>,
    times: &'a Mutex<(u64, u64)>,
}

impl Instrument for Watched<'_> {
    fn name(&self) -> &str {
        self.debugger.name()
    }

    fn requires(&self) -> Capabilities {
        self.debugger.requires()
    }

    fn observe<'a>(&'a self, info: &RunInfo<'a>) -> Box<dyn RunObserver + 'a> {
        Box::new(WatchedRun { inner: self.debugger.observe(info), times: &self.times })
    }
}

impl RunObserver for WatchedRun<'_> {
    fn interest(&self) -> Interest {
        self.inner.interest()
    }

    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        let came = monotonic();
        let action = self.inner.before(dispatch, inputs);
        *self.times.lock().expect("a lock") = (came, monotonic());
        action
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        self.inner.after(dispatch, outputs)
    }

    fn finished(&self, outcome: Result<(Ticks, Ticks), &EngineError>) {
        self.inner.finished(outcome);
    }
}

/// Returns the time of the monotonic clock in nanoseconds.
fn monotonic() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
