//! The session: the connection to the program, the events that wait for the client, and the thread that calls it.

mod breakpoints;
mod control;
mod engine;
mod event;
mod grids;
mod memory;
mod options;
mod queues;
mod state;
mod stops;
mod target;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use opscope_debug::client::Client;
use opscope_debug::{AttachOptions, BreakpointSpec, DebugError, ErrorCode, EventSet, Resume, Target, Watched};
use opscope_sys::{Condvar, Mutex, MutexGuard};

use crate::border::{Failure, Status};
use crate::globals;
use crate::layout::numbers::{Kind, LaunchNotifyMode, QueueType};
pub use control::{cannot_step, require_suspended};
pub use event::{Callback, Case, Event, Generation};
pub use grids::{Grid, Module, handle};
use options::Options;
pub use options::{SUPPORTED, Traced, traced_thread};
pub use state::State;
pub use stops::Stop;

/// A client's session with a program.
pub struct Session {
    pub client: Client,
    pub options: Options,
    state: Mutex<State>,
    /// Signalled when events were fetched.
    changed: Condvar,
    /// Held while events are fetched, so that they are taken in order.
    fetching: Mutex<()>,
    /// The events that the program was last asked to send.
    subscription: Mutex<EventSet>,
    /// Signalled to wake the engine's thread once the connection has ended.
    woken: (Mutex<bool>, Condvar),
    is_closed: AtomicBool,
    engine: Mutex<Option<JoinHandle<()>>>,
}

/// The session of this process.
static SESSION: Mutex<Option<Arc<Session>>> = Mutex::new(None);

/// Held while a session is opened or closed.
static CHANGING: Mutex<()> = Mutex::new(());

/// Whether a session could not be opened. A text then says why.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

/// Notes that a session could not be opened, and that a text says why.
pub fn note_failure() {
    HAS_FAILED.store(true, Ordering::Relaxed);
}

/// Returns whether a session is open, or could not be opened. Then `getErrorStringEx` can be called.
pub fn was_tried() -> bool {
    HAS_FAILED.load(Ordering::Relaxed) || SESSION.lock().is_some()
}

/// Returns the session.
///
/// # Errors
/// Returns an error before `initialize` and after `finalize`.
pub fn current() -> Result<Arc<Session>, Failure> {
    SESSION.lock().clone().ok_or_else(|| Failure::new(Status::Uninitialized, "call initialize first"))
}

/// Opens the session, unless it is open.
pub fn open() -> Result<(), Failure> {
    let _changing = CHANGING.lock();
    if SESSION.lock().is_some() {
        return Ok(());
    }
    let session = Session::attach().inspect_err(|_| note_failure())?;
    // The client is called from now on and may take events at once, so the session is set before.
    *SESSION.lock() = Some(Arc::clone(&session));
    if let Err(failure) = session.start() {
        SESSION.lock().take();
        note_failure();
        return Err(failure);
    }
    globals::set_initialized(true);
    Ok(())
}

/// Closes the session: the program continues without a debugger.
pub fn close() -> Result<(), Failure> {
    let _changing = CHANGING.lock();
    let session = current()?;
    SESSION.lock().take();
    globals::set_initialized(false);
    session.close();
    Ok(())
}

/// Sets the client's function, which may be done before the session is opened. The function is called if events wait.
pub fn set_callback(callback: Option<Callback>) {
    let is_set = callback.is_some();
    event::set_callback(callback);
    if let Some(session) = SESSION.lock().clone().filter(|_| is_set) {
        let mut state = session.state();
        if !state.queues.is_empty() {
            state.notify(0);
            drop(state);
            session.wake();
        }
    }
}

impl Session {
    fn attach() -> Result<Arc<Self>, Failure> {
        let (options, client) = (Options::of_environment(), target::connect()?);
        let subscription = options.subscription(LaunchNotifyMode::Event, false);
        let attached = client.attach(AttachOptions {
            name: format!("a CUDA debugger client, process {}", std::process::id()),
            events: subscription,
            lease: options.lease,
            deliver: true,
            ..AttachOptions::default()
        });
        attached.map_err(|error| {
            let code = match error.code() {
                ErrorCode::AlreadyAttached => Status::AttachNotPossible,
                _ => Status::InitializationFailure,
            };
            Failure::new(code, error.to_string())
        })?;
        if options.watches_non_finite {
            client.add_breakpoint(BreakpointSpec::at(Target::First(Watched::NonFinite)))?;
        }
        let session = Arc::new(Self {
            client,
            options,
            state: Mutex::new(State::new(options)),
            changed: Condvar::new(),
            fetching: Mutex::new(()),
            subscription: Mutex::new(subscription),
            woken: (Mutex::new(false), Condvar::new()),
            is_closed: AtomicBool::new(false),
            engine: Mutex::new(None),
        });
        // Events that were raised before can be taken as soon as `initialize` returns.
        session.fetch();
        Ok(session)
    }

    /// Starts the thread that calls the client.
    fn start(self: &Arc<Self>) -> Result<(), Failure> {
        let engine = Arc::clone(self);
        let thread = thread::Builder::new().name("cudbg-events".into()).spawn(move || engine.run());
        let thread = thread.map_err(|error| Failure::new(Status::OsResources, error.to_string()))?;
        *self.engine.lock() = Some(thread);
        Ok(())
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.let_go();
        let _ = self.client.detach();
        self.wake();
        if let Some(engine) = self.engine.lock().take() {
            let _ = engine.join();
        }
    }

    /// Acknowledges every event at which a thread of the program waits, removes all breakpoints, and asks for no more
    /// events.
    fn let_go(&self) {
        let _ = self.client.subscribe(EventSet::ALWAYS);
        let mut state = self.state();
        let held: Vec<_> = state.queues.held().map(|(event, _)| event).collect();
        state.suspended = false;
        let breakpoints = state.breakpoints.take_all();
        state.queues.release_all();
        drop(state);
        for breakpoint in breakpoints {
            let _ = self.client.remove_breakpoint(breakpoint);
        }
        for event in held {
            let _ = self.client.acknowledge(event, Resume::Continue);
        }
    }

    /// Lets the program continue without a debugger. The last event is `DETACH_COMPLETE`.
    pub fn detach(&self) -> Result<(), DebugError> {
        if self.state().is_released {
            return Ok(());
        }
        self.let_go();
        self.client.detach()?;
        self.state().is_released = true;
        self.fetch_and_notify();
        Ok(())
    }

    /// Takes the next event out of a queue. Skips events that clients of this generation do not know.
    pub fn next(&self, queue: QueueType, generation: Generation) -> Option<Event> {
        let mut state = self.state();
        let next = state.queues.next(queue, generation);
        self.release(state);
        next
    }

    /// Queues an event at which no thread waits, and wakes the engine to notify the client.
    pub fn announce(&self, event: Event) {
        let mut state = self.state();
        state.push(event);
        self.release(state);
    }

    /// Sets whether launches are reported. If they are not, launch events that were not read yet are discarded.
    ///
    /// # Errors
    /// Returns an error if the connection has ended.
    pub fn set_launch_notification(&self, mode: LaunchNotifyMode) -> Result<(), DebugError> {
        let mut state = self.state();
        state.mode = mode;
        if mode == LaunchNotifyMode::Defer {
            state.queues.discard(Kind::KernelReady);
        }
        self.release(state);
        self.update_subscription()
    }

    /// Acknowledges all events that were read.
    pub fn acknowledge(&self) {
        let mut state = self.state();
        if state.queues.acknowledge() {
            state.notify(0);
        }
        state.forget_unloaded();
        self.release(state);
    }

    /// Releases the threads of the program that need not wait any more. Wakes the engine if the client must be
    /// notified.
    fn release(&self, mut state: MutexGuard<'_, State>) {
        let suspended = state.suspended;
        let (free, is_due) = (state.queues.take_free(suspended), state.due.is_some());
        drop(state);
        for event in free {
            // If its lease has expired, the thread has continued already, and this fails.
            let _ = self.client.acknowledge(event, Resume::Continue);
        }
        if is_due {
            self.wake();
        }
    }

    /// Asks the program for the events that are needed now.
    pub fn update_subscription(&self) -> Result<(), DebugError> {
        let mut known = self.subscription.lock();
        let state = self.state();
        let wanted = self.options.subscription(state.mode, state.suspended);
        let is_asked = !state.is_over && !state.is_released;
        drop(state);
        if wanted != *known && is_asked {
            self.client.subscribe(wanted)?;
            *known = wanted;
        }
        Ok(())
    }
}
