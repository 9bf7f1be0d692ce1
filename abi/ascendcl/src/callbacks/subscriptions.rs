//! The subscriptions: which thread runs the callbacks of which stream.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use super::reports::{Reports, not_subscribed};
use crate::border::{Failure, codes};
use crate::forks::Shared;
use crate::streams::Stream;

/// The child of a fork has no streams.
static SUBSCRIPTIONS: Shared<Subscriptions> =
    Shared::new(Subscriptions::new(), || SUBSCRIPTIONS.held(Subscriptions::forget));

struct Subscriptions {
    threads: BTreeMap<u64, Arc<Reports>>,
    /// The thread of each stream, by the stream's number.
    streams: BTreeMap<i32, (u64, Weak<Stream>)>,
}

impl Subscriptions {
    const fn new() -> Self {
        Self { threads: BTreeMap::new(), streams: BTreeMap::new() }
    }

    /// Removes streams that ended, and threads without streams.
    fn clean(&mut self) {
        let Self { threads, streams } = self;
        streams.retain(|_, (_, stream)| stream.strong_count() > 0);
        threads.retain(|thread, _| streams.values().any(|(of, _)| of == thread));
    }

    fn forget(&mut self) {
        std::mem::forget(std::mem::replace(self, Self::new()));
    }
}

/// Lets a thread run the callbacks of a stream.
pub fn subscribe(thread: u64, stream: &Arc<Stream>) -> Result<(), Failure> {
    let mut subscriptions = SUBSCRIPTIONS.lock();
    subscriptions.clean();
    if subscriptions.streams.contains_key(&stream.id()) {
        let text = "a thread runs the callbacks of this stream already";
        return Err(Failure::new(codes::RT_STREAM_SUBSCRIBE, "EE1003", text));
    }
    subscriptions.streams.insert(stream.id(), (thread, Arc::downgrade(stream)));
    subscriptions.threads.entry(thread).or_default();
    Ok(())
}

/// Ends a subscription. Callbacks that the thread has not run are not called, and the stream's next synchronization
/// reports that.
pub fn unsubscribe(thread: u64, stream: &Arc<Stream>) -> Result<(), Failure> {
    let mut subscriptions = SUBSCRIPTIONS.lock();
    let reports = subscriptions.threads.get(&thread).cloned().ok_or_else(not_subscribed)?;
    if subscriptions.streams.get(&stream.id()).is_none_or(|(of, _)| *of != thread) {
        let text = "this thread does not run the callbacks of this stream";
        return Err(Failure::new(codes::RT_STREAM_SUBSCRIBE, "EE1003", text));
    }
    subscriptions.streams.remove(&stream.id());
    subscriptions.clean();
    let is_last = !subscriptions.threads.contains_key(&thread);
    drop(subscriptions);
    reports.give_up(stream, is_last);
    Ok(())
}

/// Returns the thread that runs the callbacks of a stream, and that thread's reports.
pub fn of_stream(stream: &Stream) -> Option<(u64, Arc<Reports>)> {
    let subscriptions = SUBSCRIPTIONS.read();
    let (thread, _) = subscriptions.streams.get(&stream.id())?;
    subscriptions.threads.get(thread).map(|reports| (*thread, Arc::clone(reports)))
}

/// Returns the reports of a thread.
pub fn of_thread(thread: u64) -> Result<Arc<Reports>, Failure> {
    let mut subscriptions = SUBSCRIPTIONS.lock();
    subscriptions.clean();
    subscriptions.threads.get(&thread).cloned().ok_or_else(not_subscribed)
}
