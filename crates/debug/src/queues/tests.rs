//! The counts of the queues, and their limits.

use std::sync::Arc;
use std::time::Duration;

use opscope_clock::Clock;

use super::{Account, Answer, Generation, Limits, Queues};
use crate::event::{EventKind, Queue, Sequence};
use crate::sync::EventDescriptor;

/// Returns queues with a client whose leases expire immediately.
fn attached(capacity: usize) -> (Queues<()>, Generation) {
    let queues = Queues::new(Clock::system()).expect("the system has descriptors");
    let descriptor = Arc::new(EventDescriptor::new().expect("the system has descriptors"));
    let limits = Limits { lease: Duration::ZERO, capacity, reader_grace: Duration::ZERO };
    let generation = queues.attach(limits, descriptor, []);
    (queues, generation)
}

fn accounts(queues: &Queues<()>) -> [Account; 2] {
    queues.status().0
}

/// Returns an account without coalesced and discarded events.
fn account(raised: u64, delivered: u64, waiting: u64) -> Account {
    Account { raised, delivered, waiting, ..Account::default() }
}

#[test]
fn the_latest_64_releases_are_remembered() {
    let (queues, _) = attached(1);
    for number in 1..=70 {
        let event = queues.announce(None, EventKind::AttachComplete, 7).expect("a client is attached");
        assert_eq!(event, Sequence(number));
        assert!(matches!(queues.wait(event, drop), Answer::Expired { .. }));
    }
    let (_, stopped, released, _) = queues.status();
    assert!(stopped.is_empty());
    assert_eq!(released.iter().map(|release| release.event.0).collect::<Vec<_>>(), (7..=70).collect::<Vec<_>>());
}

#[test]
fn of_sync_events_that_are_not_read_4096_are_kept_and_those_at_which_threads_wait() {
    let (queues, generation) = attached(1);
    let waits = queues.announce(None, EventKind::AttachComplete, 7).expect("a client is attached");
    for _ in 0..4095 {
        queues.post(EventKind::AttachComplete);
    }
    assert_eq!(accounts(&queues)[0], account(4096, 0, 4096));
    for _ in 0..4 {
        queues.post(EventKind::AttachComplete);
    }
    assert_eq!(accounts(&queues)[0], Account { discarded: 4, ..account(4100, 0, 4096) });
    let read = queues.take(generation, Queue::Sync, 2);
    let read: Vec<_> = read.iter().map(|event| (event.sequence.0, event.waiting)).collect();
    assert_eq!(read, [(waits.0, true), (6, false)], "the oldest of the others are discarded");
    assert_eq!(accounts(&queues)[0], Account { discarded: 4, ..account(4100, 2, 4094) });
}

#[test]
fn events_beyond_the_capacity_count_in_the_last_one_of_their_kind() {
    let (queues, generation) = attached(2);
    let raise = |kind: EventKind| queues.raise_without_waiting(generation, kind);
    let internal = || EventKind::InternalError { message: "a test".to_owned() };
    for _ in 0..5 {
        raise(EventKind::Timeout);
    }
    // The first event of a kind is kept even if there is no space.
    (0..3).for_each(|_| raise(internal()));
    raise(EventKind::Timeout);
    assert_eq!(accounts(&queues)[1], Account { coalesced: 6, ..account(9, 0, 3) });
    let coalesced = |most: usize| {
        let events = queues.take(generation, Queue::Async, most);
        events.into_iter().map(|event| (event.sequence.0, event.coalesced)).collect::<Vec<_>>()
    };
    assert_eq!(coalesced(1), [(1, 0)]);
    // Two are left, so there is no space yet.
    raise(internal());
    assert_eq!(coalesced(usize::MAX), [(2, 4), (6, 3)]);
    // Events that were read no longer count.
    (0..4).for_each(|_| raise(EventKind::Timeout));
    assert_eq!(coalesced(usize::MAX), [(11, 0), (12, 2)]);
    assert_eq!(accounts(&queues)[1], Account { coalesced: 9, ..account(14, 5, 0) });
}

#[test]
fn what_a_client_that_is_gone_did_not_read_counts_as_discarded() {
    let (queues, generation) = attached(8);
    (0..3).for_each(|_| queues.post(EventKind::AttachComplete));
    (0..5).for_each(|_| queues.raise(None, EventKind::Timeout, 7));
    assert_eq!(queues.take(generation, Queue::Sync, 1).len(), 1);
    assert_eq!(queues.take(generation, Queue::Async, 2).len(), 2);
    queues.detach(generation, None);
    assert_eq!(accounts(&queues)[0], Account { discarded: 2, ..account(3, 1, 0) });
    assert_eq!(accounts(&queues)[1], Account { discarded: 3, ..account(5, 2, 0) });
    queues.post(EventKind::AttachComplete);
    queues.raise(None, EventKind::Timeout, 7);
    assert_eq!((accounts(&queues)[0].raised, accounts(&queues)[1].raised), (3, 5), "none is raised for no client");
}
