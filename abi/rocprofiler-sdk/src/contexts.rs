//! Contexts: the switches for sets of tracing services.

use std::any::Any;
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use opscope_border::{InOut, Out, exported};
use opscope_sys::{Mutex, MutexGuard};

use crate::border::{Status, out};
use crate::handles;
use crate::layout::Handle;
use crate::phase::{DONE, NOT_YET, check_configurable, finalization};

/// Locks the locks of this room, and returns the guards.
pub fn locks() -> Vec<Box<dyn Any>> {
    vec![Box::new(lock())]
}

/// Creates a context without services. The id must be 0 before the call, and stays 0 if the call fails.
#[exported]
pub fn rocprofiler_create_context(context: InOut<'_, Handle>) -> Result<(), Status> {
    let (given, context) = context.aligned_place("context")?;
    if given != Handle::default() {
        return Err(Status::ContextIdNotZero);
    }
    check_configurable()?;
    context.write(create().id);
    Ok(())
}

/// Starts a context; does nothing if it is started already. A context whose tool is finalized cannot be started.
#[exported]
pub fn rocprofiler_start_context(context: Handle) -> Result<(), Status> {
    let context = find(context)?;
    if finalization() != NOT_YET || context.is_ended() {
        return Err(Status::ConfigurationLocked);
    }
    context.start();
    Ok(())
}

/// Stops a started context. Returns `ContextNotFound` if it is not started.
#[exported]
pub fn rocprofiler_stop_context(context: Handle) -> Result<(), Status> {
    let context = find(context)?;
    if context.stop() || finalization() == DONE { Ok(()) } else { Err(Status::ContextNotFound) }
}

/// Writes 1 if a context is started, else 0. If there is no such context, writes 0 and returns `ContextNotFound`.
#[exported]
pub fn rocprofiler_context_is_active(context: Handle, status: Out<'_, c_int>) -> Result<(), Status> {
    answer(status, context, |context| context.is_started())
}

/// Writes 1 if a context with this id exists. Otherwise writes 0 and returns `ContextNotFound`.
#[exported]
pub fn rocprofiler_context_is_valid(context: Handle, status: Out<'_, c_int>) -> Result<(), Status> {
    answer(status, context, |_| true)
}

fn answer(status: Out<'_, c_int>, context: Handle, question: impl Fn(&Context) -> bool) -> Result<(), Status> {
    let status = out(status)?;
    status.write(0);
    let found = find(context)?;
    status.write(question(found).into());
    Ok(())
}

/// A context. It lives as long as the process, so that traced calls can look at it without a lock.
pub struct Context {
    pub id: Handle,
    /// The number of the tool that created it.
    pub client: usize,
    started: AtomicBool,
    /// Whether its tool is finalized.
    ended: AtomicBool,
}

static CONTEXTS: Mutex<Vec<&'static Context>> = Mutex::new(Vec::new());

/// The tool that is being configured or initialized.
static CLIENT: AtomicUsize = AtomicUsize::new(0);

/// Called after a context was started or stopped.
static ON_CHANGE: OnceLock<fn()> = OnceLock::new();

fn lock() -> MutexGuard<'static, Vec<&'static Context>> {
    CONTEXTS.lock()
}

/// Returns the context with this id.
pub fn find(id: Handle) -> Result<&'static Context, Status> {
    lock().iter().copied().find(|context| context.id == id).ok_or(Status::ContextNotFound)
}

/// Returns the contexts of a tool.
pub fn contexts_of(client: usize) -> Vec<&'static Context> {
    lock().iter().copied().filter(|context| context.client == client).collect()
}

/// Sets the tool that will own what is created from now on.
pub fn set_client(client: usize) {
    CLIENT.store(client, Ordering::Release);
}

/// Returns the tool that is being configured or initialized.
pub fn client() -> usize {
    CLIENT.load(Ordering::Acquire)
}

/// Sets what is called after a context was started or stopped. Later calls have no effect.
pub fn on_change(function: fn()) {
    ON_CHANGE.get_or_init(|| function);
}

/// Makes a context.
fn create() -> &'static Context {
    let id = Handle(handles::CONTEXTS.next());
    let client = client();
    let context: &'static Context =
        Box::leak(Box::new(Context { id, client, started: AtomicBool::new(false), ended: AtomicBool::new(false) }));
    lock().push(context);
    context
}

impl Context {
    /// Returns whether it is started.
    #[inline(always)]
    pub fn is_started(&self) -> bool {
        self.started.load(Ordering::Acquire)
    }

    /// Returns whether its tool is finalized, and so is not called again.
    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Marks its tool as finalized.
    pub fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
    }

    /// Starts it.
    fn start(&self) {
        self.started.store(true, Ordering::Release);
        changed();
    }

    /// Stops it. Returns whether it was started.
    pub fn stop(&self) -> bool {
        let was_started = self.started.swap(false, Ordering::AcqRel);
        changed();
        was_started
    }
}

fn changed() {
    if let Some(on_change) = ON_CHANGE.get() {
        on_change();
    }
}
