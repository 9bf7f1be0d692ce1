//! NaN and infinity in outputs, and where they come from.

use std::sync::{Arc, Weak};

use opscope_debug::{AttachOptions, Attachment, BreakpointSpec, Debugger, EventKind, Queue, Resume};
use opscope_sys::Mutex;
use opscope_tensor::{ScanQuery, ScanResult, Tensor, TensorView};

use super::Observed;

/// Returns whether a tensor has NaN or infinite elements.
pub fn has_non_finite(view: &TensorView<'_>) -> bool {
    ScanResult::of(view, ScanQuery::NON_FINITE).is_ok_and(|found| found.nan + found.infinite > 0)
}

impl Observed {
    /// Runs once more and returns the operator that makes the first NaN or infinity of finite inputs, or why it is not
    /// known.
    pub fn first_non_finite(&self, inputs: &[Tensor]) -> String {
        self.search(inputs).unwrap_or_else(|reason| format!("the operator is not known: {reason}"))
    }

    fn search(&self, inputs: &[Tensor]) -> Result<String, String> {
        let model = self.exact()?;
        let debugger = Debugger::new().map_err(|error| error.to_string())?;
        let options = AttachOptions { name: "libopscope_ort".to_owned(), ..AttachOptions::default() };
        let client = Arc::new(debugger.attach(options).map_err(|error| error.to_string())?);
        let place = BreakpointSpec::at("first nonfinite".parse().map_err(|error| format!("{error}"))?);
        client.add_breakpoint(place).map_err(|error| error.to_string())?;
        let found: Arc<Mutex<Option<String>>> = Arc::default();
        let (noted, events) = (Arc::clone(&found), Arc::downgrade(&client));
        let notify = Box::new(move || acknowledge(&events, &noted));
        client.set_notification_callback(Some(notify)).map_err(|error| error.to_string())?;
        let outcome = model.run(inputs, &debugger);
        let _ = client.detach();
        let found = found.lock().take();
        match (found, outcome) {
            (Some(place), _) => Ok(place),
            (None, Ok(_)) => Ok("no operator makes it of finite inputs".to_owned()),
            (None, Err(error)) => Err(error.to_string()),
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
