//! `opscope benchmark --debug-server`: a debugger attaches to a run in progress.

mod process;

use std::time::Duration;

use opscope::debug::client::Client;
use opscope::debug::{AttachOptions, BreakpointSpec, Event, EventName, Queue, Resume};
use process::running::Running;
use process::{Ended, Workplace, engine, model};

/// Attaches, and waits until a run is stopped before a convolution.
fn stop_at_a_convolution(client: &Client) -> Event {
    client.attach(AttachOptions { name: "the test".into(), ..AttachOptions::default() }).unwrap();
    let mut is_set = false;
    loop {
        assert!(client.wait(Duration::from_secs(60)), "no event comes: {:?}", client.status());
        for event in client.next_events(Queue::Sync, 16).unwrap() {
            match event.kind.name() {
                EventName::Breakpoint => return event,
                EventName::AttachComplete if !is_set => {
                    let at = "type:Conv".parse().unwrap();
                    client.add_breakpoint(BreakpointSpec { one_shot: true, ..BreakpointSpec::at(at) }).unwrap();
                    is_set = true;
                }
                _ => {}
            }
            client.acknowledge(event.sequence, Resume::Continue).unwrap();
        }
    }
}

/// Returns whether the only run was interrupted in the middle. ONNX Runtime stops only in dumped runs, and such a run
/// can end between two operators.
fn is_cut(ended: &Ended) -> bool {
    engine::is_onnxruntime() && ended.stderr.contains("was ended before the first run was over")
}

#[test]
fn a_debugger_attaches_by_path_and_by_process_looks_and_leaves_and_the_report_says_so() {
    for by_path in [true, false] {
        let place = Workplace::new();
        let socket = place.path("socket");
        let option = format!("--debug-server={}", socket.display());
        let running = Running::start(&place, &[if by_path { &option } else { "--debug-server" }]);
        let process = running.child.id().to_string();
        let address = if by_path { socket.to_str().unwrap() } else { &process };
        assert_eq!(running.said, format!("note: attach with: opscope debug --attach {address}\n"));

        let client = if by_path { Client::connect(&socket) } else { Client::connect_pid(running.child.id()) };
        let client = client.unwrap();
        let event = stop_at_a_convolution(&client);
        let image = client.whole_tensor(event.sequence, "input[0]").unwrap();
        assert_eq!(image.shape(), [1, 1, 8, 8]);
        client.acknowledge(event.sequence, Resume::Continue).unwrap();
        client.detach().unwrap();

        let ended = running.interrupt();
        assert_eq!(ended.code, Some(3), "{ended:?}");
        if is_cut(&ended) {
            continue;
        }
        ended.says(&["warning: a debugger stopped 1 of the runs", "incomplete: it was interrupted"]);
        let report = ended.json();
        let fidelity = if engine::is_onnxruntime() { "exact" } else { "optimised" };
        assert_eq!((&report["debugger"]["stopped_runs"], &report["engine"]["fidelity"]), (&1.into(), &fidelity.into()));
        assert!(!socket.exists(), "the socket goes with its program");
    }
}

#[test]
fn a_stopped_run_continues_when_the_command_is_interrupted_and_the_event_is_named() {
    let place = Workplace::new();
    let running = Running::start(&place, &["--debug-server=socket"]);
    let client = Client::connect(place.path("socket")).unwrap();
    let event = stop_at_a_convolution(&client);
    let ended = running.interrupt();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    ended.says(&["warning: ", &format!("event {}", event.sequence), "was not acknowledged"]);
    assert!(is_cut(&ended) || ended.stderr.contains("was interrupted"), "{ended:?}");
    assert!(client.status().is_err(), "it is gone");
}

#[test]
fn a_debugger_that_hangs_up_frees_the_run_and_the_next_one_can_attach() {
    let place = Workplace::new();
    let running = Running::start(&place, &["--debug-server=socket", "--threads", "2"]);
    for _ in 0..3 {
        // The program may need a moment to notice that the previous debugger is gone.
        let client = loop {
            let client = Client::connect(place.path("socket")).unwrap();
            if !client.status().is_ok_and(|status| !status.stopped.is_empty()) {
                break client;
            }
        };
        stop_at_a_convolution(&client);
    }
    let ended = running.interrupt();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert_eq!(ended.stderr.matches("was not acknowledged").count(), 3, "{ended:?}");
    // A run may reach more than one of the convolutions.
    assert!((1..=3).contains(&ended.json()["debugger"]["stopped_runs"].as_u64().unwrap()), "{ended:?}");
}

#[test]
fn an_unused_server_changes_nothing_and_a_path_in_use_is_refused() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    if engine::is_onnxruntime() {
        let ended = place.benchmark(&[&digits, "--debug-server=socket"]);
        ended.refused(2, &["the debugger needs an engine that can stop before an operator", "in exact runs it can"]);
        return;
    }
    let ended = place.benchmark_well(&[&digits, "--debug-server=socket", "--json"]);
    assert_eq!(ended.json()["debugger"]["stopped_runs"], 0);
    assert_eq!(ended.stderr, "note: attach with: opscope debug --attach socket\n");
    assert_eq!(place.benchmark_well(&[&digits, "--json"]).json()["debugger"], serde_json::Value::Null);
    place.write("file", "not a socket");
    place.benchmark(&[&digits, "--debug-server=file"]).refused(1, &["file"]);
    assert_eq!(place.text("file"), "not a socket");
}

#[test]
fn a_program_waits_for_its_debugger_where_the_environment_says_so_and_not_for_ever() {
    let place = Workplace::new();
    let socket = place.path("socket");
    let server = format!("--debug-server={}", socket.display());
    let command = |seconds: &str| {
        let mut command =
            place.command(&["benchmark", &model("digits_cnn.onnx"), "--loop", "1", "--engine", "tract", &server]);
        command.env("OPSCOPE_DEBUG_WAIT", seconds);
        command
    };
    let ended = process::end(&mut command("0.05"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.says(&["no debugger attached within 0.05 s (OPSCOPE_DEBUG_WAIT)"]);

    // Its only run has not begun when the debugger attaches.
    let (mut command, quiet) = (command("600"), std::process::Stdio::null);
    let mut child = command.stdout(quiet()).stderr(quiet()).spawn().unwrap();
    let client = loop {
        assert!(child.try_wait().unwrap().is_none(), "it does not wait");
        if let Ok(client) = Client::connect(&socket) {
            break client;
        }
        std::thread::yield_now();
    };
    let event = stop_at_a_convolution(&client);
    client.acknowledge(event.sequence, Resume::Continue).unwrap();
    client.detach().unwrap();
    assert!(child.wait().unwrap().success());
}
