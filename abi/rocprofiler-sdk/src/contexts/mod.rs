//! Contexts: the switches for sets of tracing services.

mod calls;
mod list;

pub use list::{Context, contexts_of, find, on_change, set_client};
