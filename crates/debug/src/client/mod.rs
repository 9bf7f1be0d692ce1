//! The debugger's side of the protocol.

mod calls;
mod find;
mod link;
mod notification;
mod tensors;

use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::DebugError;
use crate::connecting::connect;
use crate::protocol::{Frame, Hello, HelloRequest, Request};
use crate::recursion::{self, Rule};
use link::Link;

/// A connection to a program that runs models, in this process or another one.
///
/// Its calls are those of an [`Attachment`](crate::Attachment), with the same results; tensors come in pages. They can be
/// made from any thread, and wait for the program's answer. What the program refuses comes back as
/// [`DebugError::Refused`] with the [code](DebugError::code) of the program's own error; when the program ends, every call
/// that waits returns [`DebugError::Connection`] at once.
///
/// Dropping it hangs up: the program goes on without a debugger.
pub struct Client {
    link: Arc<Link>,
    hello: Hello,
    /// What a notification callback may call.
    rule: Mutex<Rule>,
}

/// How long a program may take to say who it is. One whose processors are busy with runs is slower than one that waits.
const PATIENCE: Duration = Duration::from_secs(5);

impl Client {
    /// Connects to the socket at a path.
    ///
    /// # Errors
    /// When nothing listens there, nothing accepts for a second, it belongs to another user, it is stopped, or it speaks another version of the protocol.
    pub fn connect(path: impl AsRef<Path>) -> Result<Self, DebugError> {
        let path = path.as_ref();
        let fails = |reason: &dyn std::fmt::Display| {
            DebugError::Connection(format!("{} cannot be reached: {reason}", path.display()))
        };
        let stream = connect(path).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => fails(
                &"for a second the program has accepted no connection; it may be stopped (Ctrl-Z), and `kill -CONT` with \
                  its number lets it go on",
            ),
            _ => fails(&error),
        })?;
        find::check_owner(&stream, path)?;
        if let Some(pid) = find::stopped_peer(&stream) {
            return Err(fails(&format_args!(
                "process {pid}, which listens there, is stopped (Ctrl-Z, SIGSTOP); `kill -CONT {pid}` lets it go on, and \
                 then it can be attached to"
            )));
        }
        Self::over(stream)
    }

    /// Connects to the program with this process number.
    ///
    /// # Errors
    /// When there is no such process, it has no debug server, or [`connect`](Self::connect) fails.
    pub fn connect_pid(pid: u32) -> Result<Self, DebugError> {
        Self::connect(find::socket_of(pid)?)
    }

    /// Speaks over a stream that is connected already.
    ///
    /// # Errors
    /// When the other side does not say who it is within five seconds, or speaks another version of the protocol.
    pub fn over(stream: UnixStream) -> Result<Self, DebugError> {
        let link = Link::open(stream)?;
        let name = concat!("opscope ", env!("CARGO_PKG_VERSION"));
        let frame = link.call(&Request::Hello(HelloRequest::new(name)), &[], Some(PATIENCE));
        let hello = frame.and_then(|frame| link::read_answer(&frame));
        match hello {
            Ok(hello) => Ok(Self { link, hello, rule: Mutex::new(Rule::Relaxed) }),
            Err(error) => {
                link.hang_up();
                Err(error)
            }
        }
    }

    /// Who the program is, as it said when this connection was made.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Why the connection is no more; none while it is.
    pub fn gone(&self) -> Option<DebugError> {
        self.link.gone()
    }

    /// A descriptor that is readable while events wait that were told of, and for good when the connection is gone.
    pub fn notification_fd(&self) -> BorrowedFd<'_> {
        self.link.news().fd()
    }

    /// Waits until events are there to be taken, or the connection is gone. Says whether that came before the time was
    /// over.
    pub fn wait(&self, timeout: Duration) -> bool {
        self.link.wait(timeout)
    }

    /// Calls a function, on a thread of its own, whenever there is something to take, and once when the connection is
    /// gone. Within it events can be taken and acknowledged, which takes no other thread; every other call returns
    /// [`DebugError::RecursiveCall`], and with [strict callbacks](crate::AttachOptions::strict_callbacks) every call does.
    ///
    /// An earlier callback is not called any more when this returns; nor is one that has panicked.
    ///
    /// # Errors
    /// From inside of a callback, or when the system has no thread for it.
    pub fn set_notification_callback(&self, callback: Option<Box<dyn FnMut() + Send>>) -> Result<(), DebugError> {
        recursion::allow_nothing()?;
        self.link.news().set_callback(callback, *crate::sync::lock(&self.rule)).map_err(DebugError::system)
    }

    /// Asks, and reads the answer.
    fn ask<T: DeserializeOwned>(&self, request: &Request) -> Result<T, DebugError> {
        link::read_answer(&self.ask_with(request, &[])?)
    }

    fn ask_with(&self, request: &Request, attachment: &[u8]) -> Result<Frame, DebugError> {
        match request {
            Request::NextEvents { .. } | Request::Acknowledge { .. } | Request::AcknowledgeSyncEvents => {
                recursion::allow_events()?;
            }
            _ => recursion::allow_nothing()?,
        }
        self.link.call(request, attachment, None)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.link.hang_up();
    }
}
