//! Sends to a socket without a signal where the other side is gone, and reads from one that is waited for elsewhere.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;

use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::protocol::frame_head;

/// Sends what it takes at once, and says how much that was. A program that did not ask for it (a library in a program of
/// another language) must not be ended by `SIGPIPE`.
pub(crate) fn send_some(to: &UnixStream, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match send(to, bytes, SendFlags::NOSIGNAL) {
            Err(rustix::io::Errno::INTR) => continue,
            sent => return Ok(sent?),
        }
    }
}

/// Sends a whole frame, however long that takes.
pub(crate) fn send_frame(to: &UnixStream, json: &[u8], attachment: &[u8]) -> io::Result<()> {
    let first = [&frame_head(json.len(), attachment.len())?, json].concat();
    for mut part in [&*first, attachment] {
        while !part.is_empty() {
            part = &part[send_some(to, part)?..];
        }
    }
    Ok(())
}

/// A socket of which only what is there is read.
pub(crate) struct Ready<'a>(pub &'a UnixStream);

impl Read for Ready<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Ok(recv(self.0, into, RecvFlags::DONTWAIT)?.0)
    }
}
