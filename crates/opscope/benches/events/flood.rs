//! Async events, as many as a run can raise, to a reader that drains them.

use opscope::debug::Debugger;
use opscope::debug::server::{Listen, ServerOptions};
use opscope::model::{Fidelity, Instrument};

use super::child::Other;
use super::detached::{info, run};
use crate::support::{Case, ready, smallest};

const EVENTS: u64 = 1_000_000;

/// Runs a model until a million operators were told to another process.
pub fn a_million() {
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let socket = directory.path().join("socket");
    let debugger = Debugger::new().expect("there are descriptors");
    let server = debugger.serve(ServerOptions { listen: Listen::At(socket.clone()) }).expect("it listens");
    let ready = ready(&smallest(), Fidelity::Exact);
    let runs = EVENTS.div_ceil(ready.plan.kernels().len() as u64);
    let raised = runs * ready.plan.kernels().len() as u64;
    let mut other = Other::start("drain", &socket, raised);
    other.wait_until_attached();
    for _ in 0..runs {
        let info = info(&ready);
        run(&ready, &*debugger.observe(&info));
    }
    let numbers = other.numbers();
    drop(server);
    let &[delivered, coalesced, nanos] = &numbers[0][..] else { panic!("three numbers") };
    Case {
        bench: "events",
        case: "a million async events to a draining reader in another process".to_owned(),
        value: delivered as f64 / (nanos as f64 / 1e9),
        interval: None,
        unit: "events/s",
        peer: "raised".to_owned(),
        peer_value: raised as f64,
        floor: None,
        goal: format!("all delivered; {delivered} were, and {coalesced} folded into others"),
        met: delivered == raised && coalesced == 0,
    }
    .print();
}
