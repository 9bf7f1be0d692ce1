use opscope_model::RunId;
use serde::{Deserialize, Serialize};

use super::{Count, Done, Perform, Reply, TensorForm, most, saturated};
use crate::breakpoint::Target;
use crate::error::{DebugError, ErrorCode, Refusal};
use crate::event::{Event, Queue, Sequence};
use crate::queues::Resume;
use crate::remote::client::Client;
use crate::remote::protocol::Request;
use crate::session::Attachment;

/// The maximum number of events in an answer to `next_events`.
pub const MOST_EVENTS: usize = 4096;

/// See [`Attachment::next_events`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NextEventsRequest {
    /// The queue.
    pub queue: Queue,
    /// The maximum number of events.
    #[serde(default = "most")]
    pub most: u64,
}

/// The answer to `next_events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Next {
    /// The events, in order.
    pub events: Vec<Event>,
}

/// See [`Attachment::acknowledge`]. The tensors of a skipped operator's outputs are attached, one after the other.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AcknowledgeRequest {
    /// The event.
    pub event: Sequence,
    /// How the run continues.
    #[serde(default)]
    pub resume: Continuation,
}

/// The answer to `acknowledge`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledged {
    /// Whether the engine executes the operator that is skipped, and then replaces its outputs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executed: bool,
}

/// See [`Attachment::acknowledge_sync_events`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AcknowledgeSyncEventsRequest {}

/// See [`Attachment::renew`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RenewRequest {
    /// The event.
    pub event: Sequence,
}

/// See [`Attachment::pause`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PauseRequest {
    /// The run; `None` for all.
    #[serde(default)]
    pub run: Option<u64>,
}

/// A [`Resume`] on the wire: its tensors are attached.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Continuation {
    /// See [`Resume::Continue`].
    #[default]
    Continue,
    /// See [`Resume::Step`].
    Step,
    /// See [`Resume::Finish`].
    Finish,
    /// See [`Resume::Until`].
    Until(Target),
    /// See [`Resume::Over`].
    Over,
    /// See [`Resume::Leave`].
    Leave(u32),
    /// See [`Resume::Skip`]: the tensors that are attached, one after the other.
    Skip(Vec<TensorForm>),
    /// See [`Resume::Abort`].
    Abort(String),
}

/// The number of bytes of JSON at which a batch of events is complete. The last stride may exceed it.
const BATCH: usize = 1 << 20;

/// The number of events that are taken out of a queue at once.
const STRIDE: usize = 64;

impl Request for NextEventsRequest {
    const NAME: &'static str = "next_events";
    const PURPOSE: &'static str = "reads events";
    const IN_CALLBACKS: bool = true;
    const TAKES_EVENTS: bool = true;
    type Answer = Next;
}

impl Perform for NextEventsRequest {
    /// Takes events out of a queue. They are serialized as they are taken, so that many of them need little memory.
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<Next>, Refusal> {
        let most = saturated(self.most).min(MOST_EVENTS);
        let mut ok = b"{\"events\":[".to_vec();
        let mut count = 0;
        while count < most && ok.len() < BATCH {
            let asked = STRIDE.min(most - count);
            let events = attachment.next_events(self.queue, asked)?;
            for event in &events {
                if count > 0 {
                    ok.push(b',');
                }
                count += 1;
                serde_json::to_writer(&mut ok, event)
                    .map_err(|error| Refusal::new(ErrorCode::Internal, error.to_string()))?;
            }
            if events.len() < asked {
                break;
            }
        }
        ok.extend_from_slice(b"]}");
        Ok(Reply::written(ok))
    }
}

impl Request for AcknowledgeRequest {
    const NAME: &'static str = "acknowledge";
    const PURPOSE: &'static str = "lets the thread of an event continue";
    const IN_CALLBACKS: bool = true;
    type Answer = Acknowledged;
}

impl Perform for AcknowledgeRequest {
    fn perform(self, attachment: &Attachment, attached: Vec<u8>) -> Result<Reply<Acknowledged>, Refusal> {
        let Self { event, resume } = self;
        let resume = resume.into_resume(&attached)?;
        let is_skip = matches!(resume, Resume::Skip(_));
        let executed = is_skip && attachment.look(event, |stopped| stopped.executes_skipped()).unwrap_or(false);
        attachment.acknowledge(event, resume)?;
        Ok(Reply::of(&Acknowledged { executed }))
    }
}

impl Request for AcknowledgeSyncEventsRequest {
    const NAME: &'static str = "acknowledge_sync_events";
    const PURPOSE: &'static str = "lets the threads of all events that were read continue";
    const IN_CALLBACKS: bool = true;
    type Answer = Count;
}

impl Perform for AcknowledgeSyncEventsRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<Count>, Refusal> {
        Ok(Reply::of(&Count { count: attachment.acknowledge_sync_events()? }))
    }
}

impl Request for RenewRequest {
    const NAME: &'static str = "renew";
    const PURPOSE: &'static str = "restarts the lease of an event";
    type Answer = Done;
}

impl Perform for RenewRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<Done>, Refusal> {
        attachment.renew(self.event)?;
        Ok(Reply::done())
    }
}

impl Request for PauseRequest {
    const NAME: &'static str = "pause";
    const PURPOSE: &'static str = "stops runs at their next operator";
    type Answer = Count;
}

impl Perform for PauseRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<Count>, Refusal> {
        Ok(Reply::of(&Count { count: attachment.pause(self.run.map(RunId))? }))
    }
}

impl Continuation {
    /// Returns the form on the wire, and the bytes of the attachment.
    pub fn of(resume: Resume) -> (Self, Vec<u8>) {
        let continuation = match resume {
            Resume::Continue => Continuation::Continue,
            Resume::Step => Continuation::Step,
            Resume::Finish => Continuation::Finish,
            Resume::Until(target) => Continuation::Until(target),
            Resume::Over => Continuation::Over,
            Resume::Leave(depth) => Continuation::Leave(depth),
            Resume::Abort(reason) => Continuation::Abort(reason),
            Resume::Skip(tensors) => {
                let bytes = tensors.iter().flat_map(|tensor| tensor.bytes()).copied().collect();
                return (Continuation::Skip(tensors.iter().map(TensorForm::of).collect()), bytes);
            }
        };
        (continuation, Vec::new())
    }

    /// Returns the [`Resume`] that it stands for.
    ///
    /// # Errors
    /// Returns an error if the attached bytes do not fit the tensors.
    pub fn into_resume(self, attachment: &[u8]) -> Result<Resume, DebugError> {
        let resume = match self {
            Continuation::Continue => Resume::Continue,
            Continuation::Step => Resume::Step,
            Continuation::Finish => Resume::Finish,
            Continuation::Until(target) => Resume::Until(target),
            Continuation::Over => Resume::Over,
            Continuation::Leave(depth) => Resume::Leave(depth),
            Continuation::Abort(reason) => Resume::Abort(reason),
            Continuation::Skip(forms) => {
                let mut left = attachment;
                let mut tensors = Vec::new();
                for form in &forms {
                    let (tensor, rest) = form.split_from(left)?;
                    tensors.push(tensor);
                    left = rest;
                }
                nothing_left(left)?;
                return Ok(Resume::Skip(tensors));
            }
        };
        nothing_left(attachment)?;
        Ok(resume)
    }
}

fn nothing_left(bytes: &[u8]) -> Result<(), DebugError> {
    match bytes.len() {
        0 => Ok(()),
        left => {
            let message = format!("{left} bytes are attached that belong to no tensor");
            Err(Refusal::new(ErrorCode::BadRequest, message).into())
        }
    }
}

/// All errors are those of the same call of an [`Attachment`], or those of the connection.
#[allow(clippy::missing_errors_doc)]
impl Client {
    /// See [`Attachment::next_event`].
    pub fn next_event(&self, queue: Queue) -> Result<Option<Event>, DebugError> {
        Ok(self.next_events(queue, 1)?.pop())
    }

    /// See [`Attachment::next_events`]. An answer has [at most this many](MOST_EVENTS), whatever is requested.
    pub fn next_events(&self, queue: Queue, most: usize) -> Result<Vec<Event>, DebugError> {
        Ok(self.ask(&NextEventsRequest { queue, most: most as u64 })?.events)
    }

    /// See [`Attachment::acknowledge`].
    pub fn acknowledge(&self, event: Sequence, resume: Resume) -> Result<(), DebugError> {
        let (resume, attachment) = Continuation::of(resume);
        self.ask_with(&AcknowledgeRequest { event, resume }, &attachment).map(drop)
    }

    /// See [`Attachment::acknowledge_sync_events`].
    pub fn acknowledge_sync_events(&self) -> Result<usize, DebugError> {
        Ok(self.ask(&AcknowledgeSyncEventsRequest {})?.count)
    }

    /// See [`Attachment::renew`].
    pub fn renew(&self, event: Sequence) -> Result<(), DebugError> {
        self.ask(&RenewRequest { event }).map(drop)
    }

    /// See [`Attachment::pause`].
    pub fn pause(&self, run: Option<RunId>) -> Result<usize, DebugError> {
        Ok(self.ask(&PauseRequest { run: run.map(|run| run.0) })?.count)
    }
}
