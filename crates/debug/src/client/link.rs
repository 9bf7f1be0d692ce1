use std::collections::HashMap;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use super::notification::News;
use crate::DebugError;
use crate::protocol::{Bye, Failure, Frame, FrameError, FrameLimits, FrameReader, Request};
use crate::sync::{lock, wait_until};
use crate::wire::{Ready, send_frame};

/// The socket, and the threads that wait for what comes over it. One of them reads it, for all: so no thread has to wake
/// another one to tell it what it waits for, which takes as long as the message's way from process to process.
pub(super) struct Link {
    stream: UnixStream,
    /// Held while a frame is sent, so that frames do not mix.
    sending: Mutex<()>,
    /// Of the thread that reads.
    frames: Mutex<FrameReader>,
    calls: Mutex<Calls>,
    /// Something came, or nobody reads any more.
    changed: Condvar,
    news: News,
    /// The thread that reads when no other one does, for those that are not waiting in a call of ours.
    listener: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Calls {
    last: u64,
    waiting: HashMap<u64, Call>,
    /// Whether a thread reads.
    are_read: bool,
    /// Whether events can be taken, as far as is known.
    news: bool,
    /// Why the program will close the connection.
    last_words: Option<DebugError>,
    gone: Option<DebugError>,
}

/// A call that waits.
#[derive(Default)]
struct Call {
    answer: Option<Frame>,
    takes_events: bool,
}

/// What comes from the program. An answer is read by the thread that asked.
#[derive(Deserialize)]
struct Incoming {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    notify: Option<IgnoredAny>,
    #[serde(default)]
    bye: Option<Bye>,
    /// Only looked at where there is no id: what is wrong with the connection as a whole.
    #[serde(default)]
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Answer<T> {
    ok: Option<T>,
    error: Option<Failure>,
}

#[derive(Serialize)]
struct Numbered<'a> {
    id: u64,
    #[serde(flatten)]
    request: &'a Request,
}

/// What an answer says.
pub(super) fn read_answer<T: DeserializeOwned>(frame: &Frame) -> Result<T, DebugError> {
    match serde_json::from_slice::<Answer<T>>(&frame.json) {
        Ok(Answer { error: Some(failure), .. }) => Err(failure.into()),
        Ok(Answer { ok: Some(result), .. }) => Ok(result),
        Ok(_) => Err(not_understood("it has neither 'ok' nor 'error'")),
        Err(error) => Err(not_understood(error)),
    }
}

/// An answer that makes no sense.
pub(super) fn not_understood(reason: impl std::fmt::Display) -> DebugError {
    DebugError::Connection(format!("the program's answer is not understood: {reason}"))
}

impl Link {
    pub fn open(stream: UnixStream) -> Result<Arc<Self>, DebugError> {
        let failed =
            |error: io::Error| DebugError::Connection(format!("the connection to the program cannot be used: {error}"));
        Ok(Arc::new(Self {
            stream,
            sending: Mutex::new(()),
            frames: Mutex::new(FrameReader::new(FrameLimits::ANSWER)),
            calls: Mutex::default(),
            changed: Condvar::new(),
            news: News::new().map_err(failed)?,
            listener: Mutex::new(None),
        }))
    }

    /// What is told of events without a call of ours being waited in. From now on somebody always reads.
    pub fn news(self: &Arc<Self>) -> &News {
        let mut listener = lock(&self.listener);
        if listener.is_none() {
            let link = Arc::clone(self);
            let listen = move || {
                link.until(None, |calls| calls.gone.as_ref().map(drop));
            };
            match thread::Builder::new().name("opscope-debug-client".into()).spawn(listen) {
                Ok(thread) => *listener = Some(thread),
                // Whoever polls is told that, and the next call says why.
                Err(error) => self.end(DebugError::system(error)),
            }
        }
        &self.news
    }

    /// Why the connection is no more, if it is.
    pub fn gone(&self) -> Option<DebugError> {
        self.until(Some(Instant::now()), |calls| calls.gone.clone())
    }

    /// Waits until events can be taken, or the connection is gone; says whether that is so.
    pub fn wait(&self, timeout: Duration) -> bool {
        let until = Instant::now().checked_add(timeout);
        self.until(until, |calls| (calls.news || calls.gone.is_some()).then_some(())).is_some()
    }

    /// Asks, and waits for the answer.
    pub fn call(&self, request: &Request, attachment: &[u8], patience: Option<Duration>) -> Result<Frame, DebugError> {
        let id = {
            let mut calls = lock(&self.calls);
            if let Some(gone) = &calls.gone {
                return Err(gone.clone());
            }
            calls.last += 1;
            let id = calls.last;
            let takes_events = matches!(request, Request::NextEvents { .. });
            calls.waiting.insert(id, Call { answer: None, takes_events });
            id
        };
        match self.send(id, request, attachment) {
            Ok(Ok(())) => {}
            // The program may have said why it closes: that is read to its end, and then no call waits any more.
            Ok(Err(_)) => drop(self.stream.shutdown(Shutdown::Both)),
            Err(error) => {
                lock(&self.calls).waiting.remove(&id);
                return Err(error);
            }
        }
        let until = patience.and_then(|patience| Instant::now().checked_add(patience));
        let answer = self.until(until, |calls| {
            let answer = calls.waiting.get_mut(&id).and_then(|call| call.answer.take());
            let outcome = answer.map(Ok).or_else(|| calls.gone.clone().map(Err))?;
            calls.waiting.remove(&id);
            Some(outcome)
        });
        answer.unwrap_or_else(|| {
            lock(&self.calls).waiting.remove(&id);
            let seconds = patience.unwrap_or_default().as_secs();
            Err(DebugError::Connection(format!("the program did not answer for {seconds} s; it may be stopped")))
        })
    }

    /// Sends a request, or says what is wrong with it; or else what is wrong with the connection.
    fn send(&self, id: u64, request: &Request, attachment: &[u8]) -> Result<io::Result<()>, DebugError> {
        let json = serde_json::to_vec(&Numbered { id, request });
        let json = json.map_err(|error| DebugError::Connection(format!("the request cannot be written: {error}")))?;
        let limits = FrameLimits::REQUEST;
        if json.len() > limits.json || attachment.len() > limits.attachment {
            let message = format!(
                "a request has at most {} bytes of JSON and {} bytes of tensors; this one has {} and {}",
                limits.json,
                limits.attachment,
                json.len(),
                attachment.len()
            );
            return Err(DebugError::Refused { code: "too_long".into(), message });
        }
        let _sending = lock(&self.sending);
        Ok(send_frame(&self.stream, &json, attachment))
    }

    /// Closes the connection, and returns when no callback is called any more.
    pub fn hang_up(&self) {
        self.end(DebugError::Connection("the connection to the program was closed from this side".into()));
        let _ = self.stream.shutdown(Shutdown::Both);
        let listener = lock(&self.listener).take();
        if let Some(listener) = listener.filter(|listener| listener.thread().id() != thread::current().id()) {
            let _ = listener.join();
        }
        self.news.stop();
    }

    /// Waits until something is `done`, and reads for all meanwhile, or lets another thread that waits do so. None where
    /// that takes too long; what is there already is read in any case.
    fn until<T>(&self, until: Option<Instant>, mut done: impl FnMut(&mut Calls) -> Option<T>) -> Option<T> {
        let mut calls = lock(&self.calls);
        let mut has_read = false;
        loop {
            let result = done(&mut calls);
            let is_late = until.is_some_and(|until| Instant::now() >= until);
            if result.is_some() || is_late && (has_read || calls.are_read) {
                return result;
            }
            if calls.are_read {
                calls = wait_until(&self.changed, calls, until);
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

    /// Waits for something to read, and takes what is there, a frame at most. An error where the connection is gone.
    fn read(&self, until: Option<Instant>) -> Result<(), DebugError> {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        if let Ok(0) = poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], left.as_ref()) {
            return Ok(());
        }
        match lock(&self.frames).read(&mut Ready(&self.stream)) {
            Ok(None) => Ok(()),
            Ok(Some(frame)) => self.route(frame),
            Err(error) => Err(lock(&self.calls).last_words.take().unwrap_or_else(|| {
                DebugError::Connection(match error {
                    FrameError::Closed | FrameError::Cut => "the program ended, or closed the connection".into(),
                    error => format!("the connection to the program broke off: {error}"),
                })
            })),
        }
    }

    /// Lays an answer where the call that waits for it looks.
    fn route(&self, frame: Frame) -> Result<(), DebugError> {
        let incoming: Incoming = serde_json::from_slice(&frame.json)
            .map_err(|error| DebugError::Connection(format!("a message of the program is not understood: {error}")))?;
        let mut calls = lock(&self.calls);
        if let Some(id) = incoming.id {
            let Some(call) = calls.waiting.get_mut(&id) else { return Ok(()) };
            call.answer = Some(frame);
            if call.takes_events {
                // What comes behind this answer is told of anew.
                calls.news = false;
                self.news.silence();
            }
        } else if incoming.notify.is_some() {
            calls.news = true;
            self.news.tell();
        } else if let Some(bye) = incoming.bye {
            calls.last_words = Some(DebugError::Connection(bye.reason));
        } else if let Some(failure) = incoming.error {
            calls.last_words = Some(failure.into());
        }
        Ok(())
    }

    fn end(&self, reason: DebugError) {
        lock(&self.calls).gone.get_or_insert(reason);
        self.changed.notify_all();
        self.news.tell();
    }
}
