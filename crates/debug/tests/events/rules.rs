//! The promises of CUDA's debugger interface about events, checked for ours.

use std::sync::Arc;

use opscope_debug::{AttachOptions, BreakpointSpec, Debugger, EventKind, EventName, EventSet, Moment, Queue, Resume};

use crate::fake::{Fake, PLAIN};
use crate::{start, stop};

#[test]
fn a_model_is_reported_when_it_is_loaded_and_breakpoints_set_then_are_hit() {
    let (debugger, fake) = (Debugger::new().unwrap(), Arc::new(Fake::new()));
    let events: EventSet = [EventName::ModelLoaded].into_iter().collect();
    let attachment = debugger.attach(AttachOptions { events, ..AttachOptions::default() }).unwrap();
    let run = start(&debugger, &fake, 3, PLAIN);
    let loaded = stop(&attachment);
    let EventKind::ModelLoaded { operators, .. } = loaded.kind else { panic!("{loaded:?}") };
    assert_eq!(operators as usize, fake.graph.operators.len());
    let breakpoint = attachment.add_breakpoint(BreakpointSpec::at("log".parse().unwrap())).unwrap();
    attachment.acknowledge(loaded.sequence, Resume::Continue).unwrap();

    let hit = stop(&attachment);
    let EventKind::Breakpoint { place, breakpoints } = &hit.kind else { panic!("{hit:?}") };
    assert_eq!((&*place.name, place.moment, &breakpoints[..]), ("log", Moment::Before, &[breakpoint.id][..]));
    assert!(!run.is_finished(), "the thread waits until its event is acknowledged");
    attachment.acknowledge(hit.sequence, Resume::Continue).unwrap();
    assert_eq!(run.join().unwrap().unwrap(), Fake::expected(PLAIN));
    assert!(attachment.next_event(Queue::Sync).unwrap().is_none());
}

#[test]
fn an_operator_is_reported_before_it_is_executed_and_after_it() {
    let (debugger, fake) = crate::program();
    let events: EventSet = [EventName::OperatorReady, EventName::OperatorFinished].into_iter().collect();
    let attachment = debugger.attach(AttachOptions { events, ..AttachOptions::default() }).unwrap();
    let run = start(&debugger, &fake, 1, PLAIN);
    for name in ["scale", "log", "sum"] {
        let ready = stop(&attachment);
        let EventKind::OperatorReady { place } = &ready.kind else { panic!("{ready:?}") };
        assert_eq!((&*place.name, place.moment), (name, Moment::Before));
        assert!(attachment.next_event(Queue::Async).unwrap().is_none(), "{name} is not finished while it waits");
        attachment.acknowledge(ready.sequence, Resume::Continue).unwrap();
        let finished = crate::next(&attachment, Queue::Async);
        let EventKind::OperatorFinished { place, .. } = &finished.kind else { panic!("{finished:?}") };
        assert_eq!((&*place.name, place.moment), (name, Moment::After));
    }
    run.join().unwrap().unwrap();
}
