//! What cuda-gdb does at its end of the pipes, byte by byte.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use opscope_c_programs::Library;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, mkfifoat};
use tempfile::TempDir;

use super::super::debuggee::Debuggee;

/// A limit on waiting, so that a test that hangs fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// The commands that the tests use, by their numbers.
pub mod command {
    pub const INITIALIZE: u32 = 2;
    pub const FINALIZE: u32 = 3;
    pub const SUSPEND_DEVICE: u32 = 4;
    pub const RESUME_DEVICE: u32 = 5;
    pub const READ_BROKEN_WARPS: u32 = 7;
    pub const READ_VALID_WARPS: u32 = 8;
    pub const READ_SHARED_MEMORY: u32 = 14;
    pub const READ_REGISTER: u32 = 16;
    pub const READ_VIRTUAL_PC: u32 = 18;
    pub const GET_SM_TYPE: u32 = 27;
    pub const GET_NUM_LANES: u32 = 31;
    pub const SET_BREAKPOINT: u32 = 40;
    pub const ACKNOWLEDGE_SYNC_EVENTS: u32 = 55;
    pub const GET_GRID_INFO55: u32 = 57;
    pub const READ_GRID_ID: u32 = 58;
    pub const SET_KERNEL_LAUNCH_NOTIFICATION_MODE: u32 = 60;
    pub const GET_NEXT_EVENT: u32 = 65;
    pub const GET_ELF_IMAGE_BY_HANDLE: u32 = 66;
    pub const READ_WARP_STATE60: u32 = 68;
    pub const READ_REGISTER_RANGE: u32 = 69;
    pub const READ_GENERIC_MEMORY: u32 = 70;
    pub const READ_GLOBAL_MEMORY: u32 = 72;
    pub const WRITE_GLOBAL_MEMORY: u32 = 73;
    pub const REQUEST_CLEANUP_ON_DETACH: u32 = 76;
    pub const SINGLE_STEP_WARP65: u32 = 83;
    pub const GET_ERROR_STRING_EX: u32 = 96;
}

/// A process that does nothing until it is killed: the one that a debugger traces, or the debugger.
pub struct Idle(pub Child);

/// A debugger's session: the directory, and the ends of the pipes.
pub struct Session {
    directory: TempDir,
    debugger: u32,
    number: u32,
    replies: File,
    notices: File,
    requests: Option<File>,
}

/// A server for a session.
pub struct Server(Option<Child>);

/// A notification: a thread, whether it is the last one, and whether it is a reminder.
pub type Notice = [u32; 3];

impl Idle {
    pub fn new() -> Self {
        Self(Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().expect("a process"))
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Stops it, as a debugger does.
    pub fn stop(&self) {
        self.signal("-STOP");
        let is_stopped = || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).expect("the process");
            stat.contains(") T ")
        };
        while !is_stopped() {
            std::thread::yield_now();
        }
    }

    pub fn go_on(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.pid().to_string()]).status().expect("kill").success());
    }

    /// Ends it, and removes it from the table of processes.
    pub fn end(mut self) {
        self.0.kill().expect("it runs");
        self.0.wait().expect("it ends");
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Session {
    /// Creates a session's directory, as this process.
    pub fn new() -> Self {
        Self::of(std::process::id())
    }

    /// Creates a session's directory, as another process.
    pub fn of(debugger: u32) -> Self {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let directory = TempDir::new().expect("a directory");
        let place = directory.path().join(format!("cuda-dbg/{debugger}/session{number}"));
        fs::create_dir_all(&place).expect("directories");
        let [replies, notices] = [(999, 1000), (1001, 1002)].map(|(from, to)| {
            let path = place.join(format!("pipe.{from}.{to}"));
            mkfifoat(CWD, &path, Mode::RWXU).expect("a pipe");
            opened(&path, OpenOptions::new().read(true))
        });
        Self { directory, debugger, number, replies, notices, requests: None }
    }

    pub fn place(&self) -> PathBuf {
        self.directory.path().join(format!("cuda-dbg/{}/session{}", self.debugger, self.number))
    }

    /// Starts a server for it. `target` is the debuggee's socket or process.
    pub fn server(&self, program: u32, target: &str, is_attached: bool) -> Server {
        let numbers = [self.debugger, 132, self.number, is_attached.into()].map(|number| number.to_string());
        let mut command = Command::new(Library::Cudbg.files().join("opscope/cudbg/opscope-cudbg-server"));
        command.args(numbers).args(["-1", "0"]).env_clear();
        command.env("TMPDIR", self.directory.path()).env("OPSCOPE_DEBUG_TARGET", target);
        command.env("OPSCOPE_CUDA_GDB_PROGRAM", program.to_string()).stdin(Stdio::null()).stderr(Stdio::piped());
        Server(Some(command.spawn().expect("the server")))
    }

    /// Starts a server for a debuggee of this process, and waits for its first notification.
    pub fn serve(&mut self, debuggee: &Debuggee, program: &Idle, is_attached: bool) -> Server {
        let server = self.server(program.pid(), debuggee.target().1, is_attached);
        assert_eq!(self.notice(), [program.pid(), 0, 0]);
        self.connect();
        server
    }

    /// Opens the pipe that the server has made, and removes its name.
    pub fn connect(&mut self) {
        let path = self.place().join("pipe.1000.999");
        self.requests = Some(opened(&path, OpenOptions::new().write(true)));
        fs::remove_file(path).expect("the pipe has a name");
    }

    /// Writes bytes that need be no message.
    pub fn write(&mut self, bytes: &[u8]) {
        // The server may have ended already.
        let _ = self.requests.as_mut().expect("an open pipe").write_all(bytes);
    }

    /// Closes the pipe to the server, like a debugger that ends.
    pub fn hang_up(&mut self) {
        self.requests = None;
    }

    /// Sends a command. Returns the result and the outputs; `None` if the server ends instead.
    pub fn try_ask(&mut self, command: u32, arguments: &[u8]) -> Option<(u32, Vec<u8>)> {
        self.write(&message(command, arguments));
        let head = self.read_reply(8)?;
        let size = u64::from_ne_bytes(head.try_into().expect("eight bytes"));
        let rest = self.read_reply(size as usize - 8)?;
        Some((u32::from_ne_bytes(rest[..4].try_into().expect("four bytes")), rest[4..].to_vec()))
    }

    /// Sends a command that succeeds. Returns its outputs.
    #[track_caller]
    pub fn ask(&mut self, command: u32, arguments: &[u8]) -> Vec<u8> {
        let (result, outputs) = self.try_ask(command, arguments).expect("the server answers");
        assert_eq!(result, 0, "command {command}");
        outputs
    }

    /// Waits for the next notification.
    #[track_caller]
    pub fn notice(&mut self) -> Notice {
        let bytes = read_exactly(&mut self.notices, 12).expect("a notification");
        [0, 4, 8].map(|at| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes")))
    }

    /// Takes the events that wait in the sync queue. Returns the kind of each, and the bytes after it.
    pub fn events(&mut self) -> Vec<(u32, Vec<u8>)> {
        let mut events = Vec::new();
        loop {
            let (result, event) = self.try_ask(command::GET_NEXT_EVENT, &numbers(&[0])).expect("the server answers");
            assert_eq!(event.len(), 92);
            let kind = u32::from_ne_bytes(event[..4].try_into().expect("four bytes"));
            if result != 0 {
                assert_eq!((result, kind), (0x16, 0));
                return events;
            }
            events.push((kind, event[4..].to_vec()));
        }
    }

    fn read_reply(&mut self, count: usize) -> Option<Vec<u8>> {
        read_exactly(&mut self.replies, count)
    }
}

impl Server {
    /// Waits until it ends by itself.
    #[track_caller]
    pub fn end(mut self) -> Output {
        let mut child = self.0.take().expect("it was not waited for");
        let until = Instant::now() + PATIENCE;
        while child.try_wait().expect("a child").is_none() {
            if Instant::now() >= until {
                let _ = child.kill();
                panic!("the server does not end");
            }
            std::thread::yield_now();
        }
        child.wait_with_output().expect("its output")
    }

    pub fn is_running(&mut self) -> bool {
        self.0.as_mut().is_some_and(|child| child.try_wait().expect("a child").is_none())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns a message.
pub fn message(command: u32, arguments: &[u8]) -> Vec<u8> {
    let size = 16 + arguments.len() as u64;
    [&size.to_ne_bytes()[..], &11u32.to_ne_bytes(), &command.to_ne_bytes(), arguments].concat()
}

/// Returns the bytes of numbers of four bytes.
pub fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

/// Returns the number of eight bytes at a place.
pub fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn opened(path: &Path, options: &mut OpenOptions) -> File {
    options.custom_flags(OFlags::NONBLOCK.bits() as i32).open(path).expect("a pipe")
}

/// Reads this many bytes. Returns `None` at the end of the pipe.
fn read_exactly(from: &mut File, count: usize) -> Option<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    let mut bytes = vec![0; count];
    let mut have = 0;
    while have < count {
        let left = until.saturating_duration_since(Instant::now());
        assert!(!left.is_zero(), "the server does not answer");
        let timeout = Timespec { tv_sec: left.as_secs() as i64 + 1, tv_nsec: 0 };
        let _ = poll(&mut [PollFd::from_borrowed_fd(from.as_fd(), PollFlags::IN)], Some(&timeout));
        match from.read(&mut bytes[have..]) {
            Ok(0) => return None,
            Ok(read) => have += read,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
    }
    Some(bytes)
}
