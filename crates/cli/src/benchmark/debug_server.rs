//! `--debug-server`: runs to which a debugger can attach.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use opscope::debug::Debugger;
use opscope::debug::server::{Listen, Server, ServerOptions};
use opscope_sys::Mutex;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Handle;

use crate::exit::Failure;
use crate::isolate::Isolation;
use crate::options::DebugServerSpec;
use crate::terminal::Messages;

/// A debug server. It closes when this is dropped or the command is interrupted; a stopped run then continues, so that
/// the command can end.
pub struct DebugServer {
    server: Arc<Mutex<Option<Server>>>,
    signals: Handle,
    waiting: Option<JoinHandle<()>>,
}

impl DebugServer {
    /// Starts a server, and prints how to attach.
    pub fn start(at: &DebugServerSpec, isolation: &Isolation, messages: Messages) -> Result<(Debugger, Self), Failure> {
        let log = move |message: &str| messages.warning(message);
        let failed = |error: std::io::Error| Failure::failed(format!("no debugger can attach: {error}"));
        let debugger = Debugger::with_log(log).map_err(failed)?;
        let listen = at.path.clone().map_or(Listen::ByProcess, Listen::At);
        let server = debugger.serve(ServerOptions { listen }).map_err(Failure::failed)?;
        let address = match &at.path {
            None => std::process::id().to_string(),
            Some(path) => path.display().to_string(),
        };
        messages.note(format!("attach with: opscope debug --attach {address}"));

        let mut signals = isolation.signals(&[SIGINT, SIGTERM]).map_err(failed)?;
        let handle = signals.handle();
        let server = Arc::new(Mutex::new(Some(server)));
        let theirs = Arc::clone(&server);
        let waiting = thread::Builder::new().name("opscope-interrupt".into()).spawn(move || {
            if signals.next().is_some() {
                close(&theirs);
            }
        });
        let waiting = Some(waiting.map_err(failed)?);
        Ok((debugger, Self { server, signals: handle, waiting }))
    }
}

impl Drop for DebugServer {
    fn drop(&mut self) {
        self.signals.close();
        if let Some(waiting) = self.waiting.take() {
            let _ = waiting.join();
        }
        close(&self.server);
    }
}

fn close(server: &Mutex<Option<Server>>) {
    drop(server.lock().take());
}
