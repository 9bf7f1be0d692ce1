//! A program that a debugger may stop.

use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope::debug::server::{Listen, ServeError, Server, ServerOptions};
use opscope::debug::{Debugger, LoadedModelHandle};
use opscope::model::Fidelity;
use opscope_torch::{Place, Stopped};
use pyo3::prelude::*;

use super::tensors::Want;
use super::{State, TorchTap};
use crate::border::released::released;
use crate::failure::Failure;

/// The debugger of a program, and the server by which clients attach to it.
pub struct ProgramDebugger {
    debugger: Debugger,
    is_over: Arc<AtomicBool>,
    /// Tells the client in the end that the program is over. It is dropped before the server.
    _handle: LoadedModelHandle,
    _server: Server,
}

impl ProgramDebugger {
    /// Returns whether a client is attached.
    pub fn is_attached(&self) -> bool {
        self.debugger.is_attached()
    }
}

impl Drop for ProgramDebugger {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Starts the server of a debugger. With `stops`, the first step stops before its first operator for the client that is
/// about to attach; otherwise this prints how to attach.
pub fn serve(tap: &TorchTap, py: Python<'_>, socket: Option<PathBuf>, stops: bool) -> PyResult<()> {
    let is_over = Arc::new(AtomicBool::new(false));
    let was_over = Arc::clone(&is_over);
    let log = move |message: &str| {
        // That the client is detached in the end needs no words.
        if !was_over.load(Ordering::Relaxed) {
            eprintln!("opscope: {message}");
        }
    };
    let debugger = Debugger::with_log(log).map_err(Failure::debug)?;
    // Other threads of Python's go on while one waits for the debugger.
    debugger.set_around_waits(released);
    let handle = {
        let mut state = tap.lock();
        state.program.add(Arc::new(debugger.clone())).map_err(Failure::any)?;
        debugger.load(state.program.header(), Fidelity::Exact)
    };
    // Of several processes, such as the ranks of a launcher, the first one has the socket that was named.
    let is_of_another = |path: &PathBuf| path.symlink_metadata().is_ok_and(|file| file.file_type().is_socket());
    let is_prompted = stops && !socket.as_ref().is_some_and(is_of_another);
    if is_prompted {
        debugger.stop_next_run();
    }
    let serve = |listen| py.detach(|| debugger.serve(ServerOptions { listen }));
    let (server, address) = match socket.map(|path| (serve(Listen::At(path.clone())), path)) {
        Some((Err(ServeError::Taken { .. }), path)) if is_of_another(&path) => (serve(Listen::ByProcess), None),
        Some((server, path)) => (server, Some(path)),
        None => (serve(Listen::ByProcess), None),
    };
    let server = server.map_err(Failure::debug)?;
    if !is_prompted {
        let address = address.map_or_else(|| std::process::id().to_string(), |path| path.display().to_string());
        eprintln!("opscope: attach with: opscope debug --attach {address}");
    }
    tap.lock().debug = Some(ProgramDebugger { debugger, is_over, _handle: handle, _server: server });
    tap.looks_before.store(true, Ordering::Relaxed);
    Ok(())
}

/// Returns what is wanted of what is computed at a place.
pub fn want(state: &mut State, place: &Place) -> Want {
    if state.program.wants_after(place) { Want::All } else { Want::Place }
}

/// The exception in a program that its debugger ends.
pub fn aborted(Stopped(reason): &Stopped) -> PyErr {
    Failure::debug(format!("the debugger ended the run: {reason}")).into()
}
