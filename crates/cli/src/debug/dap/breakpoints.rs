//! Breakpoints: on lines, on operators by a name or a type, on outputs, and on what goes wrong.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result};
use opscope::debug::{BreakpointId, BreakpointSpec, ModelId, Moment, ProgramLine, Target, Watched};
use serde_json::{Value, json};

use super::frames;
use super::messages::{DataBreakpoint, Filter, FunctionBreakpoint, Source, SourceBreakpoint};
use super::program::Program;
use super::python::is_python;

/// A set of breakpoints, which a request of the editor replaces as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Set {
    Listing(ModelId),
    File(PathBuf),
    Functions,
    Data,
    Exceptions,
}

/// The breakpoints of a session.
#[derive(Debug, Default)]
pub struct Breakpoints {
    sets: HashMap<Set, Vec<BreakpointId>>,
}

/// The filters of exceptions: the name in the protocol, the name for people, and what a breakpoint watches for.
const EXCEPTIONS: [(&str, &str, Option<Watched>); 3] = [
    ("nan", "First NaN", Some(Watched::Nan)),
    ("infinity", "First infinity", Some(Watched::Infinite)),
    ("error", "Runs that fail", None),
];

/// Describes the filters of exceptions.
pub fn exception_filters() -> Value {
    let filter = |(name, label, watched): &(&str, &str, Option<Watched>)| json!({ "filter": name, "label": label, "default": watched.is_none() });
    EXCEPTIONS.iter().map(filter).collect()
}

impl Breakpoints {
    /// Replaces the breakpoints of a source. `counted_from_1` converts the editor's number of a line, and `shown`
    /// converts a number back.
    ///
    /// # Errors
    /// Returns an error if the source is unknown or the program is gone. What is wrong with a single breakpoint is in
    /// its description.
    pub fn set_lines(
        &mut self,
        program: &Program,
        source: &Source,
        wanted: &[SourceBreakpoint],
        counted_from_1: impl Fn(u32) -> u32,
        shown: impl Fn(u32) -> u32,
    ) -> Result<Value> {
        let listed = match (source.source_reference, &source.path) {
            (0, Some(path)) => frames::model_of_path(program, path)?,
            (0, None) => None,
            (reference, _) => Some(frames::model_of(program, reference)?),
        };
        if let Some(model) = listed.map(|listed| listed.model) {
            return self.replace(program, Set::Listing(model), wanted, |breakpoint| {
                let line = counted_from_1(breakpoint.line);
                let operator = line.checked_sub(1).context("lines of a listing begin with the first operator")?;
                let spec = specified(Target::Index(operator), &breakpoint.filter)?;
                let id = program.client.add_breakpoint(BreakpointSpec { model: Some(model), ..spec })?.id;
                Ok((vec![id], json!({ "line": shown(line), "source": source_of(source) })))
            });
        }
        let path = source.path.clone().context("a source has neither a path nor the number of a listing")?;
        self.replace(program, Set::File(path.clone()), wanted, |breakpoint| {
            let line = counted_from_1(breakpoint.line);
            if is_python(&path) && program.finds_operators()? {
                // The operators that the line calls may be found later.
                let target = Target::Line(ProgramLine { file: path.display().to_string(), line });
                let id = program.client.add_breakpoint(specified(target, &breakpoint.filter)?)?.id;
                return Ok((vec![id], json!({ "line": shown(line), "source": source_of(source) })));
            }
            let (model, line, operators) = frames::operators_of_line(program, &path, line)?;
            // Without a condition, the run stops once for the line; with one, wherever it holds.
            let most = if breakpoint.filter.condition.is_some() { operators.len() } else { 1 };
            let add = |&operator: &u32| -> Result<BreakpointId> {
                let spec = specified(Target::Index(operator), &breakpoint.filter)?;
                Ok(program.client.add_breakpoint(BreakpointSpec { model: Some(model), ..spec })?.id)
            };
            let ids = operators.iter().take(most).map(add).collect::<Result<Vec<_>>>()?;
            Ok((ids, json!({ "line": shown(line), "source": source_of(source) })))
        })
    }

    /// Replaces the breakpoints on operators.
    ///
    /// # Errors
    /// Returns an error if the program is gone.
    pub fn set_functions(&mut self, program: &Program, wanted: &[FunctionBreakpoint]) -> Result<Value> {
        self.replace(program, Set::Functions, wanted, |breakpoint| {
            let spec = specified(breakpoint.name.parse()?, &breakpoint.filter)?;
            Ok((vec![program.client.add_breakpoint(spec)?.id], json!({})))
        })
    }

    /// Replaces the breakpoints on outputs.
    ///
    /// # Errors
    /// Returns an error if the program is gone.
    pub fn set_data(&mut self, program: &Program, wanted: &[DataBreakpoint]) -> Result<Value> {
        self.replace(program, Set::Data, wanted, |breakpoint| {
            let (model, operator) = operator_of(&breakpoint.data_id)?;
            let spec = specified(Target::Index(operator), &breakpoint.filter)?;
            let spec = BreakpointSpec { model: Some(model), moment: Some(Moment::After), ..spec };
            Ok((vec![program.client.add_breakpoint(spec)?.id], json!({})))
        })
    }

    /// Chooses which exceptions stop a run.
    ///
    /// # Errors
    /// Returns an error if the program is gone.
    pub fn set_exceptions(&mut self, program: &Program, wanted: &[String]) -> Result<Value> {
        let fails = wanted.iter().any(|filter| filter == "error");
        program.inbox.hold_failures.store(fails, Ordering::Relaxed);
        self.replace(program, Set::Exceptions, wanted, |filter| {
            let (_, _, watched) = EXCEPTIONS.iter().find(|(name, ..)| name == filter).with_context(|| {
                format!("'{filter}' is not a filter; the filters are {}", EXCEPTIONS.map(|(name, ..)| name).join(", "))
            })?;
            let ids = match watched {
                Some(watched) => vec![program.client.add_breakpoint(BreakpointSpec::at(Target::First(*watched)))?.id],
                None => Vec::new(),
            };
            Ok((ids, json!({})))
        })
    }

    /// Removes a set of breakpoints and adds others. `add` adds those for one of the editor's breakpoints. It returns
    /// their numbers, and the editor's description of the breakpoint.
    fn replace<T>(
        &mut self,
        program: &Program,
        set: Set,
        wanted: &[T],
        add: impl Fn(&T) -> Result<(Vec<BreakpointId>, Value)>,
    ) -> Result<Value> {
        for id in self.sets.remove(&set).unwrap_or_default() {
            // A one-shot breakpoint may be gone.
            let _ = program.client.remove_breakpoint(id);
        }
        let mut ids = Vec::new();
        let describe = |one: &T| match add(one) {
            Ok((added, mut description)) => {
                description["verified"] = true.into();
                if let Some(first) = added.first() {
                    description["id"] = first.0.into();
                }
                ids.extend(added);
                description
            }
            Err(error) => json!({ "verified": false, "message": format!("{error:#}") }),
        };
        let described: Vec<Value> = wanted.iter().map(describe).collect();
        if let Some(error) = program.client.gone() {
            return Err(error.into());
        }
        self.sets.insert(set, ids);
        Ok(json!({ "breakpoints": described }))
    }
}

/// Returns the name of an output in requests about data.
pub fn data_id(model: ModelId, operator: u32) -> String {
    format!("{}/{operator}", model.0)
}

fn operator_of(data_id: &str) -> Result<(ModelId, u32)> {
    let numbers =
        data_id.split_once('/').and_then(|(model, operator)| Some((model.parse().ok()?, operator.parse().ok()?)));
    let (model, operator) = numbers.with_context(|| format!("'{data_id}' was not made by dataBreakpointInfo"))?;
    Ok((ModelId(model), operator))
}

fn specified(target: Target, filter: &Filter) -> Result<BreakpointSpec> {
    let condition = filter.condition.clone().filter(|condition| !condition.trim().is_empty());
    let (ignore, one_shot) = match filter.hit_condition.as_deref().map(str::trim) {
        None | Some("") => (0, false),
        Some(hits) => ignored(hits).with_context(|| {
            let right = "3 to stop at the third one and those after it, == 3 to stop at the third one only, or > 3";
            format!("'{hits}' is not a number of hits; right is, for example, {right}")
        })?,
    };
    Ok(BreakpointSpec { condition, ignore, one_shot, ..BreakpointSpec::at(target) })
}

/// Returns how many hits a condition on their number ignores, and whether it holds only once.
fn ignored(hits: &str) -> Option<(u64, bool)> {
    let digits = hits.trim_start_matches(['=', '>']);
    let number: u64 = digits.trim_start().parse().ok()?;
    match &hits[..hits.len() - digits.len()] {
        "" | ">=" => Some((number.checked_sub(1)?, false)),
        ">" => Some((number, false)),
        "==" => Some((number.checked_sub(1)?, true)),
        _ => None,
    }
}

/// Describes the source of a breakpoint by what the editor has called it. Visual Studio Code takes a listing of another path
/// for another one, also if it has the same number.
fn source_of(source: &Source) -> Value {
    match (&source.path, source.source_reference) {
        (Some(path), 0) => json!({ "path": path }),
        (Some(path), reference) => json!({ "path": path, "sourceReference": reference }),
        (None, reference) => json!({ "sourceReference": reference }),
    }
}
