//! Clients and programs that make calls in an unusual order.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use opscope_debug::{
    AttachOptions, Attachment, BreakpointSpec, DebugError, Debugger, EventKind, EventName, EventSet, Queue, Resume,
};
use opscope_model::{EngineError, Fidelity, Instrument, RunId, RunInfo};

use crate::attaching::LEASE;
use crate::fake::{Fake, PLAIN};
use crate::{loaded, next, program, start, stop};

fn with(names: &[EventName]) -> AttachOptions {
    AttachOptions { events: names.iter().copied().collect::<EventSet>(), ..AttachOptions::default() }
}

fn breakpoint(attachment: &Attachment, target: &str) -> opscope_debug::BreakpointId {
    attachment.add_breakpoint(BreakpointSpec::at(target.parse().unwrap())).unwrap().id
}

#[test]
fn a_reader_of_one_queue_does_not_hold_up_runs_that_fill_the_other() {
    let (debugger, fake) = program();
    let options = AttachOptions { async_capacity: 2, ..with(&[EventName::OperatorFinished]) };
    let attachment = debugger.attach(options).unwrap();
    let run = start(&debugger, &fake, 1, PLAIN);
    while !run.is_finished() {
        attachment.next_event(Queue::Sync).unwrap();
        assert!(attachment.next_events(Queue::Async, 0).unwrap().is_empty());
    }
    assert_eq!(run.join().unwrap().unwrap(), Fake::expected(PLAIN));
}

#[test]
fn a_callback_that_panics_is_reported_once_and_not_called_again() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let callback = move || {
        count.fetch_add(1, Ordering::Relaxed);
        panic!("a callback that fails");
    };
    attachment.set_notification_callback(Some(Box::new(callback))).unwrap();
    let event = next(&attachment, Queue::Async);
    assert!(matches!(event.kind, EventKind::InternalError { .. }), "{event:?}");
    breakpoint(&attachment, "*");
    let run = start(&debugger, &fake, 1, PLAIN);
    stop(&attachment);
    attachment.detach().unwrap();
    run.join().unwrap().unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[test]
fn a_callback_is_called_for_events_that_waited_before_it_was_set() {
    let debugger = Debugger::new().unwrap();
    // With an interval, the thread for notifications exists from the beginning.
    let options = AttachOptions { timeout: Some(Duration::from_secs(3600)), ..AttachOptions::default() };
    let attachment = debugger.attach(options).unwrap();
    for _ in 0..3 {
        let (called, calls) = channel();
        attachment.set_notification_callback(Some(Box::new(move || called.send(()).unwrap_or_default()))).unwrap();
        calls.recv_timeout(Duration::from_secs(10)).expect("attach complete waits to be read");
    }
}

#[test]
fn a_callback_may_drop_the_last_hold_on_its_attachment() {
    let (debugger, fake) = loaded(Debugger::with_log(|_| ()).unwrap());
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    breakpoint(&attachment, "*");
    let hold = Arc::new(Mutex::new(None));
    let (inside, armed) = (Arc::clone(&hold), Arc::new(AtomicBool::new(false)));
    let ready = Arc::clone(&armed);
    let callback = move || {
        if ready.load(Ordering::SeqCst) {
            drop::<Option<Attachment>>(inside.lock().unwrap().take());
        }
    };
    attachment.set_notification_callback(Some(Box::new(callback))).unwrap();
    *hold.lock().unwrap() = Some(attachment);
    armed.store(true, Ordering::SeqCst);
    let run = start(&debugger, &fake, 1, PLAIN);
    assert_eq!(run.join().unwrap().unwrap(), Fake::expected(PLAIN));
    assert!(hold.lock().unwrap().is_none());
    debugger.attach(AttachOptions::default()).unwrap();
}

#[test]
fn a_thread_that_looks_cannot_wait_for_another_one_that_looks() {
    let (debugger, fake) = program();
    let attachment = Arc::new(debugger.attach(AttachOptions::default()).unwrap());
    breakpoint(&attachment, "log");
    let runs = [1, 2].map(|run| start(&debugger, &fake, run, PLAIN));
    let stops = [(); 2].map(|()| stop(&attachment).sequence);
    for (from, to) in [(0, 0), (0, 1), (1, 0)] {
        let (inside, other) = (Arc::clone(&attachment), stops[to]);
        let answer = attachment.look(stops[from], move |_| inside.location(other).map(drop)).unwrap();
        assert!(matches!(answer, Err(DebugError::RecursiveCall)), "{answer:?}");
    }
    attachment.acknowledge_sync_events().unwrap();
    runs.into_iter().for_each(|run| drop(run.join().unwrap().unwrap()));
}

#[test]
fn looking_where_no_operator_is_fails_at_once_though_the_thread_waits_elsewhere() {
    let (debugger, fake) = (Debugger::new().unwrap(), Arc::new(Fake::new()));
    let attachment = debugger.attach(with(&[EventName::ModelLoaded, EventName::RunCreated])).unwrap();
    let run = start(&debugger, &fake, 1, PLAIN);
    // One thread has raised both, and waits at the first.
    let [first, second] = [(); 2].map(|()| stop(&attachment));
    assert_eq!((first.kind.name(), second.kind.name()), (EventName::ModelLoaded, EventName::RunCreated));
    assert!(attachment.location(second.sequence).is_err());
    assert_eq!(attachment.acknowledge_sync_events().unwrap(), 2);
    run.join().unwrap().unwrap();
}

#[test]
fn a_lease_counts_from_when_the_thread_waits() {
    let (debugger, fake) = (Debugger::with_log(|_| ()).unwrap(), Arc::new(Fake::new()));
    let options = AttachOptions { lease: LEASE, ..with(&[EventName::ModelLoaded, EventName::RunCreated]) };
    let attachment = debugger.attach(options).unwrap();
    let run = start(&debugger, &fake, 1, PLAIN);
    let first = stop(&attachment);
    let begin = Instant::now();
    while begin.elapsed() < LEASE + LEASE / 4 {
        attachment.renew(first.sequence).unwrap();
    }
    attachment.acknowledge(first.sequence, Resume::Continue).unwrap();
    let second = next(&attachment, Queue::Sync);
    assert!(second.waiting, "its thread has only come to wait at it");
    attachment.acknowledge(second.sequence, Resume::Continue).unwrap();
    run.join().unwrap().unwrap();
}

#[test]
fn a_run_that_begins_can_be_stepped_and_ended() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(with(&[EventName::RunPushed])).unwrap();
    let run = start(&debugger, &fake, 1, PLAIN);
    let pushed = stop(&attachment);
    assert_eq!(attachment.status().unwrap().runs[0].stopped, Some(pushed.sequence));
    attachment.acknowledge(pushed.sequence, Resume::Step).unwrap();
    let step = stop(&attachment);
    assert_eq!(step.kind.position().unwrap().to_string(), "before #0 scale (Mul), run 1");
    attachment.acknowledge(step.sequence, Resume::Continue).unwrap();
    run.join().unwrap().unwrap();
    let run = start(&debugger, &fake, 2, PLAIN);
    let pushed = stop(&attachment);
    assert_eq!(attachment.pause(None).unwrap(), 1);
    attachment.acknowledge(pushed.sequence, Resume::Continue).unwrap();
    let paused = stop(&attachment);
    assert_eq!(paused.kind.name(), EventName::Paused);
    attachment.acknowledge(paused.sequence, Resume::Continue).unwrap();
    run.join().unwrap().unwrap();
    let run = start(&debugger, &fake, 3, PLAIN);
    let pushed = stop(&attachment);
    attachment.acknowledge(pushed.sequence, Resume::Abort("not today".into())).unwrap();
    // The client that requested it may be gone.
    attachment.detach().unwrap();
    assert!(matches!(run.join().unwrap(), Err(EngineError::Stopped(reason)) if reason == "not today"));
}

#[test]
fn the_end_of_a_run_whose_engine_panics_is_sent_to_a_client_that_steps_it() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    assert_eq!(attachment.pause(None).unwrap(), 0);
    let run = {
        let (debugger, fake) = (debugger.clone(), Arc::clone(&fake));
        std::thread::spawn(move || {
            let engine = || {
                let info =
                    RunInfo { id: RunId(1), graph: &fake.graph, kernels: &fake.kernels, fidelity: Fidelity::Exact };
                let observer = debugger.observe(&info);
                let _ = observer.interest();
                panic!("an engine that fails");
            };
            catch_unwind(AssertUnwindSafe(engine)).is_err()
        })
    };
    let event = stop(&attachment);
    assert!(matches!(&event.kind, EventKind::RunPopped { error: Some(_), .. }), "{event:?}");
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    assert!(run.join().unwrap());
    assert!(attachment.status().unwrap().runs.is_empty());
}

#[test]
fn a_breakpoint_that_is_removed_at_a_stop_right_before_it_stops_nothing() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(with(&[EventName::OperatorReady])).unwrap();
    let id = breakpoint(&attachment, "scale");
    let run = start(&debugger, &fake, 1, PLAIN);
    let ready = stop(&attachment);
    assert_eq!(ready.kind.name(), EventName::OperatorReady);
    attachment.remove_breakpoint(id).unwrap();
    breakpoint(&attachment, "log");
    let mut names = Vec::new();
    attachment.acknowledge(ready.sequence, Resume::Continue).unwrap();
    for _ in 0..3 {
        let event = stop(&attachment);
        names.push(event.kind.name());
        attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    }
    run.join().unwrap().unwrap();
    assert_eq!(names, [EventName::OperatorReady, EventName::Breakpoint, EventName::OperatorReady]);
}

#[test]
fn a_pause_ends_in_a_stop_or_reports_the_end_of_the_run() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    breakpoint(&attachment, "scale");
    for run in 0..500 {
        let thread = start(&debugger, &fake, run, PLAIN);
        let event = stop(&attachment);
        attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
        if attachment.pause(Some(RunId(run))).unwrap() == 1 {
            let event = stop(&attachment);
            assert!(matches!(event.kind.name(), EventName::Paused | EventName::RunPopped), "{event:?}");
            attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
        }
        thread.join().unwrap().unwrap();
    }
}

#[test]
fn a_second_answer_is_refused_unless_it_asks_for_nothing() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    breakpoint(&attachment, "scale");
    let run = start(&debugger, &fake, 1, PLAIN);
    let event = stop(&attachment).sequence;
    attachment.acknowledge(event, Resume::Continue).unwrap();
    attachment.acknowledge(event, Resume::Continue).unwrap();
    assert!(attachment.acknowledge(event, Resume::Abort("too late".into())).is_err());
    run.join().unwrap().unwrap();
}

#[test]
fn a_model_that_is_unloaded_while_a_run_of_it_is_stopped_can_still_be_looked_at_there() {
    let (debugger, fake) = (Debugger::new().unwrap(), Arc::new(Fake::new()));
    let attachment = debugger.attach(with(&[EventName::ModelUnloaded])).unwrap();
    let handle = debugger.load(&fake.graph, Fidelity::Exact);
    breakpoint(&attachment, "log");
    let run = start(&debugger, &fake, 1, PLAIN);
    let stopped = stop(&attachment);
    let unloading = std::thread::spawn(|| drop(handle));
    let unloaded = stop(&attachment);
    assert_eq!(unloaded.kind.name(), EventName::ModelUnloaded);
    attachment.acknowledge(unloaded.sequence, Resume::Continue).unwrap();
    unloading.join().unwrap();
    assert_eq!(attachment.location(stopped.sequence).unwrap().place.name.as_ref(), "log");
    attachment.acknowledge(stopped.sequence, Resume::Until("sum".parse().unwrap())).unwrap();
    let step = stop(&attachment);
    assert_eq!(step.kind.position().unwrap().name.as_ref(), "sum");
    attachment.acknowledge(step.sequence, Resume::Continue).unwrap();
    assert_eq!(run.join().unwrap().unwrap(), Fake::expected(PLAIN));
}

#[test]
fn two_debuggers_of_a_process_know_nothing_of_each_other() {
    let [(one, fake), (other, _)] = [program(), program()];
    let (first, second) = (one.attach(with(&[])).unwrap(), other.attach(with(&[])).unwrap());
    breakpoint(&first, "*");
    breakpoint(&second, "log");
    assert_eq!(fake.run(&Debugger::new().unwrap(), 1, PLAIN).unwrap(), Fake::expected(PLAIN));
    let run = start(&other, &fake, 1, PLAIN);
    let event = stop(&second);
    assert_eq!(event.kind.position().unwrap().name.as_ref(), "log");
    assert!(first.status().unwrap().runs.is_empty());
    assert!(matches!(first.location(event.sequence), Err(DebugError::NotStopped(_))));
    second.acknowledge(event.sequence, Resume::Continue).unwrap();
    run.join().unwrap().unwrap();
}

#[test]
fn a_log_that_panics_ends_neither_a_run_nor_the_release_of_others() {
    let (debugger, fake) = loaded(Debugger::with_log(|_| panic!("a log that fails")).unwrap());
    let attachment = debugger.attach(with(&[])).unwrap();
    breakpoint(&attachment, "log");
    let runs = [1, 2].map(|run| start(&debugger, &fake, run, PLAIN));
    let _read = [(); 2].map(|()| stop(&attachment));
    drop(attachment);
    runs.into_iter().for_each(|run| assert_eq!(run.join().unwrap().unwrap(), Fake::expected(PLAIN)));
}

#[test]
fn a_model_is_unloaded_with_its_last_handle() {
    let debugger = Debugger::new().unwrap();
    let attachment = debugger.attach(with(&[])).unwrap();
    let fake = Fake::new();
    let handles = [(); 2].map(|()| debugger.load(&fake.graph, Fidelity::Exact));
    assert_eq!(handles[0].model(), handles[1].model());
    let [first, second] = handles;
    drop(first);
    assert!(attachment.graph(second.model()).unwrap().is_some());
    drop(second);
    assert!(attachment.status().unwrap().models.is_empty());

    // Without a handle, the model is unloaded when the next one is loaded.
    fake.run(&debugger, 1, PLAIN).unwrap();
    let graph = Arc::downgrade(&fake.graph);
    drop(fake);
    Fake::new().run(&debugger, 2, PLAIN).unwrap();
    assert!(graph.upgrade().is_none());
}
