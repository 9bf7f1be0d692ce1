//! What every message of the debug protocol has: frames, the trait of requests, and the greeting.

mod frame;

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use crate::error::{ErrorCode, Refusal};
use crate::event::Event;
use crate::session::LoadedModel;
pub(crate) use frame::frame_head;
pub use frame::{Frame, FrameError, FrameLimits, FrameReader};

/// The protocol's name, as `hello` has it.
pub const PROTOCOL: &str = "opscope-debug";

/// The protocol's version. Other versions are refused; additions within a version can be ignored.
pub const VERSION: u32 = 1;

/// Returns the JSON of a message.
pub(crate) fn text(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("a message has no maps with keys that are not text")
}

/// A request of a debugger. The fields of the type are the request's arguments. On the wire they stand beside its name,
/// `request`, and an `id`, which the answer repeats.
pub trait Request: Debug + Serialize + DeserializeOwned {
    /// Its name on the wire.
    const NAME: &'static str;

    /// What it does, in a few words for the table of `docs/debug-protocol.md`.
    const PURPOSE: &'static str;

    /// Whether a notification callback may send it.
    const IN_CALLBACKS: bool = false;

    /// Whether its answer has the events of which the program has notified the debugger.
    const TAKES_EVENTS: bool = false;

    /// The content of `ok` in its answer.
    type Answer: Serialize + DeserializeOwned;
}

/// The first request on every connection: the debugger and its protocol.
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

/// The answer to `hello`, which describes the program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`](PROTOCOL).
    pub protocol: String,
    /// [`VERSION`](VERSION).
    pub version: u32,
    /// The version of opscope that the program was built with.
    pub opscope: String,
    /// The program's process.
    pub pid: u32,
    /// The user that it runs as, by number.
    pub user: u32,
    /// Its command line, shortened if it is very long.
    pub program: Vec<String>,
    /// The name of the debugger that is attached, if there is one.
    pub attached: Option<String>,
    /// The models that are loaded.
    pub models: Vec<LoadedModel>,
}

/// A message of a program that is not an answer to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProgramMessage {
    /// Events wait. This is not sent again before an answer to `next_events`.
    Notify {
        /// Sync events, for a debugger that [has them delivered](crate::AttachOptions::deliver).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        events: Vec<Event>,
    },
    /// The program closes the connection.
    Bye(Bye),
}

/// Why a program closes the connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bye {
    /// A message for people, in one sentence.
    pub reason: String,
}

impl Request for HelloRequest {
    const NAME: &'static str = "hello";
    const PURPOSE: &'static str = "the first request; describes the program";
    type Answer = Hello;
}

impl HelloRequest {
    /// Returns the request of a debugger that uses this crate's protocol.
    pub fn new(client: impl Into<String>) -> Self {
        Self { protocol: PROTOCOL.to_owned(), version: VERSION, client: client.into() }
    }
}
