//! Stop a running model, look, and go on.
//!
//! A debugger is told what a program's runs do as [`Event`]s in two queues. An event of the sync queue parks exactly the
//! thread that raised it until the debugger has read and acknowledged it, with a [`Resume`] that says how the run goes
//! on; the events of the async queue ask for no answer. Whoever does not answer within its lease, hangs up or dies keeps
//! nobody: threads go on.
//!
//! # In the same process
//!
//! The [`Debugger`] is an instrument of the runs. [`Debugger::attach`] lets a client in, who takes the events, sets
//! breakpoints, looks at stopped runs where they are, and lets them go on:
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
//! #     plan.run_on(debugger, 1, &[pixels]).expect_err("it is to stop");
//! # }
//! use opscope_debug::{AttachOptions, BreakpointSpec, Debugger, EventKind, Queue, Resume};
//!
//! let debugger = Debugger::new()?;
//! let attachment = debugger.attach(AttachOptions::default())?;
//! attachment.add_breakpoint(BreakpointSpec::at("type:Conv".parse()?).when("absmax(input) > 0.1"))?;
//! let (tell, told) = std::sync::mpsc::channel();
//! attachment.set_notification_callback(Some(Box::new(move || drop(tell.send(())))))?;
//!
//! let program = thread::spawn(move || run(&debugger));
//! let event = 'stopped: loop {
//!     told.recv()?;
//!     while let Some(event) = attachment.next_event(Queue::Sync)? {
//!         if let EventKind::Breakpoint { .. } = event.kind {
//!             break 'stopped event;
//!         }
//!         attachment.acknowledge(event.sequence, Resume::Continue)?;
//!     }
//! };
//! let location = attachment.location(event.sequence)?;
//! assert_eq!(location.place.to_string(), "run 1, before #0 /conv1/Conv (Conv)");
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
//! [`Client`](client::Client) has the same calls; tensors come in pages. `docs/debug-protocol.md` describes what is sent, for
//! clients in other languages.
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
//! // Somebody else:
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

#![forbid(unsafe_code)]

mod attachment;
mod breakpoint;
#[cfg(not(loom))]
pub mod client;
#[cfg(not(loom))]
mod connecting;
mod debugger;
mod doorbell;
mod entering;
mod error;
mod event;
pub mod expression;
mod first;
mod location;
mod notifier;
mod observer;
mod options;
mod plan;
#[cfg(not(loom))]
pub mod protocol;
mod queues;
mod recursion;
mod resume;
mod run;
#[cfg(not(loom))]
pub mod server;
#[cfg(not(loom))]
mod socket_path;
mod status;
mod stopped;
mod summary;
mod sync;
mod table;
mod thread;
#[cfg(not(loom))]
mod wire;

pub use attachment::Attachment;
pub use breakpoint::{
    BreakpointChange, BreakpointId, BreakpointInfo, BreakpointLocation, BreakpointSpec, Fate, Target, TargetError,
    Watched,
};
pub use debugger::{Debugger, LoadedModelHandle};
pub use error::DebugError;
pub use event::{
    Event, EventKind, EventName, EventSet, Exception, ModelId, Moment, NonFinite, NonFiniteInput, Origin,
    OutputSummary, Place, Queue, Sequence,
};
pub use location::{FusedOperator, KernelInfo, Location, TensorInfo};
pub use options::AttachOptions;
pub use resume::Resume;
pub use status::{Account, LoadedModel, Release, ReleaseReason, RunState, Status, Stop};
pub use stopped::Stopped;
pub use summary::StatisticsSummary;
