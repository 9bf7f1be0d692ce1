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
    let Ok(pid) = program.parse() else { return Ok(connect_served(program)?) };
    match connect_served(program) {
        Err(error @ DebugError::Connection(ConnectionError::NoServer { .. })) => {
            let interpreter = match Interpreter::of(pid) {
                Ok(interpreter) => interpreter,
                // It is some other program.
                Err(Refusal::NotPython(_)) => return Err(error.into()),
                Err(Refusal::Forbidden { .. }) if !is_called_python(pid) => return Err(error.into()),
                Err(refusal) => bail!("{refusal}; start the program with OPSCOPE_TORCH=serve to attach to it"),
            };
            serve(pid, &interpreter)?;
            Ok(Client::connect_pid(pid)?)
        }
        connected => Ok(connected?),
    }
}

/// Connects to a program that has a debug server, as [`connect`] does, and changes nothing in one that has none.
///
/// # Errors
/// Returns an error if it cannot be reached.
pub fn connect_served(program: &str) -> Result<Client, DebugError> {
    match program.parse() {
        Ok(pid) => Client::connect_pid(pid),
        Err(_) => Client::connect(Path::new(program)),
    }
}

/// Returns whether the name of a process, which everybody may read, is that of an interpreter.
fn is_called_python(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with(b"python"))
}

/// Connects to each of several programs: process numbers or sockets with commas between them, or the launcher of ranks,
/// such as torchrun. Returns them with the numbers of their ranks, in order; there is at least one.
///
/// # Errors
/// As [`connect`], and if none is named.
pub fn connect_all(programs: &str) -> Result<Vec<(u32, Client)>> {
    let named: Vec<&str> = match Path::new(programs).exists() {
        true => vec![programs],
        false => programs.split(',').map(str::trim).filter(|program| !program.is_empty()).collect(),
    };
    if named.is_empty() {
        bail!("--attach names no program; right is a process number, several with commas between them, or a socket");
    }
    if let [program] = named[..] {
        let ranks: Vec<Client> = launched_by(program);
        return if ranks.is_empty() { Ok(vec![(0, connect(program)?)]) } else { Ok(numbered(ranks)) };
    }
    let clients: Result<Vec<Client>> = named.into_iter().map(connect).collect();
    Ok(numbered(clients?))
}

/// Gives processes the numbers of their ranks or, if those are not known or not different, those of their order.
fn numbered(clients: Vec<Client>) -> Vec<(u32, Client)> {
    let mut ranks: Vec<Option<u32>> = clients.iter().map(|client| rank_of(client.hello().pid)).collect();
    let mut different: Vec<u32> = ranks.iter().flatten().copied().collect();
    different.sort_unstable();
    different.dedup();
    if different.len() < clients.len() {
        ranks = (0..clients.len()).map(|index| Some(index as u32)).collect();
    }
    let mut numbered: Vec<(u32, Client)> = ranks.into_iter().flatten().zip(clients).collect();
    numbered.sort_by_key(|(rank, _)| *rank);
    numbered
}

/// Returns the ranks that a process has started and that can be attached to; none if it is no launcher.
fn launched_by(program: &str) -> Vec<Client> {
    let Ok(pid) = program.parse() else { return Vec::new() };
    if rank_of(pid).is_some() {
        return Vec::new();
    }
    // What a rank has started, such as its loaders of data, inherits its environment.
    let is_rank = |pid: &u32| rank_of(*pid).is_some() && parent(*pid).is_some_and(|parent| rank_of(parent).is_none());
    descendants(pid).into_iter().filter(is_rank).filter_map(|pid| Client::connect_pid(pid).ok()).collect()
}

/// Returns the rank that the environment of a process names.
fn rank_of(pid: u32) -> Option<u32> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let rank = environment.split(|byte| *byte == 0).find_map(|variable| variable.strip_prefix(b"RANK="))?;
    str::from_utf8(rank).ok()?.parse().ok()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The state and the parent follow the command's name, which is in parentheses and may itself contain some.
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// The longest list of processes that is read.
const MOST_CHILDREN: u64 = 1 << 20;

/// Returns the processes that a process has started, and those that they have started.
fn descendants(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let mut next = 0;
    while next < all.len() {
        let tasks = fs::read_dir(format!("/proc/{}/task", all[next])).into_iter().flatten().flatten();
        for task in tasks {
            let children = read_text(&task.path().join("children"), MOST_CHILDREN).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
        next += 1;
    }
    all.split_off(1)
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
