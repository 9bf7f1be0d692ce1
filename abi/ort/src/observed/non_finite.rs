//! NaN and infinity in outputs, and where they come from.

use std::sync::{Arc, Weak};

use opscope_debug::{AttachOptions, Attachment, BreakpointSpec, DebugError, Debugger, EventKind, Queue, Resume};
use opscope_sys::Mutex;
use opscope_tensor::{ScanQuery, ScanResult, Tensor, TensorView};

use super::{Failure, Observed};

/// Returns whether a tensor has NaN or infinite elements.
pub fn has_non_finite(view: &TensorView<'_>) -> bool {
    ScanResult::of(view, ScanQuery::NON_FINITE).is_ok_and(|found| found.nan + found.infinite > 0)
}

impl Observed {
    /// Runs once more and returns the operator that computes the first NaN or infinity from finite inputs, or why it is
    /// not known.
    pub fn first_non_finite(&self, inputs: &[Tensor]) -> String {
        self.search(inputs).unwrap_or_else(|error| format!("the operator is not known: {error}"))
    }

    fn search(&self, inputs: &[Tensor]) -> Result<String, Failure> {
        let model = self.exact().map_err(Clone::clone)?;
        let debugger = Debugger::new()?;
        let options = AttachOptions { name: "libopscope_ort".to_owned(), ..AttachOptions::default() };
        let client = Arc::new(debugger.attach(options)?);
        let place = BreakpointSpec::at("first nonfinite".parse().map_err(DebugError::Target)?);
        client.add_breakpoint(place)?;
        let found: Arc<Mutex<Option<String>>> = Arc::default();
        let (noted, events) = (Arc::clone(&found), Arc::downgrade(&client));
        let notify = Box::new(move || acknowledge(&events, &noted));
        client.set_notification_callback(Some(notify))?;
        let outcome = model.run(inputs, &debugger);
        let _ = client.detach();
        let found = found.lock().take();
        match (found, outcome) {
            (Some(place), _) => Ok(place),
            (None, Ok(_)) => Ok("no operator computes it from finite inputs".to_owned()),
            (None, Err(error)) => Err(error.into()),
        }
    }
}

/// Reads and acknowledges the events of a run. Ends the run once the operator is found.
fn acknowledge(client: &Weak<Attachment>, found: &Mutex<Option<String>>) {
    let Some(client) = client.upgrade() else { return };
    while let Ok(Some(event)) = client.next_event(Queue::Sync) {
        let resume = match &event.kind {
            EventKind::Exception { .. } => {
                *found.lock() = Some(event.to_string());
                Resume::Abort("the operator is found".to_owned())
            }
            _ => Resume::Continue,
        };
        let _ = client.acknowledge(event.sequence, resume);
    }
}
