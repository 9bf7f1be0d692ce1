//! The named pipes of a session. `pipe.A.B` leads from the end with number A to the end with number B.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, io};

use opscope_sys::Mutex;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, mkfifoat, open};
use rustix::io::{Errno, read, write};

use super::message::{Incoming, Malformed, Request};
use super::watch::Watch;

/// The numbers of the ends: server and debugger for requests, then server and debugger for notifications.
const SERVER: u32 = 999;
const DEBUGGER: u32 = 1000;
const SERVER_NOTICES: u32 = 1001;
const DEBUGGER_NOTICES: u32 = 1002;

/// The pipes of a session.
pub struct Pipes {
    requests: OwnedFd,
    replies: OwnedFd,
    /// The path of the pipe for requests.
    path: PathBuf,
    incoming: Incoming,
}

/// The pipe for notifications, while the pipes are open.
static NOTICES: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// The reason why no more requests come.
#[derive(Debug)]
pub enum End {
    /// The debugger has ended or closed the pipes, or the program is gone.
    Gone,
    /// The received bytes are not a debugger's message.
    Malformed(Malformed),
    System(io::Error),
}

/// The content of a notification.
#[derive(Debug, Clone, Copy)]
pub enum Notice {
    /// Events wait. `is_reminder` is whether an event was not acknowledged in time.
    Events { thread: u32, is_reminder: bool },
    /// No more notifications come.
    Last,
}

impl Pipes {
    /// Opens the pipes in a session's directory. From then on the debugger finds a server.
    pub fn open(directory: &Path) -> io::Result<Self> {
        // A pipe that is opened for reading and writing needs no debugger at its other end yet.
        let replies = open_pipe(&pipe(directory, SERVER, DEBUGGER), OFlags::RDWR)?;
        let notices = open_pipe(&pipe(directory, SERVER_NOTICES, DEBUGGER_NOTICES), OFlags::RDWR)?;
        // This pipe is made last, because a debugger that finds it writes at once. It is opened only for reading, so
        // that the system reports when the debugger closes it.
        let path = pipe(directory, DEBUGGER, SERVER);
        let requests = open_pipe(&path, OFlags::RDONLY)?;
        // Notifications are enabled now, because a debugger that is notified looks for the pipe above.
        *NOTICES.lock() = Some(notices);
        Ok(Self { requests, replies, path, incoming: Incoming::default() })
    }

    /// Waits for the next request, for at most `most`. Returns `None` if there was none in this time.
    pub fn next(&mut self, watch: &mut Watch, most: Option<Duration>) -> Result<Option<Request>, End> {
        let mut bytes = vec![0; 1 << 16];
        loop {
            if let Some(request) = self.incoming.take().map_err(End::Malformed)? {
                return Ok(Some(request));
            }
            if !watch.wait(Some((self.requests.as_fd(), PollFlags::IN)), most).map_err(|_| End::Gone)? {
                return Ok(None);
            }
            match read(&self.requests, &mut bytes) {
                Ok(0) => {
                    // This also happens before a debugger has opened the pipe.
                    if is_hung_up(&self.requests) {
                        return Err(End::Gone);
                    }
                }
                Ok(count) => self.incoming.push(&bytes[..count]),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(End::System(error.into())),
            }
        }
    }

    /// Writes an answer.
    pub fn reply(&self, mut bytes: &[u8], watch: &mut Watch) -> Result<(), End> {
        while !bytes.is_empty() {
            match write(&self.replies, bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    watch.wait(Some((self.replies.as_fd(), PollFlags::OUT)), None).map_err(|_| End::Gone)?;
                    if is_hung_up(&self.requests) {
                        return Err(End::Gone);
                    }
                }
                Err(error) => return Err(End::System(error.into())),
            }
        }
        Ok(())
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        // A debugger that opened the pipe has removed its name already, so this may fail.
        let _ = std::fs::remove_file(&self.path);
        NOTICES.lock().take();
    }
}

/// Notifies the debugger. If the pipe is full of unread notifications, this does nothing, because another one is not
/// needed.
pub fn notify(notice: Notice) {
    let (thread, is_last, is_reminder) = match notice {
        Notice::Events { thread, is_reminder } => (thread, false, is_reminder),
        Notice::Last => (0, true, false),
    };
    let message = [thread, u32::from(is_last), u32::from(is_reminder)].map(u32::to_ne_bytes).concat();
    if let Some(pipe) = &*NOTICES.lock() {
        let _ = write(pipe, &message);
    }
}

fn pipe(directory: &Path, from: u32, to: u32) -> PathBuf {
    directory.join(format!("pipe.{from}.{to}"))
}

/// Opens a pipe. Creates it if it does not exist.
fn open_pipe(path: &Path, access: OFlags) -> io::Result<OwnedFd> {
    match mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let opened = open(path, flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&opened)?.st_mode) != FileType::Fifo {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{} is not a pipe", path.display())));
    }
    Ok(opened)
}

/// Returns whether a debugger opened the pipe and closed it again.
fn is_hung_up(pipe: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(pipe, PollFlags::IN)];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&now)).is_ok() && polled[0].revents().contains(PollFlags::HUP)
}

/// Returns the directory for the pipes of a debugger's session: `cuda-dbg/PID/sessionN` in the debugger's temporary
/// directory.
///
/// # Errors
/// Returns an error if it does not exist.
pub fn of_session(debugger: i32, session: i32) -> io::Result<PathBuf> {
    let places = [temporary_of(debugger), env::var_os("TMPDIR"), Some(OsString::from("/tmp"))];
    let within = format!("cuda-dbg/{debugger}/session{session}");
    let paths = places.into_iter().flatten().map(|place| Path::new(&place).join(&within));
    let found = paths.filter(|path| path.is_absolute()).find(|path| is_directory(path));
    found.ok_or_else(|| {
        let text = format!("debugger {debugger} has no directory {within} in its temporary directory");
        io::Error::new(io::ErrorKind::NotFound, text)
    })
}

/// Returns the temporary directory that the debugger's environment names. This process's environment may name another
/// one.
fn temporary_of(debugger: i32) -> Option<OsString> {
    let environment = fs::read(format!("/proc/{debugger}/environ")).ok()?;
    let value = environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(b"TMPDIR="))?;
    Some(OsString::from_vec(OsStr::from_bytes(value).as_bytes().to_vec()))
}

fn is_directory(path: &Path) -> bool {
    // A link is not followed, because it could lead to another user's directory.
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}
