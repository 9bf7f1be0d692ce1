use std::fmt;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use opscope_clock::Clock;
use opscope_model::{Capabilities, Fidelity, Instrument, Kernel, OpenRunInfo, RunInfo, RunObserver};
use opscope_onnx::Graph;

use super::attachment::Attachment;
use super::host::Host;
use super::model_handle::LoadedModelHandle;
use super::observer::Observer;
use super::open_observer::OpenObserver;
use super::options::AttachOptions;
#[cfg(not(loom))]
use super::options::LoadedModel;
use super::recursion::{self, note_process};
use super::shared::Shared;
use crate::error::DebugError;
use crate::event::EventKind;
use crate::queues::{Limits, Queues};
use crate::run::ActiveRun;
use crate::sync::EventDescriptor;

/// The debugger of a program that runs models. It is an instrument of the runs, to which a client can attach. Clones
/// share one debugger.
///
/// While no client is attached, it costs a run two loads and branches per kernel.
#[derive(Clone)]
pub struct Debugger(Arc<Shared>);

/// How long a full async queue waits for its reader before it coalesces events.
const READER_GRACE: Duration = Duration::from_secs(1);

/// The largest async queue that a client can request.
const MOST_EVENTS: usize = 1 << 18;

impl Debugger {
    /// Creates a debugger that logs failures of its client through [`tracing`], as warnings.
    ///
    /// # Errors
    /// Returns an error if the system has no file descriptor left for notifications.
    pub fn new() -> io::Result<Self> {
        Self::with_log(|message| tracing::warn!("{message}"))
    }

    /// Creates a debugger that passes failures of its client to `log`: the events that it left unacknowledged, and its
    /// disappearance. `log` is called on the thread that notices the failure, and should not block.
    ///
    /// # Errors
    /// Returns an error if the system has no file descriptor left for notifications.
    pub fn with_log(log: impl Fn(&str) + Send + Sync + 'static) -> io::Result<Self> {
        Self::with_clock(Clock::system(), log)
    }

    /// As [`with_log`](Self::with_log), but measures leases, timeouts and the server's patience by this clock: for
    /// tests and simulated time.
    ///
    /// # Errors
    /// As [`with_log`](Self::with_log).
    pub fn with_clock(clock: Clock, log: impl Fn(&str) + Send + Sync + 'static) -> io::Result<Self> {
        note_process();
        let shared = Arc::new(Shared::new(Queues::new(clock)?, log));
        let sleeper: Weak<Shared> = Arc::downgrade(&shared);
        shared.clock().register(sleeper);
        Ok(Self(shared))
    }

    /// Announces a model to the client before its first run. Dropping the handle unloads the model. Without this call,
    /// a model is announced when its first run begins.
    pub fn load(&self, graph: &Arc<Graph>, fidelity: Fidelity) -> LoadedModelHandle {
        LoadedModelHandle::new(&self.0, graph, fidelity)
    }

    /// Registers a plan of a model, so that the locations of breakpoints are known before its first run.
    pub fn planned(&self, graph: &Arc<Graph>, fidelity: Fidelity, kernels: &Arc<[Kernel]>) {
        let announced = self.0.registry().plan(&self.0.announcer, graph, fidelity, kernels).1;
        self.0.wait_at(announced);
    }

    /// Sets a function that is called around everything in which a thread of the program waits for the client. It is to
    /// call what it is given once, and may release what other threads need meanwhile. Only the first one counts.
    pub fn set_around_waits(&self, around: impl Fn(&mut dyn FnMut()) + Send + Sync + 'static) {
        self.0.set_around(Box::new(around));
    }

    /// Sets the program that clients attach to, which is told of them. Only the first one counts.
    pub fn set_host(&self, host: Arc<dyn Host>) {
        self.0.set_host(host);
    }

    /// Sets how long a run may stop, however often the client renews its lease; `None` for as long as it likes. Afterwards
    /// it continues, and the log says so. It holds for stops that begin later.
    pub fn set_longest_stop(&self, longest: Option<Duration>) {
        self.0.queues().set_longest_stop(longest);
    }

    /// Lets the next run stop before its first operator, if a client is attached when it begins.
    pub fn stop_next_run(&self) {
        self.0.registry().pause_next_run();
    }

    /// Returns how many runs have been stopped so far, by any client. The duration of such a run says nothing about its
    /// model.
    pub fn stopped_runs(&self) -> u64 {
        self.0.stopped_runs()
    }

    /// Attaches a client. Its first events report the models and runs that exist. The last of these is
    /// [`AttachComplete`](EventKind::AttachComplete).
    ///
    /// # Errors
    /// Returns an error if another client is attached, if this process is a forked child of the debugger's process, if
    /// the system has no file descriptor or thread left for notifications, or inside of a notification callback.
    pub fn attach(&self, options: AttachOptions) -> Result<Attachment, DebugError> {
        recursion::allow_nothing()?;
        if !self.0.queues().is_own_process() {
            return Err(DebugError::OtherProcess);
        }
        let descriptor = Arc::new(EventDescriptor::new().map_err(DebugError::system)?);
        let mut registry = self.0.registry();
        if let Some((_, other)) = &registry.attached {
            return Err(DebugError::AlreadyAttached { by: other.name.clone() });
        }
        let capacity = options.async_capacity.clamp(1, MOST_EVENTS);
        let limits = Limits { lease: options.lease, capacity, reader_grace: READER_GRACE };
        registry.grow_models();
        let replay = registry.replay(options.events);
        self.0.announcer.subscribe(Some(options.events));
        let generation = self.0.queues().attach(limits, Arc::clone(&descriptor), replay);
        registry.attached = Some((generation, options.clone()));
        registry.update_runs();
        drop(registry);
        self.0.note_attached();
        self.0.note_interest();
        Attachment::new(Arc::clone(&self.0), generation, descriptor, &options)
    }
}

impl Debugger {
    /// Returns whether a client is attached.
    pub fn is_attached(&self) -> bool {
        self.0.registry().attached.is_some()
    }

    /// Returns whether a client wants something of runs: it has an enabled breakpoint, awaits the end of a step or a pause,
    /// or subscribes to events of runs or operators. While it does not, a program may leave out what shows it operators.
    pub fn is_interested(&self) -> bool {
        self.0.registry().is_interested()
    }

    /// Waits until a client is attached. Returns `false` if that does not happen within this time.
    pub fn wait_until_attached(&self, patience: Duration) -> bool {
        self.0.wait_until_attached(patience)
    }

    /// Returns the name of the client that is attached, and the models that are loaded.
    #[cfg(not(loom))]
    pub(crate) fn client_and_models(&self) -> (Option<String>, Vec<LoadedModel>) {
        let registry = self.0.registry();
        (registry.attached.as_ref().map(|(_, options)| options.name.clone()), registry.loaded())
    }

    #[cfg(not(loom))]
    pub(crate) fn host(&self) -> Option<&Arc<dyn Host>> {
        self.0.host()
    }

    /// Returns the clock of leases, timeouts and patience.
    #[cfg(not(loom))]
    pub(crate) fn clock(&self) -> &Clock {
        self.0.clock()
    }

    #[cfg(not(loom))]
    pub(crate) fn log(&self, message: &str) {
        self.0.log(message);
    }
}

impl fmt::Debug for Debugger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let client = self.0.registry().attached.as_ref().map(|(_, options)| options.name.clone());
        f.debug_struct("Debugger").field("client", &client).finish_non_exhaustive()
    }
}

impl Instrument for Debugger {
    fn name(&self) -> &str {
        "debugger"
    }

    fn requires(&self) -> Capabilities {
        Capabilities { stop: true, intermediates: true, names: true, ..Capabilities::default() }
    }

    fn observe<'a>(&'a self, info: &RunInfo<'a>) -> Box<dyn RunObserver + 'a> {
        let mut registry = self.0.registry();
        let (plan, model_announced) = registry.plan(&self.0.announcer, info.graph, info.fidelity, info.kernels);
        let run = Arc::new(ActiveRun::new(info.id, plan));
        registry.begin(&run);
        let announced = self.0.announcer.announce(EventKind::RunCreated { run: run.id, model: run.plan.model });
        drop(registry);
        self.0.wait_at(model_announced);
        self.0.wait_at(announced);
        Box::new(Observer::new(Arc::clone(&self.0), run))
    }

    fn observe_open(self: Arc<Self>, info: &OpenRunInfo<'_>) -> Option<Arc<dyn RunObserver + Send + Sync>> {
        Some(Arc::new(OpenObserver::new(Arc::clone(&self.0), info)))
    }
}
