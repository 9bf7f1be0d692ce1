//! The connection to a program that runs. One of CPython 3.14 or later that has no debug server is asked to start one.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use opscope::debug::client::Client;
use opscope::debug::{ConnectionError, DebugError};
use opscope::files::read_text;
use opscope_cpython::{Interpreter, Refusal};

/// Connects to a program by its process number or the path of its socket.
///
/// # Errors
/// Returns an error if it cannot be reached, or cannot be asked to start a server. The message says what would help.
pub fn connect(program: &str) -> Result<Client> {
    let Ok(pid) = program.parse() else { return Ok(Client::connect(Path::new(program))?) };
    match Client::connect_pid(pid) {
        Err(error @ DebugError::Connection(ConnectionError::NoServer { .. })) => {
            let interpreter = match Interpreter::of(pid) {
                Ok(interpreter) => interpreter,
                // It is some other program.
                Err(Refusal::NotPython(_)) => return Err(error.into()),
                Err(refusal) => bail!("{refusal}; start the program with OPSCOPE_TORCH=serve to attach to it"),
            };
            serve(pid, &interpreter)?;
            Ok(Client::connect_pid(pid)?)
        }
        connected => Ok(connected?),
    }
}

/// How long the main thread has before the others are asked, too, and how long all of them have.
const MAIN_THREAD: Duration = Duration::from_secs(1);
const EVERY_THREAD: Duration = Duration::from_secs(10);

/// What the script writes when there is a server.
const READY: &str = "ready";

/// The longest outcome that is read.
const LONGEST_OUTCOME: u64 = 1 << 16;

/// Lets a program start a debug server, as if it had been started with `OPSCOPE_TORCH=serve`.
fn serve(pid: u32, interpreter: &Interpreter) -> Result<()> {
    let place =
        tempfile::Builder::new().prefix("opscope-attach-").permissions(Permissions::from_mode(0o755)).tempdir()?;
    let [script, outcome] = ["serve.py", "outcome"].map(|name| place.path().join(name));
    fs::write(&script, text(&outcome, std::env::var_os("OPSCOPE_PACKAGE").map(PathBuf::from)))?;
    fs::write(&outcome, "")?;
    // The program may be another user's, if this is root.
    fs::set_permissions(&outcome, Permissions::from_mode(0o666))?;
    if !is_seen_by(pid, &script) {
        bail!("process {pid} sees other files than this command, as in a container; run the command where it runs");
    }
    interpreter.execute_on_main_thread(&script)?;
    let begun = Instant::now();
    let mut is_every_asked = false;
    loop {
        match read_text(&outcome, LONGEST_OUTCOME)?.trim() {
            "" => {}
            READY => return Ok(()),
            problem => bail!("process {pid} cannot be attached to: {problem}"),
        }
        if !is_every_asked && begun.elapsed() > MAIN_THREAD {
            is_every_asked = true;
            interpreter.execute_on_every_thread(&script)?;
        }
        if begun.elapsed() > EVERY_THREAD {
            interpreter.take_back()?;
            bail!("process {pid} executes no Python now: each of its threads waits in a library; try again later");
        }
        // It ends with the process.
        fs::metadata(format!("/proc/{pid}")).with_context(|| format!("process {pid} has ended"))?;
        thread::sleep(Duration::from_millis(2));
    }
}

/// Returns whether a process sees the same file at a path.
fn is_seen_by(pid: u32, path: &Path) -> bool {
    let theirs = PathBuf::from(format!("/proc/{pid}/root{}", path.display()));
    let identity = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
    identity(path).is_some_and(|own| identity(&theirs) == Some(own))
}

/// The script. `package` is the directory of the package `opscope` that this command belongs to.
fn text(outcome: &Path, package: Option<PathBuf>) -> String {
    let quoted = |path: &Path| serde_json::to_string(&path.to_string_lossy()).unwrap_or_default();
    let package = package.map_or_else(|| "None".to_owned(), |package| quoted(&package));
    format!(
        r#"def _opscope_serve(outcome, package):
    import sys
    try:
        if "torch" not in sys.modules:
            raise RuntimeError("the program has not imported torch")
        try:
            import opscope
        except ImportError:
            if package is None:
                raise RuntimeError("its environment has no opscope; install it there: pip install opscope") from None
            sys.path.append(package)
        from opscope.torch._served import serve_now
        serve_now()
        text = "{READY}"
    except BaseException as error:
        text = f"{{type(error).__name__}}: {{error}}"
    with open(outcome, "w") as file:
        file.write(text)
_opscope_serve({outcome}, {package})
del _opscope_serve
"#,
        outcome = quoted(outcome),
    )
}
