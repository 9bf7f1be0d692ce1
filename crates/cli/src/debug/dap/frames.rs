//! Where a run is stopped: its operator, the loops around it, the modules of the program that it was exported from.
//!
//! Sources: the listing of a model, a line for each operator, and the lines of the program that it was exported from.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use opscope::debug::{Event, LoadedModel, Location, ModelId, Moment, Sequence};
use opscope::onnx::{CodeOrigin, SourceLine};
use serde_json::{Value, json};

use super::program::Program;

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
        let (source, line) = place(model, position.operator, origin);
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
        let code = program.client.backtrace(stop.sequence, 1).map(|backtrace| backtrace.code).unwrap_or_default();
        // The first call is where the operator is.
        for call in code.iter().skip(1) {
            let id = OUTER + frames.len() as u64;
            let (source, line) = (file(&call.source), shown(call.source.line));
            frames.push(json!({ "id": id, "name": call.function, "source": source, "line": line, "column": 1 }));
        }
        let id = OUTER + frames.len() as u64;
        let name = run_name(position.run.0, model);
        frames.push(json!({ "id": id, "name": name, "line": 0, "column": 0, "presentationHint": "subtle" }));
        Ok(frames)
    }

    /// Returns the event at which the run of a frame is stopped; `None` for a frame in which there is nothing to look
    /// at.
    pub fn stop(id: u64) -> Option<Sequence> {
        (id > 0 && id < OUTER).then_some(Sequence(id))
    }

    /// Returns the event at which the run of a frame is stopped. For another frame, or none, it is that of the run that
    /// is stopped first.
    ///
    /// # Errors
    /// Returns an error if no run is stopped.
    pub fn stop_or_first(program: &Program, id: u64) -> Result<Sequence> {
        let first = || program.inbox.stops().first().map(|stop| stop.sequence);
        Self::stop(id).or_else(first).context("no run is stopped")
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

/// Returns the number of a model's listing. 0 would be a file.
fn reference(model: ModelId) -> i64 {
    i64::from(model.0) + 1
}

/// Returns the model with this listing.
///
/// # Errors
/// Returns an error if no model has this listing, or the program is gone.
pub fn model_of(program: &Program, reference_given: i64) -> Result<LoadedModel> {
    let models = program.models()?;
    let found = models.into_iter().find(|model| reference(model.model) == reference_given);
    found
        .with_context(|| format!("there is no source {reference_given}; the sources are the listings of loaded models"))
}

/// Describes the listing of a model.
pub fn listing(model: &LoadedModel) -> Value {
    json!({
        "name": listing_name(model), "path": listing_path(model),
        "sourceReference": reference(model.model), "origin": "opscope", "presentationHint": "normal",
    })
}

/// Returns the model whose listing an editor shows under this path, if it is the path of a listing.
///
/// # Errors
/// Returns an error if the program is gone.
pub fn model_of_path(program: &Program, path: &Path) -> Result<Option<LoadedModel>> {
    // Editors put something of their own before the path, such as a directory or a scheme.
    Ok(program.models()?.into_iter().find(|model| path.ends_with(listing_path(model))))
}

/// Returns the path of a model's listing. There is no such file, but some editors know a source by its path alone.
fn listing_path(model: &LoadedModel) -> String {
    format!("opscope/{}/{}", reference(model.model), listing_name(model))
}

fn listing_name(model: &LoadedModel) -> String {
    let file = Path::new(&model.path).file_name().map(|name| name.to_string_lossy().into_owned());
    format!("{} (operators)", file.unwrap_or_else(|| model.name.clone()))
}

/// Describes the place of an operator: the line of the program that it was exported from, if that file is on this
/// machine, or else its line in the listing. The line is counted from 1.
pub fn place(model: &LoadedModel, operator: u32, origin: Option<&CodeOrigin>) -> (Value, u32) {
    let line = origin.and_then(|origin| origin.source.as_ref()).filter(|line| Path::new(&line.file).is_file());
    match line {
        Some(line) => (file(line), line.line),
        None => (listing(model), operator + 1),
    }
}

/// Describes the file of a line of a program.
fn file(line: &SourceLine) -> Value {
    let name = Path::new(&line.file).file_name().map(|name| name.to_string_lossy().into_owned());
    json!({ "name": name, "path": line.file })
}

/// Returns the text of a model's listing.
///
/// # Errors
/// Returns an error if the program is gone, or the model is not loaded any more.
pub fn text(program: &Program, model: ModelId) -> Result<String> {
    let mut text = String::new();
    let mut next = 1;
    loop {
        let part = program.client.source(model, next, usize::MAX)?;
        text.push_str(&part.text);
        next += part.lines as usize;
        if part.lines == 0 || next as u64 > part.total {
            return Ok(text);
        }
    }
}

/// Returns the operators that come from a line of a file, or from the next line that has any, with their model and the
/// number of that line.
///
/// # Errors
/// Returns an error if no operator comes from there, or the program is gone.
pub fn operators_of_line(program: &Program, file: &Path, line: u32) -> Result<(ModelId, u32, Vec<u32>)> {
    let mut is_known = false;
    for model in program.models()? {
        let mut lines: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for row in program.operators(&model)? {
            if let Some(source) = row.origin.and_then(|origin| origin.source)
                && (Path::new(&source.file) == file || file.ends_with(&source.file))
            {
                lines.entry(source.line).or_default().push(row.index);
            }
        }
        is_known |= !lines.is_empty();
        if let Some((line, operators)) = lines.range(line..).next() {
            return Ok((model.model, *line, operators.clone()));
        }
    }
    match is_known {
        true => anyhow::bail!("no operator of the model comes from this line or a later one"),
        false => {
            anyhow::bail!("no operator of the model comes from this file; set the breakpoint in the model's listing")
        }
    }
}
