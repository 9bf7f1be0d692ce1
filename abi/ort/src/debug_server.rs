//! The debugger of the process, and the server through which a client attaches.

use std::process;
use std::sync::{Arc, Once, OnceLock};

use opscope_border::system;
use opscope_debug::server::{Listen, Server, ServerOptions};
use opscope_debug::{Captures, Debugger, LoadedModelHandle};
use opscope_model::{Capabilities, Fidelity};
use opscope_onnx::Graph;
use opscope_sys::Mutex;

use crate::messages::say;
use crate::variables::wanted;

/// What clients attach to.
struct Served {
    process: u32,
    /// `None` if it could not be created.
    debugger: Option<Debugger>,
    /// The dumps and recordings that commands ask for.
    captures: Arc<Captures>,
    /// The server, until the process exits. `None` if nobody can attach.
    server: Mutex<Option<Server>>,
    started: Once,
    /// Whether the first model has waited for a client.
    waited: Once,
    /// That of a forked process, which has no thread of its parent's server.
    forked: OnceLock<Box<Served>>,
}

/// That of this process, or of the one that it was forked from.
static SERVED: OnceLock<Box<Served>> = OnceLock::new();

/// Returns the last one: that of this process, if it has one, and else of the one that it was forked from.
fn latest() -> Option<&'static Served> {
    let mut served = SERVED.get()?;
    while let Some(forked) = served.forked.get() {
        served = forked;
    }
    Some(served)
}

/// Returns that of this process if it is so. Each run asks, and the number of the process costs a call of the system.
fn served_if(is_so: impl FnOnce(&Served) -> bool) -> Option<&'static Served> {
    latest().filter(|served| is_so(served) && served.process == process::id())
}

/// Lets clients attach from now on, if the environment says so: before the program has a model.
pub fn listen() {
    let Some(listen) = wanted().debug_server.as_ref().filter(|_| wanted().wrong.is_none()) else { return };
    let served = match latest() {
        Some(served) if served.process == process::id() => served,
        parent => parent.map_or(&SERVED, |parent| &parent.forked).get_or_init(Served::new),
    };
    served.started.call_once(|| served.start(listen));
}

/// Shows a model to clients until the handle is dropped. For the first model this waits for a client, if the environment
/// says so. Returns `None` if no server is asked for.
pub fn show(graph: &Arc<Graph>, capabilities: Capabilities) -> Option<LoadedModelHandle> {
    listen();
    let served = served_if(|_| true)?;
    let debugger = served.debugger.as_ref()?;
    let shown = debugger.load(graph, Fidelity::Exact).with_capabilities(capabilities);
    let is_there = served.server.lock().is_some();
    if is_there {
        served.waited.call_once(|| debugger.wait_for_debugger());
    }
    Some(shown)
}

/// Returns the debugger while a client is attached to it.
pub fn attached() -> Option<&'static Debugger> {
    served_if(|served| served.debugger.as_ref().is_some_and(Debugger::is_attached))?.debugger.as_ref()
}

/// Returns the dumps and recordings that commands ask for, if there are any.
pub fn requested() -> Option<&'static Captures> {
    served_if(|served| served.captures.is_any()).map(|served| &*served.captures)
}

impl Served {
    fn new() -> Box<Self> {
        let captures = Arc::<Captures>::default();
        let debugger = Debugger::with_log(|message| say(message))
            .inspect(|debugger| debugger.set_host(Arc::clone(&captures) as _))
            .inspect_err(|error| say(format_args!("no debugger can attach: {error}")))
            .ok();
        Box::new(Self {
            process: process::id(),
            debugger,
            captures,
            server: Mutex::new(None),
            started: Once::new(),
            waited: Once::new(),
            forked: OnceLock::new(),
        })
    }

    fn start(&self, listen: &Listen) {
        let Some(debugger) = &self.debugger else { return };
        match listen {
            Listen::At(path) => say(format_args!("attach with: opscope debug --attach {}", path.display())),
            Listen::ByProcess | Listen::Nowhere => {
                say(format_args!("attach with: opscope debug --attach {}", self.process));
            }
        }
        match debugger.listen(ServerOptions { listen: listen.clone() }) {
            Ok(server) => {
                *self.server.lock() = Some(server);
                // Without memory for this, the socket stays, as that of a program that is killed.
                let _ = system::at_exit(stop);
            }
            Err(error) => say(format_args!("no debugger can attach: {error}")),
        }
    }
}

/// Detaches the client and removes the socket.
extern "C" fn stop() {
    let server = served_if(|_| true).and_then(|served| served.server.lock().take());
    // At this point, a panic cannot be reported any more.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(server)));
}
