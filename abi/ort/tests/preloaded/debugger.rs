//! A debugger that attaches to a running program.

use std::path::Path;
use std::time::{Duration, Instant};

use opscope_c_programs::{Language, Running};
use opscope_debug::client::Client;
use opscope_debug::{AttachOptions, BreakpointSpec, Event, EventName, Queue, Resume};

use crate::support::{self, CALLS, Way, onnxruntime, preloaded};

pub fn serving(way: Way, call: &str, socket: &Path) -> Option<Running> {
    let program = preloaded(onnxruntime()?.digits(way, "serve", 1, 1).option(call));
    let program = program.with("OPSCOPE_DEBUG_SERVER", socket.to_str().expect("UTF-8"));
    Some(program.start(Language::C11))
}

pub fn connect(socket: &Path) -> Client {
    let end = Instant::now() + Duration::from_secs(100);
    loop {
        match Client::connect(socket) {
            Ok(client) => return client,
            Err(error) => assert!(Instant::now() < end, "nobody can attach: {error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Attaches, and waits until a run is stopped at the target.
fn stop_at(client: &Client, target: &str) -> Event {
    client.attach(AttachOptions { name: "the test".into(), ..AttachOptions::default() }).unwrap();
    let mut is_set = false;
    loop {
        assert!(client.wait(Duration::from_secs(60)), "no event comes: {:?}", client.status());
        for event in client.next_events(Queue::Sync, 16).unwrap() {
            match event.kind.name() {
                EventName::Breakpoint => return event,
                EventName::AttachComplete if !is_set => {
                    let at = target.parse().unwrap();
                    client.add_breakpoint(BreakpointSpec { one_shot: true, ..BreakpointSpec::at(at) }).unwrap();
                    is_set = true;
                }
                _ => {}
            }
            client.acknowledge(event.sequence, Resume::Continue).unwrap();
        }
    }
}

#[test]
fn a_debugger_attaches_stops_looks_changes_and_leaves_and_the_program_computes_as_before() {
    for (way, call) in Way::ALL.into_iter().flat_map(|way| CALLS.map(|call| (way, call))) {
        let place = tempfile::tempdir().expect("a directory");
        let socket = place.path().join("socket");
        let Some(mut running) = serving(way, call, &socket) else { return };
        let attach = format!("libopscope_ort (opscope): attach with: opscope debug --attach {}\n", socket.display());
        assert_eq!(running.error_line(), attach);
        let before = running.line();

        let client = connect(&socket);
        let event = stop_at(&client, "/Softmax");
        assert_eq!(client.models().unwrap().len(), 1);
        let image = client.whole_tensor(event.sequence, "input[0]").unwrap();
        assert_eq!(image.shape(), [8, 10]);
        // The program's call returns what was computed from the replaced tensor.
        let zeros = opscope_tensor::Tensor::from_f32(vec![8, 10], &[0.0; 80]).unwrap();
        client.replace(event.sequence, "input[0]", &zeros).unwrap();
        client.acknowledge(event.sequence, Resume::Continue).unwrap();
        let mut seen = running.line();
        if seen != hash_of(&[0.1; 80]) {
            // Runs that began when the debugger attached are not fused.
            seen = running.line();
        }
        assert_eq!(seen, hash_of(&[0.1; 80]), "every digit is as likely");
        client.detach().unwrap();
        while running.line() != before {}
        let ended = running.end();
        assert!(ended.stdout.lines().all(|line| line == before), "{ended:?}");
        assert!(!socket.exists(), "the socket goes with its program");
    }
}

/// The number that `sessions.c` prints for an output.
fn hash_of(numbers: &[f32]) -> String {
    let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
    let hash = bytes.fold(14695981039346656037u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(1099511628211));
    format!("{hash:016x}")
}

#[test]
fn a_debugger_attaches_before_there_is_a_model_and_stops_its_first_run() {
    for way in Way::ALL {
        let Some(library) = onnxruntime() else { return };
        let place = tempfile::tempdir().expect("a directory");
        let (socket, model) = (place.path().join("socket"), place.path().join("digits.onnx"));
        let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();
        let program = preloaded(library.digits_in(way, "late", &path(&model)).arguments(["1", "1"]))
            .with("OPSCOPE_DEBUG_SERVER", path(&socket));
        let mut running = program.start(Language::C11);
        let client = connect(&socket);
        client.attach(AttachOptions { name: "the test".into(), ..AttachOptions::default() }).unwrap();
        assert!(client.models().unwrap().is_empty());
        client.add_breakpoint(BreakpointSpec::at("/conv1/Conv".parse().unwrap())).unwrap();
        std::os::unix::fs::symlink(support::model("digits_cnn.onnx"), &model).expect("a link");
        loop {
            assert!(client.wait(Duration::from_secs(60)), "no event comes: {:?}", client.status());
            let events = client.next_events(Queue::Sync, 1).unwrap();
            match events.into_iter().next() {
                Some(event) if event.kind.name() == EventName::Breakpoint => break,
                Some(event) => client.acknowledge(event.sequence, Resume::Continue).unwrap(),
                None => {}
            }
        }
        assert_eq!(client.status().unwrap().runs[0].run.0, 0);
        client.detach().unwrap();
        assert_eq!(running.line().len(), 16);
        running.end();
    }
}

#[test]
fn a_run_that_the_debugger_ends_is_an_error_of_the_programs_call() {
    for call in CALLS {
        let place = tempfile::tempdir().expect("a directory");
        let socket = place.path().join("socket");
        let Some(mut running) = serving(Way::Linked, call, &socket) else { return };
        let before = running.line();
        let client = connect(&socket);
        let event = stop_at(&client, "/conv1/Conv");
        client.acknowledge(event.sequence, Resume::Abort("enough was seen".into())).unwrap();
        let mut line = running.line();
        while !line.starts_with("error") {
            line = running.line();
        }
        assert!(line.starts_with("error 1: ") && line.contains("enough was seen"), "{call}: {line}");
        client.detach().unwrap();
        while running.line() != before {}
        running.end();
    }
}

#[test]
fn a_debugger_that_dies_lets_the_program_continue() {
    let place = tempfile::tempdir().expect("a directory");
    let socket = place.path().join("socket");
    let Some(mut running) = serving(Way::Opened, "-DPLAIN", &socket) else { return };
    let before = running.line();
    let client = connect(&socket);
    stop_at(&client, "/conv2/Conv");
    drop(client);
    while running.line() != before {}
    let ended = running.end();
    assert!(ended.stderr.contains("was not acknowledged"), "{ended:?}");
}

#[test]
fn a_program_waits_for_its_debugger_where_the_environment_says_so() {
    let Some(library) = onnxruntime() else { return };
    let place = tempfile::tempdir().expect("a directory");
    let socket = place.path().join("socket");
    let program = preloaded(library.digits(Way::Linked, "file", 1, 1)).with("OPSCOPE_DEBUG_WAIT", "60");
    let mut running = program.with("OPSCOPE_DEBUG_SERVER", socket.to_str().expect("UTF-8")).start(Language::C11);
    let client = connect(&socket);
    // Its only run has not begun.
    let event = stop_at(&client, "/conv1/Conv");
    client.acknowledge(event.sequence, Resume::Continue).unwrap();
    client.detach().unwrap();
    assert_eq!(running.line().len(), 16);
    running.end();
}
