use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

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
