//! Threads that record or dump beside the program, and the program's end, which waits for them.
//!
//! A program that exits destroys the objects of ONNX Runtime while its other threads still run. A thread that uses them
//! then would crash, and what it writes would be cut.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use opscope_border::system;
use opscope_sys::Mutex;

use crate::messages::say;

/// After this time the user is told what the program waits for.
const UNNOTICED: Duration = Duration::from_secs(1);

/// A thread, and its process: a forked child has no such thread.
struct Beside {
    process: u32,
    thread: JoinHandle<()>,
}

static THREADS: Mutex<Vec<Beside>> = Mutex::new(Vec::new());

static IS_EXITING: AtomicBool = AtomicBool::new(false);

/// Returns whether the program wants to end and waits. A recording that has a run of each kind stops then.
pub fn is_exiting() -> bool {
    IS_EXITING.load(Ordering::Relaxed)
}

/// Starts a thread for which the program's end waits.
pub fn start(work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    // What is registered last is called first: the recording is closed after the wait. If this is refused, so is the
    // recording, which says why.
    let _ = opscope_trace::register_process_events();
    protect();
    let mut threads = THREADS.lock();
    threads.retain(|one| one.process == process::id() && !one.thread.is_finished());
    let thread = thread::Builder::new().name("opscope-capture".to_owned()).spawn(work)?;
    threads.push(Beside { process: process::id(), thread });
    Ok(())
}

/// Makes the program's end wait before it destroys the objects that exist now. ONNX Runtime creates some of them when it
/// first needs them, so this is called again after a model was loaded.
pub fn protect() {
    // Without memory for this, the program's end does not wait.
    let _ = system::at_exit(wait);
}

extern "C" fn wait() {
    IS_EXITING.store(true, Ordering::Relaxed);
    // At this point, a panic cannot be reported any more.
    let _ = std::panic::catch_unwind(|| {
        let threads = std::mem::take(&mut *THREADS.lock());
        let own: Vec<_> = threads.into_iter().filter(|one| one.process == process::id()).collect();
        let began = Instant::now();
        while own.iter().any(|one| !one.thread.is_finished()) {
            if began.elapsed() > UNNOTICED {
                say(format_args!("the program ends as soon as what was asked for is written"));
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        own.into_iter().for_each(|one| drop(one.thread.join()));
    });
}
