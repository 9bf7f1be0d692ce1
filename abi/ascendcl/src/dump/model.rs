//! The dumps of models that are loaded.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opscope::Session;
use opscope::benchmark::{CaptureSpec, apply_acl_json};
use opscope::dump::ascend::AscendSink;
use opscope::dump::{Delivery, Dumper, IoSelection, Request, Selection};
use opscope::model::{Capabilities, Instrument, RunInfo, RunObserver};
use opscope::profile::ProfilerOptions;
use opscope::tensor::Tensor;

use super::settings::{Settings, with_state};
use super::target::ModelTarget;
use crate::border::{Failure, codes, note};

/// The dumpers of the models that are dumped, by the models' ids.
static DUMPERS: Mutex<Option<HashMap<u32, Arc<Dumper>>>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<HashMap<u32, Arc<Dumper>>>> {
    DUMPERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether a model that is loaded now has to show every operator.
pub fn wants_exact() -> bool {
    with_state(|state| state.settings()).is_some()
}

/// Decides whether a model that was just loaded is dumped, with the settings of this moment.
pub fn loaded(model_id: u32, session: &Session) {
    let Some(settings) = with_state(|state| state.settings()) else { return };
    let Some(request) = request(&settings, session) else { return };
    let to_disk = settings.section.is_some();
    let target = ModelTarget { directory: settings.directory, model_id, to_disk, runs: HashMap::new() };
    let dumper = Dumper::new();
    let sink = AscendSink::new(target, super::queue::piece_size());
    match dumper.subscribe(Box::new(sink), request) {
        Ok(_) => drop(lock().get_or_insert_default().insert(model_id, Arc::new(dumper))),
        Err(error) => note(format!("EE1001: model {model_id} is not dumped: {error}")),
    }
}

/// Ends the dump of a model that was unloaded. What is queued stays there.
pub fn unloaded(model_id: u32) {
    let ended = lock().get_or_insert_default().remove(&model_id);
    end(ended.into_iter());
}

/// Ends the dumps of all models. They are not dumped any more, though they stay loaded.
pub fn end_all() {
    let ended = lock().take().unwrap_or_default();
    end(ended.into_values());
}

fn end(dumpers: impl Iterator<Item = Arc<Dumper>>) {
    for dumper in dumpers {
        if let Ok(report) = dumper.finish()
            && !report.is_complete()
        {
            let errors = report.subscriptions.iter().flat_map(|subscription| subscription.errors.clone());
            note(format!("EE1001: the dump is not complete: {}", errors.collect::<Vec<_>>().join("; ")));
        }
    }
}

/// Returns the instruments of a run.
pub fn instruments(
    model_id: u32,
    session: &Session,
    inputs: &[Tensor],
    stream_id: i32,
) -> Result<Vec<Box<dyn Instrument>>, Failure> {
    let Some(dumper) = lock().get_or_insert_default().get(&model_id).cloned() else { return Ok(Vec::new()) };
    let failed = |error: &dyn std::fmt::Display| Failure::new(codes::RT_MODEL_EXECUTE, "EE1001", error.to_string());
    let plan = session.plan(inputs).map_err(|error| failed(&error))?;
    dumper.add_plan(&**session.model(), &*plan).map_err(|error| failed(&error))?;
    Ok(vec![Box::new(Shared(dumper))])
}

/// A dumper that several runs share.
struct Shared(Arc<Dumper>);

impl Instrument for Shared {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn requires(&self) -> Capabilities {
        self.0.requires()
    }

    fn observe<'a>(&'a self, run: &RunInfo<'a>) -> Box<dyn RunObserver + 'a> {
        self.0.observe(run)
    }
}

/// Returns what is captured of a model, or `None` if the settings do not mean it.
fn request(settings: &Settings, session: &Session) -> Option<Request> {
    let selection = match &settings.section {
        None => Selection { io: IoSelection::Outputs, ..Selection::default() },
        Some(config) => match apply_acl_json(config, session.graph(), Path::new(""), &ProfilerOptions::default()) {
            Ok((CaptureSpec::Dump { request, .. }, _)) => request.selection,
            Ok(_) => return None,
            Err(error) => {
                note(format!("EP0003: the model is not dumped: {error}"));
                return None;
            }
        },
    };
    // On the thread of the run: the queue before the callback is this library's own.
    Some(Request { selection, delivery: Some(Delivery::Direct), ..Request::default() })
}
