//! Sockets in the file system, with real processes.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use opscope_debug::client::Client;
use opscope_debug::server::{Listen, ServeError, Server, ServerOptions};
use opscope_debug::{AttachOptions, Debugger, ErrorCode};
use opscope_model::Fidelity;
use opscope_model::testing::skipped;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::fake::{Fake, PLAIN};
use crate::raw::Raw;
use crate::{Program, at, stop};

const ROLE: &str = "OPSCOPE_DEBUG_TEST_ROLE";

/// The other process: a debugger, or a program that a debugger can attach to, which runs until its input ends.
#[test]
fn child() {
    match std::env::var(ROLE).as_deref() {
        Ok("program") => {
            let debugger = Debugger::with_log(|message| println!("log: {message}")).unwrap();
            let server = match debugger.serve(ServerOptions::default()) {
                Ok(server) => server,
                Err(error) => return println!("refused: {error}"),
            };
            let fake = Fake::new();
            debugger.planned(&fake.graph, Fidelity::Exact, &fake.kernels);
            println!("listening: {}", server.path().unwrap().display());
            let runs = std::thread::spawn(move || {
                let mut run = 0;
                while std::env::var_os(ROLE).is_some() {
                    assert_eq!(fake.run(&debugger, run, PLAIN).unwrap(), Fake::expected(PLAIN));
                    run += 1;
                }
            });
            std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
            drop((server, runs));
        }
        Ok(path) => {
            let mut raw = Raw::over(UnixStream::connect(path).unwrap());
            println!("told: {}", raw.receive().unwrap().0["error"]["code"]);
        }
        Err(_) => {}
    }
}

struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    _stdin: Option<ChildStdin>,
}

impl Running {
    fn start(program: &Path, role: &str, with: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(program);
        command.args(["--exact", "sockets::child", "--nocapture"]).env(ROLE, role);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        with(&mut command);
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { _stdin: child.stdin.take(), child, lines }
    }

    fn program(runtime: &Path) -> Self {
        Self::start(&std::env::current_exe().unwrap(), "program", |command| {
            command.env("XDG_RUNTIME_DIR", runtime);
        })
    }

    /// Returns the rest of the next line with this beginning.
    fn says(&mut self, beginning: &str) -> String {
        let found = self.lines.find_map(|line| Some(line.unwrap().split_once(beginning)?.1.to_owned()));
        found.unwrap_or_else(|| panic!("the process ended before it said '{beginning}'"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_process_is_attached_to_by_the_path_that_it_says_and_a_killed_one_leaves_no_more_than_a_stale_socket() {
    let runtime = tempfile::tempdir().unwrap();
    let mut first = Running::program(runtime.path());
    let path = PathBuf::from(first.says("listening: "));
    assert_eq!(path, runtime.path().join(format!("opscope/{}.sock", first.child.id())));
    assert_eq!(path.parent().unwrap().metadata().unwrap().mode() & 0o7777, 0o700);
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);

    let client = Client::connect(&path).unwrap();
    assert_eq!(client.hello().pid, first.child.id());
    client.attach(AttachOptions { name: "one".into(), ..AttachOptions::default() }).unwrap();
    client.add_breakpoint(at("log")).unwrap();
    let event = stop(&client);
    assert_eq!(client.whole_tensor(event.sequence, "input[0]").unwrap().elements(), 4);
    drop(client);
    let log = first.says("log: ");
    assert!(log.contains("one is detached"), "{log}");

    let client = Client::connect(&path).unwrap();
    client.attach(AttachOptions::default()).unwrap();
    first.child.kill().unwrap();
    let gone = std::iter::repeat_with(|| client.status()).find_map(Result::err).unwrap();
    assert_eq!(gone.code(), ErrorCode::Connection);
    first.child.wait().unwrap();
    assert!(path.symlink_metadata().is_ok(), "a killed program does not remove it");

    let mut second = Running::program(runtime.path());
    second.says("listening: ");
    assert!(path.symlink_metadata().is_err(), "the next program clears it away");
    let refused = Client::connect(&path).err().unwrap();
    assert!(refused.to_string().contains("cannot be reached"), "{refused}");
}

#[test]
fn a_program_is_found_by_its_process_number() {
    // Every debugger also looks in the directory for programs without a runtime directory.
    let mut program = Running::start(&std::env::current_exe().unwrap(), "program", |command| {
        command.env_remove("XDG_RUNTIME_DIR");
    });
    let path = PathBuf::from(program.says("listening: "));
    let client = Client::connect_pid(program.child.id()).unwrap();
    assert_eq!(client.hello().pid, program.child.id());
    drop(program._stdin.take());
    assert!(program.child.wait().unwrap().success());
    assert!(path.symlink_metadata().is_err(), "a program that ends removes its socket");

    let nowhere = Client::connect_pid(std::process::id()).err().unwrap().to_string();
    assert!(nowhere.contains("--debug-server") && nowhere.contains("/tmp/opscope-"), "{nowhere}");
    let no_process = Client::connect_pid(u32::MAX).err().unwrap().to_string();
    assert!(no_process.contains("there is no process"), "{no_process}");
}

#[test]
fn a_directory_that_others_could_have_a_hand_in_is_refused() {
    let runtime = tempfile::tempdir().unwrap();
    let directory = runtime.path().join("opscope");
    let refusal = || Running::program(runtime.path()).says("refused: ");

    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, Permissions::from_mode(0o750)).unwrap();
    assert!(refusal().contains("others have rights in it (its mode is 750)"));
    fs::remove_dir(&directory).unwrap();

    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), &directory).unwrap();
    assert!(refusal().contains("it is a link"));
    fs::remove_file(&directory).unwrap();

    fs::write(&directory, "").unwrap();
    assert!(refusal().contains("it is not a directory"));
}

#[test]
fn a_program_that_is_stopped_holds_up_neither_others_nor_a_debugger() {
    let runtime = tempfile::tempdir().unwrap();
    let mut stopped = Running::program(runtime.path());
    let path = PathBuf::from(stopped.says("listening: "));
    let process = Pid::from_child(&stopped.child);
    kill_process(process, Signal::STOP).unwrap();
    waitpid(Some(process), WaitOptions::UNTRACED).unwrap();

    let refused = Client::connect(&path).err().unwrap().to_string();
    let pid = stopped.child.id();
    assert!(
        refused.contains(&format!("process {pid}")) && refused.contains(&format!("`kill -CONT {pid}`")),
        "{refused}"
    );

    // More programs are started than connections can wait at a socket. Each checks whether the socket is stale.
    let address = SocketAddrUnix::new(&path).unwrap();
    let waiting = std::iter::from_fn(|| {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        connect(&socket, &address).is_ok().then_some(socket)
    });
    assert!(waiting.count() >= 16);
    let mut other = Running::program(runtime.path());
    let other_path = PathBuf::from(other.says("listening: "));
    Client::connect(&other_path).unwrap();
    let refused = Client::connect(&path).err().unwrap().to_string();
    assert!(refused.contains("accepted no connection") && refused.contains("`kill -CONT`"), "{refused}");

    kill_process(process, Signal::CONT).unwrap();
    let client = std::iter::repeat_with(|| Client::connect(&path)).find_map(Result::ok).unwrap();
    assert_eq!(client.hello().pid, pid);
}

fn serve_at(path: &Path) -> Result<Server, ServeError> {
    Debugger::with_log(|_| ()).unwrap().serve(ServerOptions { listen: Listen::At(path.to_owned()) })
}

#[test]
fn a_path_of_the_user_is_served_if_no_other_user_can_write_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.socket");
    let server = serve_at(&path).unwrap();
    assert_eq!(server.path(), Some(&*path));
    Client::connect(&path).unwrap();
    let taken = serve_at(&path).err().unwrap().to_string();
    assert!(taken.contains("another program listens there"), "{taken}");
    drop(server);
    assert!(path.symlink_metadata().is_err());

    drop(UnixListener::bind(&path).unwrap());
    drop(serve_at(&path).expect("a socket without a listener is replaced"));
    fs::write(&path, "something else").unwrap();
    assert!(matches!(serve_at(&path), Err(ServeError::Taken { .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "something else");

    fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(serve_at(&directory.path().join("open.socket")), Err(ServeError::Directory { .. })));
    let long = directory.path().join("x".repeat(200));
    fs::set_permissions(directory.path(), Permissions::from_mode(0o700)).unwrap();
    let error = serve_at(&long).err().unwrap().to_string();
    assert!(error.contains("too long for a socket"), "{error}");
    let entries = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(entries, 1, "nothing half made is left");
}

#[test]
fn a_server_removes_only_its_own_socket() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.socket");
    let server = serve_at(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let other = UnixListener::bind(&path).unwrap();
    drop(server);
    assert!(path.symlink_metadata().is_ok());
    drop(other);
}

/// Only root can test this: another user's process is refused although it reaches the socket.
#[test]
fn another_user_is_turned_away() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.socket");
    let program = Program::new();
    let _server = program.debugger.serve(ServerOptions { listen: Listen::At(path.clone()) }).unwrap();
    if !rustix::process::geteuid().is_root() {
        return skipped("only root can start a process of another user");
    }
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    let copy = directory.path().join("debugger");
    fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    fs::set_permissions(&copy, Permissions::from_mode(0o755)).unwrap();
    let mut other = Running::start(&copy, path.to_str().unwrap(), |command| {
        command.uid(65534).gid(65534).current_dir("/");
    });
    assert_eq!(other.says("told: "), "\"not_allowed\"");
    Client::connect(&path).expect("root is served");
}
