//! The dumps of loaded models.

use std::collections::{BTreeMap, HashMap};
use std::mem::{forget, take};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use opscope::Session;
use opscope::dump::ascend::AscendSink;
use opscope::dump::{Delivery, Dumper, IoSelection, Request, Selection, Sink, SubscriptionReport};
use opscope::model::{EngineError, Instrument};
use opscope::tensor::Tensor;
use opscope_acl_json::{DumpContent, DumpSection};

use super::queue::{piece_size, wait_for_runs};
use super::settings::{ModelTarget, SETTINGS, Settings};
use super::statistics::StatisticsSink;
use crate::border::note;
use crate::forks::Shared;

/// A model that is dumped.
#[derive(Clone)]
struct Dumped {
    dumper: Arc<Dumper>,
    /// The stream of the run in progress. Runs of one model do not overlap.
    stream: Arc<AtomicI32>,
}

/// The dumped models, by their ids. In the child of a fork, they still belong to the parent, and the locks of a dumper
/// may be held forever.
static DUMPED: Shared<BTreeMap<u32, Dumped>> =
    Shared::new(BTreeMap::new(), || DUMPED.held(|dumped| forget(take(dumped))));

/// Returns whether a model that is loaded now has to expose every operator.
pub fn wants_exact() -> bool {
    SETTINGS.read().settings().is_some()
}

/// Decides, by the current settings, whether a model that was just loaded is dumped.
pub fn loaded(model_id: u32, session: &Session) {
    let Some(settings) = SETTINGS.read().settings() else { return };
    let Some(request) = request(&settings, session) else { return };
    let stream = Arc::new(AtomicI32::new(0));
    let target = ModelTarget {
        directory: settings.directory.clone(),
        model_id,
        to_disk: settings.section.is_some(),
        runs: HashMap::new(),
        stream: Arc::clone(&stream),
    };
    let dumper = Arc::new(Dumper::new());
    match dumper.subscribe(sink(settings.section.as_ref(), target), request) {
        Ok(_) => drop(DUMPED.lock().insert(model_id, Dumped { dumper, stream })),
        Err(error) => note(format!("EE1001: model {model_id} is not dumped: {error}")),
    }
}

/// Returns the sink that makes the files: files of all tensors, of operators that overflowed, or of statistics.
fn sink(section: Option<&DumpSection>, target: ModelTarget) -> Box<dyn Sink> {
    let model = target.model_id;
    let tensors = |target| AscendSink::new(target, piece_size());
    match section {
        Some(section) if section.overflow => Box::new(tensors(target).only_overflowed(model)),
        Some(DumpSection { content: DumpContent::Statistics(chosen), .. }) => {
            Box::new(StatisticsSink::new(target, chosen))
        }
        _ => Box::new(tensors(target)),
    }
}

/// Ends the dump of a model that was unloaded. Queued chunks are still delivered.
pub fn unloaded(model_id: u32) {
    let ended = DUMPED.lock().remove(&model_id);
    ended.into_iter().for_each(end);
}

/// Ends the dumps of all models. The models stay loaded, but are no longer dumped.
pub fn end_all() {
    let ended = take(&mut *DUMPED.lock());
    ended.into_values().for_each(end);
}

fn end(dumped: Dumped) {
    let Ok(report) = wait_for_runs(|| dumped.dumper.finish()) else { return };
    for SubscriptionReport { losses, errors, .. } in report.subscriptions {
        let missing = losses.named().first().map(|first| {
            format!("{} tensors are missing, the first is {}: {}", losses.count(), first.origin, first.reason)
        });
        if let Some(reason) = errors.first().or(missing.as_ref()) {
            note(format!("EE1001: the dump is not complete: {reason}"));
        }
    }
}

/// Returns the instrument that dumps a run; `None` if the model is not dumped. The number of the run's stream becomes
/// part of the files' names.
///
/// # Errors
/// Returns an error if the model cannot run with these inputs.
pub fn instrument(
    model_id: u32,
    session: &Session,
    inputs: &[Tensor],
    stream_id: i32,
) -> Result<Option<Box<dyn Instrument>>, EngineError> {
    let Some(dumped) = DUMPED.read().get(&model_id).cloned() else { return Ok(None) };
    let plan = session.plan(inputs)?;
    dumped.stream.store(stream_id, Ordering::Relaxed);
    // A run must not fail because its dump does.
    if let Err(error) = dumped.dumper.add_plan(&**session.model(), &*plan) {
        note(format!("EE1001: the dump is not complete: {error}"));
    }
    Ok(Some(Box::new(dumped.dumper)))
}

/// Returns what is captured of a model, or `None` if the settings do not select the model.
fn request(settings: &Settings, session: &Session) -> Option<Request> {
    let selection = match &settings.section {
        None => Selection { io: IoSelection::Outputs, ..Selection::default() },
        Some(section) => {
            let (selection, problems) = section.selection_as_vendor(session.graph());
            let what = if selection.is_some() {
                "the file names what the model does not have"
            } else {
                "the model is not dumped"
            };
            for problem in problems {
                note(format!("EP0003: {what}: {problem}"));
            }
            // Overflow is decided for whole operators, not for each tensor.
            Selection { only_non_finite: false, ..selection? }
        }
    };
    // The sink is called on the thread of the run, because this library has its own queue in front of the callback.
    Some(Request {
        selection,
        delivery: Some(Delivery::Direct),
        // A file has all inputs of its operator, including weights.
        constants_in_runs: true,
        ..Request::default()
    })
}
