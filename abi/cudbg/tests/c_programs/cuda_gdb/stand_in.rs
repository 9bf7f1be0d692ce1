//! The process that cuda-gdb traces. It waits for the program, which runs in a child, and behaves like it for all other
//! processes.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use opscope_c_programs::Library;

/// Starts a shell with a script as a program with a stand-in.
fn start(script: &str) -> Child {
    let mut command = Command::new("timeout");
    // Only the program has a stand-in, and not the process that limits its time.
    let driver = Library::Cudbg.files().join("opscope/cudbg/libcuda.so.1");
    command.args(["-s", "KILL", "120", "env", &format!("LD_PRELOAD={}", driver.display()), "OPSCOPE_CUDA_GDB=1"]);
    command.args(["/bin/sh", "-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().expect("a shell")
}

/// Returns a process's children.
fn children(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("the process");
    text.split_whitespace().map(|pid| pid.parse().expect("a number")).collect()
}

fn kill(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().expect("kill").success());
}

#[test]
fn the_stand_in_ends_as_the_program_ends_and_passes_what_it_reads_and_prints() {
    let mut shell = start("read line; echo \"$line and ${OPSCOPE_CUDA_GDB-nothing}\"; exit 7");
    std::io::Write::write_all(&mut shell.stdin.take().expect("a pipe"), b"something\n").expect("it reads");
    let ended = shell.wait_with_output().expect("it ends");
    assert_eq!((ended.status.code(), &*ended.stdout), (Some(7), &b"something and nothing\n"[..]));
    let ended = start("kill -USR1 $$").wait_with_output().expect("it ends");
    // The process that limits the time reports a signal like a shell.
    assert!(ended.status.code() == Some(128 + 10) || ended.status.signal() == Some(10), "{ended:?}");
}

#[test]
fn signals_reach_the_program_and_it_does_not_outlive_its_stand_in() {
    let mut shell = start("trap 'echo caught; exit 3' TERM; echo $$; while :; do read line || sleep 0.01; done");
    let mut lines = BufReader::new(shell.stdout.take().expect("a pipe")).lines();
    let program: u32 = lines.next().expect("a line").expect("UTF-8").parse().expect("a number");
    let stand_in = children(shell.id())[0];
    assert_eq!(children(stand_in), [program]);
    drop(shell.stdin.take());
    kill("-TERM", stand_in);
    assert_eq!(lines.next().expect("a line").expect("UTF-8"), "caught");
    assert_eq!(shell.wait().expect("it ends").code(), Some(3));

    let mut shell = start("echo $$; exec cat");
    let mut lines = BufReader::new(shell.stdout.take().expect("a pipe")).lines();
    lines.next().expect("a line").expect("UTF-8");
    kill("-KILL", children(shell.id())[0]);
    // The end of its output is the end of the last process that could write to it.
    assert!(lines.next().is_none());
    shell.wait().expect("it ends");
}

#[test]
fn without_the_variable_a_program_runs_as_ever_and_with_it_its_own_children_do() {
    let driver = Library::Cudbg.files().join("opscope/cudbg/libcuda.so.1");
    let parent = |variable: &str| {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo $PPID; exec /bin/sh -c 'echo $PPID'"]).env("LD_PRELOAD", &driver);
        let output = command.env("OPSCOPE_CUDA_GDB", variable).output().expect("a shell");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let own = std::process::id().to_string();
    assert_eq!(parent(""), format!("{own}\n{own}\n"));
    let with = parent("1");
    let pids: Vec<&str> = with.lines().collect();
    assert!(pids.len() == 2 && pids[0] == pids[1] && pids[0] != own, "{with}");
}
