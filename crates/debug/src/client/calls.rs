use opscope_model::RunId;
use serde::Deserialize;

use super::{Client, link};
use crate::protocol::{Backtrace, Continuation, ModelInfo, Next, OperatorInfo, OperatorRows, Request, SourceText};
use crate::recursion::Rule;
use crate::sync::lock;
use crate::{
    AttachOptions, BreakpointChange, BreakpointId, BreakpointInfo, BreakpointSpec, DebugError, Event, EventSet,
    LoadedModel, Location, ModelId, Queue, Resume, Sequence, Status,
};

/// An answer that says no more than that it was done.
#[derive(Deserialize)]
struct Done {}

/// An answer that is a number.
#[derive(Deserialize)]
struct Count {
    count: usize,
}

#[derive(Deserialize)]
struct Breakpoints {
    breakpoints: Vec<BreakpointInfo>,
}

#[derive(Deserialize)]
struct Models {
    models: Vec<LoadedModel>,
}

/// All errors are those of the same call of an [`Attachment`](crate::Attachment), or of the connection.
#[allow(clippy::missing_errors_doc)]
impl Client {
    /// See [`Debugger::attach`](crate::Debugger::attach).
    pub fn attach(&self, options: AttachOptions) -> Result<(), DebugError> {
        let rule = if options.strict_callbacks { Rule::Strict } else { Rule::Relaxed };
        self.done(&Request::Attach(options))?;
        *lock(&self.rule) = rule;
        Ok(())
    }

    /// See [`Attachment::detach`](crate::Attachment::detach).
    pub fn detach(&self) -> Result<(), DebugError> {
        self.done(&Request::Detach)
    }

    /// See [`Attachment::next_event`](crate::Attachment::next_event).
    pub fn next_event(&self, queue: Queue) -> Result<Option<Event>, DebugError> {
        Ok(self.next_events(queue, 1)?.pop())
    }

    /// See [`Attachment::next_events`](crate::Attachment::next_events). An answer has
    /// [at most so many](crate::protocol::MOST_EVENTS), whatever is asked for.
    pub fn next_events(&self, queue: Queue, most: usize) -> Result<Vec<Event>, DebugError> {
        let next: Next = self.ask(&Request::NextEvents { queue, most: most as u64 })?;
        Ok(next.events)
    }

    /// See [`Attachment::acknowledge`](crate::Attachment::acknowledge).
    pub fn acknowledge(&self, event: Sequence, resume: Resume) -> Result<(), DebugError> {
        let (resume, attachment) = Continuation::of(resume);
        let answer = self.ask_with(&Request::Acknowledge { event, resume }, &attachment)?;
        link::read_answer(&answer).map(|Done {}| ())
    }

    /// See [`Attachment::acknowledge_sync_events`](crate::Attachment::acknowledge_sync_events).
    pub fn acknowledge_sync_events(&self) -> Result<usize, DebugError> {
        self.ask(&Request::AcknowledgeSyncEvents).map(|Count { count }| count)
    }

    /// See [`Attachment::renew`](crate::Attachment::renew).
    pub fn renew(&self, event: Sequence) -> Result<(), DebugError> {
        self.done(&Request::Renew { event })
    }

    /// See [`Attachment::subscribe`](crate::Attachment::subscribe).
    pub fn subscribe(&self, events: EventSet) -> Result<(), DebugError> {
        self.done(&Request::Subscribe { events })
    }

    /// See [`Attachment::add_breakpoint`](crate::Attachment::add_breakpoint).
    pub fn add_breakpoint(&self, spec: BreakpointSpec) -> Result<BreakpointInfo, DebugError> {
        self.ask(&Request::AddBreakpoint(spec))
    }

    /// See [`Attachment::change_breakpoint`](crate::Attachment::change_breakpoint).
    pub fn change_breakpoint(
        &self,
        breakpoint: BreakpointId,
        change: BreakpointChange,
    ) -> Result<BreakpointInfo, DebugError> {
        self.ask(&Request::ChangeBreakpoint { breakpoint, change })
    }

    /// See [`Attachment::remove_breakpoint`](crate::Attachment::remove_breakpoint).
    pub fn remove_breakpoint(&self, breakpoint: BreakpointId) -> Result<(), DebugError> {
        self.done(&Request::RemoveBreakpoint { breakpoint })
    }

    /// See [`Attachment::breakpoints`](crate::Attachment::breakpoints).
    pub fn breakpoints(&self) -> Result<Vec<BreakpointInfo>, DebugError> {
        self.ask(&Request::Breakpoints).map(|Breakpoints { breakpoints }| breakpoints)
    }

    /// See [`Attachment::pause`](crate::Attachment::pause).
    pub fn pause(&self, run: Option<RunId>) -> Result<usize, DebugError> {
        self.ask(&Request::Pause { run: run.map(|run| run.0) }).map(|Count { count }| count)
    }

    /// See [`Attachment::location`](crate::Attachment::location).
    pub fn location(&self, event: Sequence) -> Result<Location, DebugError> {
        self.ask(&Request::Location { event })
    }

    /// The operators that led to where a run is stopped: the one that it is at, then again and again the one that was
    /// executed last among those that made its inputs. At most `most` of them, and how many there are.
    pub fn backtrace(&self, event: Sequence, most: usize) -> Result<Backtrace, DebugError> {
        self.ask(&Request::Backtrace { event, most: most as u64 })
    }

    /// See [`Attachment::status`](crate::Attachment::status).
    pub fn status(&self) -> Result<Status, DebugError> {
        self.ask(&Request::Status)
    }

    /// The models that are loaded.
    pub fn models(&self) -> Result<Vec<LoadedModel>, DebugError> {
        self.ask(&Request::Models).map(|Models { models }| models)
    }

    /// A model as a whole.
    pub fn model(&self, model: ModelId) -> Result<ModelInfo, DebugError> {
        self.ask(&Request::Model { model })
    }

    /// Operators of a model, in the order of execution: those that fit a pattern, which is written as a breakpoint's
    /// [target](crate::Target). `offset` of them are passed over, and at most `most` come, nor more than
    /// [an answer has](crate::protocol::MOST_OPERATORS).
    pub fn operators(
        &self,
        model: ModelId,
        pattern: &str,
        offset: usize,
        most: usize,
    ) -> Result<OperatorRows, DebugError> {
        let (offset, most) = (offset as u64, most as u64);
        self.ask(&Request::Operators { model, pattern: pattern.to_owned(), offset, most })
    }

    /// All about the operator with this index.
    pub fn operator(&self, model: ModelId, operator: u32) -> Result<OperatorInfo, DebugError> {
        self.ask(&Request::Operator { model, operator })
    }

    /// The listing of a model from a line on (the first is 1, and it is operator 0), at most `most` lines, nor more than
    /// an answer has room for.
    pub fn source(&self, model: ModelId, line: usize, most: usize) -> Result<SourceText, DebugError> {
        let answer = self.ask_with(&Request::Source { model, line: line as u64, most: most as u64 }, &[])?;
        let mut source: SourceText = link::read_answer(&answer)?;
        source.text = String::from_utf8(answer.attachment).map_err(link::not_understood)?;
        Ok(source)
    }

    /// Asks for something whose answer says no more than that it was done.
    pub(super) fn done(&self, request: &Request) -> Result<(), DebugError> {
        self.ask(request).map(|Done {}| ())
    }
}
