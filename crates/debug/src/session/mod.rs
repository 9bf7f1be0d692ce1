//! A program's debugger: what it knows of models and runs, and the client that is attached to it.

mod announcer;
mod attachment;
mod debugger;
mod loaded;
mod models;
mod notifier;
mod observer;
mod options;
pub(crate) mod recursion;
mod registry;
mod shared;
mod sites;
mod status;
mod thread;

pub use attachment::Attachment;
pub use debugger::Debugger;
pub use loaded::LoadedModelHandle;
pub use options::AttachOptions;
pub use status::{LoadedModel, RunState, Status};
