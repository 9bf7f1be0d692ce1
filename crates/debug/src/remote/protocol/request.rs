use opscope_tensor::{DType, Tensor};
use serde::{Deserialize, Serialize};

use super::{At, PROTOCOL, VERSION};
use crate::breakpoint::{BreakpointChange, BreakpointSpec, Target};
use crate::error::{DebugError, ErrorCode, Refusal};
use crate::event::{BreakpointId, EventSet, ModelId, Queue, Sequence};
use crate::queues::Resume;
use crate::session::AttachOptions;

/// A request of a debugger. On the wire it also has an `id`, which the answer repeats.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Request {
    /// The first request on every connection.
    Hello(HelloRequest),
    /// See [`Debugger::attach`](crate::Debugger::attach).
    Attach(AttachOptions),
    /// See [`Attachment::detach`](crate::Attachment::detach).
    Detach,
    /// See [`Attachment::next_events`](crate::Attachment::next_events).
    NextEvents {
        /// The queue.
        queue: Queue,
        /// The maximum number of events.
        #[serde(default = "most")]
        most: u64,
    },
    /// See [`Attachment::acknowledge`](crate::Attachment::acknowledge). The tensors of a skipped operator's outputs are
    /// attached, one after the other.
    Acknowledge {
        /// The event.
        event: Sequence,
        /// How the run continues.
        #[serde(default)]
        resume: Continuation,
    },
    /// See [`Attachment::acknowledge_sync_events`](crate::Attachment::acknowledge_sync_events).
    AcknowledgeSyncEvents,
    /// See [`Attachment::renew`](crate::Attachment::renew).
    Renew {
        /// The event.
        event: Sequence,
    },
    /// See [`Attachment::subscribe`](crate::Attachment::subscribe).
    Subscribe {
        /// The events that the debugger subscribes to.
        events: EventSet,
    },
    /// See [`Attachment::add_breakpoint`](crate::Attachment::add_breakpoint).
    AddBreakpoint(BreakpointSpec),
    /// See [`Attachment::change_breakpoint`](crate::Attachment::change_breakpoint).
    ChangeBreakpoint {
        /// The breakpoint.
        breakpoint: BreakpointId,
        /// What changes.
        #[serde(flatten)]
        change: BreakpointChange,
    },
    /// See [`Attachment::remove_breakpoint`](crate::Attachment::remove_breakpoint).
    RemoveBreakpoint {
        /// The breakpoint.
        breakpoint: BreakpointId,
    },
    /// See [`Attachment::breakpoints`](crate::Attachment::breakpoints).
    Breakpoints,
    /// See [`Attachment::pause`](crate::Attachment::pause).
    Pause {
        /// The run; `None` for all.
        #[serde(default)]
        run: Option<u64>,
    },
    /// See [`Attachment::location`](crate::Attachment::location).
    Location {
        /// The event at which the run is stopped.
        event: Sequence,
    },
    /// The operators that led to where a run is stopped.
    Backtrace {
        /// The event at which the run is stopped.
        event: Sequence,
        /// The maximum number of frames.
        #[serde(default = "most")]
        most: u64,
    },
    /// Elements of a tensor, in the attachment of the answer.
    Tensor {
        /// Where the tensor is.
        #[serde(flatten)]
        at: At,
        /// The tensor, as text; a slice may follow.
        reference: String,
        /// The first element, counted in the slice.
        #[serde(default)]
        offset: u64,
        /// How many elements; fewer if a page is full.
        #[serde(default = "most")]
        count: u64,
    },
    /// Statistics of a tensor.
    Statistics {
        /// Where the tensor is.
        #[serde(flatten)]
        at: At,
        /// The tensor, as text; a slice may follow.
        reference: String,
    },
    /// The counts of a tensor's elements by powers of two.
    Histogram {
        /// Where the tensor is.
        #[serde(flatten)]
        at: At,
        /// The tensor, as text; a slice may follow.
        reference: String,
    },
    /// The largest elements of a tensor.
    TopK {
        /// Where the tensor is.
        #[serde(flatten)]
        at: At,
        /// The tensor, as text; a slice may follow.
        reference: String,
        /// The number of elements.
        k: u64,
        /// Whether a large negative element counts as a large one.
        #[serde(default)]
        magnitude: bool,
    },
    /// See [`Attachment::replace`](crate::Attachment::replace). The tensor is attached.
    Replace {
        /// The event at which the run is stopped.
        event: Sequence,
        /// The tensor, as text.
        reference: String,
        /// The form of the new tensor.
        #[serde(flatten)]
        form: TensorForm,
    },
    /// See [`Attachment::status`](crate::Attachment::status).
    Status,
    /// The models that are loaded.
    Models,
    /// A description of a model.
    Model {
        /// Which.
        model: ModelId,
    },
    /// Operators of a model, in the order of execution.
    Operators {
        /// The model.
        model: ModelId,
        /// The operators, in the syntax of a breakpoint's target.
        #[serde(default = "every")]
        pattern: String,
        /// How many of them are skipped at the beginning.
        #[serde(default)]
        offset: u64,
        /// The largest number of operators in the answer.
        #[serde(default = "most")]
        most: u64,
    },
    /// Values of a model.
    Values {
        /// The model.
        model: ModelId,
        /// How many of them are skipped at the beginning.
        #[serde(default)]
        offset: u64,
        /// The largest number of values in the answer.
        #[serde(default = "most")]
        most: u64,
    },
    /// A description of one operator.
    Operator {
        /// The model.
        model: ModelId,
        /// Its index in the graph.
        operator: u32,
    },
    /// The listing of a model, a line per operator, in the attachment of the answer.
    Source {
        /// The model.
        model: ModelId,
        /// The first line, from 1.
        #[serde(default = "first")]
        line: u64,
        /// How many lines; fewer if an answer is full.
        #[serde(default = "most")]
        most: u64,
    },
}

/// The content of `hello`: the debugger and its protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelloRequest {
    /// [`PROTOCOL`].
    pub protocol: String,
    /// [`VERSION`].
    pub version: u32,
    /// The debugger's name and version, for the log.
    #[serde(default)]
    pub client: String,
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
    /// See [`Resume::Skip`]: the tensors that are attached, one after the other.
    Skip(Vec<TensorForm>),
    /// See [`Resume::Abort`].
    Abort(String),
}

/// The type and shape of a tensor that is attached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorForm {
    /// The type of its elements: `float32`.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<usize>,
}

impl Request {
    /// Returns the name of its kind on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Request::Hello(_) => "hello",
            Request::Attach(_) => "attach",
            Request::Detach => "detach",
            Request::NextEvents { .. } => "next_events",
            Request::Acknowledge { .. } => "acknowledge",
            Request::AcknowledgeSyncEvents => "acknowledge_sync_events",
            Request::Renew { .. } => "renew",
            Request::Subscribe { .. } => "subscribe",
            Request::AddBreakpoint(_) => "add_breakpoint",
            Request::ChangeBreakpoint { .. } => "change_breakpoint",
            Request::RemoveBreakpoint { .. } => "remove_breakpoint",
            Request::Breakpoints => "breakpoints",
            Request::Pause { .. } => "pause",
            Request::Location { .. } => "location",
            Request::Backtrace { .. } => "backtrace",
            Request::Tensor { .. } => "tensor",
            Request::Statistics { .. } => "statistics",
            Request::Histogram { .. } => "histogram",
            Request::TopK { .. } => "top_k",
            Request::Replace { .. } => "replace",
            Request::Status => "status",
            Request::Models => "models",
            Request::Model { .. } => "model",
            Request::Operators { .. } => "operators",
            Request::Operator { .. } => "operator",
            Request::Values { .. } => "values",
            Request::Source { .. } => "source",
        }
    }
}

impl HelloRequest {
    /// Returns the request of a debugger that uses this crate's protocol.
    pub fn new(client: impl Into<String>) -> Self {
        Self { protocol: PROTOCOL.to_owned(), version: VERSION, client: client.into() }
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

impl TensorForm {
    /// Returns the type and shape of a tensor.
    pub fn of(tensor: &Tensor) -> Self {
        Self { dtype: tensor.dtype(), shape: tensor.shape().to_vec() }
    }

    /// Creates a tensor from these bytes.
    ///
    /// # Errors
    /// Returns an error if the number of bytes does not fit.
    pub fn tensor(&self, bytes: Vec<u8>) -> Result<Tensor, DebugError> {
        Ok(Tensor::new(self.dtype, self.shape.clone(), bytes)?)
    }

    /// Splits off the tensor at the beginning of these bytes.
    fn split_from<'a>(&self, bytes: &'a [u8]) -> Result<(Tensor, &'a [u8]), DebugError> {
        let elements = self.shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim));
        let length = elements.and_then(|elements| self.dtype.bytes_of(elements)).unwrap_or(usize::MAX);
        // If too few bytes are attached, the error of the tensor says how many it needs.
        let (own, rest) = bytes.split_at(length.min(bytes.len()));
        Ok((Tensor::new(self.dtype, self.shape.clone(), own)?, rest))
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

fn most() -> u64 {
    u64::MAX
}

fn first() -> u64 {
    1
}

fn every() -> String {
    "*".to_owned()
}
