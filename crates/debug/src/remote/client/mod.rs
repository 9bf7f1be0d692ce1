//! The debugger's side of the debug protocol.

mod find;
mod link;

use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use opscope_clock::Clock;

use crate::error::{ConnectionError, DebugError};
use crate::event::Event;
use crate::remote::protocol::{Hello, HelloRequest, Request};
use crate::remote::socket::connect;
use crate::session::recursion::{self, Rule};
use crate::sync::Mutex;
use link::Link;
pub(super) use link::not_understood;

/// A connection to a program that runs models, in this process or another one.
///
/// It has the same calls as an [`Attachment`](crate::Attachment), with the same results, but tensors come in pages.
/// Every call may be made from any thread, and waits for the program's answer. A refused request returns
/// [`DebugError::Refused`] with the [code](DebugError::code) of the program's own error. When the program ends, every
/// call that waits returns [`DebugError::Connection`] at once.
///
/// Dropping it closes the connection: the program continues without a debugger.
pub struct Client {
    link: Arc<Link>,
    hello: Hello,
    /// What a notification callback may call.
    pub(super) rule: Mutex<Rule>,
}

/// How long a program may take to answer `hello`, because it may be busy with runs.
const PATIENCE: Duration = Duration::from_secs(5);

impl Client {
    /// Connects to the socket at a path.
    ///
    /// # Errors
    /// Returns an error if no program listens there, or if the program accepts no connection for a second, belongs to
    /// another user, or is stopped. Also returns the errors of [`over`](Self::over).
    pub fn connect(path: impl AsRef<Path>) -> Result<Self, DebugError> {
        let path = path.as_ref();
        let stream = connect(path).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => ConnectionError::NotAccepted { path: path.to_owned() },
            _ => ConnectionError::Unreachable { path: path.to_owned(), error: Arc::new(error) },
        })?;
        find::check_owner(&stream, path)?;
        if let Some(pid) = find::stopped_peer(&stream) {
            return Err(ConnectionError::Stopped { path: path.to_owned(), pid }.into());
        }
        Self::over(stream)
    }

    /// Connects to the program with this process number.
    ///
    /// # Errors
    /// Returns an error if the process does not exist or has no debug server, or if [`connect`](Self::connect) fails.
    pub fn connect_pid(pid: u32) -> Result<Self, DebugError> {
        Self::connect(find::socket_of(pid)?)
    }

    /// Creates a client from a stream that is already connected.
    ///
    /// # Errors
    /// Returns an error if the program does not answer within five seconds, refuses the connection, or uses another
    /// version of the protocol. Also returns an error if the connection fails, or the system has no file descriptor
    /// left.
    pub fn over(stream: UnixStream) -> Result<Self, DebugError> {
        Self::with_clock(stream, Clock::system())
    }

    /// As [`over`](Self::over), but measures timeouts by this clock: for tests and simulated time.
    ///
    /// # Errors
    /// As [`over`](Self::over).
    pub fn with_clock(stream: UnixStream, clock: Clock) -> Result<Self, DebugError> {
        let link = Link::open(stream, clock)?;
        let name = concat!("opscope ", env!("CARGO_PKG_VERSION"));
        let frame = link.call(&HelloRequest::new(name), &[], Some(PATIENCE));
        let hello = frame.and_then(|frame| link::read_answer(&frame));
        match hello {
            Ok(hello) => Ok(Self { link, hello, rule: Mutex::new(Rule::Relaxed) }),
            Err(error) => {
                link.hang_up();
                Err(error)
            }
        }
    }

    /// Returns the program's description of itself from the beginning of this connection.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Returns why the connection has ended, or `None` while it has not.
    pub fn gone(&self) -> Option<DebugError> {
        self.link.gone()
    }

    /// Returns a descriptor that is readable while events wait, according to the program's notifications, and
    /// permanently once the connection has ended.
    pub fn notification_fd(&self) -> BorrowedFd<'_> {
        self.link.notification().fd()
    }

    /// Waits until there are events, or the connection has ended. Returns `false` if neither happens within the
    /// timeout, or if it is [woken](Self::wake) first.
    pub fn wait(&self, timeout: Duration) -> bool {
        self.link.wait(timeout)
    }

    /// Makes the [`wait`](Self::wait) in progress return, or the next one if there is none.
    pub fn wake(&self) {
        self.link.wake();
    }

    /// Sets the function that is called, on a thread of its own, whenever events wait, and once when the connection has
    /// ended. It can take and acknowledge events. Every other call returns [`DebugError::RecursiveCall`]. With [strict
    /// callbacks](crate::AttachOptions::strict_callbacks), every call does.
    ///
    /// When this returns, an earlier callback is no longer called. A callback that panics is not called again.
    ///
    /// # Errors
    /// Returns an error from inside of a callback, or if the system has no thread left.
    pub fn set_notification_callback(&self, callback: Option<Box<dyn FnMut() + Send>>) -> Result<(), DebugError> {
        recursion::allow_nothing()?;
        self.link.notification().set_callback(callback, *crate::sync::lock(&self.rule)).map_err(DebugError::system)
    }

    /// Takes the sync events that came with [notifications](crate::AttachOptions::deliver), in order.
    pub fn take_delivered(&self) -> Vec<Event> {
        self.link.take_delivered()
    }

    /// Sends a request and returns its answer.
    pub(super) fn ask<R: Request>(&self, request: &R) -> Result<R::Answer, DebugError> {
        Ok(self.ask_with(request, &[])?.0)
    }

    /// Sends a request with raw bytes, and returns its answer with the raw bytes that belong to it.
    pub(super) fn ask_with<R: Request>(
        &self,
        request: &R,
        attachment: &[u8],
    ) -> Result<(R::Answer, Vec<u8>), DebugError> {
        if R::IN_CALLBACKS {
            recursion::allow_events()?;
        } else {
            recursion::allow_nothing()?;
        }
        let answer = self.link.call(request, attachment, None)?;
        Ok((link::read_answer(&answer)?, answer.attachment))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.link.hang_up();
    }
}
