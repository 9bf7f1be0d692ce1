//! The other process. It is this program, with its role in an environment variable.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use opscope::debug::client::Client;
use opscope::debug::{AttachOptions, BreakpointSpec, EventName, EventSet, Queue, Resume};
use opscope_clock::Ticks;

const ROLE: &str = "OPSCOPE_EVENTS_ROLE";
const SOCKET: &str = "OPSCOPE_EVENTS_SOCKET";
const COUNT: &str = "OPSCOPE_EVENTS_COUNT";

/// The length of a message in the round trip that is the floor, in bytes: about that of the protocol's messages.
pub const MESSAGE: usize = 64;

/// The line that a debugger prints when it is attached and has set its breakpoints.
const ATTACHED: &str = "attached";

/// Another process.
pub struct Other {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Other {
    /// Starts the process in a role: `echo`, `stops` or `drain`.
    pub fn start(role: &str, socket: &Path, count: u64) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this is a program"))
            .env(ROLE, role)
            .env(SOCKET, socket)
            .env(COUNT, count.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts again");
        let lines = BufReader::new(child.stdout.take().expect("it is piped"));
        Self { child, lines }
    }

    pub fn wait_until_attached(&mut self) {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("it speaks");
        assert_eq!(line.trim_end(), ATTACHED);
    }

    /// Waits for its end, and returns the lines of numbers that it printed.
    pub fn numbers(mut self) -> Vec<Vec<u64>> {
        let mut text = String::new();
        self.lines.read_to_string(&mut text).expect("it speaks");
        assert!(self.child.wait().expect("it ends").success());
        let line = |line: &str| line.split(' ').map(|number| number.parse().expect("a number")).collect();
        text.lines().map(line).collect()
    }
}

/// Returns whether this process was started by [`Other::start`].
pub fn is_one() -> bool {
    std::env::var_os(ROLE).is_some()
}

/// Does the work of this process's role.
pub fn act() {
    let given = |name: &str| std::env::var(name).expect("the parent sets it");
    let count = given(COUNT).parse().expect("a number");
    let socket = given(SOCKET);
    match given(ROLE).as_str() {
        "echo" => echo(Path::new(&socket), count),
        "stops" => stops(Path::new(&socket), count),
        "drain" => drain(Path::new(&socket), count),
        role => panic!("there is no role '{role}'"),
    }
}

fn echo(socket: &Path, count: u64) {
    let mut stream = UnixStream::connect(socket).expect("it is listened at");
    let mut message = [0; MESSAGE];
    for _ in 0..count {
        stream.read_exact(&mut message).expect("a message comes");
        stream.write_all(&message).expect("it goes back");
    }
}

/// Resumes a run at each stop, and prints when it was notified and when it answered, in ticks.
fn stops(socket: &Path, count: u64) {
    let client = Client::connect(socket).expect("it is listened at");
    client.attach(AttachOptions::default()).expect("no other debugger is attached");
    client.add_breakpoint(BreakpointSpec::at("#2".parse().expect("a place"))).expect("it is set");
    while let Some(event) = client.next_event(Queue::Sync).expect("it is attached") {
        client.acknowledge(event.sequence, Resume::Continue).expect("it is attached");
    }
    println!("{ATTACHED}");
    let mut times = Vec::new();
    while times.len() < count as usize {
        client.wait(Duration::from_secs(10));
        let notified = Ticks::now();
        let Some(event) = client.next_event(Queue::Sync).expect("it is attached") else { continue };
        let answered = Ticks::now();
        client.acknowledge(event.sequence, Resume::Continue).expect("it is attached");
        if event.waiting {
            times.push((notified, answered));
        }
    }
    times.iter().for_each(|(notified, answered)| println!("{} {}", notified.as_raw(), answered.as_raw()));
}

/// Reads `count` async events. Prints how many were delivered, how many were folded into others, and the time in
/// nanoseconds.
fn drain(socket: &Path, count: u64) {
    const PATIENCE: Duration = Duration::from_secs(10);
    let client = Client::connect(socket).expect("it is listened at");
    let events = EventSet::ALWAYS.with(EventName::OperatorFinished);
    client.attach(AttachOptions { events, ..AttachOptions::default() }).expect("no other debugger is attached");
    println!("{ATTACHED}");
    let (mut delivered, mut coalesced) = (0, 0);
    let mut begin = None;
    let mut last = Instant::now();
    while delivered + coalesced < count && last.elapsed() < PATIENCE {
        let events = client.next_events(Queue::Async, 4096).expect("it is attached");
        if events.is_empty() {
            client.wait(PATIENCE);
            // Events of the other queue also end the wait. Here they stop no run.
            client.next_events(Queue::Sync, 16).expect("it is attached");
            continue;
        }
        begin.get_or_insert(last);
        last = Instant::now();
        delivered += events.len() as u64;
        coalesced += events.iter().map(|event| event.coalesced).sum::<u64>();
    }
    println!("{delivered} {coalesced} {}", last.duration_since(begin.unwrap_or(last)).as_nanos());
}
