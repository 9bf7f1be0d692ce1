use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use opscope_debug::{BreakpointId, Event as Raised, EventKind, Exception, ModelId, RunPosition, Sequence};
use opscope_model::RunId;

use super::breakpoints::Breakpoints;
use super::event::{Case, Event, Notice};
use super::grids::{Grid, Grids, Module};
use super::options::Options;
use super::queues::{Held, Queues};
use super::stops::{Cause, Stop, Warps};
use crate::addresses::Addresses;
use crate::layout::numbers::{GridStatus, Kind, LaunchNotifyMode, Status};

/// How many ended runs are kept: more than ever run at the same time.
const MOST_ENDED: usize = 4096;

/// The known state of the program, and the events that wait for the client.
pub struct State {
    pub options: Options,
    pub queues: Queues,
    pub modules: BTreeMap<ModelId, Arc<Module>>,
    /// Models that were unloaded. They are kept until the client has acknowledged that, because clients before 6.0 have
    /// pointers into their images.
    unloaded: Vec<Arc<Module>>,
    pub addresses: Addresses,
    pub grids: Grids,
    pub warps: Warps,
    pub breakpoints: Breakpoints,
    pub mode: LaunchNotifyMode,
    /// Whether the device is suspended.
    pub suspended: bool,
    /// Whether the client has used the device since it was suspended. If it never does, leases expire.
    pub is_attended: bool,
    /// The run that is being stepped.
    pub stepping: Option<RunId>,
    /// The notification that the client must get.
    pub due: Option<Notice>,
    /// The runs that ended last.
    ended_runs: VecDeque<RunId>,
    /// Whether the connection has ended.
    pub is_over: bool,
    /// Whether the client has detached, or the program has announced its end. The program then gets no more requests,
    /// and calls of the client succeed until `finalize`.
    pub is_released: bool,
}

impl State {
    pub fn new(options: Options) -> Self {
        Self {
            options,
            queues: Queues::default(),
            modules: BTreeMap::new(),
            unloaded: Vec::new(),
            addresses: Addresses::default(),
            grids: Grids::default(),
            warps: Warps::default(),
            breakpoints: Breakpoints::default(),
            mode: LaunchNotifyMode::Event,
            suspended: false,
            is_attended: false,
            stepping: None,
            due: None,
            ended_runs: VecDeque::new(),
            is_over: false,
            is_released: false,
        }
    }

    /// Takes an event of the program: queues the corresponding events for the client, and notes where its thread waits.
    pub fn take(&mut self, raised: Raised) {
        let (events, mut stop) = self.translate(&raised);
        let thread = self.options.thread(raised.thread);
        if !raised.waiting {
            events.into_iter().for_each(|event| self.push(event));
            return;
        }
        let is_device_stop = stop.as_ref().is_some_and(|stop| stop.cause != Cause::Suspended);
        let is_step = stop.as_ref().is_some_and(|stop| self.stepping == Some(stop.run));
        if let Some(stop) = stop.as_mut().filter(|_| is_step) {
            self.stepping = None;
            if stop.cause == Cause::Suspended {
                stop.cause = Cause::Step;
            }
        }
        let (broken, faulted) = stop.as_ref().map_or((0, 0), masks);
        if self.queues.hold(raised.sequence, events, stop) {
            self.notify(thread);
        }
        if is_device_stop && !is_step {
            self.suspend_for(thread, broken, faulted);
        }
    }

    /// Notes that the device was suspended by an event, rather than by the client.
    fn suspend_for(&mut self, thread: u32, broken: u64, faulted: u64) {
        let was_suspended = std::mem::replace(&mut self.suspended, true);
        if !was_suspended {
            self.is_attended = false;
            if self.options.wants_suspensions() {
                self.push(Event::of_program(Case::AllDevicesSuspended { broken, faulted }));
            }
        }
        // Clients that do not want such events get only the notification, and then look at the device.
        self.notify(thread);
    }

    fn translate(&mut self, raised: &Raised) -> (Vec<Event>, Option<Stop>) {
        let thread = self.options.thread(raised.thread);
        let event = |model: ModelId, case: Case| Event { case, model, thread };
        match &raised.kind {
            EventKind::ModelLoaded { model, .. } => {
                let Some(module) = self.modules.get(model) else { return (Vec::new(), None) };
                let mut events =
                    vec![event(*model, Case::ContextCreate), event(*model, Case::ImageLoaded(Arc::clone(module)))];
                if self.options.wants_functions() {
                    let count = module.graph.operators.len() as u32;
                    events.push(event(*model, Case::FunctionsLoaded { count }));
                }
                (events, None)
            }
            EventKind::ModelUnloaded { model } => (self.unload(*model, thread), None),
            EventKind::RunPushed { model, .. } if self.options.wants_runs() => {
                (vec![event(*model, Case::ContextPush)], None)
            }
            EventKind::RunPopped { run, model, .. } => {
                self.end_run(*run);
                let pops = self.options.wants_runs().then(|| event(*model, Case::ContextPop));
                (pops.into_iter().collect(), None)
            }
            EventKind::OperatorReady { place } => {
                let grid = self.grids.at(place, thread);
                let ready = (self.mode == LaunchNotifyMode::Event).then(|| event(place.model, Case::KernelReady(grid)));
                let stop = self.stop(place.run, Some(place), thread, Cause::Suspended);
                (ready.into_iter().collect(), Some(stop))
            }
            // This dispatch began before launches were reported. If it got a number now, it would be higher than those
            // of later dispatches.
            EventKind::OperatorFinished { place, .. }
                if self.mode == LaunchNotifyMode::Event && !self.grids.is_active(place) =>
            {
                (Vec::new(), None)
            }
            EventKind::OperatorFinished { place, .. } => {
                let grid = self.grids.finish(place, thread);
                let finished = self.options.wants_finished();
                (finished.then(|| event(place.model, Case::KernelFinished(grid))).into_iter().collect(), None)
            }
            EventKind::Breakpoint { place, breakpoints } => {
                let cause = Cause::Breakpoint(breakpoints.clone());
                (Vec::new(), Some(self.stop(place.run, Some(place), thread, cause)))
            }
            EventKind::StepComplete { place } | EventKind::Paused { place } => {
                (Vec::new(), Some(self.stop(place.run, Some(place), thread, Cause::Step)))
            }
            EventKind::Exception { exception: Exception::Engine { panicked: true, .. }, .. } => {
                self.push(Event::of_program(Case::InternalError(Status::Internal)));
                (Vec::new(), None)
            }
            EventKind::Exception { run, place, .. } => {
                let cause = Cause::Exception(raised.to_string());
                (Vec::new(), Some(self.stop(*run, place.as_ref(), thread, cause)))
            }
            EventKind::AttachComplete if self.options.wants_attach_complete() => {
                (vec![Event::of_program(Case::AttachComplete)], None)
            }
            EventKind::DetachComplete => (vec![Event::of_program(Case::DetachComplete)], None),
            EventKind::InternalError { .. } => (vec![Event::of_program(Case::InternalError(Status::Internal))], None),
            // Events that this client did not ask for, and kinds that only newer programs have.
            _ => (Vec::new(), None),
        }
    }

    fn stop(&mut self, run: RunId, place: Option<&RunPosition>, thread: u32, cause: Cause) -> Stop {
        let grid = place.map(|place| self.grids.at(place, thread));
        let queues = &self.queues;
        let is_stopped = |run| queues.held().any(|(_, held)| held.stop.as_ref().is_some_and(|stop| stop.run == run));
        let warp = self.warps.of(run, is_stopped);
        let mut stop = Stop { run, place: place.cloned(), grid, thread, cause, address: 0, warp };
        stop.address = self.breakpoints.address_of(&stop);
        stop
    }

    /// Adds a breakpoint and returns its handle. Updates the addresses of runs that are stopped at it already.
    pub fn add_breakpoint(&mut self, address: u64, id: BreakpointId, is_legacy: bool) -> u64 {
        let handle = self.breakpoints.add(address, id, is_legacy);
        for stop in self.queues.held_mut().filter_map(|(_, held)| held.stop.as_mut()).filter(|stop| stop.has_hit(id)) {
            stop.address = self.breakpoints.address_of(stop);
        }
        handle
    }

    fn end_run(&mut self, run: RunId) {
        self.grids.end(run);
        self.warps.end(run);
        if self.ended_runs.len() >= MOST_ENDED {
            self.ended_runs.pop_front();
        }
        self.ended_runs.push_back(run);
        if self.stepping == Some(run) {
            self.stepping = None;
        }
    }

    fn unload(&mut self, model: ModelId, thread: u32) -> Vec<Event> {
        let Some(module) = self.modules.remove(&model) else { return Vec::new() };
        self.addresses.remove(model);
        self.unloaded.push(Arc::clone(&module));
        let event = |case| Event { case, model, thread };
        vec![event(Case::ImageUnloaded(module)), event(Case::ContextDestroy)]
    }

    /// Drops the unloaded models whose events the client has read.
    pub fn forget_unloaded(&mut self) {
        let queues = &self.queues;
        self.unloaded.retain(|module| queues.has_event_of(module.graph.model));
    }

    /// Queues an event at which no thread waits, and notes that the client must be notified.
    pub fn push(&mut self, event: Event) {
        let thread = event.thread;
        self.queues.push(event);
        self.notify(thread);
    }

    pub fn notify(&mut self, thread: u32) {
        self.due = Some(Notice { thread, timeout: false });
    }

    /// Queues a timeout event and notes that the client must be notified again, if a thread waits for its
    /// acknowledgement.
    pub fn remind(&mut self) {
        if !self.queues.is_awaited() {
            return;
        }
        if !self.queues.has_asynchronous(Kind::Timeout) {
            self.queues.push(Event::of_program(Case::Timeout));
        }
        let thread = self.due.map_or(0, |notice| notice.thread);
        self.due = Some(Notice { thread, timeout: true });
    }

    /// Notes that the connection has ended. `failure` is the reason; `None` if the program has announced its end.
    pub fn end(&mut self, failure: Option<Status>) {
        self.is_over = true;
        self.stepping = None;
        self.queues.release_all();
        if let Some(failure) = failure {
            self.push(Event::of_program(Case::InternalError(failure)));
        } else {
            self.is_released = true;
            // The program has announced its end, which unloads its models.
            let models: Vec<ModelId> = self.modules.keys().copied().collect();
            let thread = self.options.thread(0);
            let unloaded: Vec<Event> = models.into_iter().flat_map(|model| self.unload(model, thread)).collect();
            unloaded.into_iter().for_each(|event| self.push(event));
        }
        self.notify(0);
    }

    /// Turns stops at breakpoints and exceptions into plain suspensions. The client has seen them and wanted the device
    /// to continue, so they must not be reported again.
    pub fn forget_causes(&mut self) {
        for stop in self.queues.held_mut().filter_map(|(_, held)| held.stop.as_mut()) {
            if matches!(stop.cause, Cause::Breakpoint(_) | Cause::Exception(_)) {
                stop.cause = Cause::Suspended;
            }
        }
    }

    /// Returns the stopped runs that are shown as warps. A run whose launch is reported is not shown before that event
    /// is acknowledged.
    pub fn stops(&self) -> impl Iterator<Item = (Sequence, &Stop)> {
        self.queues
            .held()
            .filter(|(_, held)| held.is_entered())
            .filter_map(|(sequence, held)| Some((sequence, held.stop.as_ref()?)))
            .filter(|(_, stop)| stop.warp.is_some())
    }

    /// Returns a dispatch by its number, and its state.
    pub fn grid(&self, id: u64) -> Option<(Grid, GridStatus)> {
        let (grid, status) = self.grids.find(id)?;
        let here = self.queues.held().find(|(_, held)| held.stop.as_ref().and_then(|stop| stop.grid) == Some(grid));
        let status = match here {
            Some((_, held)) if held.is_entered() => GridStatus::Active,
            Some(_) => GridStatus::Pending,
            None => status,
        };
        Some((grid, status))
    }

    /// Returns whether a run waits at an event, or has ended.
    pub fn is_settled(&self, run: RunId) -> bool {
        let is_held = |held: &Held| held.stop.as_ref().is_some_and(|stop| stop.run == run);
        self.queues.held().any(|(_, held)| is_held(held)) || self.ended_runs.contains(&run)
    }
}

/// Returns the mask of devices at breakpoints, and the mask of devices with exceptions.
fn masks(stop: &Stop) -> (u64, u64) {
    (u64::from(stop.is_broken()), u64::from(stop.exception().is_some()))
}
