//! The debugger of the process, and the server through which a client attaches.

use std::process;
use std::sync::{Arc, Once, OnceLock};

use opscope_border::system;
use opscope_debug::server::{Listen, Server, ServerOptions};
use opscope_debug::{Debugger, LoadedModelHandle};
use opscope_model::{Capabilities, Fidelity};
use opscope_onnx::Graph;
use opscope_sys::Mutex;

use crate::messages::say;
use crate::requested::REQUESTED;
use crate::variables::wanted;

/// A debugger, and the process that serves it. A forked child has no thread that would serve it.
struct Served {
    debugger: Debugger,
    process: u32,
}

static SERVED: OnceLock<Option<Served>> = OnceLock::new();

/// The server, until the process exits.
static SERVER: Mutex<Option<Server>> = Mutex::new(None);

/// Lets clients attach from now on, if the environment says so: before the program has a model.
pub fn listen() {
    let Some(listen) = wanted().debug_server.as_ref() else { return };
    if let Some(debugger) = SERVED.get_or_init(create).as_ref().and_then(Served::in_its_process) {
        static STARTED: Once = Once::new();
        STARTED.call_once(|| start(debugger, listen));
    }
}

/// Shows a model to clients until the handle is dropped. For the first model this waits for a client, if the environment
/// says so. Returns `None` if no server is asked for.
pub fn show(graph: &Arc<Graph>, capabilities: Capabilities) -> Option<LoadedModelHandle> {
    listen();
    let debugger = SERVED.get()?.as_ref()?.in_its_process()?;
    let shown = debugger.load(graph, Fidelity::Exact).with_capabilities(capabilities);
    static WAITED: Once = Once::new();
    WAITED.call_once(|| debugger.wait_for_debugger());
    Some(shown)
}

/// Returns the debugger while a client is attached to it.
pub fn attached() -> Option<&'static Debugger> {
    SERVED.get()?.as_ref()?.in_its_process().filter(|debugger| debugger.is_attached())
}

impl Served {
    fn in_its_process(&self) -> Option<&Debugger> {
        (self.process == process::id()).then_some(&self.debugger)
    }
}

fn create() -> Option<Served> {
    match Debugger::with_log(|message| say(message)) {
        Ok(debugger) => {
            debugger.set_host(Arc::clone(&*REQUESTED) as _);
            Some(Served { debugger, process: process::id() })
        }
        Err(error) => {
            say(format_args!("no debugger can attach: {error}"));
            None
        }
    }
}

fn start(debugger: &Debugger, listen: &Listen) {
    match listen {
        Listen::At(path) => say(format_args!("attach with: opscope debug --attach {}", path.display())),
        Listen::ByProcess | Listen::Nowhere => {
            say(format_args!("attach with: opscope debug --attach {}", process::id()));
        }
    }
    match debugger.listen(ServerOptions { listen: listen.clone() }) {
        Ok(server) => {
            *SERVER.lock() = Some(server);
            // Without memory for this, the socket stays, as that of a program that is killed.
            let _ = system::at_exit(stop);
        }
        Err(error) => say(format_args!("no debugger can attach: {error}")),
    }
}

/// Detaches the client and removes the socket.
extern "C" fn stop() {
    let server = SERVER.lock().take();
    // At this point, a panic cannot be reported any more.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(server)));
}
