//! The server for cuda-gdb, which communicates with a debug engine over named pipes. The server runs in a process that
//! the debugger does not stop, and connects to the program through the program's debug server.
//!
//! The debugger traces another process ([`Traced`]), which waits for the program, and stops that one when it is
//! notified. The program itself continues, except for the threads of stopped runs.

mod answer;
mod message;
mod transport;
mod watch;

use std::env;
use std::fs::File;
use std::io::Write;
use std::os::fd::FromRawFd;
use std::time::Duration;

use opscope_border::{InOut, report};
use rustix::process::Pid;

use self::message::Reply;
use self::transport::{End, Notice, Pipes, notify};
use self::watch::{Gone, Watch};
use crate::border::{Failure, Status};
use crate::calls::{resume_device, suspend_device};
use crate::layout::device::CallbackData41;
use crate::session::{Callback, Traced};
use crate::version::request;
use crate::{LIBRARY, session};
use message::Command;

/// The session that a server serves.
#[derive(Debug, Clone, Copy)]
pub struct Served {
    /// The debugger's process.
    pub debugger: i32,
    /// The revision of the interface that the debugger was made for.
    pub revision: u32,
    /// The number of the debugger's session.
    pub session: i32,
    /// Whether the debugger attached to a process, rather than started it.
    pub is_attached: bool,
    /// The descriptor that one byte is written to when a debugger can be served. Numbers up to 2 are ignored.
    pub tell: i32,
}

/// The environment variable with the number of the process that the debugger traces.
const PROGRAM: &str = "OPSCOPE_CUDA_GDB_PROGRAM";

/// The time between two checks of the traced process.
const SOON: Duration = Duration::from_millis(2);

/// The time between two attempts to connect to the program.
const AGAIN: Duration = Duration::from_millis(20);

/// After this many attempts, a message says why cuda-gdb shows no device yet.
const TIMES_UNTIL_TOLD: u32 = 250;

/// Serves one session until the debugger closes it, or the debugger or the program ends.
///
/// # Errors
/// Returns an error if there is no such session, if the program cannot be debugged, or if the connection to the
/// debugger fails.
pub fn serve(served: Served) -> Result<(), Failure> {
    serve_session(served).inspect_err(|_| session::note_failure())
}

fn serve_session(served: Served) -> Result<(), Failure> {
    let wrong = |text: String| Failure::new(Status::InvalidArgs, text);
    let debugger = Pid::from_raw(served.debugger).filter(|_| served.debugger > 0);
    let debugger = debugger.ok_or_else(|| wrong(format!("{} is the number of no process", served.debugger)))?;
    let program =
        env::var(PROGRAM).ok().and_then(|text| text.parse().ok()).filter(|pid| *pid > 0).and_then(Pid::from_raw);
    let program =
        program.ok_or_else(|| wrong(format!("{PROGRAM} has to be the number of the process that is traced")))?;
    let directory = transport::of_session(served.debugger, served.session)
        .map_err(|error| Failure::new(Status::CommunicationFailure, error.to_string()))?;
    request(served.revision)?;

    let thread = program.as_raw_nonzero().get().unsigned_abs();
    Traced { thread, is_attached: served.is_attached }.set();
    session::set_callback(Some(Callback::Cuda41(notified)));
    let mut watch = Watch::new(debugger, program).map_err(gone)?;
    open(&mut watch)?;
    let mut pipes = Pipes::open(&directory).map_err(|error| {
        let _ = session::close();
        Failure::new(Status::CommunicationFailure, format!("a pipe in {} cannot be used: {error}", directory.display()))
    })?;
    tell(served.tell);
    // The debugger looks for the pipes when it is notified.
    notify(Notice::Events { thread, is_reminder: false });
    let end = answer_all(&mut pipes, &mut watch);
    // Fails if the debugger has closed the session.
    let _ = session::close();
    notify(Notice::Last);
    match end {
        Ok(()) | Err(End::Gone) => Ok(()),
        Err(End::Malformed(reason)) => Err(wrong(reason.0)),
        Err(End::System(error)) => Err(Failure::new(Status::CommunicationFailure, error.to_string())),
    }
}

/// Waits until the program has a debug server, and attaches to it.
fn open(watch: &mut Watch) -> Result<(), Failure> {
    let mut times = 0;
    loop {
        match session::open() {
            Err(failure) if failure.code == Status::NoDeviceAvailable => {
                times += 1;
                if times == TIMES_UNTIL_TOLD {
                    report(LIBRARY, format_args!("cuda-gdb shows no device yet: {}", failure.text));
                }
            }
            opened => return opened,
        }
        watch.wait(None, Some(AGAIN)).map_err(gone)?;
    }
}

fn answer_all(pipes: &mut Pipes, watch: &mut Watch) -> Result<(), End> {
    let mut to_resume = None;
    loop {
        let request = pipes.next(watch, to_resume.map(|_| SOON))?;
        if let Some(dev) = to_resume.take_if(|_| watch.is_program_waiting()) {
            resume_device(dev);
        }
        let Some(mut request) = request else { continue };
        let command = Command::of(request.command);
        // A debugger resumes the device before it resumes the traced process, even if it only calls a function there.
        // cuda-gdb would fail if the device hit a breakpoint in between. So the device is resumed only once the process
        // runs.
        if let Some(dev) = to_resume.take() {
            if command == Some(Command::SuspendDevice) {
                if let Ok(session) = session::current() {
                    session.state().forget_causes();
                }
                // The device is suspended already, unless a detachment has resumed it.
                let status = match suspend_device(dev) {
                    Status::SuspendedDevice => Status::Success,
                    other => other,
                };
                pipes.reply(&Reply::new(status).finish(), watch)?;
                continue;
            }
            resume_device(dev);
        }
        let reply = match command {
            Some(Command::ResumeDevice) => {
                to_resume = Some(request.u32().map_err(End::Malformed)?);
                Reply::new(Status::Success)
            }
            Some(command) => answer::answer(command, &mut request).map_err(End::Malformed)?,
            // A newer debugger may read outputs of unknown size. It gets more zeros than it could need.
            None => Reply::new(Status::UnknownFunction).and_bytes(&[0; 4096]),
        };
        pipes.reply(&reply.finish(), watch)?;
        if command == Some(Command::Finalize) {
            return Ok(());
        }
    }
}

/// The callback that is called when events wait.
extern "C-unwind" fn notified(data: InOut<'_, CallbackData41>) {
    let Some(thread) = session::traced_thread() else { return };
    let is_reminder = data.given().is_some_and(|data| data.timeout != 0);
    notify(Notice::Events { thread, is_reminder });
}

fn gone(gone: Gone) -> Failure {
    let who = match gone {
        Gone::Debugger => "the debugger",
        Gone::Program => "the program",
    };
    Failure::new(Status::CommunicationFailure, format!("{who} has ended"))
}

/// Notifies the traced process that a debugger can be served. When this process ends, the descriptor is closed, which
/// means that no debugger can be served any more.
#[allow(unsafe_code, reason = "the descriptor is a number that another process passed")]
fn tell(descriptor: i32) {
    if descriptor > 2 {
        // SAFETY: the process that started this one opened the descriptor for it, and nothing else here uses it.
        let mut to = unsafe { File::from_raw_fd(descriptor) };
        let _ = to.write_all(&[1]);
        // The descriptor stays open as long as the process lives.
        std::mem::forget(to);
    }
}
