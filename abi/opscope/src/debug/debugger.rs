use std::collections::HashMap;
use std::ffi::c_char;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use opscope::debug::server::{Listen, Server, ServerOptions};
use opscope::debug::{Debugger, LoadedModelHandle};
use opscope_border::{Out, Text, exported, value};
use opscope_sys::Mutex;

use crate::border::opscope_status_t::{OPSCOPE_ERROR_INVALID_STATE, OPSCOPE_ERROR_SYSTEM};
use crate::border::{Failure, KeptText, get, handle, insert, remove};
use crate::session::opscope_session_t;

/// The instrument that stops runs. It costs nothing while no client is attached. Free it with `opscope_debugger_free`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_debugger_t {
    /// 0 is no debugger.
    pub id: u64,
}
handle!(opscope_debugger_t => DebuggerForC, "debugger");

/// A thread that serves debuggers in other processes. Free it with `opscope_server_free`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_server_t {
    /// 0 is no server.
    pub id: u64,
}
handle!(opscope_server_t => ServerForC, "debug server");

/// A debugger, and the models that its clients know.
pub struct DebuggerForC {
    debugger: Debugger,
    /// The handles of the models, by the number of the session.
    loaded: Mutex<HashMap<u64, LoadedModelHandle>>,
}

/// A server, and the path that it listens at.
pub struct ServerForC {
    path: Option<KeptText>,
    _server: Server,
}

impl Deref for DebuggerForC {
    type Target = Debugger;

    fn deref(&self) -> &Debugger {
        &self.debugger
    }
}

/// Creates a debugger without a client.
#[exported]
pub fn opscope_debugger_create(debugger: Out<'_, opscope_debugger_t>) -> Result<(), Failure> {
    let debugger = debugger.place("debugger")?;
    let created = Debugger::new().map_err(|error| Failure::new(OPSCOPE_ERROR_SYSTEM, error.to_string()))?;
    debugger.write(insert(DebuggerForC { debugger: created, loaded: Mutex::default() }));
    Ok(())
}

/// Shows a model to clients before its first run, so that they can set breakpoints on its operators. It stays shown
/// until `opscope_debugger_unload`, or until the debugger is freed. If a client is attached, the call waits until the
/// client has acknowledged the event, or its lease has expired: load first and then attach, or read events on another
/// thread.
#[exported]
pub fn opscope_debugger_load(debugger: opscope_debugger_t, session: opscope_session_t) -> Result<(), Failure> {
    let (debugger, loaded) = (get(debugger)?, get(session)?);
    let shown = loaded.session.shown_to(&debugger.debugger);
    let replaced = debugger.loaded.lock().insert(session.id, shown);
    drop(replaced);
    Ok(())
}

/// Stops showing a model to clients.
#[exported]
pub fn opscope_debugger_unload(debugger: opscope_debugger_t, session: opscope_session_t) -> Result<(), Failure> {
    let debugger = get(debugger)?;
    let removed = debugger.loaded.lock().remove(&session.id);
    let not_shown =
        || Failure::new(OPSCOPE_ERROR_INVALID_STATE, "the debugger does not show this session; load it first");
    removed.map(drop).ok_or_else(not_shown)
}

/// Starts a server, through which debuggers of the same user can attach until it is freed. `socket` is the path that it
/// listens at; NULL selects the path at which `opscope debug --attach PID` looks for it.
#[exported]
pub fn opscope_debugger_serve(
    debugger: opscope_debugger_t,
    socket: Text<'_>,
    server: Out<'_, opscope_server_t>,
) -> Result<(), Failure> {
    let (debugger, server) = (get(debugger)?, server.place("server")?);
    let listen = socket.given_path().map_or(Listen::ByProcess, Listen::At);
    let started = debugger.serve(ServerOptions { listen })?;
    let path = started.path().map(|path| KeptText::from_bytes(path.as_os_str().as_bytes()));
    server.write(insert(ServerForC { path, _server: started }));
    Ok(())
}

/// Returns the path that a server listens at; NULL for an invalid handle. The text is valid until the server is freed.
#[exported]
pub fn opscope_server_path(server: opscope_server_t) -> *const c_char {
    value(ptr::null(), || Ok::<_, Failure>(get(server)?.path.as_ref().map_or(ptr::null(), KeptText::as_ptr)))
}

/// Ends a server: detaches its client, and removes the socket.
#[exported]
pub fn opscope_server_free(server: opscope_server_t) -> Result<(), Failure> {
    remove(server).map(drop)
}

/// Frees a debugger. Clients that are attached through a server or an attachment stay attached. This may wait: a client
/// that receives synchronously that a model is unloaded must acknowledge that, or its lease must expire.
#[exported]
pub fn opscope_debugger_free(debugger: opscope_debugger_t) -> Result<(), Failure> {
    remove(debugger).map(drop)
}
