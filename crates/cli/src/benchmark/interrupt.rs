use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use opscope::benchmark::{Stage, remove_unfinished_outputs};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::exit::Failure;

/// What Ctrl-C and SIGTERM do to a benchmark.
///
/// Before there are results, they end the process at once. While the model runs, they cancel the job, and what was measured
/// is reported; if a run takes too long for that, the process ends without a report. A second signal always ends the process
/// at once.
pub struct Interrupt {
    cancelled: Arc<AtomicBool>,
    stage: Arc<Mutex<Stage>>,
}

/// How long a run may continue after a signal.
const PATIENCE: Duration = Duration::from_millis(800);

impl Interrupt {
    /// Installs the handlers.
    pub fn listen() -> Result<Self, Failure> {
        let interrupt = Self { cancelled: Arc::default(), stage: Arc::new(Mutex::new(Stage::Loading)) };
        let failed = |error| Failure::failed(format!("no handler for signals can be installed: {error}"));
        // The handler that reads the flag comes before the one that sets it: otherwise the first signal could count as the
        // second.
        for (signal, code) in CODES {
            flag::register_conditional_shutdown(signal, code, Arc::clone(&interrupt.cancelled)).map_err(failed)?;
        }
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
        let (cancelled, stage) = (Arc::clone(&interrupt.cancelled), Arc::clone(&interrupt.stage));
        let wait = move || {
            let Some(signal) = signals.forever().next() else { return };
            cancelled.store(true, Ordering::Relaxed);
            let stage = || *stage.lock().unwrap_or_else(PoisonError::into_inner);
            if stage() == Stage::Running {
                thread::sleep(PATIENCE);
            }
            match stage() {
                // The results are being written.
                Stage::Closing | Stage::Exporting => {}
                stage => end(signal, stage),
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(failed)?;
        Ok(interrupt)
    }

    /// The flag that a signal sets.
    pub fn flag(&self) -> &AtomicBool {
        &self.cancelled
    }

    /// Sets the stage, which decides what a signal does.
    pub fn enter(&self, stage: Stage) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }
}

/// The exit codes of a process that a signal ended, as shells define them.
const CODES: [(i32, i32); 2] = [(SIGINT, 130), (SIGTERM, 143)];

fn end(signal: i32, stage: Stage) -> ! {
    if stage.has_no_results() {
        remove_unfinished_outputs();
    }
    let _ = writeln!(io::stderr(), "interrupted while {stage}");
    let code = CODES.iter().find(|(known, _)| *known == signal).map_or(130, |(_, code)| *code);
    std::process::exit(code)
}
