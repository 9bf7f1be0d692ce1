use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::session::LoadedModel;

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

/// The answer to `next_events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Next {
    /// The events, in order.
    pub events: Vec<Event>,
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
