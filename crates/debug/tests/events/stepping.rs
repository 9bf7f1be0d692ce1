use std::sync::Arc;
use std::sync::mpsc::channel;

use opscope_debug::{
    AttachOptions, Attachment, BreakpointSpec, Debugger, Event, EventKind, EventName, EventSet, Queue, Resume,
};
use opscope_model::{Fidelity, Instrument, RunId, RunInfo};

use crate::fake::{Fake, PLAIN, tensor};
use crate::{next, program, start, stop};

fn place(event: &Event) -> String {
    let place = event.kind.position().map(ToString::to_string).unwrap_or_default();
    format!("{} {place}", event.kind.name())
}

fn kernel(event: &Event) -> u32 {
    event.kind.position().expect("it is at an operator").kernel
}

fn go_on(attachment: &Attachment, event: &Event, resume: Resume) -> Event {
    attachment.acknowledge(event.sequence, resume).unwrap();
    stop(attachment)
}

#[test]
fn steps_finish_and_until_stop_where_they_say() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    attachment.add_breakpoint(BreakpointSpec::at("scale".parse().unwrap())).unwrap();
    let run = start(&debugger, &fake, 0, PLAIN);
    let event = stop(&attachment);
    assert_eq!(place(&event), "breakpoint before #0 scale (Mul), run 0");
    let event = go_on(&attachment, &event, Resume::Finish);
    assert_eq!(place(&event), "step_complete after #0 scale (Mul), run 0");
    let event = go_on(&attachment, &event, Resume::Finish);
    assert_eq!(place(&event), "step_complete after #1 log (Log), run 0");
    let event = go_on(&attachment, &event, Resume::Step);
    assert_eq!(place(&event), "step_complete before #2 sum (Add), run 0");
    // The end of a run that is stepped is reported, so that its client does not wait for a stop that never comes.
    let event = go_on(&attachment, &event, Resume::Step);
    assert_eq!(event.kind.name(), EventName::RunPopped);
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    run.join().unwrap().unwrap();

    let run = start(&debugger, &fake, 1, PLAIN);
    let event = stop(&attachment);
    assert!(attachment.acknowledge(event.sequence, Resume::Until("none".parse().unwrap())).is_err());
    let event = go_on(&attachment, &event, Resume::Until("relu".parse().unwrap()));
    assert_eq!(place(&event), "step_complete before #2 sum (Add), run 1");
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    run.join().unwrap().unwrap();
}

#[test]
fn steps_pass_a_kernel_that_the_engine_added() {
    let debugger = Debugger::new().expect("the system has descriptors");
    let fake = Arc::new(Fake::with_added_kernel());
    debugger.planned(&fake.graph, Fidelity::Exact, &fake.kernels);
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    attachment.add_breakpoint(BreakpointSpec::at("scale".parse().unwrap())).unwrap();
    attachment.add_breakpoint(BreakpointSpec::at("first nonfinite".parse().unwrap())).unwrap();
    let run = start(&debugger, &fake, 0, PLAIN);
    let event = stop(&attachment);
    let event = go_on(&attachment, &event, Resume::Step);
    assert_eq!((place(&event), kernel(&event)), ("step_complete before #1 log (Log), run 0".to_owned(), 2));
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    assert_eq!(run.join().unwrap().unwrap(), Fake::expected(PLAIN));
}

#[test]
fn a_pause_stops_each_run_at_its_next_operator_or_else_the_next_run() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    assert_eq!(attachment.pause(None).unwrap(), 0);
    let run = start(&debugger, &fake, 0, PLAIN);
    let event = stop(&attachment);
    assert_eq!(place(&event), "paused before #0 scale (Mul), run 0");
    let other = start(&debugger, &fake, 1, PLAIN);
    assert_eq!(other.join().unwrap().unwrap(), Fake::expected(PLAIN), "one run was to stop");
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    run.join().unwrap().unwrap();
}

#[test]
fn a_pause_that_finds_all_runs_at_their_ends_stops_the_next_one() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    let ends_when_paused = |run, meant| {
        std::thread::scope(|scope| {
            let (begun, begins) = channel();
            let (end, ends) = channel();
            let (graph, kernels) = (&fake.graph, &fake.kernels);
            let info = RunInfo { id: RunId(run), graph, kernels, fidelity: Fidelity::Exact };
            let debugger = &debugger;
            scope.spawn(move || {
                let observer = debugger.observe(&info);
                let _ = observer.interest();
                begun.send(()).unwrap();
                ends.recv().unwrap();
            });
            begins.recv().unwrap();
            assert_eq!(attachment.pause(meant).unwrap(), 1);
            end.send(()).unwrap();
            let event = stop(&attachment);
            assert_eq!(event.kind.name(), EventName::RunPopped);
            attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
        });
    };
    ends_when_paused(0, Some(RunId(0)));
    let other = start(&debugger, &fake, 1, PLAIN);
    assert_eq!(other.join().unwrap().unwrap(), Fake::expected(PLAIN), "another one was meant");

    ends_when_paused(2, None);
    let run = start(&debugger, &fake, 3, PLAIN);
    let event = stop(&attachment);
    assert_eq!(place(&event), "paused before #0 scale (Mul), run 3");
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    run.join().unwrap().unwrap();
}

#[test]
fn the_events_of_a_run_come_in_order() {
    let (debugger, fake) = (Debugger::new().unwrap(), Arc::new(Fake::new()));
    let options = AttachOptions { events: EventSet::all(), statistics: true, ..AttachOptions::default() };
    let attachment = debugger.attach(options).unwrap();
    let run = start(&debugger, &fake, 4, PLAIN);
    let mut names = Vec::new();
    let mut thread = None;
    while names.last() != Some(&EventName::RunDestroyed) {
        let event = stop(&attachment);
        assert_eq!(*thread.get_or_insert(event.thread), event.thread, "they happen on the run's thread");
        names.push(event.kind.name());
        attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    }
    run.join().unwrap().unwrap();
    use EventName::{ModelLoaded, OperatorReady, RunCreated, RunDestroyed, RunPopped, RunPushed};
    let expected =
        [ModelLoaded, RunCreated, RunPushed, OperatorReady, OperatorReady, OperatorReady, RunPopped, RunDestroyed];
    assert_eq!(names, expected);
    let finished = next(&attachment, Queue::Async);
    let EventKind::OperatorFinished { outputs, .. } = &finished.kind else { panic!("{finished:?}") };
    let statistics = outputs[0].statistics.as_ref().unwrap();
    assert_eq!((statistics.min, statistics.max, statistics.mean), (Some(2.0), Some(8.0), Some(5.0)));
}

/// Returns a debugger with a model in which one operator has three kernels.
fn in_pieces() -> (Debugger, Arc<Fake>) {
    let (debugger, fake) = (Debugger::new().unwrap(), Arc::new(Fake::in_pieces()));
    debugger.planned(&fake.graph, Fidelity::Exact, &fake.kernels);
    (debugger, fake)
}

#[test]
fn operators_are_reported_once_whatever_the_engine_makes_of_them() {
    let (debugger, fake) = in_pieces();
    let events: EventSet = [EventName::OperatorReady, EventName::OperatorFinished].into_iter().collect();
    let attachment = debugger.attach(AttachOptions { events, ..AttachOptions::default() }).unwrap();
    let run = start(&debugger, &fake, 0, PLAIN);
    let ready = [(); 3].map(|()| {
        let event = stop(&attachment);
        attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
        place(&event)
    });
    assert_eq!(run.join().unwrap().unwrap(), Fake::expected(PLAIN));
    assert_eq!(
        ready,
        [
            "operator_ready before #0 scale (Mul), run 0",
            "operator_ready before #1 log (Log), run 0",
            "operator_ready before #2 sum (Add), run 0",
        ]
    );
    let finished = attachment.next_events(Queue::Async, usize::MAX).unwrap();
    let kernels: Vec<_> = finished.iter().map(|event| event.kind.position().unwrap().kernel).collect();
    assert_eq!(kernels, [0, 3, 4], "the end of an operator is that of its last kernel");
    assert!(attachment.next_events(Queue::Sync, usize::MAX).unwrap().is_empty());
}

#[test]
fn a_run_that_stops_within_an_operator_steps_to_the_next_one_and_finishes_this_one() {
    let (debugger, fake) = in_pieces();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    attachment.add_breakpoint(BreakpointSpec::at("first nonfinite".parse().unwrap())).unwrap();
    for (resume, next) in [
        (Resume::Step, ("step_complete before #2 sum (Add), run 0", 4)),
        (Resume::Finish, ("step_complete after #1 log (Log), run 0", 3)),
    ] {
        let run = start(&debugger, &fake, 0, [0.0; 4]);
        let event = stop(&attachment);
        assert_eq!((&*place(&event), kernel(&event)), ("exception after #1 log (Log), run 0", 2));
        let event = go_on(&attachment, &event, resume);
        assert_eq!((&*place(&event), kernel(&event)), next);
        attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
        run.join().unwrap().unwrap();
    }
}

#[test]
fn an_operator_of_several_kernels_is_skipped_as_one() {
    let (debugger, fake) = in_pieces();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    attachment.pause(None).unwrap();
    let run = start(&debugger, &fake, 0, PLAIN);
    let event = stop(&attachment);
    let event = go_on(&attachment, &event, Resume::Until("log".parse().unwrap()));
    let outputs = attachment.location(event.sequence).unwrap().outputs;
    assert_eq!(outputs[0].value.as_deref(), Some("b"), "what the operator gives, and not its first kernel");
    attachment.acknowledge(event.sequence, Resume::Skip(vec![tensor(&[100.0; 4])])).unwrap();
    // The client that requested it may be detached before the engine gets there.
    attachment.detach().unwrap();
    assert_eq!(run.join().unwrap().unwrap(), [102.0, 104.0, 106.0, 108.0]);
}

#[test]
fn a_pause_of_one_run_or_of_the_runs_in_progress_stops_no_later_run() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    // Waits for the end of a run, which must not stop.
    let runs_through = |run: u64| {
        let running = start(&debugger, &fake, run, PLAIN);
        while !running.is_finished() {
            let stopped = attachment.status().unwrap().stopped;
            assert!(stopped.is_empty(), "run {run} stopped: {stopped:?}");
            std::thread::yield_now();
        }
        assert_eq!(running.join().unwrap().unwrap(), Fake::expected(PLAIN));
    };
    assert_eq!(attachment.pause(Some(RunId(7))).unwrap(), 0, "there is no such run");
    runs_through(0);

    attachment.add_breakpoint(BreakpointSpec::at("scale".parse().unwrap())).unwrap();
    let running = start(&debugger, &fake, 1, PLAIN);
    let event = stop(&attachment);
    // It is already stopped, and no other one is in progress.
    assert_eq!(attachment.pause(None).unwrap(), 0);
    let number = attachment.breakpoints().unwrap()[0].id;
    attachment.remove_breakpoint(number).unwrap();
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    running.join().unwrap().unwrap();
    runs_through(2);

    assert_eq!(attachment.pause(None).unwrap(), 0, "there is none: the next one stops");
    assert_eq!(attachment.pause(Some(RunId(7))).unwrap(), 0, "which takes nothing back");
    let running = start(&debugger, &fake, 3, PLAIN);
    let event = stop(&attachment);
    assert_eq!(event.kind.name(), EventName::Paused);
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    running.join().unwrap().unwrap();
    runs_through(4);
}

#[test]
fn the_debugger_is_named_among_the_instruments() {
    let (debugger, _) = program();
    assert_eq!(Instrument::name(&debugger), "debugger");
}
