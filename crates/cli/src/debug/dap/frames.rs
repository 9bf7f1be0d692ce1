//! Where a run is stopped: its operator, the loops around it, the modules of the program that it was exported from.

use anyhow::Result;
use opscope::debug::{Event, LoadedModel, Location, Moment, Sequence};
use serde_json::{Value, json};

use super::program::Program;
use super::sources;

/// The frames of stopped runs that the editor knows, by their numbers. The number of a run's innermost frame is that of
/// the event at which the run is stopped, so it never names another stop.
#[derive(Debug, Default)]
pub struct Frames;

/// The first number of frames outside of the operator. There is nothing to look at in them.
const OUTER: u64 = 1 << 40;

impl Frames {
    /// Describes the frames of a stopped run, the innermost first. `shown` returns the editor's number of a line.
    ///
    /// # Errors
    /// Returns an error if the program is gone.
    pub fn of(program: &Program, stop: &Event, shown: impl Fn(u32) -> u32) -> Result<Vec<Value>> {
        let Some(position) = stop.kind.position() else {
            return Ok(vec![json!({ "id": stop.sequence.0, "name": stop.to_string(), "line": 0, "column": 0 })]);
        };
        let models = program.models()?;
        let Some(model) = models.iter().find(|model| model.model == position.model).or(models.first()) else {
            return Ok(Vec::new());
        };
        // A run that failed has no tensors left, but it has a place.
        let location = program.client.location(stop.sequence).ok();
        let origin = location.as_ref().and_then(|location| location.origin.as_ref());
        let (source, line) = sources::place(model, position.operator, origin);
        let moment = match position.moment {
            Moment::Before => "before",
            Moment::After => "after",
        };
        let name = format!("{moment} {} ({})", position.name, position.op_type);
        let mut frames =
            vec![json!({ "id": stop.sequence.0, "name": name, "source": source, "line": shown(line), "column": 1 })];
        let mut outer = |name: String| {
            let id = OUTER + frames.len() as u64;
            frames.push(json!({ "id": id, "name": name, "line": 0, "column": 0, "presentationHint": "subtle" }));
        };
        for around in position.iterations.iter().rev() {
            outer(format!("{}, iteration {}", around.operator, around.index));
        }
        for module in origin.iter().flat_map(|origin| origin.modules.iter().rev()) {
            let class = module.class.rsplit('.').next().unwrap_or_default();
            outer(if class.is_empty() { module.path.clone() } else { format!("{} ({class})", module.path) });
        }
        outer(run_name(position.run.0, model));
        Ok(frames)
    }

    /// Returns the event at which the run of a frame is stopped; `None` for a frame in which there is nothing to look
    /// at.
    pub fn stop(id: u64) -> Option<Sequence> {
        (id > 0 && id < OUTER).then_some(Sequence(id))
    }
}

/// The groups of tensors at a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Inputs,
    Outputs,
    Weights,
    Attributes,
}

impl Scope {
    /// Returns the groups that have something.
    pub fn of(location: &Location) -> Vec<Self> {
        let groups = [
            (Scope::Inputs, location.inputs.len()),
            (Scope::Outputs, location.outputs.len()),
            (Scope::Weights, location.weights.len()),
            (Scope::Attributes, location.attributes.len()),
        ];
        groups.into_iter().filter(|(_, count)| *count > 0).map(|(scope, _)| scope).collect()
    }

    /// Returns its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Inputs => "Inputs",
            Scope::Outputs => "Outputs",
            Scope::Weights => "Weights",
            Scope::Attributes => "Attributes",
        }
    }
}

/// Describes the runs in progress as threads.
///
/// # Errors
/// Returns an error if the program is gone.
pub fn threads(program: &Program) -> Result<Value> {
    let status = program.client.status()?;
    let name = |run: &opscope::debug::RunState| match status.models.iter().find(|model| model.model == run.model) {
        Some(model) => run_name(run.run.0, model),
        None => format!("run {}", run.run.0),
    };
    let threads: Vec<Value> = status.runs.iter().map(|run| json!({ "id": run.run.0 + 1, "name": name(run) })).collect();
    Ok(json!({ "threads": threads }))
}

fn run_name(run: u64, model: &LoadedModel) -> String {
    format!("run {run} of {}", model.name)
}
