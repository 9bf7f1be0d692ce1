//! The debugger of a program: what it knows of models and runs, and what its client wants of them.

mod control;
mod loaded;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, io};

use opscope_model::{Capabilities, Fidelity, Instrument, Kernel, RunInfo, RunObserver};
use opscope_onnx::{Graph, shown_text};

use crate::attachment::Attachment;
use crate::doorbell::Doorbell;
use crate::observer::Observer;
use crate::queues::{Answer, Generation, Queues, Terms};
use crate::run::Run;
use crate::stopped::Job;
use crate::thread::{note_process, thread};
use crate::{AttachOptions, DebugError, EventKind, EventName, Release, ReleaseReason, Resume};
pub(crate) use control::{Control, info, most_locations};
pub use loaded::LoadedModelHandle;

/// The debugger of a program that runs models: an instrument, and the place where a client attaches. Clones are the same
/// debugger.
///
/// With nobody attached it costs a run two loads and branches per kernel.
#[derive(Clone)]
pub struct Debugger(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub queues: Queues<Job>,
    control: Mutex<Control>,
    /// The kinds of events that the client wants to be told of; none while there is no client.
    wanted: AtomicU32,
    /// How many runs have been stopped so far.
    stopped_runs: AtomicU64,
    log: Box<dyn Fn(&str) + Send + Sync>,
}

/// How long a reader that does not read still counts as one that drains.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(100);

impl Debugger {
    /// A debugger that tells what its client should have done through [`tracing`], as warnings.
    ///
    /// # Errors
    /// When the system gives no descriptor for the notification.
    pub fn new() -> io::Result<Self> {
        Self::with_log(|message| tracing::warn!("{message}"))
    }

    /// A debugger that tells `log` what its client should have done: events that it left unacknowledged, and that it is
    /// gone. Called on the thread that it happens on, so it should not wait for anything.
    ///
    /// # Errors
    /// When the system gives no descriptor for the notification.
    pub fn with_log(log: impl Fn(&str) + Send + Sync + 'static) -> io::Result<Self> {
        note_process();
        Ok(Self(Arc::new(Shared {
            queues: Queues::new()?,
            control: Mutex::default(),
            wanted: AtomicU32::new(0),
            stopped_runs: AtomicU64::new(0),
            log: Box::new(log),
        })))
    }

    /// Tells the client of a model, before its first run. The model is unloaded when the handle goes. A model that runs
    /// without this is told of when its first run begins.
    pub fn load(&self, graph: &Arc<Graph>, fidelity: Fidelity) -> LoadedModelHandle {
        LoadedModelHandle::new(&self.0, graph, fidelity)
    }

    /// Notes a plan of a model, so that breakpoints know where they are before its first run.
    pub fn planned(&self, graph: &Arc<Graph>, fidelity: Fidelity, kernels: &Arc<[Kernel]>) {
        let told = self.0.control().plan(&self.0, graph, fidelity, kernels).1;
        self.0.wait_at(told);
    }

    /// How many runs have been stopped so far, whoever was attached. The time that such a run took is not its model's.
    pub fn stopped_runs(&self) -> u64 {
        self.0.stopped_runs.load(Ordering::Relaxed)
    }

    /// Lets a client in. It is told of the models and runs that there are, and then that it is attached.
    ///
    /// # Errors
    /// When another one is attached, this is the debugger of the process that this one was forked off from, or the system
    /// has no descriptor or thread for the notification.
    pub fn attach(&self, options: AttachOptions) -> Result<Attachment, DebugError> {
        crate::recursion::allow_nothing()?;
        if !self.0.queues.is_at_home() {
            let reason = "it is another process's debugger; make one in the process that was forked off";
            return Err(DebugError::NotAttached(Some(reason.to_owned())));
        }
        let bell = Arc::new(Doorbell::new().map_err(DebugError::system)?);
        let mut control = self.0.control();
        if let Some((_, other)) = &control.attached {
            return Err(DebugError::AlreadyAttached { by: other.name.clone() });
        }
        let terms =
            Terms { lease: options.lease, capacity: options.async_capacity.clamp(1, MOST_EVENTS), patience: PATIENCE };
        let replay = control.replay(options.events);
        self.0.wanted.store(options.events.bits(), Ordering::Relaxed);
        let generation = self.0.queues.attach(terms, Arc::clone(&bell), replay);
        control.attached = Some((generation, options.clone()));
        control.steer();
        drop(control);
        Attachment::new(Arc::clone(&self.0), generation, bell, &options)
    }
}

impl fmt::Debug for Debugger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let client = self.0.control().attached.as_ref().map(|(_, options)| options.name.clone());
        f.debug_struct("Debugger").field("client", &client).finish_non_exhaustive()
    }
}

/// The most async events that a client may let wait, whatever it asks for.
const MOST_EVENTS: usize = 1 << 18;

impl Instrument for Debugger {
    fn name(&self) -> &str {
        "debugger"
    }

    fn requires(&self) -> Capabilities {
        Capabilities { stop: true, intermediates: true, names: true, ..Capabilities::default() }
    }

    fn observe<'a>(&'a self, info: &RunInfo<'a>) -> Box<dyn RunObserver + 'a> {
        let mut control = self.0.control();
        let (plan, model_told) = control.plan(&self.0, info.graph, info.fidelity, info.kernels);
        let run = Arc::new(Run::new(info.id, plan));
        control.begin(&run);
        let told = self.0.announce(EventKind::RunCreated { run: run.id, model: run.plan.model });
        drop(control);
        self.0.wait_at(model_told);
        self.0.wait_at(told);
        Box::new(Observer::new(Arc::clone(&self.0), run))
    }
}

impl Shared {
    /// Locks what the client wants. Never while waiting, and before the queues' own lock.
    pub fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the client wants to be told of this kind of events.
    pub fn wants(&self, name: EventName) -> bool {
        crate::EventSet::from_bits(self.wanted.load(Ordering::Relaxed)).contains(name)
    }

    pub fn set_wanted(&self, events: Option<crate::EventSet>) {
        self.wanted.store(events.map_or(0, crate::EventSet::bits), Ordering::Relaxed);
    }

    /// Raises a sync event if it is wanted; the calling thread has to [wait](Self::wait_at) at it.
    pub fn announce(&self, kind: EventKind) -> Option<crate::Sequence> {
        let wanted = self.wants(kind.name());
        wanted.then(|| self.queues.announce(None, kind, thread())).flatten()
    }

    /// Counts a run that waits for its client, at its first stop.
    pub fn count_stopped(&self, run: &Run) {
        if run.is_first_stop() {
            self.stopped_runs.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits at an event of a moment that has no tensors, so that nothing can be asked of the thread meanwhile.
    pub fn wait_at(&self, event: Option<crate::Sequence>) -> Resume {
        event.map_or(Resume::Continue, |event| self.settle(self.queues.wait(event, drop)))
    }

    /// What the client answered. Where it did not, that is logged.
    pub fn settle(&self, answer: Answer) -> Resume {
        match answer {
            Answer::Resume(resume) => resume,
            Answer::Expired { release, silent } => {
                self.log(&release.to_string());
                if let Some(generation) = silent {
                    self.detach(generation, Some("it did not read its events, and asked for nothing"));
                }
                Resume::Continue
            }
        }
    }

    /// Lets the client go: every thread that waits goes on, and nothing is wanted any more. A client that is gone without
    /// a word leaves a reason. Whether it was attached.
    pub fn detach(&self, generation: Generation, gone: Option<&str>) -> bool {
        let mut control = self.control();
        let Some((_, options)) = control.attached.take_if(|(attached, _)| *attached == generation) else {
            return false;
        };
        self.set_wanted(None);
        control.forget_wishes();
        control.steer();
        let last = gone.is_none().then_some(EventKind::DetachComplete);
        let (released, undone) = self.queues.detach(generation, last);
        drop(control);
        drop(undone);
        if let Some(reason) = gone {
            let name = if options.name.is_empty() { "the debugger" } else { &options.name };
            self.log(&format!("{name} is detached: {reason}"));
        }
        self.log_released(&released);
        true
    }

    fn log_released(&self, released: &[Release]) {
        for release in released.iter().filter(|release| release.because == ReleaseReason::DebuggerGone) {
            self.log(&release.to_string());
        }
    }

    /// Logs. What the program does with it must not end the thread that serves debuggers, nor a run.
    pub fn log(&self, message: &str) {
        let _ = catch_unwind(AssertUnwindSafe(|| (self.log)(&shown_text(message))));
    }
}
