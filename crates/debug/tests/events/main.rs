//! The debugger, used from the same process.

#[path = "../fake/mod.rs"]
mod fake;

mod attaching;
mod bodies;
mod breakpoints;
mod disorder;
mod looking;
mod notification;
mod queues;
mod rules;
mod stepping;
mod time;

use std::sync::Arc;
use std::thread::JoinHandle;

use fake::Fake;
use opscope_debug::{Attachment, Debugger, Event, Queue};
use opscope_model::{EngineError, Fidelity};
use rustix::event::{PollFd, PollFlags, poll};

/// Returns a debugger with a loaded model.
fn program() -> (Debugger, Arc<Fake>) {
    loaded(Debugger::new().expect("the system has descriptors"))
}

fn loaded(debugger: Debugger) -> (Debugger, Arc<Fake>) {
    let fake = Arc::new(Fake::new());
    debugger.planned(&fake.graph, Fidelity::Exact, &fake.kernels);
    (debugger, fake)
}

/// Starts a run on a thread of its own.
fn start(
    debugger: &Debugger,
    fake: &Arc<Fake>,
    run: u64,
    input: [f32; 4],
) -> JoinHandle<Result<Vec<f32>, EngineError>> {
    let (debugger, fake) = (debugger.clone(), Arc::clone(fake));
    std::thread::spawn(move || fake.run(&debugger, run, input))
}

/// Waits for the next event.
fn next(attachment: &Attachment, queue: Queue) -> Event {
    loop {
        if let Some(event) = attachment.next_event(queue).expect("the debugger is attached") {
            return event;
        }
        let fd = attachment.notification_fd();
        poll(&mut [PollFd::new(&fd, PollFlags::IN)], None).expect("poll works");
    }
}

/// Waits for the next sync event, and skips those of attaching.
fn stop(attachment: &Attachment) -> Event {
    loop {
        let event = next(attachment, Queue::Sync);
        if event.waiting {
            return event;
        }
    }
}
