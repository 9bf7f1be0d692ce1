//! `opscope attempt`: whether an engine runs a model. Then it prints the engine's version. It is hidden: another opscope asks it before
//! it recommends an engine.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use opscope::Session;
use opscope::inputs::ShapeSpec;
use opscope::model::{Fidelity, LoadOptions};
use rustix::process::Pid;

use super::asked::END;
use crate::child::die_with;
use crate::exit::{Exit, Failure};
use crate::options::{EngineArguments, FeedArguments};
use crate::terminal::print;

/// The arguments of `opscope attempt`.
#[derive(Debug, Args)]
pub struct AttemptArguments {
    /// The ONNX file
    model: PathBuf,
    /// The number of the process that asks; this one dies with it
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    parent: i32,
    #[command(flatten)]
    fed: FeedArguments,
    #[command(flatten)]
    engine: EngineArguments,
}

/// Runs the model once.
pub fn run(arguments: &AttemptArguments) -> Result<Exit, Failure> {
    let parent = Pid::from_raw(arguments.parent).ok_or_else(|| Failure::wrong_use("--parent: 0 is no process"))?;
    die_with(parent).map_err(Failure::failed)?;
    let spec = arguments.engine.spec(&std::env::vars_os().collect()).map_err(Failure::wrong_use)?;
    let engine = spec.open().map_err(|error| Failure::engine(&error))?;
    let version = engine.version().to_owned();
    let options = LoadOptions::new(Fidelity::Optimised, NonZeroUsize::MIN);
    let session = Session::open_with(engine, &arguments.model, &options).map_err(Failure::failed)?;
    let shapes = arguments.fed.shapes().map_err(Failure::wrong_use)?;
    let inputs = arguments.fed.inputs().map_err(Failure::wrong_use)?;
    let (inputs, _) =
        inputs.find(session.graph(), shapes.first().unwrap_or(&ShapeSpec::Smallest)).map_err(Failure::failed)?;
    let batch = inputs.batch(session.graph(), 0).map_err(Failure::failed)?;
    session.run(&batch.tensors, &[]).map_err(Failure::failed)?;
    print(format!("{version}\n{END}"))?;
    Ok(Exit::Done)
}
