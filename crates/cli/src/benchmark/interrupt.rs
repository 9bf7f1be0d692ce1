use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use opscope::engine::EngineName;
use opscope_job::benchmark::{Stage, remove_unfinished_outputs};
use opscope_sys::{Mutex, MutexGuard};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level;

use crate::exit::Failure;
use crate::isolate::{Isolation, UserSignals};
use crate::terminal::shown_path;

/// Ends a benchmark on Ctrl-C or SIGTERM.
///
/// Before there are results, a signal ends the process immediately. While the model runs, it cancels the job, and what
/// was measured is reported; if a run takes too long for that, the process ends without a report. A second signal
/// always ends the process immediately. So does the first one, once the job is over and only libraries of the process
/// are still at work.
pub struct Interrupt {
    cancelled: Arc<AtomicBool>,
    progress: Arc<Mutex<Progress>>,
    over: Arc<AtomicBool>,
}

/// The progress of the command.
struct Progress {
    doing: Doing,
    /// The libraries that may keep the process from ending.
    libraries: Vec<PathBuf>,
}

/// The stage that a signal interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Doing {
    /// Loading libraries. One of them may take any time to initialise itself, and holds the loader's lock meanwhile.
    /// Code that waits for that lock, as `exit` does, may wait forever.
    Attaching,
    Job(Stage),
}

/// How the thread that ends the process has to end it.
enum EndRequest {
    /// Immediately, while the job stays where it is. These libraries may keep the process from ending.
    Now(i32, Stage, Vec<PathBuf>),
    /// After a while, unless the job has ended by then.
    Late(i32),
}

/// How long a run may continue after a signal.
const PATIENCE: Duration = Duration::from_millis(800);

/// How long the libraries of the process may take to end after a signal.
const LIBRARIES_PATIENCE: Duration = Duration::from_secs(5);

impl Interrupt {
    /// Installs the handlers, before any library is loaded.
    ///
    /// The libraries of the process are notified of its end, unless one of them is ONNX Runtime, which crashes if it is
    /// unloaded while it works.
    pub fn listen(isolation: &Isolation, engine: EngineName) -> Result<Self, Failure> {
        let progress = Arc::new(Mutex::new(Progress { doing: Doing::Attaching, libraries: Vec::new() }));
        let interrupt = Self { cancelled: Arc::default(), progress, over: Arc::default() };
        let failed = |error| Failure::failed(format!("no handler for signals can be installed: {error}"));
        let signals = isolation.signals(&CODES.map(|(signal, _)| signal)).map_err(failed)?;
        let (end, ends) = channel();
        let (limit, limits) = channel();
        let listener = Listener {
            cancelled: Arc::clone(&interrupt.cancelled),
            progress: Arc::clone(&interrupt.progress),
            over: Arc::clone(&interrupt.over),
            ends_abruptly: engine == EngineName::OnnxRuntime,
            end,
        };
        let progress = Arc::clone(&interrupt.progress);
        let ends_abruptly = listener.ends_abruptly;
        start("exit", move || end_when_asked(&ends, &progress, ends_abruptly, &limit)).map_err(failed)?;
        start("limit", move || end_in_time(&limits)).map_err(failed)?;
        start("signals", move || listener.listen(signals)).map_err(failed)?;
        Ok(interrupt)
    }

    /// Ends the stage that [`listen`](Self::listen) began: all libraries are loaded. `libraries` are those that may
    /// keep the process from ending.
    pub fn attached(&self, libraries: Vec<PathBuf>) {
        *lock(&self.progress) = Progress { doing: Doing::Job(Stage::Loading), libraries };
    }

    /// Returns the flag that a signal sets.
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.cancelled
    }

    /// Sets the stage, which decides what a signal does.
    pub fn enter(&self, stage: Stage) {
        lock(&self.progress).doing = Doing::Job(stage);
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Starts a thread and waits until it runs: its start takes the loader's lock, which a library may later hold forever.
fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let (runs, started) = channel();
    let work = move || {
        let _ = runs.send(());
        work();
    };
    thread::Builder::new().name(name.to_owned()).spawn(work)?;
    // This cannot fail, because the thread sends before it does anything else.
    let _ = started.recv();
    Ok(())
}

/// The thread that waits for signals.
struct Listener {
    cancelled: Arc<AtomicBool>,
    progress: Arc<Mutex<Progress>>,
    over: Arc<AtomicBool>,
    ends_abruptly: bool,
    end: Sender<EndRequest>,
}

impl Listener {
    fn listen(self, mut signals: UserSignals) {
        let Some(signal) = signals.next() else { return };
        let progress = lock(&self.progress);
        if self.over.load(Ordering::Relaxed) {
            leave_behind(signal, &progress.libraries);
        }
        // The lock keeps the job in its stage while the process ends, and hides that it is cancelled.
        match progress.doing {
            Doing::Attaching => end(signal, progress.doing, low_level::exit),
            Doing::Job(Stage::Closing | Stage::Exporting) => {}
            Doing::Job(Stage::Running) => self.ask(EndRequest::Late(signal)),
            Doing::Job(stage) if self.ends_abruptly => end(signal, Doing::Job(stage), low_level::exit),
            Doing::Job(stage) => {
                // On another thread, because a library may never end, and a second signal must still be handled then.
                self.ask(EndRequest::Now(signal, stage, progress.libraries.clone()));
                if let Some(signal) = signals.next() {
                    leave_behind(signal, &progress.libraries);
                }
                return;
            }
        }
        drop(progress);
        self.cancelled.store(true, Ordering::Relaxed);
        if let Some(signal) = signals.next() {
            low_level::exit(code(signal));
        }
    }

    fn ask(&self, end: EndRequest) {
        // The other thread only ends with the process.
        let _ = self.end.send(end);
    }
}

/// The signal that ends the process, and the libraries that may prevent that.
type Limit = (i32, Vec<PathBuf>);

/// Ends the process on request. `limit` starts the time limit of the libraries.
fn end_when_asked(ends: &Receiver<EndRequest>, progress: &Mutex<Progress>, abruptly: bool, limit: &Sender<Limit>) {
    let leave = |signal, doing, libraries| {
        if abruptly {
            end(signal, doing, low_level::exit);
        }
        // The other thread only ends with the process.
        let _ = limit.send((signal, libraries));
        end(signal, doing, std::process::exit)
    };
    match ends.recv() {
        Ok(EndRequest::Now(signal, stage, libraries)) => leave(signal, Doing::Job(stage), libraries),
        Ok(EndRequest::Late(signal)) => {
            thread::sleep(PATIENCE);
            let progress = lock(progress);
            if progress.doing <= Doing::Job(Stage::Running) {
                leave(signal, progress.doing, progress.libraries.clone());
            }
        }
        Err(_) => {}
    }
}

/// Ends the process if its libraries keep it from ending.
fn end_in_time(limits: &Receiver<Limit>) {
    let Ok((signal, libraries)) = limits.recv() else { return };
    thread::sleep(LIBRARIES_PATIENCE);
    leave_behind(signal, &libraries);
}

/// Ends the process immediately, and names the libraries that did not end. Without libraries there is nothing to name.
fn leave_behind(signal: i32, libraries: &[PathBuf]) -> ! {
    let libraries: Vec<String> = libraries.iter().map(|library| shown_path(library)).collect();
    if !libraries.is_empty() {
        let _ = writeln!(io::stderr(), "ended before these libraries had ended: {}", libraries.join(", "));
    }
    low_level::exit(code(signal))
}

/// The exit codes of a process that a signal ended, as shells define them.
const CODES: [(i32, i32); 2] = [(SIGINT, 130), (SIGTERM, 143)];

fn end(signal: i32, doing: Doing, exit: fn(i32) -> !) -> ! {
    if doing.has_no_results() {
        remove_unfinished_outputs();
    }
    let _ = writeln!(io::stderr(), "interrupted while {doing}");
    exit(code(signal))
}

fn code(signal: i32) -> i32 {
    CODES.iter().find(|(known, _)| *known == signal).map_or(130, |(_, code)| *code)
}

fn lock(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock()
}

impl Doing {
    /// Returns whether ending here loses nothing.
    fn has_no_results(self) -> bool {
        match self {
            Self::Attaching => true,
            Self::Job(stage) => stage.has_no_results(),
        }
    }
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attaching => f.write_str("loading libraries"),
            Self::Job(stage) => stage.fmt(f),
        }
    }
}
