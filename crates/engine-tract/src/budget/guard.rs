//! Turns panics of the engine into errors, and keeps them from being printed.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use opscope_model::EngineError;
use opscope_onnx::Graph;
use tract_linalg::multithread::{Executor, multithread_tract_scope};
use tract_onnx::tract_core::internal::{TractError, TractResult};

use crate::{budget, names};

thread_local! {
    /// How many guarded calls this thread is inside of.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Where the panic in the guarded call happened.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A node that is refused before the engine reaches it.
#[derive(Debug)]
pub(crate) struct Refused {
    /// The engine's name of the node.
    pub node: String,
    /// What is wrong with it.
    pub reason: String,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.node, self.reason)
    }
}

impl std::error::Error for Refused {}

/// Runs a part of loading that calls the engine.
pub(crate) fn load<T>(graph: &Graph, work: impl FnOnce() -> TractResult<T>) -> Result<T, EngineError> {
    // Without an executor, tract looks for the number of threads under a lock, which the child of a fork might find
    // locked.
    match catch(|| multithread_tract_scope(Executor::SingleThread, work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => {
            if let Some(Refused { node, reason }) = error.downcast_ref() {
                return Err(EngineError::Load { node: Some(names::node_of_file(node, graph)), reason: reason.clone() });
            }
            let (node, reason) = explain(&error, graph);
            Err(EngineError::Load { node, reason })
        }
        Err(reason) => {
            let node = budget::place().map(|node| names::node_of_file(&node, graph));
            Err(EngineError::Panic { node, reason: names::restore(&reason, graph) })
        }
    }
}

/// Runs code that calls the engine. Returns a panic as its message.
pub(crate) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if DEPTH.get() == 0 {
                previous(info);
            } else {
                PLACE.set(info.location().map(|place| format!("{}:{}", place.file(), place.line())));
            }
        }));
    });
    DEPTH.set(DEPTH.get() + 1);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get() - 1);
    outcome.map_err(|payload| message(&*payload))
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned());
    // The message of an error that was unwrapped includes its backtrace.
    let text = text.lines().next().unwrap_or_default();
    match PLACE.take() {
        Some(place) => format!("{text} ({})", place.rsplit("/src/").next().unwrap_or(&place)),
        None => text.to_owned(),
    }
}

/// Returns the first operator that an error of the engine names, and a short form of the error with the file's names.
pub(crate) fn explain(error: &TractError, graph: &Graph) -> (Option<String>, String) {
    let operator = names::decode(&format!("{error:#}")).and_then(|id| graph.operators.get(id.index()));
    let all: Vec<String> = error.chain().map(ToString::to_string).collect();
    let mut told: Vec<&str> = all.iter().map(String::as_str).filter(|part| !is_about_the_engine(part)).collect();
    if told.is_empty() {
        told.extend(all.last().map(String::as_str));
    }
    let text = names::restore(&told.join(": "), graph);
    let line = text.lines().next().unwrap_or_default();
    let short = match line.char_indices().nth(LONGEST_REASON) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    };
    (operator.map(|operator| operator.name.clone()), short)
}

/// The longest part of the engine's text that a message includes, in characters.
const LONGEST_REASON: usize = 200;

/// Returns whether a part of an error only says which step of its own work the engine was in.
fn is_about_the_engine(part: &str) -> bool {
    const STEPS: &[&str] = &[
        "Failed analyse",
        "Infering facts",
        "Applying rule GivenRule",
        "Building node",
        "Translating",
        "translating",
        "Eager",
        "ModelBuilder",
        "in output_facts",
        "Evaluating",
        "wiring",
        "Wiring",
    ];
    STEPS.iter().any(|step| part.starts_with(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_in_one_line_without_the_backtrace_that_an_error_brings_along() {
        let fail =
            || -> () { panic!("called `Result::unwrap()` on an `Err` value: no such axis\n   0: anyhow::error") };
        let told = catch(fail).unwrap_err();
        assert!(told.starts_with("called `Result::unwrap()` on an `Err` value: no such axis ("), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
}
