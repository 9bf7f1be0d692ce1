//! Async events, as many as a run can emit, to a reader that drains them.

use opscope::debug::server::{Listen, ServerOptions};
use opscope::debug::{AttachOptions, Debugger, EventName, EventSet};
use opscope::model::{Fidelity, Instrument};

use opscope_bench::{Case, Goal, Judged, Measured, times};

use super::child::Other;
use super::detached::{info, run};
use crate::support::{Ready, models, ready};

const EVENTS: u64 = 1_000_000;

/// Runs a model until another process has received a million operator events.
pub fn a_million() {
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let socket = directory.path().join("socket");
    let debugger = Debugger::new().expect("there are descriptors");
    let server = debugger.serve(ServerOptions { listen: Listen::At(socket.clone()) }).expect("it listens");
    let ready = ready(&models().join("tiny_transformer.onnx"), Fidelity::Optimised);
    let each = events_of_a_run(&debugger, &ready);
    let runs = times(EVENTS, 10_000).div_ceil(each);
    let raised = runs * each;
    let mut other = Other::start("drain", &socket, raised);
    other.wait_until_attached();
    for _ in 0..runs {
        let info = info(&ready);
        run(&ready, &*debugger.observe(&info));
    }
    let numbers = other.numbers();
    drop(server);
    let &[delivered, coalesced, nanos] = &numbers[0][..] else { panic!("three numbers") };
    let goal = Goal::AtLeast(100.0);
    let judged = Judged::alone(Measured::exactly(100.0 * (delivered - coalesced) as f64 / raised as f64));
    let peer = ("delivered, events/s", delivered as f64 / (nanos as f64 / 1e9));
    let case = format!("{raised} async events to another process that reads them, delivered");
    Case { bench: "events", case, judged, unit: "%", peer, floor: None, goal }.print();
}

fn events_of_a_run(debugger: &Debugger, ready: &Ready) -> u64 {
    let events = EventSet::ALWAYS.with(EventName::OperatorFinished);
    let options = AttachOptions { events, ..AttachOptions::default() };
    let attachment = debugger.attach(options).expect("no other debugger is attached");
    let before = attachment.status().expect("it is attached").asynchronous.raised;
    let info = info(ready);
    run(ready, &*debugger.observe(&info));
    attachment.status().expect("it is attached").asynchronous.raised - before
}
