//! What does the preloaded library cost? The time of a run of the smallest model by a C program, how long its slowest
//! runs take, also while recordings are made beside them, and the time that a process takes which does nothing, each
//! against the same without the library.
//!
//! Each measurement is a process of its own, because where its memory lies decides about some percent of a run.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use opscope_bench::{Case, Contender, Goal, Rounds, finish, is_moment, not_measured, times};
use opscope_c_programs::{Language, Library, Program, models};
use opscope_debug::client::Client;
use opscope_debug::{Capture, CaptureKind};
use opscope_engine_onnxruntime::Library as OnnxRuntime;

const BENCH: &str = "preload";
const ROUNDS: usize = 15;
const STARTS: usize = 101;
/// While nothing is asked for, nothing can be measured.
const NOTHING: Goal = Goal::AtMost(1.01);
/// With a server the calls go through the library, which looks whether a debugger is attached.
const SERVER: Goal = Goal::AtMost(1.02);
/// The slowest runs while no debugger is attached, and while one recording after the other is made beside them.
const DETACHED: Goal = Goal::AtMost(1.02);
const CAPTURED: Goal = Goal::AtMost(1.1);
/// Every process into which it is preloaded pays for its relocations: those of a shell script, too.
const START: Goal = Goal::AtMost(2.0);

fn main() -> ExitCode {
    match OnnxRuntime::locate(None) {
        Ok(library) => {
            runs(&library);
            slowest_runs(&library);
        }
        Err(_) => {
            let without = "there is no library of ONNX Runtime";
            not_measured(BENCH, "a run", NOTHING, "x", without);
            not_measured(BENCH, "the slowest runs", CAPTURED, "x", without);
        }
    }
    start();
    finish()
}

fn preloaded() -> PathBuf {
    Library::Ort.files().join("libopscope_ort.so")
}

/// The program that runs the model.
struct Caller {
    command: Command,
}

impl Caller {
    fn new(library: &Path, runs: usize, variables: &[(&str, &Path)]) -> Self {
        let mut command = Command::new(compiled());
        command.arg(library).arg(models().join("digits_cnn.onnx")).arg(models().join("digits_cnn.input.image.npy"));
        command.arg(runs.to_string()).env_clear().envs(variables.iter().copied()).stdout(Stdio::piped());
        Self { command }
    }

    /// Returns the median time of a run, and the one that 99 of 100 do not exceed, in microseconds.
    fn times(mut self, meanwhile: impl FnOnce(&mut Child)) -> [f64; 2] {
        let mut child = self.command.stderr(Stdio::piped()).spawn().expect("the program starts");
        meanwhile(&mut child);
        let output = child.wait_with_output().expect("it ends");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let numbers: Vec<f64> = printed.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        let numbers: [f64; 2] = numbers.try_into().unwrap_or_else(|_| {
            let said = String::from_utf8_lossy(&output.stderr);
            panic!("the program ended with {} and printed '{printed}', and as errors: {said}", output.status)
        });
        numbers.map(|nanoseconds| nanoseconds / 1e3)
    }
}

fn compiled() -> &'static Path {
    static COMPILED: LazyLock<PathBuf> = LazyLock::new(|| {
        let tests = Library::Ort.root().join("tests/c");
        let source = Library::Ort.root().join("benches/preload/caller.c");
        Program::of(Library::Ort, source).option(format!("-I{}", tests.display())).compile(Language::C11)
    });
    &COMPILED
}

fn runs(library: &Path) {
    let place = tempfile::tempdir().expect("a directory");
    let socket = place.path().join("socket");
    let once = |variables: &[(&str, &Path)]| Caller::new(library, times(3000, 10), variables).times(|_| ())[0];
    let file = preloaded();
    let mut rounds = Rounds::new(
        ROUNDS,
        [
            Contender::new("a run without the library, us", || once(&[])),
            Contender::new("preloaded, nothing is asked for", || once(&[("LD_PRELOAD", &file)])),
            Contender::new("preloaded, with a debug server", || {
                once(&[("LD_PRELOAD", &file), ("OPSCOPE_DEBUG_SERVER", &socket)])
            }),
        ],
    );
    for (contender, case, goal) in
        [(1, "a run while nothing is asked for", NOTHING), (2, "a run with a debug server, no debugger", SERVER)]
    {
        let judged = rounds.decide_ratio(goal, contender, 0);
        let peer = ("without the library, us", rounds.cost(0).value);
        Case { bench: BENCH, case: case.to_owned(), judged, unit: "x", peer, floor: None, goal }.print();
    }
    rounds.print("a run of digits_cnn by a C program");
}

/// Asks for one recording after the other, until the program has ended.
fn record(child: &mut Child, socket: &Path, place: &Path) {
    let mut made = 0;
    while matches!(child.try_wait(), Ok(None)) {
        let Ok(client) = Client::connect(socket) else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        let directory = place.join(made.to_string());
        let note = directory.with_extension("note");
        made += 1;
        let capture = Capture { capture: CaptureKind::Profile, directory: directory.clone(), note: note.clone() };
        let is_asked = serde_json::to_value(&capture).is_ok_and(|wanted| client.instrument(wanted).is_ok());
        while is_asked && !note.exists() && matches!(child.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(1));
        }
    }
    assert!(made > 1 || is_moment(), "recordings were made meanwhile");
}

fn slowest_runs(library: &Path) {
    let place = tempfile::tempdir().expect("a directory");
    let socket = place.path().join("socket");
    let (file, runs) = (preloaded(), times(100_000, 10));
    let served = [("LD_PRELOAD", &*file), ("OPSCOPE_DEBUG_SERVER", &*socket)];
    let mut rounds = Rounds::new(
        times(7, 1),
        [
            Contender::new("without the library, us", || Caller::new(library, runs, &[]).times(|_| ())[1]),
            Contender::new("with a debug server", || Caller::new(library, runs, &served).times(|_| ())[1]),
            Contender::new("while it is recorded", || {
                let recordings = tempfile::tempdir().expect("a directory");
                let record = |child: &mut Child| record(child, &socket, recordings.path());
                Caller::new(library, runs, &served).times(record)[1]
            }),
        ],
    );
    for (contender, case, goal) in [
        (1, "99 of 100 runs, with a debug server, no debugger", DETACHED),
        (2, "99 of 100 runs, while recordings are made beside them", CAPTURED),
    ] {
        let judged = rounds.decide_ratio(goal, contender, 0);
        let peer = ("without the library, us", rounds.cost(0).value);
        Case { bench: BENCH, case: case.to_owned(), judged, unit: "x", peer, floor: None, goal }.print();
    }
    rounds.print("the slowest of 100 runs of digits_cnn");
}

fn start() {
    let once = |file: Option<&Path>| {
        let begin = Instant::now();
        let status = Command::new("true").envs(file.map(|file| ("LD_PRELOAD", file))).status();
        assert!(status.expect("it starts").success());
        begin.elapsed().as_secs_f64() * 1e3
    };
    let file = preloaded();
    let mut rounds = Rounds::new(
        STARTS,
        [Contender::new("without", || once(None)), Contender::new("preloaded", || once(Some(&file)))],
    );
    let judged = rounds.decide_difference(START, 1, 0, 1.0);
    let peer = ("without the library, ms", rounds.cost(0).value);
    let case = "more for a process that does nothing".to_owned();
    Case { bench: BENCH, case, judged, unit: "ms", peer, floor: None, goal: START }.print();
}
