//! How soon a debugger in another process is notified of a stop, and how soon the run continues after its answer.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

use opscope::debug::Debugger;
use opscope::debug::server::{Listen, ServerOptions};
use opscope::model::{Action, Dispatch, EngineError, Fidelity, Instrument, Interest, RunObserver};
use opscope::tensor::TensorView;
use opscope_bench::{Case, Goal, Judged, Measured, median, times};
use opscope_clock::{Calibration, Ticks};

use super::child::{MESSAGE, Other};
use super::detached::{info, run};
use crate::support::{ready, smallest};

/// The pause before each stop and each round trip, in which all threads go to sleep.
const PAUSE: Duration = Duration::from_micros(200);

/// Stops a run repeatedly. Before each stop, a message makes a round trip, so both see the machine in the same state.
pub fn and_go(calibration: &Calibration) {
    let stops = times(2_000, 20);
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let socket = directory.path().join("socket");
    let debugger = Debugger::new().expect("there are descriptors");
    let server = debugger.serve(ServerOptions { listen: Listen::At(socket.clone()) }).expect("it listens");
    let ready = ready(&smallest(), Fidelity::Exact);
    let _loaded = debugger.load(ready.session.graph(), Fidelity::Exact);
    debugger.planned(ready.session.graph(), Fidelity::Exact, ready.plan.kernels());
    let mut other = Other::start("stops", &socket, stops as u64);
    other.wait_until_attached();
    let mut echo = Echo::start(directory.path(), stops);
    let (mut ours, mut trips) = (Vec::new(), Vec::new());
    for _ in 0..stops {
        trips.push(echo.round_trip());
        sleep(PAUSE);
        let info = info(&ready);
        let stopwatch = Stopwatch { inner: debugger.observe(&info), stop: Mutex::new(None) };
        run(&ready, &stopwatch);
        ours.push(stopwatch.stop.into_inner().expect("no thread panics").expect("the run was stopped"));
    }
    let theirs = other.numbers();
    echo.end();
    drop(server);
    assert_eq!(theirs.len(), ours.len());
    let nanos = |from: u64, to: u64| to.saturating_sub(from) as f64 * calibration.nanos_per_tick();
    let both = ours.iter().zip(&theirs);
    let notified: Vec<f64> = both.clone().map(|((came, _), theirs)| nanos(came.as_raw(), theirs[0])).collect();
    let gone: Vec<f64> = both.map(|((_, went), theirs)| nanos(theirs[1], went.as_raw())).collect();
    case("stop to notification in another process", &notified, &trips);
    case("acknowledge to running again", &gone, &trips);
}

/// Compares times in nanoseconds with round trips in microseconds. Each time is divided by the round trip just before
/// it.
fn case(case: &str, times: &[f64], trips: &[f64]) {
    let goal = Goal::AtMost(3.0);
    let ratios: Vec<f64> = times.iter().zip(trips).map(|(time, trip)| time / 1e3 / trip).collect();
    // The noise is every second round trip divided by the one before it.
    let noise: Vec<f64> = trips.chunks_exact(2).map(|pair| pair[1] / pair[0]).collect();
    let judged = Judged { measured: Measured::of(&ratios), noise: Measured::of(&noise).reach_from(1.0) };
    let trip = median(trips);
    let peer = ("round trip over a Unix socket, us", trip);
    Case { bench: "events", case: case.to_owned(), judged, unit: "x", peer, floor: Some(1.0), goal }.print();
}

/// Another process that answers messages, and sleeps until one comes.
struct Echo {
    other: Other,
    stream: UnixStream,
}

impl Echo {
    fn start(directory: &Path, stops: usize) -> Self {
        let socket = directory.join("echo");
        let listener = UnixListener::bind(&socket).expect("it can be listened at");
        let other = Other::start("echo", &socket, stops as u64);
        let (stream, _) = listener.accept().expect("it connects");
        Self { other, stream }
    }

    /// Returns the time of a round trip in microseconds.
    fn round_trip(&mut self) -> f64 {
        let mut message = [7; MESSAGE];
        sleep(PAUSE);
        let start = Instant::now();
        self.stream.write_all(&message).expect("it goes there");
        self.stream.read_exact(&mut message).expect("it comes back");
        start.elapsed().as_nanos() as f64 / 1e3
    }

    fn end(self) {
        self.other.numbers();
    }
}

/// Records when a run called its debugger, and when the debugger returned.
struct Stopwatch<'a> {
    inner: Box<dyn RunObserver + 'a>,
    stop: Mutex<Option<(Ticks, Ticks)>>,
}

impl RunObserver for Stopwatch<'_> {
    fn interest(&self) -> Interest {
        self.inner.interest()
    }

    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        let came = Ticks::now();
        let action = self.inner.before(dispatch, inputs);
        *self.stop.lock().expect("no thread panics") = Some((came, Ticks::now()));
        action
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        self.inner.after(dispatch, outputs)
    }

    fn finished(&self, outcome: Result<(Ticks, Ticks), &EngineError>) {
        self.inner.finished(outcome);
    }
}
