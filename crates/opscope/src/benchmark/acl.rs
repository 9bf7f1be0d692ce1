//! From an `acl.json` to what watches the runs.

use std::path::Path;
use std::time::Duration;

use opscope_dump::{BlacklistEntry, Io, IoSelection, Pattern, Position, Request, Selection};
use opscope_onnx::Graph;
use opscope_profile::ProfilerOptions;

use super::{DumpForm, Instrumentation};
use crate::acl_json::{
    AclConfig, DumpContent, DumpMode, DumpSection, ModelNames, Note, Place, Problem, ProblemKind, ProfilerSection,
    Slot, TaskTime,
};

/// Why an `acl.json` does not go with a model.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct AclError(pub Vec<Problem>);

/// Checks an `acl.json` against a model and gives what it asks for, with what a user should know of it. Data goes to
/// `<the file's own directory>/<run_name>`.
///
/// # Errors
/// Every name in the file that the model does not have, or that the file leaves out everything.
pub fn apply(
    config: &AclConfig,
    graph: &Graph,
    run_name: &Path,
    defaults: &ProfilerOptions,
) -> Result<(Instrumentation, Vec<Note>), AclError> {
    let operators: Vec<(&str, &str)> =
        graph.operators.iter().map(|operator| (operator.name.as_str(), operator.op_type.as_str())).collect();
    let file_stem = ModelNames::file_stem(&graph.source.path);
    let names = ModelNames { file_stem, graph: &graph.name, operators: &operators };
    let notes = config.check(&names).map_err(AclError)?;
    let instrumentation = match (&config.dump, &config.profiler) {
        (Some(dump), _) => Instrumentation::Dump {
            directory: dump.path.join(run_name).components().collect(),
            request: Box::new(Request { selection: selection(dump, &names)?, ..Request::default() }),
            form: match dump.content {
                DumpContent::Tensors => DumpForm::Npy,
                DumpContent::Statistics(_) => DumpForm::Statistics,
            },
        },
        (None, Some(profiler)) => Instrumentation::Profiler {
            directory: profiler.output.join(run_name).components().collect(),
            options: Box::new(options(profiler, defaults)),
            exports: Vec::new(),
        },
        (None, None) => Instrumentation::None,
    };
    Ok((instrumentation, notes))
}

/// Names every operator that is captured, and the slots of it that are not. So one selection holds whatever several
/// entries of the list say of one model.
fn selection(dump: &DumpSection, model: &ModelNames<'_>) -> Result<Selection, AclError> {
    // More slots than an operator has do no harm; no operator of ONNX has so many.
    const MOST_SLOTS: usize = 64;
    let captures = dump.captures(model);
    let mut selection = Selection {
        io: match dump.mode {
            DumpMode::Input => IoSelection::Inputs,
            DumpMode::Output => IoSelection::Outputs,
            DumpMode::All => IoSelection::All,
        },
        runs: dump.runs.clone().unwrap_or_default(),
        ..Selection::default()
    };
    let slots = || {
        (0..MOST_SLOTS).flat_map(|slot| [(Slot::Input(slot), Io::Input, slot), (Slot::Output(slot), Io::Output, slot)])
    };
    let side = |io: Io| selection.io.contains(io);
    let mut operators = Vec::new();
    let mut blacklist = Vec::new();
    for (index, (name, _)) in model.operators.iter().enumerate() {
        let (inside, outside): (Vec<_>, Vec<_>) =
            slots().filter(|(_, io, _)| side(*io)).partition(|(slot, _, _)| captures.contains(index, *slot));
        if inside.is_empty() {
            continue;
        }
        operators.push(Pattern::Exact((*name).to_owned()));
        if !outside.is_empty() {
            let positions = outside.into_iter().map(|(_, io, slot)| Position { io, slot }).collect();
            blacklist.push(BlacklistEntry { name: (*name).to_owned(), positions });
        }
    }
    if operators.is_empty() {
        let (what, right) = ("it leaves out every tensor of this model", "leave less out, or name other operators");
        let place = Place::Pointer("/dump/dump_list".to_owned());
        return Err(AclError(vec![Problem::new(ProblemKind::Model, place, what.to_owned(), right.to_owned())]));
    }
    // An empty list means all, so where all are captured nothing is listed.
    if operators.len() < model.operators.len() {
        selection.operators = operators;
    }
    selection.name_blacklist = blacklist;
    Ok(selection)
}

fn options(profiler: &ProfilerSection, defaults: &ProfilerOptions) -> ProfilerOptions {
    let mut options = defaults.clone();
    let rates = [profiler.hardware_memory, profiler.cpu, profiler.host_usage.map(|usage| usage.rate)];
    options.switches.dispatches = profiler.task_time != TaskTime::Off;
    options.switches.calls = profiler.runtime_api;
    options.switches.machine_memory = profiler.hardware_memory.is_some();
    options.switches.processors = profiler.cpu.is_some();
    options.switches.machine = profiler.host_usage.is_some_and(|usage| usage.cpu);
    options.switches.process = profiler.host_usage.is_some_and(|usage| usage.memory);
    // One thread samples all counters, as often as the most frequent one asks for.
    if let Some(fastest) = rates.into_iter().flatten().map(|rate| rate.0).max().filter(|&rate| rate > 0) {
        options.sample_interval = Duration::from_secs(1) / fastest.min(u64::from(u32::MAX)) as u32;
    }
    options
}
