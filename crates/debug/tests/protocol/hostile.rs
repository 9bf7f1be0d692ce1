//! Bytes that no debugger should send. They are answered with an error, and disturb no run.

use std::io::Write;
use std::sync::LazyLock;

use opscope_debug::Resume;
use opscope_debug::protocol::AnyRequest;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fake::{Fake, PLAIN};
use crate::raw::{Raw, frame};
use crate::{Program, at, stop};

#[test]
fn another_version_is_refused_with_both_named() {
    let program = Program::new();
    for hello in [
        json!({"id": 1, "request": "hello", "protocol": "opscope-debug", "version": 2}),
        json!({"id": 1, "request": "hello", "protocol": "another", "version": 1}),
    ] {
        let mut raw = Raw::over(program.server.connect().unwrap());
        let answer = raw.ask(hello.clone());
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!("version")));
        let message = answer["error"]["message"].as_str().unwrap();
        let theirs = format!("{} {}", hello["protocol"].as_str().unwrap(), hello["version"]);
        assert!(message.contains("opscope-debug 1") && message.contains(&theirs), "{message}");
        assert!(raw.is_closed());
    }
}

#[test]
fn nothing_is_answered_before_hello_and_little_before_attach() {
    let program = Program::new();
    let mut raw = Raw::over(program.server.connect().unwrap());
    for request in [json!({"id": 7, "request": "attach"}), json!({"id": 7, "request": "status"})] {
        assert_eq!(raw.ask(request)["error"]["code"], "hello_first");
    }
    raw.hello();
    assert_eq!(raw.ask(json!({"id": 8, "request": "status"}))["error"]["code"], "not_attached");
    assert_eq!(raw.ask(json!({"id": 9, "request": "attach"})), json!({"id": 9, "ok": {}}));
}

#[test]
fn a_malformed_request_gets_an_error_and_the_connection_stays() {
    let program = Program::new();
    let mut raw = Raw::attached(program.server.connect().unwrap());
    let deep = "[".repeat(100_000);
    let nested = format!("{{\"id\": 1, \"request\": \"status\", \"x\": {deep}{}}}", "]".repeat(deep.len()));
    for (text, id, code, says) in [
        ("", json!(null), "malformed", "not a JSON object"),
        ("{", json!(null), "malformed", "EOF"),
        (&deep, json!(null), "malformed", "not a JSON object"),
        (&nested, json!(1), "bad_request", "recursion limit"),
        ("[1, \"status\"]", json!(null), "malformed", "not a JSON object"),
        ("{\"request\": \"status\"}", json!(null), "malformed", "missing field `id`"),
        ("{\"id\": \"x\", \"request\": \"status\"}", json!(null), "malformed", "invalid type"),
        ("{\"id\": 5}", json!(5), "bad_request", "missing field `request`"),
        ("{\"id\": 5, \"request\": \"dance\"}", json!(5), "bad_request", "unknown variant `dance`"),
        ("{\"id\": 5, \"request\": \"renew\"}", json!(5), "bad_request", "missing field `event`"),
        ("{\"id\": 5, \"request\": \"renew\", \"event\": -1}", json!(5), "bad_request", "invalid value"),
        ("{\"id\": 5, \"request\": \"tensor\", \"reference\": \"input\"}", json!(5), "bad_request", "no variant"),
        (
            "{\"id\": 5, \"request\": \"add_breakpoint\", \"target\": \"re:(\"}",
            json!(5),
            "bad_request",
            "not a target of a breakpoint",
        ),
        ("{\"id\": 5, \"request\": \"attach\", \"lease_ms\": \"long\"}", json!(5), "bad_request", "invalid type"),
    ] {
        raw.send(text.as_bytes(), &[]).unwrap();
        let answer = raw.answer();
        let found = (&answer["id"], answer["error"]["code"].as_str(), answer["error"]["message"].as_str().unwrap());
        assert_eq!((found.0, found.1), (&id, Some(code)), "{text:.99}: {answer}");
        assert!(found.2.contains(says), "{text:.99}: {answer}");
    }
    raw.send(b"\xff\xfe{}", &[]).unwrap();
    assert_eq!(raw.answer()["error"]["code"], "malformed");
    let unknown_fields = json!({"id": 6, "request": "status", "of_a_later_version": [1, 2]});
    assert!(raw.ask(unknown_fields)["ok"]["models"].is_array());
}

#[test]
fn a_frame_that_announces_too_much_ends_the_connection_before_anything_is_kept() {
    let program = Program::new();
    for (attached, json_length, attachment_length) in
        [(false, u32::MAX, 0), (true, (1 << 20) + 1, 0), (true, 2, u32::MAX), (true, 2, (1 << 30) + 1), (false, 2, 1)]
    {
        let mut raw = match attached {
            true => Raw::attached(program.server.connect().unwrap()),
            false => Raw::over(program.server.connect().unwrap()),
        };
        raw.0.write_all(&json_length.to_le_bytes()).unwrap();
        raw.0.write_all(&attachment_length.to_le_bytes()).unwrap();
        let answer = raw.answer();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!("too_long")));
        assert!(raw.is_closed());
    }
    // Bytes that are announced and never arrive take no memory either.
    let before = resident();
    let mut waiting = Raw::attached(program.server.connect().unwrap());
    waiting.0.write_all(&[2, 0, 0, 0, 0, 0, 0, 64, b'{', b'}', 1, 2, 3]).unwrap();
    program.client();
    assert!(resident() < before + (256 << 20), "a gibibyte was announced");
}

fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
fn tensors_that_are_not_what_they_are_said_to_be_are_refused() {
    let program = Program::new();
    let mut raw = Raw::attached(program.server.connect().unwrap());
    let forms = [
        (json!([{"dtype": "float32", "shape": [2, 2]}]), 15, "tensor"),
        (json!([{"dtype": "float32", "shape": [2, 2]}]), 17, "bad_request"),
        (json!([{"dtype": "float32", "shape": [4_000_000_000u64, 4_000_000_000u64, 4_000_000_000u64]}]), 16, "tensor"),
        (json!([{"dtype": "quux", "shape": [2, 2]}]), 16, "bad_request"),
        (json!([{"dtype": "string", "shape": [2]}]), 16, "tensor"),
    ];
    for (forms, bytes, code) in forms {
        let request = json!({"id": 3, "request": "acknowledge", "event": 1, "resume": {"skip": forms}});
        raw.send(request.to_string().as_bytes(), &vec![0; bytes]).unwrap();
        let answer = raw.answer();
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    let request = json!({"id": 3, "request": "acknowledge", "event": 1});
    raw.send(request.to_string().as_bytes(), &[1]).unwrap();
    assert_eq!(raw.answer()["error"]["code"], "bad_request", "bytes that belong to no tensor");
}

/// A strategy for every request, with arguments that fit a run that is stopped at about event 3.
fn requests() -> impl Strategy<Value = Value> {
    let event = 0..8u64;
    let text = prop_oneof![
        Just("input[0]".to_owned()),
        Just("output[0][0, ::-1]".to_owned()),
        Just("value(\"a\")".to_owned()),
        Just("name:*".to_owned()),
        Just("first nan".to_owned()),
        "\\PC{0,20}",
    ];
    let kind = prop::sample::select(vec![
        "hello",
        "attach",
        "next_events",
        "acknowledge_sync_events",
        "renew",
        "subscribe",
        "add_breakpoint",
        "change_breakpoint",
        "remove_breakpoint",
        "breakpoints",
        "pause",
        "location",
        "backtrace",
        "tensor",
        "statistics",
        "histogram",
        "top_k",
        "replace",
        "status",
        "models",
        "model",
        "operators",
        "operator",
        "source",
        "values",
        "acknowledge",
        "detach",
    ]);
    let number = prop_oneof![0..20u64, Just(u64::MAX), any::<u64>()];
    (kind, event, text, number, any::<bool>()).prop_map(|(kind, event, text, number, flag)| {
        let mut request = json!({
            "id": number, "request": kind, "event": event, "reference": text, "target": text, "pattern": text,
            "queue": if flag { "sync" } else { "async" }, "most": number, "count": number, "offset": number,
            "line": number, "k": number, "magnitude": flag, "breakpoint": event, "enabled": flag,
            "operator": event, "events": ["operator_finished"], "dtype": "float32", "shape": [2, 2],
            "protocol": "opscope-debug", "version": 1, "lease_ms": number, "async_capacity": number, "condition": text,
        });
        if kind.starts_with("model") || ["operators", "operator", "source", "values"].contains(&kind) {
            request["model"] = json!(event);
        }
        request
    })
}

#[derive(Debug, Clone)]
enum Sent {
    Bytes(Vec<u8>),
    Frame(Vec<u8>, Vec<u8>),
    Request(Value, Vec<u8>),
}

fn sent() -> impl Strategy<Value = Sent> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        1 => bytes().prop_map(Sent::Bytes),
        2 => (bytes(), bytes()).prop_map(|(json, attachment)| Sent::Frame(json, attachment)),
        12 => (requests(), prop_oneof![Just(vec![]), Just(vec![0; 16]), bytes()])
            .prop_map(|(request, attachment)| Sent::Request(request, attachment)),
    ]
}

static PROGRAM: LazyLock<Program> = LazyLock::new(Program::new);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// In each case a connection is attached, a run is stopped, and then arbitrary bytes are sent, cut at any position.
    #[test]
    fn whatever_is_sent_the_run_goes_on_and_the_next_debugger_is_served(
        sent in prop::collection::vec(sent(), 0..12),
        cut in prop::option::of(0..200usize),
    ) {
        let program = &*PROGRAM;
        let mut raw = Raw::attached(program.server.connect().unwrap());
        raw.ask(json!({"id": 3, "request": "add_breakpoint", "target": "log"}));
        let run = program.start(0, PLAIN);
        while raw.ask(json!({"id": 4, "request": "status"}))["ok"]["stopped"][0].is_null() {}
        let mut bytes = Vec::new();
        for sent in sent {
            match sent {
                Sent::Bytes(some) => bytes.extend(some),
                Sent::Frame(json, attachment) => bytes.extend(frame(&json, &attachment)),
                Sent::Request(request, attachment) => bytes.extend(frame(request.to_string().as_bytes(), &attachment)),
            }
        }
        bytes.truncate(cut.unwrap_or(usize::MAX));
        // The server may have closed the connection already.
        let _ = raw.0.write_all(&bytes);
        let _ = raw.0.shutdown(std::net::Shutdown::Write);
        prop_assert!(raw.is_closed());
        let outcome = run.join().expect("the run does not panic").expect("it is not aborted");
        prop_assert!(outcome.len() == 4);
        // Only a replaced input may have changed the output.
        prop_assert!(outcome == Fake::expected(PLAIN) || outcome.iter().all(|y| y.is_finite() || *y == 0.0));
    }

    #[test]
    fn requests_are_read_back_as_they_are_written(request in requests()) {
        if let Ok(read) = serde_json::from_value::<AnyRequest>(request.clone()) {
            prop_assert_eq!(Some(read.name()), request["request"].as_str());
            let again: AnyRequest = serde_json::from_slice(&serde_json::to_vec(&read).unwrap()).unwrap();
            prop_assert_eq!(format!("{read:?}"), format!("{again:?}"));
        }
    }
}

#[test]
fn a_stop_survives_what_was_refused() {
    let program = Program::new();
    let client = program.attached();
    client.add_breakpoint(at("log")).unwrap();
    let run = program.start(0, PLAIN);
    let event = stop(&client);
    for reference in ["output[0]", "value('nobody')", "weight[3]", "input[0][9]", "input[0][", ""] {
        client.tensor(event.sequence, reference, 0, 1).unwrap_err();
    }
    client.acknowledge(event.sequence, Resume::Continue).unwrap();
    assert_eq!(run.join().unwrap().unwrap(), Fake::expected(PLAIN));
}

#[test]
fn the_page_lists_and_describes_every_request() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/debug-protocol.md");
    let page = std::fs::read_to_string(path).unwrap();
    let rows = AnyRequest::TABLE.iter().map(|(name, purpose)| format!("| `{name}` | {purpose} |\n"));
    let table = ["| request | |\n|---|---|\n".to_owned()].into_iter().chain(rows).collect::<String>();
    let (before, rest) = page.split_once("| request | |\n").unwrap();
    let (listed, behind) = rest.split_once("\n\n").unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, format!("{before}{table}\n{behind}")).unwrap();
    } else {
        assert!(table.ends_with(&format!("{listed}\n")), "run this test with UPDATE_DOCS=1: {listed}");
    }
    for (name, _) in AnyRequest::TABLE.iter().filter(|(name, _)| *name != "hello") {
        assert!(page.contains(&format!("**`{name}`**")), "{name} is not described");
    }
}
