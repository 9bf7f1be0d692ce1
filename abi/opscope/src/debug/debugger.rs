//! The debugger and its options.

use std::collections::HashMap;
use std::ffi::c_char;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::time::Duration;

use opscope::debug::server::{Listen, Server, ServerOptions};
use opscope::debug::{AttachOptions, Debugger, EventSet, LoadedModelHandle};
use opscope_border::{Counted, Items, Out, SizedIn, Text, counted, exported, sized, value};
use opscope_sys::Mutex;

use super::event::event_name;
use crate::border::opscope_status_t::{OPSCOPE_ERROR_INVALID_STATE, OPSCOPE_ERROR_SYSTEM};
use crate::border::{Failure, KeptText, get, handle, insert, remove, slice};
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

/// The options for attaching a client. All fields zero, or NULL in place of the struct, selects the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_attach_options_t<'a> {
    /// `sizeof(opscope_attach_options_t)`.
    pub size: usize,
    /// The client's name, for messages. May be NULL.
    pub name: Text<'a>,
    /// The events that it receives, each an `opscope_event_kind_t`. Breakpoints, steps, pauses and the ends of
    /// attaching and detaching are always included. Without any, all events that are useful to a person are selected:
    /// not the beginning and end of runs and operators.
    pub events: Items<'a, u32>,
    /// The number of `events`.
    pub event_count: usize,
    /// Nanoseconds for which an event may stay unacknowledged before its thread continues without it. 0 stands for 30
    /// s.
    pub lease: u64,
    /// Nanoseconds between two timeout events while a thread waits. 0: there are none.
    pub timeout: u64,
    /// How many events can wait in the async queue. 0 stands for 16,384.
    pub async_capacity: usize,
    /// 1 if every call inside the notification callback returns `OPSCOPE_ERROR_BUSY`, including those that read and
    /// acknowledge.
    pub strict_callbacks: u32,
    /// 1 if the events of finished operators have statistics of their outputs, in `json`.
    pub statistics: u32,
}
sized!(opscope_attach_options_t<'a>, 64);
counted!(opscope_attach_options_t<'a> { events[event_count] -> Counted<'a, u32> });

pub(super) fn attach_options(options: SizedIn<'_, opscope_attach_options_t<'_>>) -> Result<AttachOptions, Failure> {
    let given = options.get_or_default()?;
    let default = AttachOptions::default();
    let name = given.name.given_str("name")?;
    let events = event_set(given.events())?;
    Ok(AttachOptions {
        name: name.unwrap_or_default().to_owned(),
        events: events.unwrap_or(default.events),
        lease: if given.lease == 0 { default.lease } else { Duration::from_nanos(given.lease) },
        timeout: (given.timeout > 0).then(|| Duration::from_nanos(given.timeout)),
        strict_callbacks: given.strict_callbacks != 0,
        statistics: given.statistics != 0,
        async_capacity: if given.async_capacity == 0 { default.async_capacity } else { given.async_capacity },
        ..default
    })
}

/// Returns the set of these kinds of events; `None` if there are none.
pub(super) fn event_set(events: Counted<'_, u32>) -> Result<Option<EventSet>, Failure> {
    let kinds = slice(events, "events")?;
    let names: Result<EventSet, Failure> = kinds.iter().map(|&kind| event_name(kind)).collect();
    Ok(Some(names?).filter(|_| !kinds.is_empty()))
}
