//! Functions of the program that a stream calls, either on a thread that the program subscribes, or on the stream's own
//! thread: the functions for callbacks, the subscriptions, which say what thread runs the callbacks of which stream,
//! and the callbacks that wait.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_int;
use std::mem;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use opscope_border::{exported, system};
use opscope_sys::{Condvar, Mutex, MutexGuard};

use crate::border::{Data, Failure, codes, required};
use crate::contexts::{aclrtStream, limit, stream};
use crate::forks::{Shared, count_forks, forks};
use crate::streams::{Latch, Stream, as_callback};
use crate::thread_context::runtime_call;

const NO_BLOCK: c_int = 0;
const BLOCK: c_int = 1;

/// Lets a thread of the program run the callbacks of a stream. The thread is identified by the value of pthread_self.
#[exported(runtime_call)]
pub fn aclrtSubscribeReport(thread: u64, of: aclrtStream) -> Result<(), Failure> {
    subscribe(thread, &stream(of)?)
}

/// Ends the subscription that aclrtSubscribeReport began. Waiting callbacks are not called; if there are any, the
/// stream's next synchronization fails.
#[exported(runtime_call)]
pub fn aclrtUnSubscribeReport(thread: u64, of: aclrtStream) -> Result<(), Failure> {
    unsubscribe(thread, &stream(of)?)
}

/// Queues a function that the subscribed thread calls. With ACL_CALLBACK_BLOCK the stream waits for it.
#[exported(runtime_call)]
pub fn aclrtLaunchCallback(
    function: Option<Function>,
    data: Data,
    block: c_int,
    on: aclrtStream,
) -> Result<(), Failure> {
    let (function, data) = (required(function, "fn")?, data);
    if block != NO_BLOCK && block != BLOCK {
        let reason = "it is not one of aclrtCallbackBlockType";
        return Err(Failure::wrong_value("blockType", block, reason));
    }
    let stream = stream(on)?;
    of_stream(&stream).ok_or_else(no_thread)?;
    let of = Arc::clone(&stream);
    stream.run(move || {
        let (thread, reports) = of_stream(&of).ok_or_else(no_thread)?;
        let latch = Arc::new(Latch::default());
        reports.push(Callback { function, data, stream: Arc::clone(&of), latch: Arc::clone(&latch) });
        if block == NO_BLOCK || of.wait_for_program(thread, &latch) {
            return Ok(());
        }
        let text = format!("a callback of stream {} was not called: no thread asked for it", of.id());
        Err(Failure::new(codes::RT_STREAM_NO_CB_REG, "EE1003", text))
    })
}

fn no_thread() -> Failure {
    let text = "no thread runs the callbacks of this stream: call aclrtSubscribeReport first";
    Failure::new(codes::RT_STREAM_NO_CB_REG, "EE1003", text)
}

/// Waits until a stream reaches a callback for this thread, and calls all that wait.
#[exported(runtime_call)]
pub fn aclrtProcessReport(milliseconds: i32) -> Result<(), Failure> {
    let limit = limit(milliseconds, 1)?;
    of_thread(system::thread_handle())?.process(limit)
}

/// Queues a function that the stream's own thread calls.
#[exported(runtime_call)]
pub fn aclrtLaunchHostFunc(on: aclrtStream, function: Option<Function>, data: Data) -> Result<(), Failure> {
    let (function, data) = (required(function, "fn")?, data);
    stream(on)?.run(move || {
        function(data);
        Ok(())
    })
}

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

pub type Function = extern "C" fn(data: Data);

/// A callback that its stream has reached.
pub struct Callback {
    pub function: Function,
    pub data: Data,
    pub stream: Arc<Stream>,
    pub latch: Arc<Latch>,
}

impl Callback {
    /// Calls it, unless its stream no longer waits for it. Returns whether the callback forked and this is the child.
    fn run(self) -> bool {
        count_forks();
        let before = forks();
        if self.latch.take() {
            as_callback(|| (self.function)(self.data));
        }
        let has_forked = forks() != before;
        if has_forked {
            // The stream belongs to the parent.
            mem::forget(self);
        } else {
            self.latch.open();
        }
        has_forked
    }

    /// Reports that it will not be called.
    fn give_up(self) {
        let id = self.stream.id();
        let text = format!("a callback of stream {id} was not called: its thread was unsubscribed before");
        self.stream.fail(Failure::new(codes::RT_STREAM_NO_CB_REG, "EE1003", text));
        self.latch.give_up();
    }
}

/// The callbacks that wait for one thread.
#[derive(Default)]
pub struct Reports {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Callback>,
    /// Whether no stream is subscribed any more.
    is_closed: bool,
}

impl Reports {
    /// Adds a callback. If the thread is no longer subscribed, the callback is given up.
    pub fn push(&self, callback: Callback) {
        let mut state = self.lock();
        if state.is_closed {
            drop(state);
            callback.give_up();
            return;
        }
        state.waiting.push_back(callback);
        self.changed.notify_all();
    }

    /// Waits for callbacks, and calls all that wait. `None` means to wait forever.
    ///
    /// # Errors
    /// Returns an error if no stream is subscribed, or if the time is over.
    pub fn process(&self, limit: Option<Duration>) -> Result<(), Failure> {
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut state = self.lock();
        while state.waiting.is_empty() {
            if state.is_closed {
                return Err(not_subscribed());
            }
            let Some(deadline) = deadline else {
                state = self.changed.wait(state);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let text = "no stream came to a callback before the time to wait was over";
                return Err(Failure::new(codes::RT_REPORT_TIMEOUT, "EE1003", text));
            }
            state = self.changed.wait_timeout(state, left);
        }
        let callbacks = mem::take(&mut state.waiting);
        drop(state);
        for callback in callbacks {
            if callback.run() {
                break;
            }
        }
        Ok(())
    }

    /// Gives up the callbacks of a stream. If it was the thread's last stream, gives up all callbacks, including later
    /// ones.
    pub fn give_up(&self, of: &Arc<Stream>, is_last: bool) {
        let mut state = self.lock();
        state.is_closed |= is_last;
        let (dropped, kept) = mem::take(&mut state.waiting)
            .into_iter()
            .partition(|callback| is_last || Arc::ptr_eq(&callback.stream, of));
        state.waiting = kept;
        self.changed.notify_all();
        drop(state);
        let dropped: VecDeque<Callback> = dropped;
        dropped.into_iter().for_each(Callback::give_up);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

pub fn not_subscribed() -> Failure {
    Failure::new(codes::RT_THREAD_SUBSCRIBE, "EE1003", "the thread is not subscribed: call aclrtSubscribeReport first")
}
