use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use opscope_clock::Clock;
use opscope_text::shown_text;
use rustix::event::{PollFd, PollFlags};
use rustix::process::geteuid;

use crate::error::{ErrorCode, Refusal};
use crate::remote::protocol::{
    Frame, FrameError, FrameLimits, FrameReader, Hello, HelloRequest, PROTOCOL, ProgramMessage, VERSION, frame_head,
    text,
};
use crate::remote::requests::Reply;
use crate::remote::socket::send_some;
use crate::session::{Attachment, Debugger};

/// The connection of a debugger. Neither reading nor writing blocks.
pub(super) struct Connection {
    stream: UnixStream,
    /// The clock by which its deadlines are measured.
    clock: Clock,
    /// When it connected.
    since: Instant,
    /// Its name and process, for the log.
    pub peer: String,
    process: String,
    reader: FrameReader,
    /// The bytes that have to be sent. Nothing is read meanwhile, so this is at most one answer and one notification.
    out: Vec<u8>,
    sent: usize,
    /// Since when the debugger reads too slowly, and how much had been sent by then.
    stuck: (Instant, usize),
    /// Since when the debugger sends a message too slowly, and how much had arrived by then.
    begun: Option<(Instant, usize)>,
    /// Whether it has sent `hello`.
    pub greeted: bool,
    pub attachment: Option<Attachment>,
    /// Whether it was notified of events and has not requested any since.
    pub notified: bool,
    /// The reason for which it will be closed as soon as everything is sent. Nothing more is read from it.
    closing: Option<String>,
}

/// The longest name of a debugger in the log.
const MOST_NAME: usize = 100;

/// How long a debugger may take for `hello`, for the next piece of a message, and to read the next piece of an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The number of bytes that count as a piece. If single bytes did, a message could take for ever.
const PIECE: usize = 64 << 10;

/// The reason of a connection that its debugger has closed.
pub const HUNG_UP: &str = "hung up";

/// Returns whether sending or reading failed because the debugger has closed the connection.
pub fn is_hang_up(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)
}

impl Connection {
    pub fn new(stream: UnixStream, process: String, clock: &Clock) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        let now = clock.now();
        Ok(Self {
            stream,
            clock: clock.clone(),
            since: now,
            peer: process.clone(),
            process,
            reader: FrameReader::new(FrameLimits::STRANGER),
            out: Vec::new(),
            sent: 0,
            stuck: (now, 0),
            begun: None,
            greeted: false,
            attachment: None,
            notified: false,
            closing: None,
        })
    }

    /// Returns the poll entry of its socket.
    pub fn poll_socket(&self) -> PollFd<'_> {
        PollFd::new(&self.stream, if self.is_sending() { PollFlags::OUT } else { PollFlags::IN })
    }

    /// Returns the poll entry for events; `None` if the debugger must not be notified now.
    pub fn poll_events(&self) -> Option<PollFd<'_>> {
        let attachment =
            self.attachment.as_ref().filter(|_| !self.notified && !self.is_sending() && self.closing.is_none())?;
        Some(PollFd::from_borrowed_fd(attachment.notification_fd(), PollFlags::IN))
    }

    /// Returns the deadline by which it must have sent `hello`, read something, or sent more of a message.
    pub fn deadline(&self) -> Option<Instant> {
        let since = match (self.greeted, self.is_sending()) {
            (false, _) => Some(self.since),
            (true, true) => Some(self.stuck.0),
            (true, false) => self.begun.map(|(since, _)| since),
        };
        since.map(|since| since + PATIENCE)
    }

    /// Notes the debugger's name.
    pub fn name(&mut self, name: &str) {
        self.peer = format!("{} ({})", plain(name), self.process);
    }

    /// Sets its attachment, and drops an earlier one.
    pub fn set_attachment(&mut self, attachment: Attachment) {
        self.attachment = Some(attachment);
        self.notified = false;
    }

    /// Checks its deadlines, and whether it was detached. Returns the reason if it has to be closed.
    pub fn review(&mut self) -> Option<String> {
        if !self.greeted && self.is_over(self.since) {
            return Some(format!("did not say hello for {} s", PATIENCE.as_secs()));
        }
        if !self.is_sending() && self.begun.is_some_and(|(since, _)| self.is_over(since)) {
            return Some(format!("sent too little of a message for {} s", PATIENCE.as_secs()));
        }
        let is_attached = self.attachment.as_ref().is_some_and(Attachment::is_attached);
        self.reader.set_limits(if is_attached { FrameLimits::REQUEST } else { FrameLimits::STRANGER });
        // A detached debugger may no longer send long messages, so one that is in progress is refused.
        self.reader.check().is_err().then(|| "was detached before the end of a long message".to_owned())
    }

    /// Returns a frame if a whole one has arrived.
    ///
    /// # Errors
    /// Returns an error if the connection is closed or broken.
    pub fn receive(&mut self) -> Result<Option<Frame>, FrameError> {
        if self.is_sending() || self.closing.is_some() {
            return Ok(None);
        }
        let frame = self.reader.read(&mut &self.stream)?;
        let received = self.reader.received();
        self.begun = match self.begun {
            _ if received == 0 => None,
            Some((since, before)) if frame.is_none() && received - before < PIECE => Some((since, before)),
            _ => Some((self.clock.now(), received)),
        };
        Ok(frame)
    }

    /// Queues an answer.
    pub fn answer(&mut self, json: &[u8], attachment: &[u8]) {
        let Ok(head) = frame_head(json.len(), attachment.len()) else {
            return self.close_after("an answer is too long");
        };
        if self.out.is_empty() {
            self.stuck = (self.clock.now(), 0);
        }
        self.out.reserve(head.len() + json.len() + attachment.len());
        self.out.extend_from_slice(&head);
        self.out.extend_from_slice(json);
        self.out.extend_from_slice(attachment);
    }

    /// Queues a message that is not an answer to a request.
    pub fn queue_message(&mut self, message: &ProgramMessage) {
        self.answer(&text(message), &[]);
    }

    /// Closes it when everything is sent.
    pub fn close_after(&mut self, reason: &str) {
        self.closing.get_or_insert_with(|| reason.to_owned());
    }

    /// Sends as much as possible without blocking. Returns the reason if the connection has to be closed.
    pub fn flush(&mut self) -> Option<String> {
        while self.is_sending() {
            match send_some(&self.stream, &self.out[self.sent..]) {
                Ok(count) => {
                    self.sent += count;
                    if self.sent - self.stuck.1 >= PIECE {
                        self.stuck = (self.clock.now(), self.sent);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let late = self.is_over(self.stuck.0);
                    return late.then(|| format!("read too little of what it was sent for {} s", PATIENCE.as_secs()));
                }
                // The reason is the same, whether the end is noticed while sending or while reading.
                Err(error) if is_hang_up(&error) => return Some(HUNG_UP.to_owned()),
                Err(error) => return Some(format!("cannot be sent anything: {error}")),
            }
        }
        if !self.out.is_empty() {
            // Nothing was read meanwhile, so the time for its message begins again.
            self.begun = self.begun.map(|(_, received)| (self.clock.now(), received));
        }
        // A new vector is used, to free the memory of a page of a tensor.
        (self.out, self.sent) = (Vec::new(), 0);
        self.closing.clone()
    }

    /// Returns whether the patience since that moment is exhausted.
    fn is_over(&self, since: Instant) -> bool {
        self.clock.elapsed(since) >= PATIENCE
    }

    fn is_sending(&self) -> bool {
        self.sent < self.out.len()
    }
}

/// Returns a name in a form that fits into a line of the log.
pub(super) fn plain(name: &str) -> String {
    shown_text(name).chars().take(MOST_NAME).collect()
}

/// The maximum number of bytes of the program's command line that are sent.
const MOST_ARGUMENTS: usize = 4096;

/// Answers `hello`. A debugger of another protocol or version is refused.
pub(super) fn greet(
    debugger: &Debugger,
    connection: &mut Connection,
    hello: &HelloRequest,
) -> Result<Reply<()>, Refusal> {
    if hello.protocol != PROTOCOL || hello.version != VERSION {
        connection.close_after("speaks another protocol");
        return Err(Refusal::new(
            ErrorCode::Version,
            format!(
                "this program speaks {PROTOCOL} {VERSION}, and the debugger {} {}; take the debugger of the program's \
                 version of opscope, {}",
                hello.protocol,
                hello.version,
                env!("CARGO_PKG_VERSION")
            ),
        ));
    }
    connection.greeted = true;
    if !hello.client.is_empty() {
        connection.name(&hello.client);
    }
    let (attached, models) = debugger.client_and_models();
    Ok(Reply::of(&Hello {
        protocol: PROTOCOL.to_owned(),
        version: VERSION,
        opscope: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        user: geteuid().as_raw(),
        program: arguments(),
        attached,
        models,
    })
    .untyped())
}

fn arguments() -> Vec<String> {
    let mut left = MOST_ARGUMENTS;
    let short = |argument: &String| {
        left = left.saturating_sub(argument.len() + 1);
        left > 0
    };
    std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).take_while(short).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use opscope_clock::ManualClock;

    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// Returns a connection that measures its deadlines by this clock, and the debugger's end of it.
    fn connected(clock: &ManualClock) -> (Connection, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("the system has descriptors");
        theirs.set_nonblocking(true).expect("it is a socket");
        let connection = Connection::new(ours, "a test".to_owned(), &Clock::manual(clock));
        (connection.expect("it is a socket"), theirs)
    }

    /// Checks that a connection has to be closed after this time, and not a millisecond earlier.
    fn ends_in(
        connection: &mut Connection,
        clock: &ManualClock,
        time: Duration,
        end: fn(&mut Connection) -> Option<String>,
    ) -> String {
        assert_eq!(connection.deadline(), Some(clock.now() + time));
        clock.advance(time - MILLISECOND);
        assert_eq!(end(connection), None, "a millisecond is left");
        clock.advance(MILLISECOND);
        end(connection).expect("its time is over")
    }

    #[test]
    fn a_debugger_has_five_seconds_to_say_hello() {
        let clock = ManualClock::create();
        let (mut connection, _debugger) = connected(&clock);
        let reason = ends_in(&mut connection, &clock, Duration::from_secs(5), Connection::review);
        assert_eq!(reason, "did not say hello for 5 s");
        connection.greeted = true;
        assert_eq!((connection.review(), connection.deadline()), (None, None), "then it may say nothing for ever");
    }

    #[test]
    fn a_debugger_has_five_seconds_for_each_64_kib_of_a_message() {
        let clock = ManualClock::create();
        let (mut connection, mut debugger) = connected(&clock);
        connection.greeted = true;
        let mut send = |connection: &mut Connection, bytes: &[u8]| {
            debugger.write_all(bytes).expect("the socket has room");
            assert!(connection.receive().expect("the message is right").is_none(), "it is not whole");
        };
        send(&mut connection, &frame_head(1 << 20, 0).expect("it is short"));
        clock.advance(Duration::from_secs(3));
        // One byte less than a piece changes nothing.
        send(&mut connection, &[b' '; (64 << 10) - 1]);
        assert_eq!(connection.deadline(), Some(clock.now() + Duration::from_secs(2)));
        send(&mut connection, b" ");
        let reason = ends_in(&mut connection, &clock, Duration::from_secs(5), Connection::review);
        assert_eq!(reason, "sent too little of a message for 5 s");
    }

    #[test]
    fn a_debugger_has_five_seconds_to_read_each_64_kib_of_an_answer() {
        let clock = ManualClock::create();
        let (mut connection, mut debugger) = connected(&clock);
        connection.greeted = true;
        clock.advance(Duration::from_secs(100));
        // This is more than the socket's buffer holds.
        connection.answer(&vec![b' '; 4 << 20], &[]);
        assert_eq!(connection.flush(), None);
        clock.advance(Duration::from_secs(3));
        let mut read = 0;
        while let Ok(count) = debugger.read(&mut [0; 4096]) {
            read += count;
        }
        assert!(read >= 64 << 10, "the socket took {read} bytes");
        assert_eq!(connection.flush(), None);
        let reason = ends_in(&mut connection, &clock, Duration::from_secs(5), Connection::flush);
        assert_eq!(reason, "read too little of what it was sent for 5 s");
    }
}
