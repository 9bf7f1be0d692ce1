//! The debugger: stops a running model, shows and replaces its tensors, and lets it continue.
//!
//! A debugger gets [`Event`]s about a program's runs from two queues. An event of the sync queue parks the thread that
//! raised it until the debugger has read and acknowledged it, with a [`Resume`] that says how the run continues. Events
//! of the async queue need no acknowledgement. If a debugger does not acknowledge within its lease, closes its
//! connection or dies, the threads continue.
//!
//! A new kind of events is one row of the table in `event/kind.rs`.
//!
//! # In the same process
//!
//! The [`Debugger`] is an instrument of the runs. [`Debugger::attach`] returns an [`Attachment`], through which a
//! client reads events, sets breakpoints, looks at stopped runs on their own threads, and lets them continue:
//!
//! ```
//! # use std::{error::Error, sync::Arc, thread};
//! # use opscope_model::{Fidelity, testing::{FakePlan, GraphBuilder, kernels}};
//! # /// A model of one operator, whose run the debugger ends.
//! # fn run(debugger: &Debugger) {
//! #     let graph = GraphBuilder::new("digits").input("image", &[1, 1, 8, 8]);
//! #     let graph = Arc::new(graph.operator("/conv1/Conv", "Conv", &["image"], &["y"]).output("y").build());
//! #     let kernels = kernels(&graph, &[&["/conv1/Conv"]]);
//! #     let plan = FakePlan::new(&graph, kernels, Fidelity::Exact, |_, inputs| Ok(inputs.to_vec()));
//! #     let pixels = opscope_tensor::Tensor::from_f32(vec![1, 1, 8, 8], &[0.5; 64]).unwrap();
//! #     plan.run_on(debugger, 1, &[pixels]).expect_err("the run was aborted");
//! # }
//! use opscope_debug::{AttachOptions, BreakpointSpec, Debugger, EventKind, Queue, Resume};
//!
//! let debugger = Debugger::new()?;
//! let attachment = debugger.attach(AttachOptions::default())?;
//! attachment.add_breakpoint(BreakpointSpec::at("type:Conv".parse()?).when("absmax(input) > 0.1"))?;
//! let (notify, notified) = std::sync::mpsc::channel();
//! attachment.set_notification_callback(Some(Box::new(move || drop(notify.send(())))))?;
//!
//! let program = thread::spawn(move || run(&debugger));
//! let event = 'stopped: loop {
//!     notified.recv()?;
//!     while let Some(event) = attachment.next_event(Queue::Sync)? {
//!         if let EventKind::Breakpoint { .. } = event.kind {
//!             break 'stopped event;
//!         }
//!         attachment.acknowledge(event.sequence, Resume::Continue)?;
//!     }
//! };
//! let location = attachment.location(event.sequence)?;
//! assert_eq!(location.place.to_string(), "before #0 /conv1/Conv (Conv), run 1");
//! let input = "input".parse()?;
//! let shape = attachment.look(event.sequence, move |stopped| stopped.tensor(&input).map(|view| view.shape().to_vec()))??;
//! assert_eq!(shape, [1, 1, 8, 8]);
//! attachment.acknowledge(event.sequence, Resume::Abort("one look is enough".into()))?;
//! program.join().expect("the run ends");
//! # Ok::<(), Box<dyn Error>>(())
//! ```
//!
//! # In another process
//!
//! [`Debugger::serve`] lets debuggers attach through a Unix socket that only their own user reaches. A
//! [`Client`](client::Client) has the same calls; tensors come in pages. `docs/debug-protocol.md` describes what is
//! sent, for clients in other languages.
//!
//! ```
//! # use std::{error::Error, sync::Arc};
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/digits_cnn.onnx");
//! # let graph = Arc::new(opscope_onnx::Graph::load(path.as_ref())?);
//! # let directory = tempfile::tempdir()?;
//! # let options = ServerOptions { listen: opscope_debug::server::Listen::At(directory.path().join("socket")) };
//! use opscope_debug::client::Client;
//! use opscope_debug::server::ServerOptions;
//! use opscope_debug::{AttachOptions, BreakpointSpec, Debugger};
//! use opscope_model::Fidelity;
//!
//! // The program, whose runs the debugger observes:
//! let debugger = Debugger::new()?;
//! let _model = debugger.load(&graph, Fidelity::Exact);
//! let server = debugger.serve(options)?; // ServerOptions::default(): where `connect_pid` finds it
//!
//! // Another process:
//! let client = Client::connect(server.path().expect("it listens"))?;
//! client.attach(AttachOptions { name: "an example".into(), ..AttachOptions::default() })?;
//! let model = client.models()?[0].model;
//! let convolutions = client.operators(model, "type:Conv", 0, 10)?;
//! assert_eq!(convolutions.operators[0].name, "/conv1/Conv");
//! let weights = client.statistics(model, "value(\"conv1.weight\")")?;
//! assert_eq!((weights.shape, weights.nan), (vec![8, 1, 3, 3], 0));
//! client.add_breakpoint(BreakpointSpec::at("first nonfinite".parse()?))?;
//! client.detach()?; // the program is as fast as before
//! # Ok::<(), Box<dyn Error>>(())
//! ```
//!
//! # Rooms
//!
//! Each file or folder is a room, and imports only from rooms below it:
//!
//! | room | what |
//! |---|---|
//! | `remote` | the debug protocol: its frames, requests, server and client |
//! | `session` | the debugger, a client's attachment, notifications |
//! | `run` | the observer of one run, and what a stopped run shows |
//! | `queues` | the events that wait, sync and async |
//! | `error` | what can be wrong |
//! | `breakpoint` | breakpoints, and whether they hold |
//! | `expression` | conditions and references to tensors |
//! | `event` | events and their kinds |
//! | `sync` | locks, real or loom's |

#![forbid(unsafe_code)]

mod breakpoint;
mod error;
mod event;
pub mod expression;
mod queues;
#[cfg(not(loom))]
mod remote;
mod run;
mod session;
mod sync;

pub use breakpoint::{
    BreakpointChange, BreakpointError, BreakpointInfo, BreakpointLocation, BreakpointSpec, OperatorMapping,
    ProgramLine, Target, TargetError, Watched,
};
pub use error::{ConnectionError, Continued, DebugError, ErrorCode, EvaluationError, Refusal};
pub use event::{
    BreakpointId, Event, EventKind, EventName, EventSet, Exception, ModelId, Moment, NonFinite, NonFiniteInput, Origin,
    OutputSummary, Queue, RunPosition, Sequence, ShortNumber, StatisticsSummary, StopCause, UnknownEvent,
};
pub use queues::{Account, Release, ReleaseReason, Resume, Stop};
#[cfg(not(loom))]
pub use remote::{client, server};
pub use run::{FusedOperator, KernelInfo, Location, Stopped, TensorInfo};
pub use session::{
    AttachOptions, Attachment, Capture, CaptureKind, CaptureNote, Captures, CodeFrame, Debugger, Host, LoadedModel,
    LoadedModelHandle, RunState, Status,
};

/// The debug protocol: the messages of a debugger and a program over a socket, as frames of JSON and raw bytes.
///
/// `docs/debug-protocol.md` describes it for other languages; these are its types in Rust.
#[cfg(not(loom))]
pub mod protocol {
    pub use crate::remote::protocol::*;
    pub use crate::remote::requests::*;
}
