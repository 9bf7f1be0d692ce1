//! Debuggers that connect, disconnect, and do not read.

use std::collections::VecDeque;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;

use opscope_debug::client::Client;
use opscope_debug::server::{Listen, ServerOptions};
use opscope_debug::{AttachOptions, Debugger, ErrorCode, Event, EventName, EventSet, Queue, Resume};
use opscope_model::Fidelity;
use serde_json::json;

use crate::fake::{Fake, PLAIN};
use crate::raw::{Raw, frame};
use crate::{LONG, Program, at, stop};

#[test]
fn a_debugger_that_hangs_up_frees_its_threads_and_the_log_names_its_unacknowledged_events() {
    let (log, logged) = mpsc::channel();
    let log = std::sync::Mutex::new(log);
    let debugger = Debugger::with_log(move |message| log.lock().unwrap().send(message.to_owned()).unwrap()).unwrap();
    let program = Program::of(debugger);
    let client = program.attached();
    client.add_breakpoint(at("log")).unwrap();
    let runs: Vec<_> = (0..3).map(|run| program.start(run, PLAIN)).collect();
    let event = stop(&client);
    drop(client);
    for run in runs {
        assert_eq!(run.join().unwrap().unwrap(), Fake::expected(PLAIN));
    }
    let lines: Vec<_> = std::iter::from_fn(|| logged.recv_timeout(LONG).ok()).take(2).collect();
    assert!(lines[0].starts_with("a test is detached: opscope ") && lines[0].ends_with("hung up"), "{lines:?}");
    let left = format!("event {} (", event.sequence);
    let all: Vec<_> = lines.into_iter().chain(logged.try_iter()).collect();
    assert!(all.iter().any(|line| line.starts_with(&left) && line.contains("was not acknowledged")), "{all:?}");
    program.attached();
}

#[test]
fn one_that_hangs_up_within_a_frame_is_no_different() {
    let program = Program::new();
    for end in 1..40 {
        let mut raw = Raw::attached(program.server.connect().unwrap());
        let answer = raw.ask(json!({"id": 3, "request": "add_breakpoint", "target": "log"}));
        assert!(answer["ok"]["id"].is_u64(), "{answer}");
        let run = program.start(end, PLAIN);
        while raw.ask(json!({"id": 4, "request": "status"}))["ok"]["stopped"][0].is_null() {}
        let next = frame(br#"{"id": 5, "request": "next_events", "queue": "sync"}"#, b"");
        std::io::Write::write_all(&mut raw.0, &next[..end as usize]).unwrap();
        drop(raw);
        assert_eq!(run.join().unwrap().unwrap(), Fake::expected(PLAIN));
    }
}

#[test]
fn a_client_that_waits_for_events_can_be_woken_by_another_thread_of_its_own() {
    let program = Program::new();
    let client = program.attached();
    // This reads the events of attaching.
    while !client.next_events(Queue::Sync, 9).unwrap().is_empty() {}
    for _ in 0..100 {
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| client.wait(LONG));
            // It is woken before the wait or during it, whichever thread reads the socket.
            client.wake();
            client.status().unwrap();
            assert!(!waiting.join().unwrap(), "no event has come");
        });
    }
    // Events are noticed as before.
    client.add_breakpoint(at("log")).unwrap();
    let run = program.start(1, PLAIN);
    let event = stop(&client);
    client.acknowledge(event.sequence, Resume::Continue).unwrap();
    run.join().unwrap().unwrap();
}

#[test]
fn a_debugger_that_wants_it_so_gets_its_events_along_with_the_notification() {
    let program = Program::new();
    let client = program.client();
    let events = EventSet::default().with(EventName::OperatorReady).with(EventName::OperatorFinished);
    client.attach(AttachOptions { deliver: true, events, ..AttachOptions::default() }).unwrap();
    let mut taken: Vec<Event> = Vec::new();
    let run = program.start(1, PLAIN);
    while !run.is_finished() {
        client.wait(std::time::Duration::from_millis(100));
        for event in client.take_delivered() {
            // It counts as read.
            client.acknowledge(event.sequence, Resume::Continue).unwrap();
            taken.push(event);
        }
        // After the answer the program notifies again.
        let finished = client.next_events(Queue::Async, 100).unwrap();
        assert!(finished.iter().all(|event| event.kind.name() == EventName::OperatorFinished));
    }
    assert_eq!(run.join().unwrap().unwrap(), Fake::expected(PLAIN));
    assert!(taken.is_sorted_by_key(|event| event.sequence));
    let count = |name: EventName| taken.iter().filter(|event| event.kind.name() == name).count();
    assert_eq!((count(EventName::AttachComplete), count(EventName::OperatorReady)), (1, 3));
    assert_eq!(client.next_events(Queue::Sync, 100).unwrap(), [], "none is sent twice");
}

#[test]
fn one_that_does_not_read_is_dropped_and_its_threads_go_on() {
    let program = Program::new();
    let mut raw = Raw::attached(program.server.connect().unwrap());
    raw.ask(json!({"id": 3, "request": "add_breakpoint", "target": "log"}));
    let run = program.start(0, PLAIN);
    while raw.ask(json!({"id": 4, "request": "status"}))["ok"]["stopped"][0].is_null() {}
    // The answers to these requests do not fit into the socket. The server stops reading when it cannot answer.
    raw.0.set_nonblocking(true).unwrap();
    let status = frame(br#"{"id": 6, "request": "status"}"#, b"");
    while std::io::Write::write(&mut raw.0, &status).is_ok() {}
    assert_eq!(run.join().unwrap().unwrap(), Fake::expected(PLAIN));
    program.attached();
}

#[test]
fn a_slow_debugger_does_not_delay_others() {
    let program = Program::new();
    let mut slow = Raw::over(program.server.connect().unwrap());
    std::io::Write::write_all(&mut slow.0, &[200, 0, 0]).unwrap();
    let client = program.attached();
    client.status().unwrap();
    std::io::Write::write_all(&mut slow.0, &[0, 0, 0, 0, 0]).unwrap();
    std::io::Write::write_all(&mut slow.0, &[b' '; 200]).unwrap();
    assert_eq!(slow.answer()["error"]["code"], "malformed");
}

#[test]
fn connections_beyond_the_limit_are_refused_with_a_reason() {
    let program = Program::new();
    let kept: Vec<Client> = (0..16).map(|_| program.client()).collect();
    let refused = Client::over(program.server.connect().unwrap()).err().expect("there is no room");
    assert_eq!(refused.code(), ErrorCode::Busy);
    drop(kept);
    // A new connection is possible when the server has noticed that the others are gone.
    let client = std::iter::repeat_with(|| Client::over(program.server.connect().unwrap())).find_map(Result::ok);
    client.unwrap().attach(AttachOptions::default()).unwrap();
}

#[test]
fn a_client_that_only_closes_its_writing_side_gets_its_answer() {
    let program = Program::new();
    let mut raw = Raw::over(program.server.connect().unwrap());
    raw.send(br#"{"id": 1, "request": "hello", "protocol": "opscope-debug", "version": 1}"#, b"").unwrap();
    raw.0.shutdown(Shutdown::Write).unwrap();
    assert_eq!(raw.answer()["ok"]["version"], 1);
    assert!(raw.is_closed());
}

#[test]
fn one_that_says_nothing_takes_no_place_for_ever() {
    let program = Program::new();
    let mut silent: Vec<_> = (0..16).map(|_| Raw::over(program.server.connect().unwrap())).collect();
    std::io::Write::write_all(&mut silent[0].0, &[200, 0]).unwrap();
    assert!(silent.iter_mut().all(Raw::is_closed));
    program.attached();
}

#[test]
fn one_that_sends_a_message_byte_by_byte_loses_its_place() {
    let program = Program::new();
    let within = std::time::Duration::from_millis(200);
    let dribbles = |mut raw: Raw, mut step: Box<dyn FnMut(&mut Raw)>| {
        raw.0.set_read_timeout(Some(within)).unwrap();
        loop {
            step(&mut raw);
            // Reading sets the pace, and the loop ends when the other side closes.
            match std::io::Read::read(&mut raw.0, &mut [0]) {
                Ok(0) => break,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
                _ => {}
            }
        }
    };
    let message = frame(&[b' '; 1000], b"");
    let mut bytes = message.into_iter();
    let sender = Raw::attached(program.server.connect().unwrap());
    let mut greeted = Raw::over(program.server.connect().unwrap());
    greeted.hello();
    let send = Box::new(move |raw: &mut Raw| {
        let byte = bytes.next().expect("it is closed before the end of the message");
        // If the connection was closed meanwhile, the next read reports it.
        let _ = std::io::Write::write_all(&mut raw.0, &[byte]);
    });
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut head = 200u32.to_le_bytes().into_iter();
            let send =
                move |raw: &mut Raw| drop(head.next().map(|byte| std::io::Write::write_all(&mut raw.0, &[byte])));
            dribbles(greeted, Box::new(send));
        });
        dribbles(sender, send);
    });
    program.attached();
}

#[test]
fn a_flood_of_connections_holds_up_neither_a_run_nor_its_debugger() {
    let directory = tempfile::tempdir().unwrap();
    let debugger = Debugger::with_log(|_| ()).unwrap();
    let listen = Listen::At(directory.path().join("socket"));
    let server = debugger.serve(ServerOptions { listen }).unwrap();
    let fake = &Fake::new();
    debugger.planned(&fake.graph, Fidelity::Exact, &fake.kernels);
    let (path, program) = (server.path().unwrap(), &debugger);
    let client = Client::connect(path).unwrap();
    client.attach(AttachOptions::default()).unwrap();
    client.add_breakpoint(at("log")).unwrap();
    std::thread::scope(|scope| {
        for kept in [0, 30] {
            scope.spawn(move || {
                let mut open = VecDeque::new();
                for _ in 0..1000 {
                    open.push_back(UnixStream::connect(path).unwrap());
                    open.drain(..open.len().saturating_sub(kept));
                }
            });
        }
        for run in 0..50 {
            let thread = scope.spawn(move || fake.run(program, run, PLAIN));
            let event = stop(&client);
            client.statistics(event.sequence, "input").unwrap();
            client.acknowledge(event.sequence, Resume::Continue).unwrap();
            assert_eq!(thread.join().unwrap().unwrap(), Fake::expected(PLAIN));
        }
    });
}

#[test]
fn a_detached_client_gets_no_events_of_the_next_one() {
    let program = Program::new();
    let mut first = Raw::attached(program.server.connect().unwrap());
    assert_eq!(first.ask(json!({"id": 3, "request": "detach"}))["ok"], json!({}));
    let news = json!({"id": 4, "request": "next_events", "queue": "sync"});
    assert!(first.ask(news).to_string().contains("detach_complete"));
    let second = program.attached();
    assert!(second.wait(LONG), "attach complete waits, and is not read");
    first.send(br#"{"id": 5, "request": "status"}"#, b"").unwrap();
    let (answer, _) = first.receive().unwrap();
    assert_eq!(answer["error"]["code"], "not_attached", "{answer}");
}

#[test]
fn one_that_is_detached_in_the_middle_of_a_tensor_is_let_go_with_it() {
    let program = Program::new();
    let mut raw = Raw::over(program.server.connect().unwrap());
    raw.hello();
    raw.ask(json!({"id": 2, "request": "attach", "lease_ms": 0}));
    raw.ask(json!({"id": 3, "request": "add_breakpoint", "target": "log"}));
    let half = frame(br#"{"id": 4, "request": "status"}"#, &[0; 100_000]);
    std::io::Write::write_all(&mut raw.0, &half[..50_000]).unwrap();
    // The event of its stop is not read, so its debugger counts as dead.
    program.start(0, PLAIN).join().unwrap().unwrap();
    program.attached();
    assert!(raw.is_closed());
}
