use std::sync::Arc;

use opscope_debug::{AttachOptions, DebugError, Debugger, EventKind, EventName, EventSet, Queue, Resume, Sequence};

use crate::fake::{Fake, PLAIN};
use crate::{next, program, start, stop};

fn with(names: &[EventName]) -> AttachOptions {
    AttachOptions { events: names.iter().copied().collect::<EventSet>(), ..AttachOptions::default() }
}

#[test]
fn one_number_orders_the_events_of_both_queues() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(with(&[EventName::OperatorReady, EventName::OperatorFinished])).unwrap();
    let run = start(&debugger, &fake, 1, PLAIN);
    let mut order = Vec::new();
    for _ in 0..3 {
        let ready = stop(&attachment);
        order.push((ready.sequence, ready.at, ready.kind.name()));
        attachment.acknowledge(ready.sequence, Resume::Continue).unwrap();
        let finished = next(&attachment, Queue::Async);
        order.push((finished.sequence, finished.at, finished.kind.name()));
    }
    run.join().unwrap().unwrap();
    assert!(order.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{order:?}");
    let names: Vec<_> = order.iter().map(|(_, _, name)| *name).collect();
    assert_eq!(names, [EventName::OperatorReady, EventName::OperatorFinished].repeat(3));
}

#[test]
fn acknowledging_all_frees_the_threads_whose_events_were_read_and_no_others() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(with(&[EventName::RunPushed])).unwrap();
    let first = start(&debugger, &fake, 1, PLAIN);
    let read = stop(&attachment);
    let second = start(&debugger, &fake, 2, PLAIN);
    // The second run's event is in its queue, unread.
    while attachment.status().unwrap().sync.waiting == 0 {
        std::thread::yield_now();
    }
    let unread = Sequence(read.sequence.0 + 1);
    assert!(matches!(attachment.acknowledge(unread, Resume::Continue), Err(DebugError::NotRead(_))));
    assert_eq!(attachment.acknowledge_sync_events().unwrap(), 1);
    first.join().unwrap().unwrap();
    assert!(!second.is_finished());
    assert_eq!(attachment.acknowledge_sync_events().unwrap(), 0, "nothing read, nothing freed");
    assert_eq!(stop(&attachment).sequence, unread);
    assert_eq!(attachment.acknowledge_sync_events().unwrap(), 1);
    second.join().unwrap().unwrap();
}

#[test]
fn one_run_is_stopped_while_others_go_on() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(with(&[EventName::RunPushed])).unwrap();
    let held = start(&debugger, &fake, 1, PLAIN);
    let event = stop(&attachment);
    for run in 2..10 {
        let other = start(&debugger, &fake, run, PLAIN);
        let pushed = stop(&attachment);
        attachment.acknowledge(pushed.sequence, Resume::Continue).unwrap();
        assert_eq!(other.join().unwrap().unwrap(), Fake::expected(PLAIN));
    }
    assert!(!held.is_finished());
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    held.join().unwrap().unwrap();
}

#[test]
fn unread_events_coalesce_with_a_count_and_the_counts_add_up() {
    let (debugger, fake) = program();
    let options = AttachOptions { async_capacity: 10, ..with(&[EventName::OperatorFinished]) };
    let attachment = debugger.attach(options).unwrap();
    for run in 0..100 {
        fake.run(&debugger, run, PLAIN).unwrap();
    }
    let account = attachment.status().unwrap().asynchronous;
    assert_eq!((account.raised, account.waiting, account.coalesced), (300, 10, 290));
    let events = attachment.next_events(Queue::Async, usize::MAX).unwrap();
    assert_eq!(events.len(), 10);
    assert_eq!(events.iter().map(|event| 1 + event.coalesced).sum::<u64>(), 300);
    let account = attachment.status().unwrap().asynchronous;
    assert_eq!(account.raised, account.delivered + account.coalesced + account.waiting);
}

#[test]
fn nothing_coalesces_while_the_reader_drains() {
    let (debugger, fake) = program();
    let options = AttachOptions { async_capacity: 4, ..with(&[EventName::OperatorFinished]) };
    let attachment = debugger.attach(options).unwrap();
    let run = {
        let (debugger, fake) = (debugger.clone(), Arc::clone(&fake));
        std::thread::spawn(move || (0..2000).for_each(|run| drop(fake.run(&debugger, run, PLAIN))))
    };
    let mut read = 0;
    while read < 6000 {
        let event = next(&attachment, Queue::Async);
        assert_eq!(event.coalesced, 0);
        assert!(matches!(event.kind, EventKind::OperatorFinished { .. }));
        read += 1;
    }
    run.join().unwrap();
    let account = attachment.status().unwrap().asynchronous;
    assert_eq!((account.raised, account.delivered, account.coalesced), (6000, 6000, 0));
}

#[test]
fn acknowledging_an_event_that_stops_no_thread_is_harmless_and_an_unknown_one_is_refused() {
    let debugger = Debugger::new().unwrap();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    let complete = next(&attachment, Queue::Sync);
    assert!(!complete.waiting);
    attachment.acknowledge(complete.sequence, Resume::Continue).unwrap();
    assert!(matches!(attachment.acknowledge(complete.sequence, Resume::Step), Err(DebugError::NotStopped(_))));
    assert!(matches!(attachment.acknowledge(Sequence(99), Resume::Continue), Err(DebugError::NotStopped(_))));
    assert!(matches!(attachment.renew(Sequence(99)), Err(DebugError::NotStopped(_))));
}
