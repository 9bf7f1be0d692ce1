use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use opscope_clock::{Sleeper, Wait};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

use super::connection::{Connection, HUNG_UP, is_hang_up};
use super::requests::{self, fail};
use crate::error::{ErrorCode, Refusal};
use crate::event::Queue;
use crate::remote::protocol::{Bye, FrameError, ProgramMessage};
use crate::session::Debugger;
use crate::sync::{EventDescriptor, Mutex, lock};

/// The state of the serving thread, which waits for everything in one `poll`.
pub(super) struct Service {
    debugger: Debugger,
    listener: Option<UnixListener>,
    /// When to accept connections again, after the system failed to accept one.
    accept_again: Option<Instant>,
    control: Arc<ServerControl>,
    connections: Vec<Connection>,
}

/// The sockets and events that are ready after a wait.
struct Ready {
    listener: bool,
    /// For each connection: whether its socket is ready, and whether events wait for it.
    connections: Vec<(bool, bool)>,
}

/// The maximum number of connected debuggers. One of them can be attached; the others see its name.
const MOST_CONNECTIONS: usize = 16;

/// The maximum number of events that are delivered with a notification.
const DELIVERED: usize = 64;

/// How long no connection is accepted after the system failed to accept one.
const PAUSE: Duration = Duration::from_millis(100);

impl Service {
    pub fn new(debugger: Debugger, listener: Option<UnixListener>, control: Arc<ServerControl>) -> Self {
        Self { debugger, listener, accept_again: None, control, connections: Vec::new() }
    }

    /// Serves until it is asked to stop.
    pub fn run(mut self) {
        loop {
            let ready = self.wait();
            let pending = self.control.take();
            if pending.stop {
                return self.stop();
            }
            for (index, (io, events)) in ready.connections.into_iter().enumerate().rev() {
                if let Some(reason) = serve(&self.debugger, &mut self.connections[index], io, events) {
                    self.remove(index, &reason);
                }
            }
            for stream in pending.connect {
                self.admit(stream, format!("process {} itself", std::process::id()));
            }
            if ready.listener {
                self.accept();
            }
        }
    }

    fn wait(&mut self) -> Ready {
        let clock = self.debugger.clock();
        let now = clock.now();
        let listener = self.listener.as_ref().filter(|_| self.accept_again.is_none_or(|again| again <= now));
        let again = self.accept_again.filter(|again| *again > now);
        let deadline = self.connections.iter().filter_map(Connection::deadline).chain(again).min();
        let wait = deadline.map(|deadline| clock.begin_wait(deadline));
        let left = wait.as_ref().and_then(Wait::left).and_then(|left| Timespec::try_from(left).ok());

        let mut fds = vec![PollFd::new(&self.control.descriptor, PollFlags::IN)];
        fds.extend(listener.map(|listener| PollFd::new(listener, PollFlags::IN)));
        let sockets = fds.len();
        fds.extend(self.connections.iter().map(Connection::poll_socket));
        let events = fds.len();
        fds.extend(self.connections.iter().filter_map(Connection::poll_events));
        if poll(&mut fds, left.as_ref()).is_err() {
            // A signal interrupted the wait, so nothing is known to be ready.
            return Ready { listener: false, connections: vec![(false, false); self.connections.len()] };
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut events_ready = ready[events..].iter();
        let connections = self.connections.iter().zip(&ready[sockets..events]).map(|(connection, &io)| {
            let waits = connection.poll_events().is_some();
            (io, waits && events_ready.next().is_some_and(|&ready| ready))
        });
        Ready { listener: sockets == 2 && ready[1], connections: connections.collect() }
    }

    fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!("a debugger cannot be accepted: {error}");
                self.accept_again = self.debugger.clock().after(PAUSE);
                return;
            }
        };
        self.accept_again = None;
        let (own, peer) = (geteuid(), socket_peercred(&stream));
        match peer {
            Ok(peer) if peer.uid == own || peer.uid.is_root() => {
                self.admit(stream, format!("process {}", peer.pid.as_raw_nonzero()));
            }
            Ok(peer) => {
                let user = peer.uid.as_raw();
                self.debugger.log(&format!("a debugger of user {user} was refused: it is another user's program"));
                let message = format!("this program is user {}'s, and you are user {user}", own.as_raw());
                self.refuse(stream, ErrorCode::NotAllowed, message);
            }
            Err(error) => {
                let message = format!("your user cannot be determined: {error}");
                self.refuse(stream, ErrorCode::NotAllowed, message);
            }
        }
    }

    fn admit(&mut self, stream: UnixStream, peer: String) {
        if self.connections.len() >= MOST_CONNECTIONS {
            let message = format!("{MOST_CONNECTIONS} debuggers are connected, which is as many as there can be");
            return self.refuse(stream, ErrorCode::Busy, message);
        }
        if let Ok(connection) = Connection::new(stream, peer, self.debugger.clock()) {
            self.connections.push(connection);
        }
    }

    /// Sends the reason for which a connection is refused, and closes it.
    fn refuse(&self, stream: UnixStream, code: ErrorCode, message: String) {
        if let Ok(mut connection) = Connection::new(stream, String::new(), self.debugger.clock()) {
            fail(&mut connection, None, &Refusal::new(code, message));
            // A short message fits into the empty buffer of the socket.
            let _ = connection.flush();
        }
    }

    /// Removes a closed connection, and detaches its debugger. The events that it left unacknowledged are logged.
    fn remove(&mut self, index: usize, reason: &str) {
        let connection = self.connections.remove(index);
        if let Some(attachment) = &connection.attachment {
            attachment.abandon(&format!("{} {reason}", connection.peer));
        }
    }

    fn stop(mut self) {
        for index in (0..self.connections.len()).rev() {
            let connection = &mut self.connections[index];
            connection.queue_message(&ProgramMessage::Bye(Bye {
                reason: "the program's debug server is stopped".to_owned(),
            }));
            let _ = connection.flush();
            self.remove(index, "was disconnected because the server is stopped");
        }
    }
}

/// Serves a connection: reads a request if `io`, notifies it of events if `events`, and sends what is queued. Returns
/// the reason if the connection has ended.
fn serve(debugger: &Debugger, connection: &mut Connection, io: bool, events: bool) -> Option<String> {
    if let Some(reason) = connection.review() {
        return Some(reason);
    }
    if io {
        match connection.receive() {
            Ok(None) => {}
            Ok(Some(frame)) => requests::serve(debugger, connection, frame),
            Err(FrameError::Closed) => return Some(HUNG_UP.to_owned()),
            Err(FrameError::Io(error)) if is_hang_up(&error) => return Some(HUNG_UP.to_owned()),
            Err(FrameError::Cut) => return Some("hung up in the middle of a message".to_owned()),
            Err(error @ FrameError::TooLong { .. }) => {
                fail(connection, None, &Refusal::new(ErrorCode::TooLong, error.to_string()));
                connection.close_after("sent a frame that is too long");
            }
            Err(error) => return Some(format!("cannot be read from: {error}")),
        }
    }
    if events && connection.poll_events().is_some() {
        connection.notified = true;
        let delivering = connection.attachment.as_ref().filter(|attachment| attachment.delivers());
        let events = delivering.and_then(|attachment| attachment.next_events(Queue::Sync, DELIVERED).ok());
        connection.queue_message(&ProgramMessage::Notify { events: events.unwrap_or_default() });
    }
    connection.flush()
}

/// The means by which a [`Server`](super::Server) controls its thread.
pub(super) struct ServerControl {
    pending: Mutex<Pending>,
    /// Readable while something is pending.
    pub descriptor: EventDescriptor,
}

/// The requests to the thread.
#[derive(Default)]
pub(super) struct Pending {
    /// Connections from within this process.
    pub connect: Vec<UnixStream>,
    pub stop: bool,
}

impl ServerControl {
    pub fn new() -> io::Result<Self> {
        Ok(Self { pending: Mutex::default(), descriptor: EventDescriptor::new()? })
    }

    /// Asks the thread to serve a connection.
    pub fn connect(&self, stream: UnixStream) {
        lock(&self.pending).connect.push(stream);
        self.descriptor.signal();
    }

    /// Asks the thread to end.
    pub fn stop(&self) {
        lock(&self.pending).stop = true;
        self.descriptor.signal();
    }

    /// Returns the requests since the last call.
    pub fn take(&self) -> Pending {
        self.descriptor.clear();
        let mut pending = lock(&self.pending);
        Pending { connect: std::mem::take(&mut pending.connect), stop: pending.stop }
    }
}

impl Sleeper for ServerControl {
    fn wake_up(&self) {
        self.descriptor.signal();
    }
}

#[cfg(test)]
mod tests {
    use opscope_clock::{Clock, ManualClock};

    use super::*;

    #[test]
    fn after_a_connection_that_the_system_could_not_accept_none_is_accepted_for_100_ms() {
        let clock = ManualClock::create();
        let debugger = Debugger::with_clock(Clock::manual(&clock), |_| ()).expect("the system has descriptors");
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("socket");
        let listener = UnixListener::bind(&path).expect("a new path");
        listener.set_nonblocking(true).expect("it is a socket");
        let control = Arc::new(ServerControl::new().expect("the system has descriptors"));
        let mut service = Service::new(debugger, Some(listener), Arc::clone(&control));
        // No connection waits to be accepted, which is an error like any other.
        service.accept();
        let debugger = UnixStream::connect(&path).expect("a service listens");
        // Without this signal, nothing would end the waits.
        control.descriptor.signal();
        clock.advance(Duration::from_millis(99));
        assert!(!service.wait().listener, "a millisecond is left");
        clock.advance(Duration::from_millis(1));
        assert!(service.wait().listener);
        service.accept();
        assert_eq!(service.connections.len(), 1);
        assert_eq!(service.accept_again, None);
        drop(debugger);
    }
}
