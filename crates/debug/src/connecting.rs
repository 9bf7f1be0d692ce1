//! Connects to sockets of programs that may be stopped, without waiting for them.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect as connect_to, socket_with};

/// How long a program may let a connection wait. It does so only where as many wait already as there can be.
const PATIENCE: Duration = Duration::from_secs(1);

/// Connects to a socket within a second.
///
/// # Errors
/// Where nobody listens, or [`WouldBlock`](io::ErrorKind::WouldBlock) where the program that does accepts nobody.
pub(crate) fn connect(path: &Path) -> io::Result<UnixStream> {
    let (socket, address) = (new_socket(SocketFlags::CLOEXEC)?, SocketAddrUnix::new(path)?);
    // A connection waits as long as something that is sent.
    set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
    while let Err(error) = connect_to(&socket, &address) {
        if error != Errno::INTR {
            return Err(error.into());
        }
    }
    set_socket_timeout(&socket, Timeout::Send, None)?;
    Ok(UnixStream::from(socket))
}

/// Whether somebody listens at a socket, which a program that is stopped does, too.
///
/// # Errors
/// What the system says besides.
pub(crate) fn is_listened_at(path: &Path) -> io::Result<bool> {
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
