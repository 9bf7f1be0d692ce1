//! Connects to the sockets of programs without blocking if they are stopped.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect as connect_to, socket_with};

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
