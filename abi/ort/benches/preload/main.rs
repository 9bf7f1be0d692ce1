//! What does the preloaded library cost? The time of a run of the smallest model by a C program, and the time that a
//! process takes which does nothing, each against the same without the library.
//!
//! Each measurement is a process of its own, because where its memory lies decides about some percent of a run.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use opscope_bench::{Case, Contender, Goal, Rounds, finish, not_measured, times};
use opscope_c_programs::{Language, Library, Program, models};
use opscope_engine_onnxruntime::Library as OnnxRuntime;

const BENCH: &str = "preload";
const ROUNDS: usize = 15;
const STARTS: usize = 101;
/// While nothing is asked for, nothing can be measured.
const NOTHING: Goal = Goal::AtMost(1.01);
/// With a server the calls go through the library, which looks whether a debugger is attached.
const SERVER: Goal = Goal::AtMost(1.02);
/// Every process into which it is preloaded pays for its relocations: those of a shell script, too.
const START: Goal = Goal::AtMost(2.0);

fn main() -> ExitCode {
    match OnnxRuntime::locate(None) {
        Ok(library) => runs(&library),
        Err(_) => not_measured(BENCH, "a run", NOTHING, "x", "there is no library of ONNX Runtime"),
    }
    start();
    finish()
}

fn preloaded() -> PathBuf {
    Library::Ort.files().join("libopscope_ort.so")
}

fn runs(library: &Path) {
    let tests = Library::Ort.root().join("tests/c");
    let source = Library::Ort.root().join("benches/preload/caller.c");
    let program = Program::of(Library::Ort, source).option(format!("-I{}", tests.display())).compile(Language::C11);
    let place = tempfile::tempdir().expect("a directory");
    let socket = place.path().join("socket");
    let once = |variables: &[(&str, &Path)]| {
        let mut command = Command::new(&program);
        command.arg(library).arg(models().join("digits_cnn.onnx")).arg(models().join("digits_cnn.input.image.npy"));
        command.arg(times(3000, 10).to_string()).env_clear().envs(variables.iter().copied());
        let output = command.output().expect("the program starts");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        printed.trim().parse::<f64>().unwrap_or_else(|_| panic!("{printed}")) / 1e3
    };
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
