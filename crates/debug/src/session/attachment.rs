use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use opscope_model::{DeviceTensors, Kernel, RunId};
use opscope_onnx::{Graph, Operator};
use opscope_sys::{Mutex, MutexGuard};
use opscope_tensor::Tensor;

use super::host::CodeFrame;
use super::notifier::Notifier;
use super::options::{AttachOptions, Status};
use super::recursion::{Rule, allow_events, allow_nothing, looking, not_while_looking};
use super::registry::Registry;
use super::shared::Shared;
use super::sites::{describe, most_locations};
use crate::breakpoint::{Breakpoint, BreakpointChange, BreakpointInfo, BreakpointSpec, OperatorMapping, Target};
use crate::error::{Continued, DebugError, EvaluationError};
use crate::event::{BreakpointId, Event, EventName, EventSet, ModelId, Queue, Sequence};
use crate::expression::TensorRef;
use crate::queues::{Generation, Resume};
use crate::run::{Location, Modules, Stopped};
use crate::sync::EventDescriptor;

/// The attachment of a client to the debugger of its own process. Dropping it detaches the client: threads that wait
/// continue, and runs are as fast as before.
///
/// Every call may be made from any thread. From inside of the notification callback only the calls that take and
/// acknowledge events are allowed (none in [strict](AttachOptions::strict_callbacks) mode); the others return
/// [`RecursiveCall`](DebugError::RecursiveCall).
pub struct Attachment {
    shared: Arc<Shared>,
    generation: Generation,
    descriptor: Arc<EventDescriptor>,
    rule: Rule,
    notifier: Mutex<Option<Notifier>>,
    timeout: Option<Duration>,
    deliver: bool,
}

impl Attachment {
    pub(super) fn new(
        shared: Arc<Shared>,
        generation: Generation,
        descriptor: Arc<EventDescriptor>,
        options: &AttachOptions,
    ) -> Result<Self, DebugError> {
        let rule = Rule::for_callbacks(options.strict_callbacks);
        let (notifier, timeout, deliver) = (Mutex::default(), options.timeout, options.deliver);
        let attachment = Self { shared, generation, descriptor, rule, notifier, timeout, deliver };
        if attachment.timeout.is_some() {
            attachment.with_notifier(|_| ())?;
        }
        Ok(attachment)
    }

    /// Takes the next event out of a queue. Returns `None` when the queue is empty.
    ///
    /// # Errors
    /// Returns an error inside of a strict callback.
    pub fn next_event(&self, queue: Queue) -> Result<Option<Event>, DebugError> {
        Ok(self.next_events(queue, 1)?.pop())
    }

    /// Takes up to `most` events out of a queue, in order. Events that wait can also be taken after the client has
    /// detached.
    ///
    /// # Errors
    /// Returns an error inside of a strict callback.
    pub fn next_events(&self, queue: Queue, most: usize) -> Result<Vec<Event>, DebugError> {
        allow_events()?;
        Ok(self.shared.queues().take(self.generation, queue, most))
    }

    /// Resumes the run that an event has stopped. Acknowledging an event that stopped no run has no effect.
    ///
    /// # Errors
    /// Returns an error if the client is no longer attached, the event was not read, its thread has continued already,
    /// or the run cannot continue in this way.
    pub fn acknowledge(&self, event: Sequence, resume: Resume) -> Result<(), DebugError> {
        allow_events()?;
        let resume = self.check(event, resume)?;
        self.shared.queues().acknowledge(self.generation, event, resume)
    }

    /// Resumes all runs whose events were read, and returns how many there were. Runs whose events were not read stay
    /// stopped.
    ///
    /// # Errors
    /// Returns an error if the client is no longer attached.
    pub fn acknowledge_sync_events(&self) -> Result<usize, DebugError> {
        allow_events()?;
        self.shared.queues().acknowledge_read(self.generation)
    }

    /// Restarts the lease of an event.
    ///
    /// # Errors
    /// Returns an error if the client is no longer attached, or no thread waits at this event any more.
    pub fn renew(&self, event: Sequence) -> Result<(), DebugError> {
        allow_nothing()?;
        self.shared.queues().renew(self.generation, event)
    }

    /// Sets the function that is called when there are new events; `None` removes it. One call may stand for several
    /// events.
    ///
    /// It is always called on the same thread, which does nothing else. During the call, no lock is held for which a
    /// call of this type waits, with two exceptions: this call, and dropping the attachment, wait until the function
    /// returns. A function that panics is not called again, and an [`InternalError`](crate::EventKind::InternalError)
    /// event is raised.
    ///
    /// # Errors
    /// Returns an error if the client is no longer attached, or the system has no thread left.
    pub fn set_notification_callback(&self, callback: Option<Box<dyn FnMut() + Send>>) -> Result<(), DebugError> {
        allow_nothing()?;
        self.check_attached()?;
        self.with_notifier(|notifier| notifier.set(callback))?;
        // The thread may have been notified of these events while there was no callback or another one.
        self.shared.queues().notify_again(self.generation);
        Ok(())
    }

    /// Starts the notifier's thread if it is not running yet.
    fn with_notifier(&self, then: impl FnOnce(&Notifier)) -> Result<(), DebugError> {
        let mut notifier = self.notifier.lock();
        let notifier = match &mut *notifier {
            Some(notifier) => notifier,
            none => {
                let started = Notifier::start(&self.shared, self.generation, self.rule, self.timeout);
                none.insert(started.map_err(DebugError::system)?)
            }
        };
        then(notifier);
        Ok(())
    }

    /// Returns a file descriptor that is readable while events wait for this client. It is meant for `poll` and must
    /// not be read from.
    pub fn notification_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Replaces the set of events that the client subscribes to.
    ///
    /// # Errors
    /// Returns an error if it is no longer attached.
    pub fn subscribe(&self, events: EventSet) -> Result<(), DebugError> {
        self.wanting(|registry| {
            if let Some((_, options)) = &mut registry.attached {
                options.events = events;
            }
            self.shared.announcer.subscribe(Some(events));
            registry.update_runs();
            Ok(())
        })
    }

    /// Sets a breakpoint.
    ///
    /// # Errors
    /// Returns an error if no loaded model has such an operator, the breakpoint contradicts itself, its condition
    /// cannot be parsed, there are too many breakpoints, or the client is no longer attached.
    pub fn add_breakpoint(&self, spec: BreakpointSpec) -> Result<BreakpointInfo, DebugError> {
        // Patterns are matched without the lock, because runs need it to begin.
        let graphs = self.registry()?.graphs();
        let breakpoint = Breakpoint::new(spec)?;
        let is_nowhere = |(model, graph): &(ModelId, Arc<Graph>)| breakpoint.operators(*model, graph).is_empty();
        // Of a program, the operator may be found later.
        let is_open = graphs.iter().any(|(_, graph)| graph.part.is_some());
        if !graphs.is_empty() && !is_open && graphs.iter().all(is_nowhere) {
            let graphs: Vec<_> = graphs.into_iter().map(|(_, graph)| graph).collect();
            return Err(no_such_operator(breakpoint.target(), &graphs));
        }
        self.wanting(|registry| registry.add_breakpoint(breakpoint))
    }

    /// Changes a breakpoint.
    ///
    /// # Errors
    /// Returns an error if no breakpoint has this number, the new condition cannot be parsed or contradicts the
    /// breakpoint, or the client is no longer attached.
    pub fn change_breakpoint(&self, id: BreakpointId, change: BreakpointChange) -> Result<BreakpointInfo, DebugError> {
        self.wanting(|registry| {
            let earlier = registry.breakpoint(id)?;
            let ignore = change.ignore;
            let changed = Breakpoint::new(earlier.spec().changed(change))?;
            Ok(registry.set_breakpoint(changed.with_counts_of(&earlier, ignore)))
        })
    }

    /// Removes a breakpoint.
    ///
    /// # Errors
    /// Returns an error if no breakpoint has this number, or the client is no longer attached.
    pub fn remove_breakpoint(&self, id: BreakpointId) -> Result<(), DebugError> {
        self.registry()?.remove_breakpoint(id)
    }

    /// Returns all breakpoints, with their hits.
    ///
    /// # Errors
    /// Returns an error if the client is no longer attached.
    pub fn breakpoints(&self) -> Result<Vec<BreakpointInfo>, DebugError> {
        let (breakpoints, sites) = self.registry()?.breakpoints();
        let most = most_locations(breakpoints.len());
        Ok(breakpoints.iter().map(|breakpoint| describe(breakpoint, &sites, most)).collect())
    }

    /// Stops the active runs, or one of them, at their next operator. Returns how many will stop, excluding those that
    /// are already stopped at an operator.
    ///
    /// A request for all runs may also stop later ones: if no run is active, the next one stops at its first operator,
    /// and so does one more run for each active run that ends before its next operator.
    ///
    /// # Errors
    /// Returns an error if the client is no longer attached.
    pub fn pause(&self, run: Option<RunId>) -> Result<usize, DebugError> {
        self.wanting(|registry| Ok(registry.pause(run, &self.shared.queues().stopped_runs())))
    }

    /// Returns the location of a stopped run, and the tensors that it has there.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn location(&self, event: Sequence) -> Result<Location, DebugError> {
        self.look(event, |stopped| stopped.location())
    }

    /// Calls a function with a stopped run, on the thread of that run, which borrows the engine's tensors. This
    /// restarts the lease of the event. The function itself must not look at stopped runs.
    ///
    /// # Errors
    /// Returns an error if the client is no longer attached, no thread waits at this event, the run is not at an
    /// operator, or it continued before the function was called. Also returns an error inside of another look.
    pub fn look<R: Send + 'static>(
        &self,
        event: Sequence,
        look: impl FnOnce(&mut Stopped<'_>) -> R + Send + 'static,
    ) -> Result<R, DebugError> {
        allow_nothing()?;
        self.look_from_anywhere(event, look)
    }

    fn look_from_anywhere<R: Send + 'static>(
        &self,
        event: Sequence,
        look: impl FnOnce(&mut Stopped<'_>) -> R + Send + 'static,
    ) -> Result<R, DebugError> {
        // The calling thread is a stopped one: it would wait for itself, or for a thread that waits for it.
        not_while_looking()?;
        if let Some((_, false)) = self.shared.queues().kind_of(event) {
            return Err(DebugError::NoSuchTensor {
                reference: "tensor".to_owned(),
                reason: format!("event {event} is not in the middle of a run"),
            });
        }
        let (answer, result) = sync_channel(1);
        let job = Box::new(move |stopped: &mut Stopped<'_>| {
            let _ = answer.send(looking(|| look(stopped)));
        });
        self.shared.queues().submit(self.generation, event, job)?;
        result.recv().map_err(|_| DebugError::AlreadyContinued(event, Continued::DuringLook))
    }

    /// Returns the calls in the program's own code that led to where a run is stopped, innermost first. There are none in
    /// a program that does not know them.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn code_frames(&self, event: Sequence) -> Result<Vec<CodeFrame>, DebugError> {
        let Some(host) = self.shared.host().map(Arc::clone) else { return Ok(Vec::new()) };
        self.look(event, move |_| host.frames())
    }

    /// Evaluates an expression in the language of the program, in the innermost of the calls in its own code, and returns
    /// the result as the language writes it.
    ///
    /// # Errors
    /// As [`look`](Self::look), and if the program does not evaluate expressions, or this one fails.
    pub fn evaluate(&self, event: Sequence, expression: String) -> Result<String, DebugError> {
        let host = self.shared.host().map(Arc::clone).ok_or_else(EvaluationError::default)?;
        Ok(self.look(event, move |_| host.evaluate(&expression))??)
    }

    /// Replaces an input before an operator, or an output after it.
    ///
    /// # Errors
    /// As [`Stopped::replace`] and [`look`](Self::look).
    pub fn replace(&self, event: Sequence, reference: TensorRef, tensor: Tensor) -> Result<(), DebugError> {
        self.look(event, move |stopped| stopped.replace(&reference, tensor))?
    }

    /// Returns the state of the program: its models and runs, the stopped threads, and the queues.
    ///
    /// # Errors
    /// Returns an error if the client is no longer attached.
    pub fn status(&self) -> Result<Status, DebugError> {
        let registry = self.registry()?;
        let ([sync, asynchronous], stopped, released, stopped_runs) = self.shared.queues().status();
        let (models, runs) = (registry.loaded(), registry.runs(&stopped_runs));
        Ok(Status { models, runs, stopped, sync, asynchronous, released })
    }

    /// Returns the graph of a model; `None` if no loaded model has this number.
    ///
    /// # Errors
    /// Returns an error if the client is no longer attached.
    pub fn graph(&self, model: ModelId) -> Result<Option<Arc<Graph>>, DebugError> {
        Ok(self.registry()?.graph(model))
    }

    /// Returns the outputs of the last run of a model; `None` if the program does not keep them.
    ///
    /// # Errors
    /// Returns an error if the client is no longer attached.
    pub fn kept_outputs(&self, model: ModelId) -> Result<Option<Arc<dyn DeviceTensors>>, DebugError> {
        Ok(self.registry()?.kept_outputs(model))
    }

    /// Returns the kernels of a model's newest plan; `None` before its first one.
    ///
    /// # Errors
    /// Returns an error if the client is no longer attached.
    pub fn kernels(&self, model: ModelId) -> Result<Option<Arc<[Kernel]>>, DebugError> {
        Ok(self.registry()?.newest_plan(model).map(|plan| Arc::clone(&plan.kernels)))
    }

    /// Returns how each operator of a model maps to kernels, in the order of the graph.
    ///
    /// # Errors
    /// Returns an error if the client is no longer attached.
    pub fn mappings(&self, model: ModelId) -> Result<Vec<OperatorMapping>, DebugError> {
        let registry = self.registry()?;
        let (graph, plan) = (registry.graph(model), registry.newest_plan(model));
        drop(registry);
        let mapping =
            |operator: &Operator| plan.as_ref().map_or(OperatorMapping::Pending, |plan| plan.mapping(operator.id));
        Ok(graph.iter().flat_map(|graph| graph.all_operators()).map(mapping).collect())
    }

    /// Detaches the client: its breakpoints are removed, and threads that wait continue. The last event that it can
    /// read is [`DetachComplete`](crate::EventKind::DetachComplete).
    ///
    /// # Errors
    /// Returns an error if the client is no longer attached.
    pub fn detach(&self) -> Result<(), DebugError> {
        allow_nothing()?;
        self.check_attached()?;
        if self.shared.detach(self.generation, None) { Ok(()) } else { Err(DebugError::NotAttached) }
    }

    /// Detaches a client that is gone without having detached, and logs the reason.
    pub(crate) fn abandon(&self, reason: &str) {
        self.shared.detach(self.generation, Some(reason));
    }

    /// Returns whether the client gets sync events along with their notification.
    #[cfg(not(loom))]
    pub(crate) fn delivers(&self) -> bool {
        self.deliver
    }

    /// Returns whether the client is still attached. This does not count as a call of the client.
    #[cfg(not(loom))]
    pub(crate) fn is_attached(&self) -> bool {
        self.shared.queues().is_attached(self.generation)
    }

    fn check_attached(&self) -> Result<(), DebugError> {
        self.shared.queues().call(self.generation)
    }

    /// Changes what the client wants of runs. If that is something, the program is told.
    fn wanting<R>(&self, change: impl FnOnce(&mut Registry) -> Result<R, DebugError>) -> Result<R, DebugError> {
        let result = change(&mut *self.registry()?);
        self.shared.note_interest();
        result
    }

    /// Locks the registry for this client. The client cannot be detached while the lock is held, so its changes are
    /// never left for the next client.
    fn registry(&self) -> Result<MutexGuard<'_, Registry>, DebugError> {
        allow_nothing()?;
        let registry = self.shared.registry();
        self.check_attached()?;
        Ok(registry)
    }

    /// Checks that a run can continue in this way.
    fn check(&self, event: Sequence, resume: Resume) -> Result<Resume, DebugError> {
        match resume {
            Resume::Skip(tensors) => self.look_from_anywhere(event, move |stopped| {
                stopped.check_outputs(&tensors)?;
                Ok(Resume::Skip(tensors))
            })?,
            Resume::Until(target) => {
                self.check_in_run(event)?;
                let graphs = match self.shared.queues().kind_of(event) {
                    Some((_, true)) => vec![self.look_from_anywhere(event, |stopped| stopped.graph())?],
                    _ => self.shared.registry().graphs().into_iter().map(|(_, graph)| graph).collect(),
                };
                let is_open = graphs.iter().any(|graph| graph.part.is_some());
                if !is_open && graphs.iter().all(|graph| target.operators(graph).is_empty()) {
                    return Err(no_such_operator(&target, &graphs));
                }
                Ok(Resume::Until(target))
            }
            Resume::Leave(depth) => {
                let around = self.look_from_anywhere(event, |stopped| {
                    Modules::of(stopped.dispatch().operator(), usize::MAX).len()
                })?;
                if depth == 0 || depth as usize > around {
                    let wrong = format!("the operator is in {around} modules, so {depth} of them cannot be left");
                    return Err(DebugError::Resume(wrong));
                }
                Ok(Resume::Leave(depth))
            }
            Resume::Continue => Ok(Resume::Continue),
            other => self.check_in_run(event).map(|()| other),
        }
    }

    /// Checks that the run that is stopped at this event still has operators to execute: it is at an operator, or
    /// begins.
    fn check_in_run(&self, event: Sequence) -> Result<(), DebugError> {
        match self.shared.queues().kind_of(event) {
            Some((kind, false)) if kind != EventName::RunPushed => Err(DebugError::Resume(format!(
                "event {event} is not in the middle of a run; it can only be continued with 'continue'"
            ))),
            _ => Ok(()),
        }
    }
}

fn no_such_operator(target: &Target, graphs: &[Arc<Graph>]) -> DebugError {
    let like =
        |graph: &Arc<Graph>| Some(graph.nearest_operator(&target.pattern()?.to_string())?.display_name().to_owned());
    DebugError::NoSuchOperator { target: target.clone(), nearest: graphs.iter().find_map(like) }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        self.abandon("it is gone");
        if let Some(notifier) = self.notifier.get_mut().take() {
            notifier.stop(&self.shared);
        }
    }
}
