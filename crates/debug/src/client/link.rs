use std::collections::HashMap;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use super::notification::News;
use crate::DebugError;
use crate::protocol::{Bye, Failure, Frame, FrameError, FrameLimits, FrameReader, Request};
use crate::sync::lock;
use crate::wire::send_frame;

/// The socket, the calls that wait for their answers, and the thread that brings these.
pub(super) struct Link {
    stream: UnixStream,
    /// Held while a frame is sent, so that frames do not mix.
    sending: Mutex<()>,
    calls: Mutex<Calls>,
    news: News,
    reader: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Calls {
    last: u64,
    waiting: HashMap<u64, Call>,
    gone: Option<DebugError>,
}

/// A call that waits.
struct Call {
    answer: SyncSender<Frame>,
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

/// Whether this is how a connection ends whose other side is gone. One that had not read everything resets it.
fn is_end(error: &FrameError) -> bool {
    match error {
        FrameError::Closed | FrameError::Cut => true,
        FrameError::Io(error) => error.kind() == io::ErrorKind::ConnectionReset,
        FrameError::TooLong { .. } => false,
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
        let own = stream.try_clone().map_err(failed)?;
        let link = Arc::new(Self {
            stream,
            sending: Mutex::new(()),
            calls: Mutex::default(),
            news: News::new().map_err(failed)?,
            reader: Mutex::new(None),
        });
        let for_reader = Arc::clone(&link);
        let read = move || for_reader.read(own);
        let reader = thread::Builder::new().name("opscope-debug-client".into()).spawn(read).map_err(failed)?;
        *lock(&link.reader) = Some(reader);
        Ok(link)
    }

    pub fn news(&self) -> &News {
        &self.news
    }

    pub fn gone(&self) -> Option<DebugError> {
        lock(&self.calls).gone.clone()
    }

    /// Asks, and waits for the answer.
    pub fn call(&self, request: &Request, attachment: &[u8], patience: Option<Duration>) -> Result<Frame, DebugError> {
        let (answer, waits) = mpsc::sync_channel(1);
        let id = {
            let mut calls = lock(&self.calls);
            if let Some(gone) = &calls.gone {
                return Err(gone.clone());
            }
            calls.last += 1;
            let id = calls.last;
            calls.waiting.insert(id, Call { answer, takes_events: matches!(request, Request::NextEvents { .. }) });
            id
        };
        match self.send(id, request, attachment)? {
            Ok(()) => {}
            // The program may have said why it closes: that is read to its end, and then no call waits any more.
            Err(_) => drop(self.stream.shutdown(Shutdown::Both)),
        }
        let answer = match patience {
            None => waits.recv().map_err(|_| None),
            Some(patience) => waits.recv_timeout(patience).map_err(|error| match error {
                RecvTimeoutError::Timeout => Some(patience),
                RecvTimeoutError::Disconnected => None,
            }),
        };
        answer.map_err(|late| match late {
            Some(patience) => {
                lock(&self.calls).waiting.remove(&id);
                let seconds = patience.as_secs();
                DebugError::Connection(format!("the program did not answer for {seconds} s; it may be stopped"))
            }
            None => {
                self.gone().unwrap_or_else(|| DebugError::Connection("the connection to the program was closed".into()))
            }
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
        let reader = lock(&self.reader).take();
        if let Some(reader) = reader.filter(|reader| reader.thread().id() != thread::current().id()) {
            let _ = reader.join();
        }
        self.news.stop();
    }

    fn read(&self, mut stream: UnixStream) {
        let mut frames = FrameReader::new(FrameLimits::ANSWER);
        let mut last_words = None;
        let reason = loop {
            match frames.read(&mut stream) {
                Ok(None) => continue,
                Ok(Some(frame)) => match self.route(frame) {
                    Ok(None) => continue,
                    Ok(words) => last_words = words,
                    Err(error) => break error,
                },
                Err(error) if is_end(&error) => {
                    break DebugError::Connection("the program ended, or closed the connection".into());
                }
                Err(error) => {
                    break DebugError::Connection(format!("the connection to the program broke off: {error}"));
                }
            }
        };
        self.end(last_words.unwrap_or(reason));
    }

    /// Brings an answer to the call that waits for it. Some where the program says why it will close the connection.
    fn route(&self, frame: Frame) -> Result<Option<DebugError>, DebugError> {
        let incoming: Incoming = serde_json::from_slice(&frame.json)
            .map_err(|error| DebugError::Connection(format!("a message of the program is not understood: {error}")))?;
        if let Some(id) = incoming.id {
            if let Some(call) = lock(&self.calls).waiting.remove(&id) {
                if call.takes_events {
                    // What comes behind this answer is told of anew.
                    self.news.silence();
                }
                let _ = call.answer.try_send(frame);
            }
        } else if incoming.notify.is_some() {
            self.news.tell();
        } else if let Some(bye) = incoming.bye {
            return Ok(Some(DebugError::Connection(bye.reason)));
        } else if let Some(failure) = incoming.error {
            return Ok(Some(failure.into()));
        }
        Ok(None)
    }

    fn end(&self, reason: DebugError) {
        let mut calls = lock(&self.calls);
        calls.gone.get_or_insert(reason);
        calls.waiting.clear();
        drop(calls);
        self.news.tell();
    }
}
