use std::fs::{self, DirBuilder, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, RenameFlags, fchmod, renameat_with};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};
use rustix::process::geteuid;

use super::ServeError;
use crate::remote::socket::{directory, in_directory, is_listened_at};

/// The socket at which the server listens.
pub(super) struct Socket {
    path: PathBuf,
    listener: UnixListener,
    /// The socket's device and inode, so that no other file is removed.
    identity: (u64, u64),
}

/// The maximum number of connections that wait to be accepted.
const WAITING: i32 = 16;

impl Socket {
    /// Creates the socket at the path where debuggers look for this process.
    pub fn by_process() -> Result<Self, ServeError> {
        let directory = directory(geteuid().as_raw(), std::env::var_os("XDG_RUNTIME_DIR"));
        make_private(&directory)?;
        clear_stale(&directory);
        Self::bind(in_directory(&directory, std::process::id()))
    }

    /// Creates the socket at a path that the user gave.
    pub fn at(path: PathBuf) -> Result<Self, ServeError> {
        let directory = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let metadata = fs::metadata(directory).map_err(|error| system("find", directory, error))?;
        check(directory, &metadata, 0o022)?;
        Self::bind(path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a non-blocking listener.
    pub fn listener(&self) -> io::Result<UnixListener> {
        let listener = self.listener.try_clone()?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }

    pub fn remove(self) {
        let own = |metadata: &Metadata| (metadata.dev(), metadata.ino()) == self.identity;
        if self.path.symlink_metadata().is_ok_and(|metadata| own(&metadata)) {
            let _ = fs::remove_file(&self.path);
        }
    }

    /// Creates the socket. It gets its name only when it is listening, so that no other server takes it for a stale
    /// one.
    fn bind(path: PathBuf) -> Result<Self, ServeError> {
        match is_stale(&path) {
            Ok(true) => fs::remove_file(&path).map_err(|error| system("remove the old socket", &path, error))?,
            Ok(false) => {
                let reason = "another program listens there, or it is not a socket; give another path".to_owned();
                return Err(ServeError::Taken { path, reason });
            }
            Err(_) => {}
        }
        let mut early = path.clone().into_os_string();
        early.push(format!(".{}", std::process::id()));
        let early = PathBuf::from(early);
        let _ = fs::remove_file(&early);
        let made = listen_at(&early).and_then(|listener| {
            let metadata = early.symlink_metadata()?;
            renameat_with(CWD, &early, CWD, &path, RenameFlags::NOREPLACE)?;
            Ok(Self { path: path.clone(), listener, identity: (metadata.dev(), metadata.ino()) })
        });
        made.map_err(|error| {
            let _ = fs::remove_file(&early);
            system("listen at", &path, error)
        })
    }
}

fn listen_at(path: &Path) -> io::Result<UnixListener> {
    let address = SocketAddrUnix::new(path).map_err(|error| match error {
        rustix::io::Errno::NAMETOOLONG => {
            io::Error::other("the path is too long for a socket: 100 bytes are the most; give a shorter one")
        }
        error => error.into(),
    })?;
    let socket: OwnedFd = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // The rights are set before the socket has a name, so that others can never connect.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &address)?;
    listen(&socket, WAITING)?;
    Ok(UnixListener::from(socket))
}

/// Creates a directory if it does not exist, and checks that it is private to this user.
fn make_private(directory: &Path) -> Result<(), ServeError> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(system("make", directory, error)),
        _ => {}
    }
    let metadata = directory.symlink_metadata().map_err(|error| system("find", directory, error))?;
    check(directory, &metadata, 0o077)
}

/// Refuses a directory that another user could change. `forbidden` are the rights that others must not have.
fn check(directory: &Path, metadata: &Metadata, forbidden: u32) -> Result<(), ServeError> {
    let (own, mode) = (geteuid().as_raw(), metadata.mode() & 0o7777);
    let reason = if metadata.is_symlink() {
        "it is a link".to_owned()
    } else if !metadata.is_dir() {
        "it is not a directory".to_owned()
    } else if metadata.uid() != own && !(forbidden == 0o022 && metadata.uid() == 0) {
        format!("it belongs to user {}, and this program is user {own}", metadata.uid())
    } else if mode & forbidden != 0 {
        format!("others have rights in it (its mode is {mode:o})")
    } else {
        return Ok(());
    };
    Err(ServeError::Directory { directory: directory.to_owned(), reason })
}

/// Removes the sockets of programs that were killed.
fn clear_stale(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "sock") && is_stale(&path).is_ok_and(|stale| stale) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns whether this is a socket at which no process is listening any more.
///
/// # Errors
/// Returns an error if the path does not exist.
fn is_stale(path: &Path) -> io::Result<bool> {
    let metadata = path.symlink_metadata()?;
    let refused = || is_listened_at(path).is_ok_and(|is_listened_at| !is_listened_at);
    Ok(metadata.file_type().is_socket() && metadata.uid() == geteuid().as_raw() && refused())
}

fn system(action: &'static str, path: &Path, error: io::Error) -> ServeError {
    ServeError::System { action, path: path.to_owned(), error }
}
