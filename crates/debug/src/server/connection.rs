use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use opscope_onnx::shown_text;
use rustix::event::{PollFd, PollFlags};
use serde::Serialize;

use crate::Attachment;
use crate::protocol::{Frame, FrameError, FrameLimits, FrameReader, Pushed, frame_head};
use crate::wire::send_some;

/// A debugger that is connected. Neither reading nor writing waits for it.
pub(super) struct Connection {
    stream: UnixStream,
    /// Since when it is connected.
    since: Instant,
    /// Who it is, for the log.
    pub peer: String,
    process: String,
    reader: FrameReader,
    /// What it was not sent yet. While there is something, nothing more is taken from it: what it makes us keep is one
    /// answer, and a notification.
    out: Vec<u8>,
    sent: usize,
    /// Since when it takes too little, and what it had been sent then.
    stuck: (Instant, usize),
    /// Since when too little comes of a message that has begun, and how much there was of it then.
    begun: Option<(Instant, usize)>,
    /// Whether it has said who it is.
    pub greeted: bool,
    pub attachment: Option<Attachment>,
    /// Whether it was told of events and has taken none since.
    pub told: bool,
    /// Nothing more is taken from it; it is closed when everything is sent.
    closing: Option<String>,
}

/// The longest name of a debugger in the log.
const MOST_NAME: usize = 100;

/// How long a debugger may take to say who it is, for the next piece of a message, and for taking the next piece of what it
/// is sent.
const PATIENCE: Duration = Duration::from_secs(5);

/// A piece that counts: byte by byte, a message could take its place for ever.
const PIECE: usize = 64 << 10;

impl Connection {
    pub fn new(stream: UnixStream, process: String) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            since: Instant::now(),
            peer: process.clone(),
            process,
            reader: FrameReader::new(FrameLimits::STRANGER),
            out: Vec::new(),
            sent: 0,
            stuck: (Instant::now(), 0),
            begun: None,
            greeted: false,
            attachment: None,
            told: false,
            closing: None,
        })
    }

    /// What to wait for at its socket.
    pub fn poll_socket(&self) -> PollFd<'_> {
        PollFd::new(&self.stream, if self.is_sending() { PollFlags::OUT } else { PollFlags::IN })
    }

    /// What to wait for to tell it of events; none where it is not to be told now.
    pub fn poll_news(&self) -> Option<PollFd<'_>> {
        let attachment =
            self.attachment.as_ref().filter(|_| !self.told && !self.is_sending() && self.closing.is_none())?;
        Some(PollFd::from_borrowed_fd(attachment.notification_fd(), PollFlags::IN))
    }

    /// When it has to have said who it is, taken something, or sent more of a message.
    pub fn deadline(&self) -> Option<Instant> {
        let since = match (self.greeted, self.is_sending()) {
            (false, _) => Some(self.since),
            (true, true) => Some(self.stuck.0),
            (true, false) => self.begun.map(|(since, _)| since),
        };
        since.map(|since| since + PATIENCE)
    }

    /// Notes what the debugger calls itself.
    pub fn name(&mut self, name: &str) {
        self.peer = format!("{} ({})", plain(name), self.process);
    }

    /// Attaches, or lets go of an earlier attachment.
    pub fn hold(&mut self, attachment: Attachment) {
        self.attachment = Some(attachment);
        self.told = false;
    }

    /// Takes note of the time, and of whether it was detached. Some where it is to be closed.
    pub fn review(&mut self) -> Option<String> {
        if !self.greeted && self.since.elapsed() >= PATIENCE {
            return Some(format!("did not say hello for {} s", PATIENCE.as_secs()));
        }
        if !self.is_sending() && self.begun.is_some_and(|(since, _)| since.elapsed() >= PATIENCE) {
            return Some(format!("sent too little of a message for {} s", PATIENCE.as_secs()));
        }
        let is_attached = self.attachment.as_ref().is_some_and(Attachment::is_attached);
        self.reader.set_limits(if is_attached { FrameLimits::REQUEST } else { FrameLimits::STRANGER });
        // What has come of a tensor is not kept for whoever cannot do anything with it any more.
        self.reader.check().is_err().then(|| "was detached before the end of a long message".to_owned())
    }

    /// Takes a frame if there is a whole one.
    ///
    /// # Errors
    /// When the connection is closed or broken.
    pub fn receive(&mut self) -> Result<Option<Frame>, FrameError> {
        if self.is_sending() || self.closing.is_some() {
            return Ok(None);
        }
        let frame = self.reader.read(&mut &self.stream)?;
        let received = self.reader.received();
        self.begun = match self.begun {
            _ if received == 0 => None,
            Some((since, before)) if frame.is_none() && received - before < PIECE => Some((since, before)),
            _ => Some((Instant::now(), received)),
        };
        Ok(frame)
    }

    /// Puts an answer on its way.
    pub fn answer(&mut self, json: &[u8], attachment: &[u8]) {
        let Ok(head) = frame_head(json.len(), attachment.len()) else {
            return self.close_after("an answer is too long");
        };
        if self.out.is_empty() {
            self.stuck = (Instant::now(), 0);
        }
        self.out.reserve(head.len() + json.len() + attachment.len());
        self.out.extend_from_slice(&head);
        self.out.extend_from_slice(json);
        self.out.extend_from_slice(attachment);
    }

    /// Says something without being asked.
    pub fn push(&mut self, message: &Pushed) {
        self.answer(&text(message), &[]);
    }

    /// Closes it when everything is sent.
    pub fn close_after(&mut self, reason: &str) {
        self.closing.get_or_insert_with(|| reason.to_owned());
    }

    /// Sends what it takes. Some where it is to be closed.
    pub fn flush(&mut self) -> Option<String> {
        while self.is_sending() {
            match send_some(&self.stream, &self.out[self.sent..]) {
                Ok(count) => {
                    self.sent += count;
                    if self.sent - self.stuck.1 >= PIECE {
                        self.stuck = (Instant::now(), self.sent);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let late = self.stuck.0.elapsed() >= PATIENCE;
                    return late.then(|| format!("took too little of what it was sent for {} s", PATIENCE.as_secs()));
                }
                Err(error) => return Some(format!("cannot be sent anything: {error}")),
            }
        }
        if !self.out.is_empty() {
            // Nothing was read meanwhile.
            self.begun = self.begun.map(|(_, received)| (Instant::now(), received));
        }
        // The memory of a page of a tensor is given back.
        (self.out, self.sent) = (Vec::new(), 0);
        self.closing.clone()
    }

    fn is_sending(&self) -> bool {
        self.sent < self.out.len()
    }
}

/// A name as it can stand in a line of a log.
pub(super) fn plain(name: &str) -> String {
    shown_text(name).chars().take(MOST_NAME).collect()
}

/// A message as it is sent.
pub(super) fn text(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("a message has no maps with keys that are no text")
}
