use serde::{Deserialize, Serialize};

use super::{PROTOCOL, Request, VERSION};
use crate::event::Event;
use crate::session::LoadedModel;

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
    /// [`PROTOCOL`](super::PROTOCOL).
    pub protocol: String,
    /// [`VERSION`](super::VERSION).
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
