//! Unix sockets: connecting to those of programs without blocking if they are stopped; the paths, by which a program's
//! is found from the number of its process; and frames, which are sent without `SIGPIPE` and read without blocking.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect as connect_to, recv, send,
    socket_with,
};

use crate::remote::protocol::frame_head;

/// How long a connection waits to be queued. It waits only if the program's queue of connections is full.
const PATIENCE: Duration = Duration::from_secs(1);

/// Connects to a socket within a second.
///
/// # Errors
/// Returns an error if no program listens; [`WouldBlock`](io::ErrorKind::WouldBlock) if the program accepts no
/// connection.
pub(in crate::remote) fn connect(path: &Path) -> io::Result<UnixStream> {
    let (socket, address) = (new_socket(SocketFlags::CLOEXEC)?, SocketAddrUnix::new(path)?);
    // The timeout for sending also applies to connecting.
    set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
    while let Err(error) = connect_to(&socket, &address) {
        if error != Errno::INTR {
            return Err(error.into());
        }
    }
    set_socket_timeout(&socket, Timeout::Send, None)?;
    Ok(UnixStream::from(socket))
}

/// Returns whether a program listens at a socket. A stopped program counts.
///
/// # Errors
/// Returns any other error of the system.
pub(in crate::remote) fn is_listened_at(path: &Path) -> io::Result<bool> {
    let socket = new_socket(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
    match connect_to(&socket, &SocketAddrUnix::new(path)?) {
        Ok(()) | Err(Errno::AGAIN) => Ok(true),
        Err(Errno::CONNREFUSED) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn new_socket(flags: SocketFlags) -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

/// Returns the directory in which a program of this user creates its socket.
pub(in crate::remote) fn directory(user: u32, runtime: Option<OsString>) -> PathBuf {
    match runtime.map(PathBuf::from).filter(|runtime| runtime.is_absolute()) {
        Some(runtime) => runtime.join("opscope"),
        None => fallback(user),
    }
}

/// Returns the directories in which the socket of a program of this user may lie. There are several, because the
/// program may have been started with another environment.
pub(in crate::remote) fn candidates(user: u32, runtime: Option<OsString>) -> Vec<PathBuf> {
    let mut all = vec![directory(user, runtime)];
    for other in [PathBuf::from(format!("/run/user/{user}/opscope")), fallback(user)] {
        if !all.contains(&other) {
            all.push(other);
        }
    }
    all
}

/// Returns the path of a process's socket in a directory.
pub(in crate::remote) fn in_directory(directory: &Path, process: u32) -> PathBuf {
    directory.join(format!("{process}.sock"))
}

fn fallback(user: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/opscope-{user}"))
}

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
