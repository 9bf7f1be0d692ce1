//! Properties that hold in every order in which threads can run. Loom itself finds deadlocks.

use std::time::Duration;

use loom::sync::Arc;
use loom::thread;
use opscope_clock::Clock;

use super::{Answer, Generation, Limits, Notice, Queues, ReleaseReason, Resume};
use crate::error::DebugError;
use crate::event::{Event, EventKind, Queue, Sequence};
use crate::sync::EventDescriptor;

type Work = Box<dyn FnOnce() + Send>;

const LIMITS: Limits = Limits { lease: Duration::MAX, capacity: 1, reader_grace: Duration::ZERO };

fn attached(limits: Limits) -> (Arc<Queues<Work>>, Generation) {
    let queues = Arc::new(Queues::new(Clock::system()).expect("the system has descriptors"));
    let generation = queues.attach(limits, descriptor(), []);
    (queues, generation)
}

fn descriptor() -> std::sync::Arc<EventDescriptor> {
    std::sync::Arc::new(EventDescriptor::new().expect("the system has descriptors"))
}

/// Starts a thread that is stopped once. It returns how it continued; `None` if no client was attached.
fn stopped(queues: &Arc<Queues<Work>>) -> thread::JoinHandle<Option<Answer>> {
    let queues = Arc::clone(queues);
    thread::spawn(move || {
        let event = queues.announce(None, EventKind::AttachComplete, 1)?;
        Some(queues.wait(event, |work| work()))
    })
}

fn read(queues: &Queues<Work>, generation: Generation) -> Event {
    loop {
        match queues.take(generation, Queue::Sync, 1).pop() {
            Some(event) => return event,
            None => thread::yield_now(),
        }
    }
}

fn is_resumed(answer: Option<Answer>) -> bool {
    matches!(answer, Some(Answer::Resume(_)))
}

#[test]
fn a_thread_waits_until_its_event_is_read_and_acknowledged() {
    loom::model(|| {
        let (queues, generation) = attached(LIMITS);
        let thread = stopped(&queues);
        let event = read(&queues, generation);
        assert!(event.waiting);
        assert_eq!(queues.status().1.len(), 1, "it waits for the answer");
        queues.acknowledge(generation, event.sequence, Resume::Step).unwrap();
        assert!(matches!(thread.join().unwrap(), Some(Answer::Resume(Resume::Step))));
        assert!(queues.status().1.is_empty());
        assert!(!queues.is_signalled());
    });
}

#[test]
fn acknowledging_what_was_read_leaves_the_others_waiting() {
    loom::model(|| {
        let (queues, generation) = attached(LIMITS);
        let threads = [stopped(&queues), stopped(&queues)];
        read(&queues, generation);
        assert_eq!(queues.acknowledge_read(generation).unwrap(), 1);
        read(&queues, generation);
        assert_eq!(queues.acknowledge_read(generation).unwrap(), 1);
        assert!(threads.into_iter().all(|thread| is_resumed(thread.join().unwrap())));
    });
}

#[test]
fn an_answer_and_the_end_of_a_lease_never_both_count() {
    loom::model(|| {
        let (queues, generation) = attached(LIMITS);
        let thread = stopped(&queues);
        let event = read(&queues, generation).sequence;
        let clock = {
            let queues = Arc::clone(&queues);
            thread::spawn(move || queues.expire(event))
        };
        let acknowledged = queues.acknowledge(generation, event, Resume::Step);
        clock.join().unwrap();
        match (thread.join().unwrap(), acknowledged) {
            (Some(Answer::Resume(Resume::Step)), Ok(())) => {}
            (Some(Answer::Expired { release, silent: None }), Err(DebugError::AlreadyContinued(..))) => {
                assert_eq!(release.because, ReleaseReason::LeaseExpired);
            }
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn detaching_leaves_no_thread_behind() {
    loom::model(|| {
        let (queues, generation) = attached(LIMITS);
        let threads = [stopped(&queues), stopped(&queues)];
        let debugger = {
            let queues = Arc::clone(&queues);
            thread::spawn(move || {
                if let Some(event) = queues.take(generation, Queue::Sync, 1).pop() {
                    let _ = queues.acknowledge(generation, event.sequence, Resume::Continue);
                }
            })
        };
        queues.detach(generation, Some(EventKind::DetachComplete));
        debugger.join().unwrap();
        for thread in threads {
            // The client was no longer attached, or the thread was resumed.
            assert!(matches!(thread.join().unwrap(), None | Some(Answer::Resume(_))));
        }
        assert!(queues.announce(None, EventKind::AttachComplete, 1).is_none());
        assert!(queues.status().1.is_empty());
    });
}

#[test]
fn what_is_asked_of_a_stopped_thread_is_done_or_refused() {
    loom::model(|| {
        let (queues, generation) = attached(LIMITS);
        let thread = stopped(&queues);
        let event = read(&queues, generation).sequence;
        let other = {
            let queues = Arc::clone(&queues);
            thread::spawn(move || queues.acknowledge(generation, event, Resume::Continue).unwrap())
        };
        // The sender is part of the work. Whether it is used or dropped, the receiver notices.
        let (done, answer) = std::sync::mpsc::channel();
        let submitted = queues.submit(generation, event, Box::new(move || done.send(()).unwrap()));
        assert!(is_resumed(thread.join().unwrap()));
        other.join().unwrap();
        let answer = answer.try_recv();
        match submitted {
            Ok(()) => assert_ne!(answer, Err(std::sync::mpsc::TryRecvError::Empty), "it is forgotten somewhere"),
            Err(_) => assert!(answer.is_err()),
        }
    });
}

#[test]
fn async_events_are_delivered_or_counted() {
    loom::model(|| {
        let (queues, generation) = attached(LIMITS);
        let raiser = {
            let queues = Arc::clone(&queues);
            thread::spawn(move || (0..3).for_each(|_| queues.raise(None, EventKind::Timeout, 1)))
        };
        let mut read = queues.take(generation, Queue::Async, 1);
        raiser.join().unwrap();
        read.extend(queues.take(generation, Queue::Async, usize::MAX));
        assert_eq!(read.iter().map(|event| 1 + event.coalesced).sum::<u64>(), 3);
        assert!(read.is_sorted_by(|a, b| a.sequence < b.sequence));
        let ([_, account], ..) = queues.status();
        assert_eq!((account.raised, account.delivered + account.coalesced), (3, 3));
        assert!(!queues.is_signalled());
    });
}

#[test]
fn nothing_is_folded_while_the_reader_drains() {
    loom::model(|| {
        // Loom has no time, so this reader waits for ever.
        let (queues, generation) = attached(Limits { reader_grace: Duration::from_secs(3600), ..LIMITS });
        let raiser = {
            let queues = Arc::clone(&queues);
            thread::spawn(move || (0..3).for_each(|_| queues.raise(None, EventKind::Timeout, 1)))
        };
        let mut read = 0;
        while read < 3 {
            match queues.take(generation, Queue::Async, 1).pop() {
                Some(event) => {
                    assert_eq!(event.coalesced, 0);
                    read += 1;
                }
                None => thread::yield_now(),
            }
        }
        raiser.join().unwrap();
    });
}

#[test]
fn a_thread_that_waits_for_space_continues_when_the_debugger_is_gone() {
    loom::model(|| {
        let (queues, generation) = attached(Limits { reader_grace: Duration::from_secs(3600), ..LIMITS });
        let raiser = {
            let queues = Arc::clone(&queues);
            thread::spawn(move || (0..2).for_each(|_| queues.raise(None, EventKind::Timeout, 1)))
        };
        queues.detach(generation, None);
        raiser.join().unwrap();
        let ([_, account], ..) = queues.status();
        assert_eq!(account.raised, account.discarded);
        assert!(!queues.is_signalled());
    });
}

#[test]
fn no_event_comes_without_a_notification() {
    loom::model(|| {
        let (queues, generation) = attached(Limits { capacity: 8, ..LIMITS });
        let raisers = [0, 1].map(|_| {
            let queues = Arc::clone(&queues);
            thread::spawn(move || queues.raise(None, EventKind::Timeout, 1))
        });
        let mut read = 0;
        while read < 2 {
            assert_eq!(queues.wait_for_notice(generation, None, || true), Notice::Events);
            read += queues.take(generation, Queue::Async, usize::MAX).len();
        }
        raisers.into_iter().for_each(|raiser| raiser.join().unwrap());
    });
}

#[test]
fn the_notification_of_a_debugger_that_is_gone_takes_nothing_from_the_next_one() {
    loom::model(|| {
        let (queues, first) = attached(LIMITS);
        let earlier = {
            let queues = Arc::clone(&queues);
            thread::spawn(move || while queues.wait_for_notice(first, None, || true) == Notice::Events {})
        };
        queues.detach(first, None);
        let second = queues.attach(LIMITS, descriptor(), [EventKind::AttachComplete]);
        assert_eq!(queues.wait_for_notice(second, None, || true), Notice::Events);
        earlier.join().unwrap();
    });
}

#[test]
fn an_event_of_a_debugger_that_is_gone_does_not_reach_the_next_one() {
    loom::model(|| {
        let (queues, first) = attached(LIMITS);
        let thread = stopped(&queues);
        queues.detach(first, None);
        let second = queues.attach(LIMITS, descriptor(), []);
        let late = queues.acknowledge(first, Sequence(1), Resume::Step);
        assert!(matches!(late, Err(DebugError::NotAttached)));
        if let Some(event) = queues.take(second, Queue::Sync, 1).pop() {
            assert!(event.waiting, "it was raised after the second one had come");
            queues.acknowledge(second, event.sequence, Resume::Continue).unwrap();
        } else {
            queues.detach(second, None);
        }
        assert!(!matches!(thread.join().unwrap(), Some(Answer::Expired { .. })));
    });
}
