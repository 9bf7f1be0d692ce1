use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opscope_model::{Kernel, RunId};
use opscope_onnx::Graph;
use opscope_tensor::Tensor;

use crate::breakpoint::Breakpoint;
use crate::debugger::{Control, Shared, info, most_locations};
use crate::doorbell::Doorbell;
use crate::expression::TensorRef;
use crate::notifier::Notifier;
use crate::queues::Generation;
use crate::recursion::{Rule, allow_events, allow_nothing, looking, not_while_looking};
use crate::stopped::Stopped;
use crate::{
    AttachOptions, BreakpointChange, BreakpointId, BreakpointInfo, BreakpointSpec, DebugError, Event, EventName,
    EventSet, Fate, Location, ModelId, Queue, Resume, Sequence, Status, Target,
};

/// A client's hold on the debugger of its own process. When it goes, the client is detached: threads that wait go on, and
/// runs are as fast as before.
///
/// Every call may be made from any thread. From inside of the notification callback only those that take and acknowledge
/// events answer (none in [strict](AttachOptions::strict_callbacks) mode); the others say
/// [`RecursiveCall`](DebugError::RecursiveCall).
pub struct Attachment {
    shared: Arc<Shared>,
    generation: Generation,
    bell: Arc<Doorbell>,
    rule: Rule,
    notifier: Mutex<Option<Notifier>>,
    timeout: Option<Duration>,
}

impl Attachment {
    pub(crate) fn new(
        shared: Arc<Shared>,
        generation: Generation,
        bell: Arc<Doorbell>,
        options: &AttachOptions,
    ) -> Result<Self, DebugError> {
        let rule = if options.strict_callbacks { Rule::Strict } else { Rule::Relaxed };
        let attachment = Self { shared, generation, bell, rule, notifier: Mutex::default(), timeout: options.timeout };
        if attachment.timeout.is_some() {
            attachment.with_notifier(|_| ())?;
        }
        Ok(attachment)
    }

    /// Takes the next event out of a queue; none if there is none.
    ///
    /// # Errors
    /// From inside of a strict callback.
    pub fn next_event(&self, queue: Queue) -> Result<Option<Event>, DebugError> {
        Ok(self.next_events(queue, 1)?.pop())
    }

    /// Takes up to `most` events out of a queue, in their order. What waits is there also after the client detached.
    ///
    /// # Errors
    /// From inside of a strict callback.
    pub fn next_events(&self, queue: Queue, most: usize) -> Result<Vec<Event>, DebugError> {
        allow_events()?;
        Ok(self.shared.queues.take(self.generation, queue, most))
    }

    /// Lets the run go on that an event has stopped. An event that stops nobody is acknowledged without an effect.
    ///
    /// # Errors
    /// When the event was not read, its thread has gone on already, or the run cannot go on like this.
    pub fn acknowledge(&self, event: Sequence, resume: Resume) -> Result<(), DebugError> {
        allow_events()?;
        let resume = self.check(event, resume)?;
        self.shared.queues.acknowledge(self.generation, event, resume)
    }

    /// Lets all runs go on whose events were read, and says how many there were. Events that were not read go on
    /// stopping theirs.
    ///
    /// # Errors
    /// When the client is not attached any more.
    pub fn acknowledge_sync_events(&self) -> Result<usize, DebugError> {
        allow_events()?;
        self.shared.queues.acknowledge_read(self.generation)
    }

    /// Starts the lease of an event anew: the client has not forgotten it.
    ///
    /// # Errors
    /// When its thread has gone on already.
    pub fn renew(&self, event: Sequence) -> Result<(), DebugError> {
        allow_nothing()?;
        self.shared.queues.renew(self.generation, event)
    }

    /// Has a function called when events have come; one call may stand for several. It is called on a thread of its own,
    /// always the same one, with no lock held that a call of this type takes but this one and dropping the attachment, which
    /// wait for a call that is going on. One that panics is not called again, which an
    /// [`InternalError`](crate::EventKind::InternalError) tells. The last one that was given counts; none takes it away.
    ///
    /// # Errors
    /// When the client is not attached any more, or the system has no thread for it.
    pub fn set_notification_callback(&self, callback: Option<Box<dyn FnMut() + Send>>) -> Result<(), DebugError> {
        allow_nothing()?;
        self.attached()?;
        self.with_notifier(|notifier| notifier.set(callback))?;
        // The thread may have taken note already, when there was nobody to be called, or somebody else.
        self.shared.queues.tell_again(self.generation);
        Ok(())
    }

    /// Starts the notification's thread where it is not there yet.
    fn with_notifier(&self, then: impl FnOnce(&Notifier)) -> Result<(), DebugError> {
        let mut notifier = self.notifier.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// A descriptor that is readable while events wait to be read by this client, for `poll` and its like. It must not be
    /// read from.
    pub fn notification_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Changes what the client wants to be told.
    ///
    /// # Errors
    /// When it is not attached any more.
    pub fn subscribe(&self, events: EventSet) -> Result<(), DebugError> {
        let mut control = self.control()?;
        if let Some((_, options)) = &mut control.attached {
            options.events = events;
        }
        self.shared.set_wanted(Some(events));
        control.steer();
        Ok(())
    }

    /// Sets a breakpoint.
    ///
    /// # Errors
    /// When no model has such an operator, or the condition cannot be read.
    pub fn add_breakpoint(&self, spec: BreakpointSpec) -> Result<BreakpointInfo, DebugError> {
        // Patterns are looked up with the lock open: runs that begin need it.
        let graphs = self.control()?.graphs();
        let breakpoint = Breakpoint::new(spec)?;
        let is_nowhere = |(model, graph): &(ModelId, Arc<Graph>)| breakpoint.operators(*model, graph).is_empty();
        if !graphs.is_empty() && graphs.iter().all(is_nowhere) {
            let graphs: Vec<_> = graphs.into_iter().map(|(_, graph)| graph).collect();
            return Err(no_such_operator(breakpoint.target(), &graphs));
        }
        self.control()?.add_breakpoint(breakpoint)
    }

    /// Changes a breakpoint.
    ///
    /// # Errors
    /// When there is none of this number, or the condition cannot be read.
    pub fn change_breakpoint(&self, id: BreakpointId, change: BreakpointChange) -> Result<BreakpointInfo, DebugError> {
        let mut control = self.control()?;
        let earlier = control.breakpoint(id)?;
        let now = earlier.spec();
        let spec = BreakpointSpec {
            enabled: change.enabled.unwrap_or(now.enabled),
            ignore: change.ignore.unwrap_or(now.ignore),
            condition: change.condition.or(now.condition),
            one_shot: change.one_shot.unwrap_or(now.one_shot),
            ..now
        };
        Ok(control.set_breakpoint(Breakpoint::new(spec)?.with_counts_of(&earlier, change.ignore)))
    }

    /// Removes a breakpoint.
    ///
    /// # Errors
    /// When there is none of this number.
    pub fn remove_breakpoint(&self, id: BreakpointId) -> Result<(), DebugError> {
        self.control()?.remove_breakpoint(id)
    }

    /// All breakpoints, with their hits.
    ///
    /// # Errors
    /// When the client is not attached any more.
    pub fn breakpoints(&self) -> Result<Vec<BreakpointInfo>, DebugError> {
        let control = self.control()?;
        let (breakpoints, sites) = (control.breakpoints(), control.sites());
        drop(control);
        let most = most_locations(breakpoints.len());
        Ok(breakpoints.iter().map(|breakpoint| info(breakpoint, &sites, most)).collect())
    }

    /// Stops the runs that are going on, or one of them, at their next operator, and says how many that are: not those that
    /// are stopped at an operator already. Where there is no run, the next one to come stops at its first operator; and if
    /// all were meant, one more for each that ends before its next operator.
    ///
    /// # Errors
    /// When the client is not attached any more.
    pub fn pause(&self, run: Option<RunId>) -> Result<usize, DebugError> {
        let mut control = self.control()?;
        let stopped = self.shared.queues.stopped_runs();
        Ok(control.pause(run, &stopped))
    }

    /// Where a stopped run is, and what can be looked at.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn location(&self, event: Sequence) -> Result<Location, DebugError> {
        self.look(event, |stopped| stopped.location())
    }

    /// Has a function look at a stopped run. It is called on the thread of the run, where the engine's tensors are, and
    /// starts the lease of the event anew. From inside of such a function nothing can be looked at.
    ///
    /// # Errors
    /// When no thread waits at this event, it is not at an operator, or the run went on before it came to looking.
    pub fn look<R: Send + 'static>(
        &self,
        event: Sequence,
        look: impl FnOnce(&mut Stopped<'_>) -> R + Send + 'static,
    ) -> Result<R, DebugError> {
        allow_nothing()?;
        self.look_anyway(event, look)
    }

    fn look_anyway<R: Send + 'static>(
        &self,
        event: Sequence,
        look: impl FnOnce(&mut Stopped<'_>) -> R + Send + 'static,
    ) -> Result<R, DebugError> {
        // A thread that looks is stopped: it would wait for itself, or for one that waits for it.
        not_while_looking()?;
        if let Some((_, false)) = self.shared.queues.kind_of(event) {
            return Err(DebugError::NoSuchTensor {
                reference: "tensor".to_owned(),
                reason: format!("event {event} is not in the middle of a run"),
            });
        }
        let (answer, result) = sync_channel(1);
        let job = Box::new(move |stopped: &mut Stopped<'_>| {
            let _ = answer.send(looking(|| look(stopped)));
        });
        self.shared.queues.submit(self.generation, event, job)?;
        result.recv().map_err(|_| DebugError::GoneOn(event, "while it was being looked at".to_owned()))
    }

    /// Puts another tensor in the place of an input before an operator, or of an output after it.
    ///
    /// # Errors
    /// As [`Stopped::replace`] and [`look`](Self::look).
    pub fn replace(&self, event: Sequence, reference: TensorRef, tensor: Tensor) -> Result<(), DebugError> {
        self.look(event, move |stopped| stopped.replace(&reference, tensor))?
    }

    /// How the program stands.
    ///
    /// # Errors
    /// When the client is not attached any more.
    pub fn status(&self) -> Result<Status, DebugError> {
        let control = self.control()?;
        let ([sync, asynchronous], stopped, released, stopped_runs) = self.shared.queues.status();
        let (models, runs) = (control.loaded(), control.runs(&stopped_runs));
        Ok(Status { models, runs, stopped, sync, asynchronous, released })
    }

    /// The graph of a model; none where there is no model of this number any more.
    ///
    /// # Errors
    /// When the client is not attached any more.
    pub fn graph(&self, model: ModelId) -> Result<Option<Arc<Graph>>, DebugError> {
        Ok(self.control()?.graph(model))
    }

    /// The steps of a model's newest plan; none before there is one.
    ///
    /// # Errors
    /// When the client is not attached any more.
    pub fn kernels(&self, model: ModelId) -> Result<Option<Arc<[Kernel]>>, DebugError> {
        Ok(self.control()?.kernels(model).map(|plan| Arc::clone(&plan.kernels)))
    }

    /// What the engine made of each operator of a model, in the order of the graph.
    ///
    /// # Errors
    /// When the client is not attached any more.
    pub fn fates(&self, model: ModelId) -> Result<Vec<Fate>, DebugError> {
        let control = self.control()?;
        let (graph, plan) = (control.graph(model), control.kernels(model));
        drop(control);
        let operators = graph.iter().flat_map(|graph| &graph.operators);
        let fate =
            |operator: &opscope_onnx::Operator| plan.as_ref().map_or(Fate::Pending, |plan| plan.fate(operator.id));
        Ok(operators.map(fate).collect())
    }

    /// Lets the program run on without this client: breakpoints are gone, threads that wait go on. The last event that
    /// can be read is [`DetachComplete`](crate::EventKind::DetachComplete).
    ///
    /// # Errors
    /// When the client is not attached any more.
    pub fn detach(&self) -> Result<(), DebugError> {
        allow_nothing()?;
        self.attached()?;
        if self.shared.detach(self.generation, None) { Ok(()) } else { Err(DebugError::NotAttached(None)) }
    }

    /// Lets the program run on because the client is gone without a word, and logs why.
    pub(crate) fn abandon(&self, reason: &str) {
        self.shared.detach(self.generation, Some(reason));
    }

    /// Whether it still is, which is no sign of life of the client.
    #[cfg(not(loom))]
    pub(crate) fn is_attached(&self) -> bool {
        self.shared.queues.is_attached(self.generation)
    }

    fn attached(&self) -> Result<(), DebugError> {
        self.shared.queues.call(self.generation)
    }

    /// What this client may change. With the lock held, for it may be detached at any moment otherwise: what it leaves
    /// behind then would be the next one's.
    fn control(&self) -> Result<MutexGuard<'_, Control>, DebugError> {
        allow_nothing()?;
        let control = self.shared.control();
        self.attached()?;
        Ok(control)
    }

    /// Whether a run can go on like this.
    fn check(&self, event: Sequence, resume: Resume) -> Result<Resume, DebugError> {
        match resume {
            Resume::Skip(tensors) => self.look_anyway(event, move |stopped| {
                stopped.check_outputs(&tensors)?;
                Ok(Resume::Skip(tensors))
            })?,
            Resume::Until(target) => {
                self.check_course(event)?;
                let graphs = match self.shared.queues.kind_of(event) {
                    Some((_, true)) => vec![self.look_anyway(event, |stopped| stopped.graph())?],
                    _ => self.shared.control().graphs().into_iter().map(|(_, graph)| graph).collect(),
                };
                if graphs.iter().all(|graph| target.operators(graph).is_empty()) {
                    return Err(no_such_operator(&target, &graphs));
                }
                Ok(Resume::Until(target))
            }
            Resume::Continue => Ok(Resume::Continue),
            other => self.check_course(event).map(|()| other),
        }
    }

    /// Whether a run is stopped at this event that has a way before it: at an operator, or as it begins.
    fn check_course(&self, event: Sequence) -> Result<(), DebugError> {
        match self.shared.queues.kind_of(event) {
            Some((kind, false)) if kind != EventName::RunPushed => Err(DebugError::Resume(format!(
                "event {event} is not in the middle of a run; 'continue' is the only way on from it"
            ))),
            _ => Ok(()),
        }
    }
}

fn no_such_operator(target: &Target, graphs: &[Arc<Graph>]) -> DebugError {
    let like = |graph: &Arc<Graph>| Some(graph.nearest_operator(&target.pattern()?.to_string())?.name.clone());
    DebugError::NoSuchOperator { target: target.to_string(), nearest: graphs.iter().find_map(like) }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        self.abandon("it is gone");
        if let Some(notifier) = self.notifier.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            notifier.stop(&self.shared);
        }
    }
}
