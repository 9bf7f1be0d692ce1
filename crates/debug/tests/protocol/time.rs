//! The patience of the server and of its clients, on a clock that the tests advance.

use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use opscope_clock::{Clock, ManualClock};
use opscope_debug::client::Client;
use opscope_debug::{ConnectionError, DebugError, Debugger};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};

use crate::Program;
use crate::raw::Raw;

const MILLISECOND: Duration = Duration::from_millis(1);

/// The longest real time that a test waits for an event that is due.
const LONGEST: Duration = Duration::from_secs(30);

/// Checks that a thread ends after this time, and not a millisecond earlier.
fn ends_after<R: Send + 'static>(clock: &ManualClock, time: Duration, thread: JoinHandle<R>) -> R {
    clock.await_waits(1);
    clock.advance(time - MILLISECOND);
    clock.await_waits(1);
    assert!(!thread.is_finished(), "a millisecond is left");
    clock.advance(MILLISECOND);
    let (sender, ended) = channel();
    std::thread::spawn(move || sender.send(thread.join()));
    ended.recv_timeout(LONGEST).expect("its time is over").unwrap()
}

#[test]
fn a_server_closes_a_connection_that_says_nothing_for_five_seconds() {
    let clock = ManualClock::create();
    let program = Program::of(Debugger::with_clock(Clock::manual(&clock), |_| ()).unwrap());
    let mut raw = Raw::over(program.server.connect().unwrap());
    clock.await_waits(1);
    clock.advance(Duration::from_secs(5) - MILLISECOND);
    clock.await_waits(1);
    raw.0.set_nonblocking(true).unwrap();
    let open = raw.0.read(&mut [0]).map_err(|error| error.kind());
    assert_eq!(open, Err(ErrorKind::WouldBlock), "a millisecond is left");
    raw.0.set_nonblocking(false).unwrap();
    clock.advance(MILLISECOND);
    raw.0.set_read_timeout(Some(LONGEST)).unwrap();
    assert!(raw.is_closed());
}

#[test]
fn a_client_waits_five_seconds_for_a_program_that_does_not_say_hello() {
    let clock = ManualClock::create();
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let own = Clock::manual(&clock);
    let connecting = std::thread::spawn(|| Client::with_clock(ours, own));
    let error = ends_after(&clock, Duration::from_secs(5), connecting).err().expect("nobody answers");
    assert!(matches!(error, DebugError::Connection(ConnectionError::NoAnswer { seconds: 5 })), "{error}");
}

#[test]
fn a_wait_for_events_ends_with_its_timeout() {
    let clock = ManualClock::create();
    let program = Program::new();
    let client = Client::with_clock(program.server.connect().unwrap(), Clock::manual(&clock)).unwrap();
    let client = Arc::new(client);
    for has_listener in [false, true] {
        if has_listener {
            // From now on another thread reads the socket.
            client.notification_fd();
        }
        let own = Arc::clone(&client);
        let waiting = std::thread::spawn(move || own.wait(Duration::from_millis(250)));
        assert!(!ends_after(&clock, Duration::from_millis(250), waiting), "no event has come");
    }
}

#[test]
fn a_connection_that_no_program_accepts_is_given_up_after_a_second() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listener = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    // The system queues one more connection than this number.
    listen(&listener, 0).unwrap();
    let _first = UnixStream::connect(&path).unwrap();
    // The system measures this time, so there is no clock to advance.
    let begin = Instant::now();
    let error = Client::connect(&path).err().expect("nobody accepts");
    let took = begin.elapsed();
    assert!(matches!(error, DebugError::Connection(ConnectionError::NotAccepted { .. })), "{error}");
    assert!((Duration::from_millis(900)..Duration::from_secs(9)).contains(&took), "{took:?}");
}
