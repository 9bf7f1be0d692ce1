use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use opscope_debug::{AttachOptions, Attachment, BreakpointSpec, DebugError, EventName, Queue, Resume};
use opscope_model::EngineError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::fake::PLAIN;
use crate::{program, start};

fn is_readable(attachment: &Attachment) -> bool {
    let fd = attachment.notification_fd();
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&now)).unwrap() > 0
}

#[test]
fn the_descriptor_is_readable_exactly_while_events_wait() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    assert!(is_readable(&attachment), "attach complete waits");
    while attachment.next_event(Queue::Sync).unwrap().is_some() {}
    assert!(!is_readable(&attachment));
    attachment.subscribe([EventName::OperatorFinished].into_iter().collect()).unwrap();
    fake.run(&debugger, 1, PLAIN).unwrap();
    for left in (0..3).rev() {
        assert!(is_readable(&attachment));
        attachment.next_event(Queue::Async).unwrap().unwrap();
        assert_eq!(is_readable(&attachment), left > 0);
    }
    attachment.detach().unwrap();
    assert!(is_readable(&attachment), "detach complete waits");
    let next = debugger.attach(AttachOptions::default()).unwrap();
    assert!(!is_readable(&attachment), "what waits now is the next one's");
    assert!(is_readable(&next));
}

/// Lets a run finish whose events the callback does not take.
fn finish(attachment: &Attachment, run: JoinHandle<Result<Vec<f32>, EngineError>>, by_hand: bool) {
    while by_hand && !run.is_finished() {
        while attachment.next_event(Queue::Sync).unwrap().is_some() {}
        attachment.acknowledge_sync_events().unwrap();
        std::thread::yield_now();
    }
    run.join().unwrap().unwrap();
}

/// Returns the results of calls from inside of a callback, and the threads of the calls.
fn from_inside(strict: bool) -> (Vec<Result<(), DebugError>>, Vec<std::thread::ThreadId>) {
    let (debugger, fake) = program();
    let options = AttachOptions { strict_callbacks: strict, ..AttachOptions::default() };
    let attachment = Arc::new(debugger.attach(options).unwrap());
    let breakpoint = attachment.add_breakpoint(BreakpointSpec::at("log".parse().unwrap())).unwrap();
    while attachment.next_event(Queue::Sync).unwrap().is_some() {}
    let (answers, told) = channel();
    let handle = Arc::new(OnceLock::from(Arc::downgrade(&attachment)));
    let inside = Arc::clone(&handle);
    attachment
        .set_notification_callback(Some(Box::new(move || {
            let Some(attachment) = inside.get().and_then(std::sync::Weak::upgrade) else { return };
            let event = attachment.next_event(Queue::Sync);
            let sequence = event.as_ref().ok().and_then(|event| event.as_ref().map(|event| event.sequence));
            let results = vec![
                event.map(drop),
                attachment.next_events(Queue::Async, 1).map(drop),
                attachment.breakpoints().map(drop),
                attachment.status().map(drop),
                attachment.remove_breakpoint(breakpoint.id),
                attachment.pause(None).map(drop),
                attachment.renew(sequence.unwrap_or(opscope_debug::Sequence(1))),
                attachment.location(sequence.unwrap_or(opscope_debug::Sequence(1))).map(drop),
                attachment.set_notification_callback(None),
                attachment.detach(),
                match sequence {
                    Some(sequence) => attachment.acknowledge(sequence, Resume::Continue),
                    None => attachment.acknowledge_sync_events().map(drop),
                },
            ];
            let _ = answers.send((results, std::thread::current().id()));
        })))
        .unwrap();
    let run = start(&debugger, &fake, 1, PLAIN);
    let (results, first) = told.recv().unwrap();
    finish(&attachment, run, strict);
    let run = start(&debugger, &fake, 2, PLAIN);
    let (_, second) = told.recv().unwrap();
    finish(&attachment, run, strict);
    (results, vec![first, second])
}

#[test]
fn from_inside_of_the_callback_events_can_be_taken_and_acknowledged_and_nothing_else() {
    let (results, threads) = from_inside(false);
    let last = results.len() - 1;
    for (index, result) in results.iter().enumerate() {
        let is_allowed = index < 2 || index == last;
        assert_eq!(result.is_ok(), is_allowed, "call {index}: {result:?}");
        assert!(is_allowed || matches!(result, Err(DebugError::RecursiveCall)), "call {index}: {result:?}");
    }
    assert_eq!(threads[0], threads[1], "always the same thread");
}

#[test]
fn in_strict_mode_every_call_from_inside_of_the_callback_is_refused() {
    let (results, _) = from_inside(true);
    for result in results {
        assert!(matches!(result, Err(DebugError::RecursiveCall)), "{result:?}");
    }
}
