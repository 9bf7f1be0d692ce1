use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use opscope::benchmark::{Stage, remove_unfinished_outputs};
use opscope::engine::EngineName;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level;

use crate::exit::Failure;
use crate::isolate::Isolation;
use crate::terminal::shown_path;

/// What Ctrl-C and SIGTERM do to a benchmark.
///
/// Before there are results, they end the process at once. While the model runs, they cancel the job, and what was measured
/// is reported; if a run takes too long for that, the process ends without a report. A second signal always ends the process
/// at once, and so does the first one when the job is over and libraries of the process are still at work.
pub struct Interrupt {
    cancelled: Arc<AtomicBool>,
    stage: Arc<Mutex<Stage>>,
    over: Arc<AtomicBool>,
}

/// How long a run may continue after a signal.
const PATIENCE: Duration = Duration::from_millis(800);

impl Interrupt {
    /// Installs the handlers.
    ///
    /// The libraries of the process are told of its end, unless one of them is ONNX Runtime: it crashes if it is taken down while
    /// it works. `libraries` are those that may keep the process from ending.
    pub fn listen(isolation: &Isolation, engine: EngineName, libraries: Vec<PathBuf>) -> Result<Self, Failure> {
        let exit: fn(i32) -> ! = match engine {
            EngineName::OnnxRuntime => low_level::exit,
            EngineName::Tract => std::process::exit,
        };
        let stage = Arc::new(Mutex::new(Stage::Loading));
        let interrupt = Self { cancelled: Arc::default(), stage, over: Arc::default() };
        let failed = |error| Failure::failed(format!("no handler for signals can be installed: {error}"));
        let mut signals = isolation.signals(&CODES.map(|(signal, _)| signal)).map_err(failed)?;
        let (cancelled, stage) = (Arc::clone(&interrupt.cancelled), Arc::clone(&interrupt.stage));
        let over = Arc::clone(&interrupt.over);
        let listen = move || {
            let Some(signal) = signals.next() else { return };
            if over.load(Ordering::Relaxed) {
                let libraries: Vec<String> = libraries.iter().map(|library| shown_path(library)).collect();
                // Without one there is nothing to name: the process was about to end.
                if !libraries.is_empty() {
                    let _ = writeln!(io::stderr(), "ended before these libraries had ended: {}", libraries.join(", "));
                }
                low_level::exit(code(signal));
            }
            // The job enters no other stage while the process ends, and does not see that it is cancelled.
            let current = stage.lock().unwrap_or_else(PoisonError::into_inner);
            match *current {
                Stage::Closing | Stage::Exporting => {}
                Stage::Running => {
                    // On a thread of its own: a second signal does not wait for the patience with the first.
                    let stage = Arc::clone(&stage);
                    let late = move || {
                        thread::sleep(PATIENCE);
                        let current = stage.lock().unwrap_or_else(PoisonError::into_inner);
                        if *current <= Stage::Running {
                            end(signal, *current, exit);
                        }
                    };
                    // Without that thread, the run ends when it ends.
                    let _ = thread::Builder::new().name("interrupt".to_owned()).spawn(late);
                }
                stage => {
                    // On a thread of its own: a library may not end, and then a second signal is still heard.
                    let end = move || end(signal, stage, exit);
                    if thread::Builder::new().name("exit".to_owned()).spawn(end).is_err() {
                        low_level::exit(code(signal));
                    }
                    if let Some(signal) = signals.next() {
                        low_level::exit(code(signal));
                    }
                    return;
                }
            }
            drop(current);
            cancelled.store(true, Ordering::Relaxed);
            if let Some(signal) = signals.next() {
                low_level::exit(code(signal));
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(listen).map_err(failed)?;
        Ok(interrupt)
    }

    /// The flag that a signal sets.
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.cancelled
    }

    /// Sets the stage, which decides what a signal does.
    pub fn enter(&self, stage: Stage) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// The exit codes of a process that a signal ended, as shells define them.
const CODES: [(i32, i32); 2] = [(SIGINT, 130), (SIGTERM, 143)];

fn end(signal: i32, stage: Stage, exit: fn(i32) -> !) -> ! {
    if stage.has_no_results() {
        remove_unfinished_outputs();
    }
    let _ = writeln!(io::stderr(), "interrupted while {stage}");
    exit(code(signal))
}

fn code(signal: i32) -> i32 {
    CODES.iter().find(|(known, _)| *known == signal).map_or(130, |(_, code)| *code)
}
