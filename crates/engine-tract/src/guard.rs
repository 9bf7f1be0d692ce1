//! Panics of the engine become errors, and do not print.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use opscope_model::EngineError;
use opscope_onnx::Graph;
use tract_onnx::tract_core::internal::TractResult;

use crate::limits::TooLarge;
use crate::names;

thread_local! {
    /// How many guarded calls this thread is in.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Where the panic of the guarded call happened.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs something of the engine's that belongs to loading.
pub(crate) fn load<T>(graph: &Graph, work: impl FnOnce() -> TractResult<T>) -> Result<T, EngineError> {
    match catch(work) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => {
            if let Some(TooLarge { node, reason }) = error.downcast_ref() {
                return Err(EngineError::Load { node: Some(names::restore(node, graph)), reason: reason.clone() });
            }
            let (node, reason) = explain(&format!("{error:#}"), graph);
            Err(EngineError::Load { node, reason })
        }
        Err(reason) => Err(EngineError::Panic { node: None, reason: names::restore(&reason, graph) }),
    }
}

/// Runs something of the engine's; a panic is returned as its message.
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
    match PLACE.take() {
        Some(place) => format!("{text} ({})", place.rsplit("/src/").next().unwrap_or(&place)),
        None => text,
    }
}

/// The first operator that an error of the engine speaks of, and the text with the file's names in it.
pub(crate) fn explain(text: &str, graph: &Graph) -> (Option<String>, String) {
    let operator = names::decode(text).and_then(|id| graph.operators.get(id.index()));
    (operator.map(|operator| operator.name.clone()), names::restore(text, graph))
}
