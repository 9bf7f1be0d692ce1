use opscope_model::RunId;
use serde::Deserialize;

use super::{Client, link};
use crate::breakpoint::{BreakpointChange, BreakpointInfo, BreakpointSpec};
use crate::error::DebugError;
use crate::event::{BreakpointId, Event, EventSet, ModelId, Queue, Sequence};
use crate::queues::Resume;
use crate::remote::protocol::{
    Backtrace, Continuation, ModelInfo, Next, OperatorInfo, OperatorRows, Request, SourceText, ValueRows,
};
use crate::run::Location;
use crate::session::recursion::Rule;
use crate::session::{AttachOptions, LoadedModel, Status};
use crate::sync::lock;

/// The empty answer of a request that returns nothing.
#[derive(Deserialize)]
struct EmptyAnswer {}

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

/// All errors are those of the same call of an [`Attachment`](crate::Attachment), or those of the connection.
#[allow(clippy::missing_errors_doc)]
impl Client {
    /// See [`Debugger::attach`](crate::Debugger::attach).
    pub fn attach(&self, options: AttachOptions) -> Result<(), DebugError> {
        let rule = Rule::for_callbacks(options.strict_callbacks);
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

    /// See [`Attachment::next_events`](crate::Attachment::next_events). An answer has [at most this
    /// many](crate::protocol::MOST_EVENTS), whatever is requested.
    pub fn next_events(&self, queue: Queue, most: usize) -> Result<Vec<Event>, DebugError> {
        let next: Next = self.ask(&Request::NextEvents { queue, most: most as u64 })?;
        Ok(next.events)
    }

    /// Takes the sync events that came with [notifications](crate::AttachOptions::deliver), in order.
    pub fn take_delivered(&self) -> Vec<Event> {
        self.link.take_delivered()
    }

    /// See [`Attachment::acknowledge`](crate::Attachment::acknowledge).
    pub fn acknowledge(&self, event: Sequence, resume: Resume) -> Result<(), DebugError> {
        let (resume, attachment) = Continuation::of(resume);
        let answer = self.ask_with(&Request::Acknowledge { event, resume }, &attachment)?;
        link::read_answer(&answer).map(|EmptyAnswer {}| ())
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

    /// Returns the chain of operators that led to where a run is stopped, at most `most` of them, and its length. It
    /// begins with the current operator. Each operator is followed by the one that was executed last among those that
    /// computed its inputs.
    pub fn backtrace(&self, event: Sequence, most: usize) -> Result<Backtrace, DebugError> {
        self.ask(&Request::Backtrace { event, most: most as u64 })
    }

    /// See [`Attachment::status`](crate::Attachment::status).
    pub fn status(&self) -> Result<Status, DebugError> {
        self.ask(&Request::Status)
    }

    /// Returns the models that are loaded.
    pub fn models(&self) -> Result<Vec<LoadedModel>, DebugError> {
        self.ask(&Request::Models).map(|Models { models }| models)
    }

    /// Describes a model.
    pub fn model(&self, model: ModelId) -> Result<ModelInfo, DebugError> {
        self.ask(&Request::Model { model })
    }

    /// Returns the operators of a model that match a pattern, in the order of execution. The pattern is written as a
    /// breakpoint's [target](crate::Target). The first `offset` are skipped. The answer has at most `most`, and at most
    /// [`MOST_OPERATORS`](crate::protocol::MOST_OPERATORS).
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

    /// Describes the operator with this index.
    pub fn operator(&self, model: ModelId, operator: u32) -> Result<OperatorInfo, DebugError> {
        self.ask(&Request::Operator { model, operator })
    }

    /// Returns the values of a model, each once. The first `offset` are skipped. The answer has at most `most`, and at
    /// most [`MOST_VALUES`](crate::protocol::MOST_VALUES).
    pub fn values(&self, model: ModelId, offset: usize, most: usize) -> Result<ValueRows, DebugError> {
        self.ask(&Request::Values { model, offset: offset as u64, most: most as u64 })
    }

    /// Returns the listing of a model, beginning with a line: at most `most` lines, and no more than fit into an
    /// answer. Lines are numbered from 1, and line 1 is operator 0.
    pub fn source(&self, model: ModelId, line: usize, most: usize) -> Result<SourceText, DebugError> {
        let answer = self.ask_with(&Request::Source { model, line: line as u64, most: most as u64 }, &[])?;
        let mut source: SourceText = link::read_answer(&answer)?;
        source.text = String::from_utf8(answer.attachment).map_err(link::not_understood)?;
        Ok(source)
    }

    /// Sends a request that returns nothing.
    pub(super) fn done(&self, request: &Request) -> Result<(), DebugError> {
        self.ask(request).map(|EmptyAnswer {}| ())
    }
}
