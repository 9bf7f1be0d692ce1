use std::sync::Arc;
use std::time::{Duration, Instant};

use opscope_debug::{
    AttachOptions, BreakpointSpec, DebugError, Debugger, EventKind, EventName, EventSet, Exception, Queue,
    ReleaseReason, Resume,
};
use opscope_model::Fidelity;

use crate::fake::{Fake, PLAIN};
use crate::{loaded, next, program, start, stop};

/// A lease that expires in a test, but is long enough not to expire because a processor is busy.
pub const LEASE: Duration = Duration::from_secs(1);

#[test]
fn a_debugger_that_attaches_late_gets_the_models_and_runs_before_attach_complete() {
    let (debugger, fake) = program();
    let handle = debugger.load(&fake.graph, Fidelity::Exact);
    let first = debugger.attach(AttachOptions::default()).unwrap();
    first.add_breakpoint(BreakpointSpec::at("log".parse().unwrap())).unwrap();
    let run = start(&debugger, &fake, 7, PLAIN);
    let stopped = stop(&first);
    // The run is active when the second debugger attaches; it continues when the first one detaches.
    let options = AttachOptions { events: EventSet::all(), ..AttachOptions::default() };
    let refused = debugger.attach(options.clone()).err().expect("one at a time");
    assert!(matches!(refused, DebugError::AlreadyAttached { .. }), "{refused}");
    drop(first);
    run.join().unwrap().unwrap();

    let hold = debugger.attach(AttachOptions::default()).unwrap();
    hold.add_breakpoint(BreakpointSpec::at("log".parse().unwrap())).unwrap();
    let run = start(&debugger, &fake, 8, PLAIN);
    stop(&hold);
    hold.detach().unwrap();
    run.join().unwrap().unwrap();
    drop(hold);

    let second = debugger.attach(options).unwrap();
    let names: Vec<_> = std::iter::from_fn(|| second.next_event(Queue::Sync).unwrap())
        .map(|event| (event.kind.name(), event.replayed, event.waiting))
        .collect();
    assert_eq!(names, [(EventName::ModelLoaded, true, false), (EventName::AttachComplete, false, false)]);
    assert!(stopped.sequence.0 > 0);
    drop(second);
    drop(handle);
}

#[test]
fn an_active_run_is_replayed_with_its_model() {
    let (debugger, fake) = program();
    let (arrived, arrives) = std::sync::mpsc::channel();
    let (go, gate) = std::sync::mpsc::channel::<()>();
    // The run stays active because its thread waits at the input's first operator.
    let run = {
        let (debugger, fake) = (debugger.clone(), Arc::clone(&fake));
        std::thread::spawn(move || {
            use opscope_model::{Instrument, RunId, RunInfo};
            let info = RunInfo { id: RunId(3), graph: &fake.graph, kernels: &fake.kernels, fidelity: Fidelity::Exact };
            let observer = debugger.observe(&info);
            let _ = observer.interest();
            arrived.send(()).unwrap();
            gate.recv().unwrap();
            observer.finished(Ok((opscope_clock::Ticks::now(), opscope_clock::Ticks::now())));
        })
    };
    arrives.recv().unwrap();
    let options = AttachOptions { events: EventSet::all(), ..AttachOptions::default() };
    let attachment = debugger.attach(options).unwrap();
    let replayed: Vec<_> =
        std::iter::from_fn(|| attachment.next_event(Queue::Sync).unwrap()).map(|event| event.kind.name()).collect();
    use EventName::{AttachComplete, ModelLoaded, RunCreated, RunDestroyed, RunPopped, RunPushed};
    assert_eq!(replayed, [ModelLoaded, RunCreated, RunPushed, AttachComplete]);
    assert_eq!(attachment.status().unwrap().runs[0].run, opscope_model::RunId(3));
    go.send(()).unwrap();
    for expected in [RunPopped, RunDestroyed] {
        let event = stop(&attachment);
        assert_eq!(event.kind.name(), expected);
        attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    }
    run.join().unwrap();
    assert!(attachment.status().unwrap().runs.is_empty());
}

#[test]
fn detaching_lets_all_threads_go_on_and_ends_with_detach_complete() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    attachment.add_breakpoint(BreakpointSpec::at("*".parse().unwrap())).unwrap();
    let runs: Vec<_> = (0..4).map(|run| start(&debugger, &fake, run, PLAIN)).collect();
    let stops: Vec<_> = (0..4).map(|_| stop(&attachment)).collect();
    attachment.detach().unwrap();
    for run in runs {
        assert_eq!(run.join().unwrap().unwrap(), Fake::expected(PLAIN));
    }
    let last = std::iter::from_fn(|| attachment.next_event(Queue::Sync).unwrap()).last().unwrap();
    assert_eq!(last.kind, EventKind::DetachComplete);
    let late = attachment.acknowledge(stops[0].sequence, Resume::Continue).unwrap_err();
    assert!(matches!(late, DebugError::NotAttached), "{late}");
    assert!(matches!(attachment.breakpoints(), Err(DebugError::NotAttached)));
}

#[test]
fn an_event_that_is_read_but_never_acknowledged_is_released_and_named_in_the_log() {
    let (log, told) = std::sync::mpsc::channel();
    let debugger = Debugger::with_log(move |message| log.send(message.to_owned()).unwrap()).unwrap();
    let (debugger, fake) = loaded(debugger);
    let options = AttachOptions { lease: LEASE, ..AttachOptions::default() };
    let attachment = debugger.attach(options).unwrap();
    attachment.add_breakpoint(BreakpointSpec::at("log".parse().unwrap())).unwrap();
    let begin = Instant::now();
    let run = start(&debugger, &fake, 1, PLAIN);
    let event = stop(&attachment);
    assert_eq!(run.join().unwrap().unwrap(), Fake::expected(PLAIN));
    // In real time. Another test checks the exact moment, on a clock that it advances.
    assert!((LEASE..LEASE * 10).contains(&begin.elapsed()), "{:?}", begin.elapsed());
    let message = told.recv().unwrap();
    let expected = format!(
        "event {} (breakpoint, before #1 log (Log), run 1) was not acknowledged: its lease expired; its thread continues",
        event.sequence
    );
    assert_eq!(message, expected);
    let late = attachment.acknowledge(event.sequence, Resume::Continue).unwrap_err();
    assert!(matches!(late, DebugError::AlreadyContinued(..)), "{late}");
    assert_eq!(attachment.status().unwrap().released[0].because, ReleaseReason::LeaseExpired);
}

#[test]
fn a_debugger_that_does_not_even_read_is_detached() {
    let (debugger, fake) = loaded(Debugger::with_log(|_| ()).unwrap());
    let options = AttachOptions { lease: Duration::from_millis(20), ..AttachOptions::default() };
    let attachment = debugger.attach(options).unwrap();
    attachment.add_breakpoint(BreakpointSpec::at("*".parse().unwrap())).unwrap();
    assert_eq!(start(&debugger, &fake, 1, PLAIN).join().unwrap().unwrap(), Fake::expected(PLAIN));
    assert!(matches!(attachment.breakpoints(), Err(DebugError::NotAttached)));
    debugger.attach(AttachOptions::default()).expect("another one may come");
}

#[test]
fn a_debugger_that_is_busy_with_one_event_is_not_taken_for_dead_because_of_another() {
    let (debugger, fake) = loaded(Debugger::with_log(|_| ()).unwrap());
    let options = AttachOptions { lease: LEASE, ..AttachOptions::default() };
    let attachment = debugger.attach(options).unwrap();
    attachment.add_breakpoint(BreakpointSpec::at("log".parse().unwrap())).unwrap();
    let first = start(&debugger, &fake, 1, PLAIN);
    let event = stop(&attachment);
    let second = start(&debugger, &fake, 2, PLAIN);
    while !second.is_finished() {
        attachment.renew(event.sequence).unwrap();
    }
    second.join().unwrap().unwrap();
    assert!(!first.is_finished(), "its lease was renewed");
    let late = next(&attachment, Queue::Sync);
    assert!(!late.waiting, "the other one's was not");
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    first.join().unwrap().unwrap();
}

#[test]
fn a_failing_run_is_reported_as_an_exception_with_its_position() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    let run = start(&debugger, &fake, 1, [333.0, 1.0, 1.0, 1.0]);
    let event = stop(&attachment);
    let EventKind::Exception { place: Some(place), exception: Exception::Engine { message, panicked }, .. } =
        &event.kind
    else {
        panic!("{event:?}");
    };
    assert_eq!(&*place.name, "log");
    assert!(message.contains("not for multiplying") && !panicked, "{message}");
    let nothing = attachment.location(event.sequence).unwrap_err();
    assert!(nothing.to_string().contains("not in the middle of a run"), "{nothing}");
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    assert!(run.join().unwrap().is_err());
}

#[test]
fn timeout_events_come_in_their_interval_and_the_debugger_may_ignore_them() {
    let debugger = Debugger::new().unwrap();
    let interval = Duration::from_millis(50);
    let options = AttachOptions { timeout: Some(interval), ..AttachOptions::default() };
    let begin = Instant::now();
    let attachment = debugger.attach(options).unwrap();
    for _ in 0..10 {
        assert_eq!(next(&attachment, Queue::Async).kind, EventKind::Timeout);
    }
    // In real time. Other tests check the exact moments, on a clock that they advance.
    let took = begin.elapsed();
    assert!((interval * 10..interval * 100).contains(&took), "10 timeout events took {took:?}");
}

#[test]
fn a_program_waits_for_its_debugger_as_long_as_it_wants_and_goes_on_when_one_attaches() {
    let (debugger, _) = program();
    assert!(!debugger.wait_until_attached(Duration::from_millis(1)));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| debugger.wait_until_attached(Duration::from_secs(600)));
        let attachment = debugger.attach(AttachOptions::default()).unwrap();
        assert!(waiting.join().unwrap());
        assert!(debugger.wait_until_attached(Duration::ZERO));
        attachment.detach().unwrap();
        assert!(!debugger.wait_until_attached(Duration::ZERO));
    });
}
