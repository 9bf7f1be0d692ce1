//! Sends frames without `SIGPIPE`, and reads without blocking.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;

use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::remote::protocol::frame_head;

/// Sends as much as possible without blocking, and returns how much that is. `SIGPIPE` is suppressed, because it would
/// end a program in another language that does not ignore it.
pub(in crate::remote) fn send_some(to: &UnixStream, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match send(to, bytes, SendFlags::NOSIGNAL) {
            Err(rustix::io::Errno::INTR) => continue,
            sent => return Ok(sent?),
        }
    }
}

/// Sends a whole frame. Blocks until it is sent.
pub(in crate::remote) fn send_frame(to: &UnixStream, json: &[u8], attachment: &[u8]) -> io::Result<()> {
    let first = [&frame_head(json.len(), attachment.len())?, json].concat();
    for mut part in [&*first, attachment] {
        while !part.is_empty() {
            part = &part[send_some(to, part)?..];
        }
    }
    Ok(())
}

/// Reads from a socket only the bytes that have already arrived.
pub(in crate::remote) struct Ready<'a>(pub &'a UnixStream);

impl Read for Ready<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Ok(recv(self.0, into, RecvFlags::DONTWAIT)?.0)
    }
}
