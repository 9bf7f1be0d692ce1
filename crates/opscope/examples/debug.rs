//! Stops a model at the first operator that computes a NaN, and prints which one it is and the shape of its input.
//!
//!     cargo run --example debug -- models/fixtures/nan.onnx models/fixtures/nan.input.x.npy

use std::error::Error;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;

use opscope::Session;
use opscope::debug::{AttachOptions, BreakpointSpec, Debugger, EventName, Queue, Resume};
use opscope::model::Fidelity;
use opscope::tensor::npy;

/// Returns the first operator that computes a NaN, with the shape of its input.
pub fn first_nan(model: &Path, input: &Path) -> Result<Option<String>, Box<dyn Error>> {
    let (session, inputs) = (Session::load(model, Fidelity::Exact, NonZeroUsize::MIN)?, [npy::read_file(input)?]);
    let debugger = Debugger::new()?;
    let client = debugger.attach(AttachOptions::default())?;
    client.add_breakpoint(BreakpointSpec::at("first nan".parse()?))?;
    let (notify, notified) = channel();
    client.set_notification_callback(Some(Box::new(move || _ = notify.send(()))))?;
    thread::scope(|scope| {
        scope.spawn(|| {
            let _shown = session.shown_to(&debugger); // until it is dropped, the debugger knows the model
            session.run(&inputs, &[&debugger]).map(drop)
        });
        let mut found = None;
        loop {
            notified.recv()?;
            while let Some(event) = client.next_event(Queue::Sync)? {
                if event.kind.stop_cause().is_some() {
                    // The run waits, and its tensors are available on its own thread.
                    let operand = "input[0]".parse()?;
                    let shape = client.look(event.sequence, move |stopped| {
                        stopped.tensor(&operand).map(|view| view.shape().to_vec())
                    })??;
                    found = Some(format!("{event}; its input has the shape {shape:?}"));
                }
                client.acknowledge(event.sequence, Resume::Continue)?;
                if event.kind.name() == EventName::ModelUnloaded {
                    return Ok(found);
                }
            }
        }
    })
}

#[allow(dead_code, reason = "a test calls the function above")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, input] = &arguments[..] else { return Err("usage: debug MODEL INPUT.npy".into()) };
    println!("{}", first_nan(model.as_ref(), input.as_ref())?.unwrap_or("no operator computes a NaN".to_owned()));
    Ok(())
}
