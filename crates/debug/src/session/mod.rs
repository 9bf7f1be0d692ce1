//! A program's debugger: its models and runs, and the client that is attached to it.

mod announcer;
mod attachment;
mod capture;
mod debugger;
mod host;
mod model_handle;
mod models;
mod notifier;
mod observer;
mod open_observer;
mod options;
pub(crate) mod recursion;
mod registry;
mod shared;
mod sites;

pub use attachment::Attachment;
pub use capture::{Capture, CaptureKind, CaptureNote, Captures};
pub use debugger::Debugger;
pub use host::{CodeFrame, Host};
pub use model_handle::LoadedModelHandle;
pub use options::{AttachOptions, LoadedModel, RunState, Status};
