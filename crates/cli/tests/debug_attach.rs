//! `opscope debug --attach`: another process is stopped, looked at, changed and left.

mod process;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};

use process::running::Running;
use process::{Ended, Workplace, end};
use serde_json::Value;

/// Runs commands in batch on the program that listens at `socket`.
fn attached(place: &Workplace, commands: &[&str]) -> Ended {
    let commands: Vec<&str> = commands.iter().flat_map(|command| ["-ex", *command]).collect();
    end(&mut place.command(&[&["debug", "--attach", "socket", "--batch"][..], &commands].concat()))
}

/// A debugger that writes JSON, from which lines are read one by one.
struct Speaking {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Speaking {
    /// Starts a debugger with these commands. Unless it runs in batch, it then waits for more.
    fn start(place: &Workplace, batch: bool, commands: &[&str]) -> Self {
        let commands: Vec<&str> = commands.iter().flat_map(|command| ["-ex", *command]).collect();
        let batch = if batch { ["--batch"].as_slice() } else { &[] };
        let mut command = place.command(&[&["debug", "--attach", "socket", "--json"], batch, &commands].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Reads until there is an object of this type.
    fn until(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.lines.read_line(&mut line).unwrap(), 0, "it ends before it says '{kind}'");
            let object: Value = serde_json::from_str(&line).unwrap();
            if object["type"] == kind {
                return object;
            }
        }
    }

    fn end(mut self) -> Ended {
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.lines.read_to_string(&mut stdout).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        Ended { code: self.child.wait().unwrap().code(), stdout, stderr }
    }
}

#[test]
fn a_program_is_stopped_looked_at_changed_and_left_without_a_trace() {
    let place = Workplace::new();
    let running = Running::start(&place, &["--debug-server=socket"]);
    let commands = [
        "break Softmax",
        "wait",
        "where",
        "stats input[0]",
        "set input[0] = 0",
        "finish",
        "print output[0][0, :3]",
        "info runs",
        "delete",
    ];
    let mut debugger = Speaking::start(&place, true, &commands);
    let stopped = debugger.until("stopped");
    assert_eq!(stopped["event"]["place"]["op_type"], "Softmax");
    assert_eq!(debugger.until("statistics")["statistics"]["count"], 10);
    // This is the softmax of zeros.
    let data = debugger.until("tensor")["data"].clone();
    assert!(data.as_array().unwrap().iter().all(|element| (element.as_f64().unwrap() - 0.1).abs() < 1e-6), "{data}");
    let ended = debugger.end();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");

    let text = attached(&place, &["info breakpoints", "tbreak Conv", "wait", "info status", "quit"]);
    assert_eq!((text.code, text.stderr.as_str()), (Some(0), ""), "{text:?}");
    for part in ["There are no breakpoints.", "Breakpoint 2, before #", "1 thread stopped"] {
        assert!(text.stdout.contains(part), "{part:?} is not in {text:?}");
    }
    let refused = attached(&place, &["run"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    refused.says(&["starts its runs itself", "`wait`"]);

    let ended = running.interrupt();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(!ended.stderr.contains("not acknowledged"), "{ended:?}");
    assert!(ended.json()["debugger"]["stopped_runs"].as_u64().unwrap() >= 2, "{ended:?}");
}

#[test]
fn a_program_that_goes_away_ends_a_batch_that_has_more_to_do_with_exit_code_1() {
    let place = Workplace::new();
    for (commands, code) in
        [(["break Conv if nan", "wait"].as_slice(), 0), (&["break Conv if nan", "wait", "where"], 1)]
    {
        let running = Running::start(&place, &["--debug-server=socket"]);
        let mut debugger = Speaking::start(&place, true, commands);
        debugger.until("breakpoint");
        running.interrupt();
        debugger.until("gone");
        let ended = debugger.end();
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert_eq!(ended.stderr.contains("not all commands were run"), code == 1, "{ended:?}");
    }
}

#[test]
fn a_session_that_waits_for_a_line_of_a_pipe_ends_as_soon_as_its_program_is_killed() {
    let place = Workplace::new();
    let running = Running::start(&place, &["--debug-server=socket"]);
    let mut debugger = Speaking::start(&place, false, &["info status"]);
    debugger.until("done");
    running.signal(rustix::process::Signal::KILL);
    let reason = debugger.until("gone")["reason"].clone();
    assert!(reason.as_str().unwrap().contains("the program ended"), "{reason}");
    // Its stdin is still open.
    assert_eq!(debugger.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_program_has_one_debugger_and_continues_when_it_is_killed() {
    let place = Workplace::new();
    let running = Running::start(&place, &["--debug-server=socket"]);
    let mut debugger = Speaking::start(&place, false, &["break Conv", "wait"]);
    let event = debugger.until("stopped")["event"]["sequence"].clone();
    let second = attached(&place, &["info runs"]);
    assert_eq!((second.code, second.stdout.as_str()), (Some(1), ""), "{second:?}");
    second.says(&["error: 'opscope debug' is attached already"]);
    debugger.child.kill().unwrap();
    debugger.end();
    // The program may need a moment to notice that the first debugger is gone.
    let next = loop {
        let next = attached(&place, &["tbreak Softmax", "wait", "info breakpoints"]);
        if !next.stderr.contains("is attached already") {
            break next;
        }
    };
    assert_eq!((next.code, next.stderr.as_str()), (Some(0), ""), "{next:?}");
    assert!(next.stdout.ends_with("There are no breakpoints.\n"), "{next:?}");
    let ended = running.interrupt();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    ended.says(&[&format!("warning: event {event} (breakpoint, "), "was not acknowledged: the debugger is gone"]);
}
