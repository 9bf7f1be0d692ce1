use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use opscope_clock::{Clock, Sleeper, Wait};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::find::Notification;
use crate::error::{ConnectionError, DebugError, ErrorCode, Refusal};
use crate::event::Event;
use crate::remote::protocol::{Bye, Frame, FrameError, FrameLimits, FrameReader, Request};
use crate::remote::socket::{Ready, send_frame};
use crate::sync::{Condvar, EventDescriptor, Mutex, lock, wait_until};

/// The socket, and the threads that wait for its messages. One of them reads for all. So in the common case no thread
/// has to wake another one, which would take as long as to send the message between the processes.
pub(super) struct Link {
    /// The clock of timeouts.
    clock: Clock,
    stream: UnixStream,
    /// Held while a frame is sent, so that frames do not mix.
    sending: Mutex<()>,
    /// The reader of frames, used by the thread that reads.
    frames: Mutex<FrameReader>,
    calls: Mutex<Calls>,
    /// Signalled when a message has arrived, or when the thread that reads returns.
    changed: Condvar,
    /// Readable when the thread that reads has to return, because another thread was woken.
    waker: EventDescriptor,
    notification: Notification,
    /// The thread that reads notifications while no call reads.
    listener: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Calls {
    last: u64,
    waiting: HashMap<u64, Call>,
    /// Whether a thread is reading.
    are_read: bool,
    /// Whether events wait, according to the program's notifications.
    events_wait: bool,
    /// The events that came with notifications and were not taken yet.
    delivered: Vec<Event>,
    /// Whether a wait for events has to return.
    woken: bool,
    /// The reason that the program gave before it closes the connection.
    announced_end: Option<DebugError>,
    gone: Option<DebugError>,
}

/// A call that waits.
#[derive(Default)]
struct Call {
    answer: Option<Frame>,
    takes_events: bool,
}

/// A message from the program. An answer is parsed by the thread that sent the request.
#[derive(Deserialize)]
struct Incoming {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    notify: Option<Notified>,
    #[serde(default)]
    bye: Option<Bye>,
    /// An error of the whole connection. Used only if there is no id.
    #[serde(default)]
    error: Option<Refusal>,
}

/// The content of a notification.
#[derive(Deserialize)]
struct Notified {
    #[serde(default)]
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct Answer<T> {
    ok: Option<T>,
    error: Option<Refusal>,
}

#[derive(Serialize)]
struct Numbered<'a, R> {
    id: u64,
    request: &'static str,
    #[serde(flatten)]
    arguments: &'a R,
}

/// Parses an answer.
pub(super) fn read_answer<T: DeserializeOwned>(frame: &Frame) -> Result<T, DebugError> {
    match serde_json::from_slice::<Answer<T>>(&frame.json) {
        Ok(Answer { error: Some(refusal), .. }) => Err(refusal.into()),
        Ok(Answer { ok: Some(result), .. }) => Ok(result),
        Ok(_) => Err(not_understood("it has neither 'ok' nor 'error'")),
        Err(error) => Err(not_understood(error)),
    }
}

/// Makes the error for an answer that does not fit its request.
pub(in crate::remote) fn not_understood(reason: impl Into<Box<dyn Error + Send + Sync>>) -> DebugError {
    ConnectionError::Answer(Arc::from(reason.into())).into()
}

impl Link {
    pub fn open(stream: UnixStream, clock: Clock) -> Result<Arc<Self>, DebugError> {
        let failed = |error: io::Error| ConnectionError::Unusable(Arc::new(error));
        let link = Arc::new(Self {
            clock,
            stream,
            sending: Mutex::new(()),
            frames: Mutex::new(FrameReader::new(FrameLimits::ANSWER)),
            calls: Mutex::default(),
            changed: Condvar::new(),
            waker: EventDescriptor::new().map_err(failed)?,
            notification: Notification::new().map_err(failed)?,
            listener: Mutex::new(None),
        });
        let sleeper: Weak<Self> = Arc::downgrade(&link);
        link.clock.register(sleeper);
        Ok(link)
    }

    /// Returns the notification. From the first call on, a thread is always reading.
    pub fn notification(self: &Arc<Self>) -> &Notification {
        let mut listener = lock(&self.listener);
        if listener.is_none() {
            let link = Arc::clone(self);
            let listen = move || {
                link.until(None, |calls| calls.gone.as_ref().map(drop));
            };
            match thread::Builder::new().name("opscope-debug-client".into()).spawn(listen) {
                Ok(thread) => *listener = Some(thread),
                // The end makes the descriptor readable, and the next call returns the error.
                Err(error) => self.end(DebugError::system(error)),
            }
        }
        &self.notification
    }

    /// Returns why the connection has ended, if it has.
    pub fn gone(&self) -> Option<DebugError> {
        self.until(Some(self.clock.now()), |calls| calls.gone.clone())
    }

    /// Waits until events wait, or the connection has ended. Returns `false` after the timeout, or when it is woken.
    pub fn wait(&self, timeout: Duration) -> bool {
        let until = self.clock.after(timeout);
        let ready = self.until(until, |calls| {
            let ready = calls.events_wait || !calls.delivered.is_empty() || calls.gone.is_some();
            (std::mem::take(&mut calls.woken) || ready).then_some(ready)
        });
        ready.unwrap_or(false)
    }

    /// Makes the wait in progress return, or the next one if there is none.
    pub fn wake(&self) {
        let mut calls = lock(&self.calls);
        calls.woken = true;
        self.wake_waiters(&calls);
    }

    /// Wakes the waiting threads, so that they check their conditions.
    fn wake_waiters(&self, calls: &Calls) {
        if calls.are_read {
            self.waker.signal();
        }
        self.changed.notify_all();
    }

    /// Takes the events that came with notifications.
    pub fn take_delivered(&self) -> Vec<Event> {
        std::mem::take(&mut lock(&self.calls).delivered)
    }

    /// Sends a request and waits for the answer.
    pub fn call<R: Request>(
        &self,
        request: &R,
        attachment: &[u8],
        patience: Option<Duration>,
    ) -> Result<Frame, DebugError> {
        let id = {
            let mut calls = lock(&self.calls);
            if let Some(gone) = &calls.gone {
                return Err(gone.clone());
            }
            calls.last += 1;
            let id = calls.last;
            calls.waiting.insert(id, Call { answer: None, takes_events: R::TAKES_EVENTS });
            id
        };
        match self.send(id, request, attachment) {
            Ok(Ok(())) => {}
            // The program may have sent a reason for closing the connection. It is still read, and ends every call.
            Ok(Err(_)) => drop(self.stream.shutdown(Shutdown::Both)),
            Err(error) => {
                lock(&self.calls).waiting.remove(&id);
                return Err(error);
            }
        }
        let until = patience.and_then(|patience| self.clock.after(patience));
        let answer = self.until(until, |calls| {
            let answer = calls.waiting.get_mut(&id).and_then(|call| call.answer.take());
            let outcome = answer.map(Ok).or_else(|| calls.gone.clone().map(Err))?;
            calls.waiting.remove(&id);
            Some(outcome)
        });
        answer.unwrap_or_else(|| {
            lock(&self.calls).waiting.remove(&id);
            let seconds = patience.unwrap_or_default().as_secs();
            Err(ConnectionError::NoAnswer { seconds }.into())
        })
    }

    /// Sends a request. The outer error is that of the request, the inner one that of the connection.
    fn send<R: Request>(&self, id: u64, request: &R, attachment: &[u8]) -> Result<io::Result<()>, DebugError> {
        let json = serde_json::to_vec(&Numbered { id, request: R::NAME, arguments: request });
        let json = json.map_err(|error| ConnectionError::Request(Arc::new(error)))?;
        let limits = FrameLimits::REQUEST;
        if json.len() > limits.json || attachment.len() > limits.attachment {
            let message = format!(
                "a request has at most {} bytes of JSON and {} bytes of tensors; this one has {} and {}",
                limits.json,
                limits.attachment,
                json.len(),
                attachment.len()
            );
            return Err(Refusal::new(ErrorCode::TooLong, message).into());
        }
        let _sending = lock(&self.sending);
        Ok(send_frame(&self.stream, &json, attachment))
    }

    /// Closes the connection. When this returns, no callback is called any more.
    pub fn hang_up(&self) {
        self.end(ConnectionError::HungUp.into());
        let _ = self.stream.shutdown(Shutdown::Both);
        let listener = lock(&self.listener).take();
        if let Some(listener) = listener.filter(|listener| listener.thread().id() != thread::current().id()) {
            let _ = listener.join();
        }
        self.notification.stop();
    }

    /// Waits until `done` returns a result. Meanwhile reads for all threads, unless another thread does. Returns `None`
    /// after the deadline; messages that have already arrived are read first.
    fn until<T>(&self, until: Option<Instant>, mut done: impl FnMut(&mut Calls) -> Option<T>) -> Option<T> {
        let mut calls = lock(&self.calls);
        let mut has_read = false;
        loop {
            let result = done(&mut calls);
            let is_late = until.is_some_and(|until| self.clock.has_come(until));
            if result.is_some() || is_late && (has_read || calls.are_read) {
                return result;
            }
            if calls.are_read {
                calls = wait_until(&self.clock, &self.changed, calls, until);
                continue;
            }
            calls.are_read = true;
            drop(calls);
            let outcome = self.read(until);
            if let Err(reason) = outcome {
                self.end(reason);
            }
            calls = lock(&self.calls);
            calls.are_read = false;
            has_read = true;
            self.changed.notify_all();
        }
    }

    /// Waits for bytes and reads at most one frame. Returns an error if the connection has ended.
    fn read(&self, until: Option<Instant>) -> Result<(), DebugError> {
        let wait = until.map(|until| self.clock.begin_wait(until));
        let left = wait.as_ref().and_then(Wait::left).and_then(|left| Timespec::try_from(left).ok());
        let mut fds = [PollFd::new(&self.stream, PollFlags::IN), PollFd::new(&self.waker, PollFlags::IN)];
        if let Ok(0) = poll(&mut fds, left.as_ref()) {
            return Ok(());
        }
        if !fds[1].revents().is_empty() {
            self.waker.clear();
            return Ok(());
        }
        match lock(&self.frames).read(&mut Ready(&self.stream)) {
            Ok(None) => Ok(()),
            Ok(Some(frame)) => self.route(frame),
            Err(error) => Err(lock(&self.calls).announced_end.take().unwrap_or_else(|| match error {
                FrameError::Closed | FrameError::Cut => ConnectionError::Closed.into(),
                error => ConnectionError::Broken(Arc::new(error)).into(),
            })),
        }
    }

    /// Passes an answer to the call that waits for it, and a notification to its readers.
    fn route(&self, frame: Frame) -> Result<(), DebugError> {
        let incoming: Incoming =
            serde_json::from_slice(&frame.json).map_err(|error| ConnectionError::Message(Arc::new(error)))?;
        let mut calls = lock(&self.calls);
        if let Some(id) = incoming.id {
            let Some(call) = calls.waiting.get_mut(&id) else { return Ok(()) };
            call.answer = Some(frame);
            if call.takes_events {
                // The program sends another notification for events after this answer.
                calls.events_wait = false;
                self.notification.clear();
            }
        } else if let Some(notified) = incoming.notify {
            calls.delivered.extend(notified.events);
            calls.events_wait = true;
            self.notification.notify();
        } else if let Some(bye) = incoming.bye {
            calls.announced_end = Some(ConnectionError::Bye(bye.reason).into());
        } else if let Some(refusal) = incoming.error {
            calls.announced_end = Some(refusal.into());
        }
        Ok(())
    }

    fn end(&self, reason: DebugError) {
        lock(&self.calls).gone.get_or_insert(reason);
        self.changed.notify_all();
        self.notification.notify();
    }
}

impl Sleeper for Link {
    fn wake_up(&self) {
        self.wake_waiters(&lock(&self.calls));
    }
}
