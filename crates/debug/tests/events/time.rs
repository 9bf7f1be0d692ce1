//! Leases and intervals, on a clock that the tests advance: just before the moment nothing happens, at the moment it
//! does.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use opscope_clock::{Clock, ManualClock};
use opscope_debug::{
    AttachOptions, Attachment, BreakpointSpec, DebugError, Debugger, EventKind, EventName, EventSet, Queue,
    ReleaseReason, Resume,
};

use opscope_model::EngineError;

use crate::fake::{Fake, PLAIN};
use crate::{loaded, next, start, stop};

const MILLISECOND: Duration = Duration::from_millis(1);

/// Returns a program with a manual clock, and the log of its debugger.
fn program() -> (ManualClock, Debugger, Arc<Fake>, Receiver<String>) {
    let clock = ManualClock::create();
    let (log, logged) = channel();
    // A test may have ended.
    let log = move |message: &str| drop(log.send(message.to_owned()));
    let (debugger, fake) = loaded(Debugger::with_clock(Clock::manual(&clock), log).unwrap());
    (clock, debugger, fake, logged)
}

/// Attaches, sets a breakpoint, and skips the events of attaching.
fn watching(debugger: &Debugger, options: AttachOptions) -> Attachment {
    let attachment = debugger.attach(options).unwrap();
    while attachment.next_event(Queue::Sync).unwrap().is_some() {}
    attachment.add_breakpoint(BreakpointSpec::at("log".parse().unwrap())).unwrap();
    attachment
}

/// Returns the result of a run that has to end now.
fn ended(run: JoinHandle<Result<Vec<f32>, EngineError>>) -> Result<Vec<f32>, EngineError> {
    let (sender, ended) = channel();
    std::thread::spawn(move || sender.send(run.join()));
    ended.recv_timeout(Duration::from_secs(30)).expect("the time of the run is over").expect("it does not panic")
}

#[test]
fn the_limits_of_an_attachment_that_asks_for_none() {
    let options = AttachOptions::default();
    assert_eq!((options.lease, options.timeout), (Duration::from_secs(30), None));
    assert_eq!(options.async_capacity, 16_384);
}

#[test]
fn a_lease_of_thirty_seconds_expires_after_thirty_seconds() {
    let (clock, debugger, fake, logged) = program();
    let attachment = watching(&debugger, AttachOptions::default());
    let run = start(&debugger, &fake, 1, PLAIN);
    clock.await_waits(1);
    clock.advance(Duration::from_secs(20));
    // The lease begins when the event is read.
    let event = stop(&attachment);
    clock.await_waits(1);
    clock.advance(Duration::from_secs(30) - MILLISECOND);
    clock.await_waits(1);
    assert!(!run.is_finished(), "a millisecond is left");
    assert_eq!(attachment.status().unwrap().stopped.len(), 1);
    clock.advance(MILLISECOND);
    assert_eq!(ended(run).unwrap(), Fake::expected(PLAIN));
    assert!(logged.recv().unwrap().contains("its lease expired"));
    let late = attachment.acknowledge(event.sequence, Resume::Continue).unwrap_err();
    assert!(matches!(late, DebugError::AlreadyContinued(..)), "{late}");
}

#[test]
fn a_lease_begins_anew_when_its_event_is_read_renewed_or_looked_at() {
    let (clock, debugger, fake, _logged) = program();
    let lease = Duration::from_secs(10);
    let attachment = watching(&debugger, AttachOptions { lease, ..AttachOptions::default() });
    let run = start(&debugger, &fake, 1, PLAIN);
    clock.await_waits(1);
    clock.advance(lease - MILLISECOND);
    let event = stop(&attachment).sequence;
    let again: [&dyn Fn(); 2] = [&|| attachment.renew(event).unwrap(), &|| drop(attachment.location(event).unwrap())];
    for again in again {
        clock.advance(lease - MILLISECOND);
        clock.await_waits(1);
        assert!(!run.is_finished(), "a millisecond is left");
        again();
        // The thread may still be carrying out the look.
        clock.await_waits(1);
    }
    // A call that is not about an event renews no lease.
    clock.advance(lease - MILLISECOND);
    attachment.status().unwrap();
    clock.await_waits(1);
    assert!(!run.is_finished(), "a millisecond is left");
    clock.advance(MILLISECOND);
    assert_eq!(ended(run).unwrap(), Fake::expected(PLAIN));
}

#[test]
fn a_program_may_limit_how_long_a_run_stops_however_often_the_lease_is_renewed() {
    let (clock, debugger, fake, logged) = program();
    debugger.set_longest_stop(Some(Duration::from_secs(25)));
    let attachment = watching(&debugger, AttachOptions { lease: Duration::from_secs(10), ..AttachOptions::default() });
    let run = start(&debugger, &fake, 1, PLAIN);
    clock.await_waits(1);
    let event = stop(&attachment).sequence;
    for _renewal in 0..3 {
        clock.advance(Duration::from_secs(8));
        clock.await_waits(1);
        attachment.renew(event).unwrap();
        attachment.location(event).unwrap();
        clock.await_waits(1);
    }
    clock.advance(Duration::from_secs(1) - MILLISECOND);
    clock.await_waits(1);
    assert!(!run.is_finished(), "a millisecond is left");
    clock.advance(MILLISECOND);
    assert_eq!(ended(run).unwrap(), Fake::expected(PLAIN));
    assert!(logged.recv().unwrap().contains("the program lets no run stop for longer; its thread continues"));
    assert_eq!(attachment.status().unwrap().released[0].because, ReleaseReason::StoppedTooLong);
    let late = attachment.location(event).unwrap_err();
    assert!(late.to_string().ends_with("has continued already: the program lets no run stop for longer"), "{late}");
}

#[test]
fn a_debugger_that_reads_nothing_and_asks_nothing_for_as_long_as_a_lease_is_detached() {
    let lease = Duration::from_secs(10);
    for asks_after in [None, Some(MILLISECOND)] {
        let (clock, debugger, fake, logged) = program();
        let attachment = watching(&debugger, AttachOptions { lease, ..AttachOptions::default() });
        let run = start(&debugger, &fake, 1, PLAIN);
        clock.await_waits(1);
        if let Some(time) = asks_after {
            clock.advance(time);
            attachment.status().unwrap();
        }
        clock.advance(lease - asks_after.unwrap_or_default() - MILLISECOND);
        clock.await_waits(1);
        assert!(!run.is_finished(), "a millisecond is left");
        clock.advance(MILLISECOND);
        assert_eq!(ended(run).unwrap(), Fake::expected(PLAIN));
        assert!(logged.recv().unwrap().contains("its lease expired"));
        let is_detached = matches!(attachment.status(), Err(DebugError::NotAttached));
        assert_eq!(is_detached, asks_after.is_none());
    }
}

#[test]
fn timeout_events_come_at_their_interval() {
    let (clock, debugger, ..) = program();
    let interval = Duration::from_millis(100);
    let attachment = debugger.attach(AttachOptions { timeout: Some(interval), ..AttachOptions::default() }).unwrap();
    for _ in 0..3 {
        clock.await_waits(1);
        clock.advance(interval - MILLISECOND);
        clock.await_waits(1);
        assert_eq!(attachment.next_event(Queue::Async).unwrap(), None, "a millisecond is left");
        clock.advance(MILLISECOND);
        clock.await_waits(1);
        assert_eq!(next(&attachment, Queue::Async).kind, EventKind::Timeout);
        assert_eq!(attachment.next_event(Queue::Async).unwrap(), None, "one in an interval");
    }
}

#[test]
fn the_shortest_interval_of_timeout_events_is_a_millisecond() {
    let (clock, debugger, ..) = program();
    let options = AttachOptions { timeout: Some(Duration::ZERO), ..AttachOptions::default() };
    let attachment = debugger.attach(options).unwrap();
    clock.await_waits(1);
    clock.advance(MILLISECOND - Duration::from_micros(1));
    clock.await_waits(1);
    assert_eq!(attachment.next_event(Queue::Async).unwrap(), None, "a microsecond is left");
    clock.advance(Duration::from_micros(1));
    clock.await_waits(1);
    assert_eq!(next(&attachment, Queue::Async).kind, EventKind::Timeout);
}

#[test]
fn a_full_async_queue_waits_a_second_for_its_reader() {
    let (clock, debugger, fake, _logged) = program();
    let events = [EventName::OperatorFinished].into_iter().collect::<EventSet>();
    let attachment = debugger.attach(AttachOptions { events, async_capacity: 1, ..AttachOptions::default() }).unwrap();
    clock.advance(Duration::from_secs(100));
    assert_eq!(attachment.next_events(Queue::Async, 1).unwrap(), [], "it looks, and the second begins");
    let run = start(&debugger, &fake, 1, PLAIN);
    let coalesced = || attachment.status().unwrap().asynchronous.coalesced;
    clock.await_waits(1);
    clock.advance(Duration::from_millis(999));
    clock.await_waits(1);
    assert_eq!((run.is_finished(), coalesced()), (false, 0), "a millisecond is left");
    // The reader frees space, and has another second.
    assert_eq!(attachment.next_events(Queue::Async, 1).unwrap().len(), 1);
    clock.await_waits(1);
    clock.advance(Duration::from_millis(999));
    clock.await_waits(1);
    assert_eq!((run.is_finished(), coalesced()), (false, 0), "a millisecond is left");
    clock.advance(MILLISECOND);
    ended(run).unwrap();
    let account = attachment.status().unwrap().asynchronous;
    assert_eq!((account.raised, account.delivered, account.coalesced, account.waiting), (3, 1, 1, 1));
}
