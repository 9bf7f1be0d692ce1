//! Captures the tensors of runs and delivers them to sinks.
//!
//! A [`Dumper`] is an instrument. Every tensor that a subscription selects becomes a [`Stream`] of [`Piece`]s, which go
//! to the subscription's [`Sink`]: either on the engine's thread, which borrows the engine's memory, or through a
//! bounded queue. Every selected tensor that could not be delivered is listed as a [`Missing`].
//!
//! A program that writes the tensors of some runs to a directory of `.npy` files:
//!
//! ```no_run
//! # use std::{path::Path, sync::Arc};
//! # use opscope_dump::*;
//! # use opscope_model::*;
//! # fn dump(engine: &dyn Engine, model: &dyn Model, plan: Arc<dyn Plan>, inputs: &dyn DeviceTensors) -> Result<(), Box<dyn std::error::Error>> {
//! let graph = model.graph();
//! let selection = Selection { io: IoSelection::All, runs: "0|5-10".parse()?, ..Selection::default() };
//! selection.check(graph, u64::MAX).map_err(|problems| problems[0].to_string())?;
//!
//! let info = DumpInfo::new(graph, model.fidelity(), engine.name(), engine.version());
//! let sink = DirectorySink::create(Path::new("out/dump/today"), Contents::Tensors, &info)?;
//! let dumper = Dumper::new();
//! dumper.subscribe(Box::new(sink), Request { selection, ..Request::default() })?;
//!
//! dumper.add_plan(model, &*plan)?; // once per plan: delivers what was computed at load
//! for run in (0..20).map(RunId) {
//!     let info = RunInfo { id: run, graph, kernels: plan.kernels(), fidelity: model.fidelity() };
//!     plan.run(run, inputs, &*dumper.observe(&info))?;
//! }
//! let report = dumper.finish()?; // also after an error or a signal
//! println!("complete: {}", report.is_complete());
//! # Ok(())
//! # }
//! ```
//!
//! # Rooms
//!
//! Each file or folder is a room, and imports only from rooms below it:
//!
//! | room | what |
//! |---|---|
//! | `compare` | two dumps, or a run and a dump |
//! | `capture` | the dumper: selection, routes from kernels to tensors, queue, delivery |
//! | `written_files` | the files that a dump leaves, and closing a dump whose process ended early |
//! | `stored` | reading dumps back, and inspecting them |
//! | `sinks` | a file or folder for each format on disk |
//! | `csv`, `number` | tables as CSV; numbers as text |
//! | `manifest` | `manifest.json` |
//! | `index` | `index.jsonl` |
//! | `stream` | a tensor on its way: stream, piece, sink, flow control |
//! | `error` | what can be wrong |

#![forbid(unsafe_code)]

mod capture;
mod compare;
mod csv;
mod error;
mod index;
mod manifest;
mod number;
mod sinks;
#[cfg(test)]
mod snapshots;
mod stored;
mod stream;
mod written_files;

pub use capture::dumper::{Dumper, Handle};
pub use capture::estimate::Estimate;
pub use capture::selection::{BlacklistEntry, Chooser, IoSelection, OperatorRange, Position, Runs, Selection};
pub use capture::subscription::Request;
pub use compare::{
    Blame, CompareOptions, CompareSink, Comparer, Comparison, Divergence, InputRow, InputSets, Mapping, MatchBy,
    MatchedBy, ModuleMap, Noise, Order, Outcome, Row, SqnrDrop, Summary, Tolerances, Verdict, WrongMap,
    differing_initializers,
};
pub use error::DumpError;
pub use index::{INDEX, IndexLine, IndexStatistics, PHASE, State};
pub use manifest::{
    DumpInfo, EngineEntry, InFlightEntry, MANIFEST, Manifest, MissingEntry, ModelEntry, RawEntry, RunEntry, SCHEMA,
};
pub use opscope_onnx::Pattern;
pub use sinks::ascend;
pub use sinks::directory::{Contents, DirectorySink};
pub use sinks::format::DumpFormat;
pub use stored::index::{ExecutionPosition, Positions};
pub use stored::inspect::{Details, Inspection};
pub use stored::{
    DumpKind, KeepSink, Keeper, ProgramInput, Shards, StoredDump, StoredOrigin, StoredTensor, WrongShards,
};
pub use stream::outcome::Coverage;
pub use stream::outcome::InputEntry;
pub use stream::outcome::{Delivered, DumpReport, Ending, Losses, RunOutcome, SubscriptionReport};
pub use stream::sink::{Answer, Closed, MOST_ATTEMPTS, Sink};
pub use stream::sink::{Delivery, Flow, Policy};
pub use stream::{Io, Missing, Origin, Piece, Stream};
pub use written_files::WrittenFiles;
pub use written_files::{Abandoned, close_abandoned};
