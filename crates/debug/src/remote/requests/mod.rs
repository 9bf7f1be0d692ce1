//! The requests of the debug protocol. Each is a type whose fields are its arguments. Beside it stand the type of its
//! answer, how the program carries it out ([`Perform`]), and the call of the [`Client`](super::client::Client).
//!
//! A new request is written into the file of its subject, and listed below: the server, and the table in
//! `docs/debug-protocol.md`, follow from the list.

mod attaching;
mod breakpoints;
mod events;
mod listing;
mod models;
mod numbers;
mod operators;
mod stops;
mod table;
mod tensors;

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use crate::breakpoint::BreakpointSpec;
use crate::error::{ErrorCode, Refusal};
use crate::remote::protocol::{HelloRequest, Request, text};
use crate::session::{AttachOptions, Attachment};
pub use attaching::{DetachRequest, InstrumentRequest, StatusRequest, SubscribeRequest};
pub use breakpoints::{BreakpointList, BreakpointsRequest, ChangeBreakpointRequest, RemoveBreakpointRequest};
pub use events::{
    AcknowledgeRequest, AcknowledgeSyncEventsRequest, Acknowledged, Continuation, MOST_EVENTS, Next, NextEventsRequest,
    PauseRequest, RenewRequest,
};
pub use models::{
    MOST_VALUES, ModelInfo, ModelList, ModelRequest, ModelsRequest, ProducerInfo, ValueInfo, ValueRows, ValuesRequest,
};
pub use numbers::{HistogramInfo, HistogramRequest, MOST_RANKED, Ranked, StatisticsRequest, TopElements, TopKRequest};
pub use operators::{
    MOST_OPERATORS, OperatorInfo, OperatorRequest, OperatorRow, OperatorRows, OperatorsRequest, SourceRequest,
    SourceText,
};
pub use stops::{Backtrace, BacktraceFrame, BacktraceRequest, EvaluateRequest, Evaluated, LocationRequest};
use table::requests;
pub use tensors::{At, PAGE_BYTES, PageInfo, ReplaceRequest, TensorForm, TensorPage, TensorRequest};

requests! {
    // The connection itself carries these out.
    Hello(HelloRequest),
    Attach(AttachOptions),
    Instrument(InstrumentRequest);
    // These are requests of an attached debugger.
    Detach(DetachRequest),
    NextEvents(NextEventsRequest),
    Acknowledge(AcknowledgeRequest),
    AcknowledgeSyncEvents(AcknowledgeSyncEventsRequest),
    Renew(RenewRequest),
    Subscribe(SubscribeRequest),
    AddBreakpoint(BreakpointSpec),
    ChangeBreakpoint(ChangeBreakpointRequest),
    RemoveBreakpoint(RemoveBreakpointRequest),
    Breakpoints(BreakpointsRequest),
    Pause(PauseRequest),
    Location(LocationRequest),
    Backtrace(BacktraceRequest),
    Evaluate(EvaluateRequest),
    Tensor(TensorRequest),
    Statistics(StatisticsRequest),
    Histogram(HistogramRequest),
    TopK(TopKRequest),
    Replace(ReplaceRequest),
    Status(StatusRequest),
    Models(ModelsRequest),
    Model(ModelRequest),
    Operators(OperatorsRequest),
    Values(ValuesRequest),
    Operator(OperatorRequest),
    Source(SourceRequest),
}

/// How a program carries out a request of the debugger that is attached.
trait Perform: Request {
    /// Carries it out. `attached` are the raw bytes that came with it.
    fn perform(self, attachment: &Attachment, attached: Vec<u8>) -> Result<Reply<Self::Answer>, Refusal>;
}

/// The result of a request whose answer is an `A`.
pub(super) struct Reply<A> {
    /// The JSON of `ok`.
    pub ok: Vec<u8>,
    /// The raw bytes that belong to it.
    pub attachment: Vec<u8>,
    answer: PhantomData<A>,
}

/// The answer of a request that returns nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {}

/// An answer that is a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// The number.
    pub count: usize,
}

impl<A: Serialize> Reply<A> {
    pub fn of(answer: &A) -> Self {
        Self::written(text(answer))
    }
}

impl<A> Reply<A> {
    /// Makes it from the JSON of an answer.
    fn written(ok: Vec<u8>) -> Self {
        Self { ok, attachment: Vec::new(), answer: PhantomData }
    }

    fn with_attachment(self, attachment: Vec<u8>) -> Self {
        Self { attachment, ..self }
    }

    /// Forgets the type of the answer.
    pub fn untyped(self) -> Reply<()> {
        Reply { ok: self.ok, attachment: self.attachment, answer: PhantomData }
    }
}

impl Reply<Done> {
    pub fn done() -> Self {
        Self::of(&Done {})
    }
}

/// The longest text of a pattern. It is limited, because matching takes time for each of its characters.
const MOST_PATTERN: usize = 4096;

fn check_pattern(pattern: &str) -> Result<(), Refusal> {
    match pattern.len() {
        0..=MOST_PATTERN => Ok(()),
        length => {
            let message = format!("a pattern of {length} bytes is too long; {MOST_PATTERN} are the most");
            Err(Refusal::new(ErrorCode::Target, message))
        }
    }
}

fn saturated(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The default of arguments that say how much there may be in the answer.
fn most() -> u64 {
    u64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_has_the_name_that_it_has_on_the_wire() {
        let unknown = serde_json::from_str::<AnyRequest>("{\"request\": \"?\"}").unwrap_err().to_string();
        let names: Vec<_> = unknown.split('`').skip(3).step_by(2).collect();
        let listed: Vec<_> = AnyRequest::TABLE.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, listed);
    }
}
