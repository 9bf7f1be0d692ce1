use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What was seen of an open model, whose operators are found while it runs, and what could not be seen. Reasons why a
/// dump is incomplete are among its errors as well.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// What was looked at: `module` or `op`.
    pub level: String,
    /// Whether the backward pass was looked at.
    pub backward: bool,
    /// How compiled code was executed: `eager`, as it was written; `interpret`, one captured operator after the other;
    /// or `outside`, as it was compiled, without being watched.
    #[serde(default)]
    pub compiled: String,
    /// The number of executions of operators or modules that were seen.
    pub seen: u64,
    /// The number of modules that were called.
    pub modules_called: u64,
    /// The modules that were never called, by path, without those that only contain others.
    pub modules_not_called: Vec<String>,
    /// The modules whose parameters were read although they were not called, by path.
    pub read_without_call: Vec<String>,
    /// The number of executions whose outputs were deliberately not captured, by reason: views of values that were
    /// captured, or memory that holds nothing yet.
    pub skipped: BTreeMap<String, u64>,
    /// The number of times that something was not looked at, by its name.
    pub not_seen: BTreeMap<String, u64>,
}
