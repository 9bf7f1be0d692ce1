use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

use super::Handle;
use super::connection::Connection;
use super::requests;
use crate::Debugger;
use crate::protocol::{Bye, FrameError, Pushed};

/// What the serving thread has. Everything that it waits for is in one `poll`.
pub(super) struct Service {
    debugger: Debugger,
    listener: Option<UnixListener>,
    /// When connections are accepted again, after the system had no room for one.
    accept_again: Option<Instant>,
    handle: Arc<Handle>,
    connections: Vec<Connection>,
}

/// What a wait ended with.
struct Ready {
    listener: bool,
    /// For each connection: whether its socket is ready, and whether events wait for it.
    connections: Vec<(bool, bool)>,
}

/// How many debuggers may be connected at a time. One is attached; others may see who that is.
const MOST_CONNECTIONS: usize = 16;

/// How long no connection is accepted when the system has no room for one.
const PAUSE: Duration = Duration::from_millis(100);

impl Service {
    pub fn new(debugger: Debugger, listener: Option<UnixListener>, handle: Arc<Handle>) -> Self {
        Self { debugger, listener, accept_again: None, handle, connections: Vec::new() }
    }

    /// Serves until it is told to stop.
    pub fn run(mut self) {
        loop {
            let ready = self.wait();
            let orders = self.handle.take();
            if orders.stop {
                return self.stop();
            }
            for (index, (io, news)) in ready.connections.into_iter().enumerate().rev() {
                if let Some(reason) = serve(&self.debugger, &mut self.connections[index], io, news) {
                    self.bury(index, &reason);
                }
            }
            for stream in orders.connect {
                self.admit(stream, format!("process {} itself", std::process::id()));
            }
            if ready.listener {
                self.accept();
            }
        }
    }

    fn wait(&mut self) -> Ready {
        let now = Instant::now();
        let listener = self.listener.as_ref().filter(|_| self.accept_again.is_none_or(|again| again <= now));
        let again = self.accept_again.filter(|again| *again > now);
        let deadline = self.connections.iter().filter_map(Connection::deadline).chain(again).min();
        let left = deadline.and_then(|deadline| Timespec::try_from(deadline.saturating_duration_since(now)).ok());

        let mut fds = vec![PollFd::new(&self.handle.bell, PollFlags::IN)];
        fds.extend(listener.map(|listener| PollFd::new(listener, PollFlags::IN)));
        let sockets = fds.len();
        fds.extend(self.connections.iter().map(Connection::poll_socket));
        let events = fds.len();
        fds.extend(self.connections.iter().filter_map(Connection::poll_news));
        if poll(&mut fds, left.as_ref()).is_err() {
            // A signal came: nothing is known of any descriptor.
            return Ready { listener: false, connections: vec![(false, false); self.connections.len()] };
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut news = ready[events..].iter();
        let connections = self.connections.iter().zip(&ready[sockets..events]).map(|(connection, &io)| {
            let waits = connection.poll_news().is_some();
            (io, waits && news.next().is_some_and(|&news| news))
        });
        Ready { listener: sockets == 2 && ready[1], connections: connections.collect() }
    }

    fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!("a debugger cannot be accepted: {error}");
                self.accept_again = Some(Instant::now() + PAUSE);
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
                self.debugger
                    .0
                    .log(&format!("a debugger of user {user} was turned away: it is another user's program"));
                let message = format!("this program is user {}'s, and you are user {user}", own.as_raw());
                refuse(stream, "not_allowed", message);
            }
            Err(error) => refuse(stream, "not_allowed", format!("who you are cannot be found out: {error}")),
        }
    }

    fn admit(&mut self, stream: UnixStream, peer: String) {
        if self.connections.len() >= MOST_CONNECTIONS {
            let message = format!("{MOST_CONNECTIONS} debuggers are connected, which is as many as there can be");
            return refuse(stream, "busy", message);
        }
        if let Ok(connection) = Connection::new(stream, peer) {
            self.connections.push(connection);
        }
    }

    /// A debugger is gone. Threads that wait for it go on, and the log says which events it left.
    fn bury(&mut self, index: usize, reason: &str) {
        let connection = self.connections.remove(index);
        if let Some(attachment) = &connection.attachment {
            attachment.abandon(&format!("{} {reason}", connection.peer));
        }
    }

    fn stop(mut self) {
        for index in (0..self.connections.len()).rev() {
            let connection = &mut self.connections[index];
            connection.push(&Pushed::Bye(Bye { reason: "the program's debug server is stopped".to_owned() }));
            let _ = connection.flush();
            self.bury(index, "was told that the server is stopped");
        }
    }
}

/// Does what there is to do for a connection. Some where it is over, with the reason.
fn serve(debugger: &Debugger, connection: &mut Connection, io: bool, news: bool) -> Option<String> {
    if let Some(reason) = connection.review() {
        return Some(reason);
    }
    if io {
        match connection.receive() {
            Ok(None) => {}
            Ok(Some(frame)) => requests::answer(debugger, connection, frame),
            Err(FrameError::Closed) => return Some("hung up".to_owned()),
            Err(FrameError::Cut) => return Some("hung up in the middle of a message".to_owned()),
            Err(error @ FrameError::TooLong { .. }) => {
                requests::fail(connection, None, "too_long", &error.to_string());
                connection.close_after("sent a frame that is too long");
            }
            Err(error) => return Some(format!("cannot be read from: {error}")),
        }
    }
    if news && connection.poll_news().is_some() {
        connection.told = true;
        connection.push(&Pushed::Notify {});
    }
    connection.flush()
}

/// Says why nobody is let in, and closes.
fn refuse(stream: UnixStream, code: &str, message: String) {
    if let Ok(mut connection) = Connection::new(stream, String::new()) {
        requests::fail(&mut connection, None, code, &message);
        // A short message has room in a socket that is empty.
        let _ = connection.flush();
    }
}
