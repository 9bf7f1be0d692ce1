use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Done, Perform, Reply};
use crate::error::{DebugError, Refusal};
use crate::event::EventSet;
use crate::remote::client::Client;
use crate::remote::protocol::Request;
use crate::session::recursion::Rule;
use crate::session::{AttachOptions, Attachment, Status};
use crate::sync::lock;

/// Asks the program to attach an instrument to itself. The connection need not be that of its debugger.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InstrumentRequest {
    /// What is wanted, in the words of the program.
    pub wanted: Value,
}

/// See [`Attachment::detach`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DetachRequest {}

/// See [`Attachment::subscribe`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SubscribeRequest {
    /// The events that the debugger subscribes to.
    pub events: EventSet,
}

/// See [`Attachment::status`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StatusRequest {}

impl Request for AttachOptions {
    const NAME: &'static str = "attach";
    const PURPOSE: &'static str = "makes the connection the program's debugger";
    type Answer = Done;
}

impl Request for InstrumentRequest {
    const NAME: &'static str = "instrument";
    const PURPOSE: &'static str = "lets the program attach another instrument to itself";
    type Answer = Done;
}

impl Request for DetachRequest {
    const NAME: &'static str = "detach";
    const PURPOSE: &'static str = "lets the program continue at full speed";
    type Answer = Done;
}

impl Perform for DetachRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<Done>, Refusal> {
        attachment.detach()?;
        Ok(Reply::done())
    }
}

impl Request for SubscribeRequest {
    const NAME: &'static str = "subscribe";
    const PURPOSE: &'static str = "changes which kinds of events are sent";
    type Answer = Done;
}

impl Perform for SubscribeRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<Done>, Refusal> {
        attachment.subscribe(self.events)?;
        Ok(Reply::done())
    }
}

impl Request for StatusRequest {
    const NAME: &'static str = "status";
    const PURPOSE: &'static str = "the state of the program and its queues";
    type Answer = Status;
}

impl Perform for StatusRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<Status>, Refusal> {
        Ok(Reply::of(&attachment.status()?))
    }
}

/// All errors are those of the same call of an [`Attachment`], or those of the connection.
#[allow(clippy::missing_errors_doc)]
impl Client {
    /// See [`Debugger::attach`](crate::Debugger::attach).
    pub fn attach(&self, options: AttachOptions) -> Result<(), DebugError> {
        let rule = Rule::for_callbacks(options.strict_callbacks);
        self.ask(&options)?;
        *lock(&self.rule) = rule;
        Ok(())
    }

    /// Asks the program to attach an instrument to itself.
    pub fn instrument(&self, wanted: Value) -> Result<(), DebugError> {
        self.ask(&InstrumentRequest { wanted }).map(drop)
    }

    /// See [`Attachment::detach`].
    pub fn detach(&self) -> Result<(), DebugError> {
        self.ask(&DetachRequest {}).map(drop)
    }

    /// See [`Attachment::subscribe`].
    pub fn subscribe(&self, events: EventSet) -> Result<(), DebugError> {
        self.ask(&SubscribeRequest { events }).map(drop)
    }

    /// See [`Attachment::status`].
    pub fn status(&self) -> Result<Status, DebugError> {
        self.ask(&StatusRequest {})
    }
}
