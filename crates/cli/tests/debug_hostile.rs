//! `opscope debug` shows text from others safely: the names in a model's file, and the answers of a debug server that
//! lies.

mod process;

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;

use process::onnx::renamed;
use process::{Ended, Workplace, end, fixture};
use serde_json::{Value, json};

/// A text with a forged line, an escape sequence in both spellings, a reversal of the direction of text, and invisible
/// characters.
const NASTY: &str = "a\nerror: forged\r\u{1b}[2J\u{9b}1m\u{202e}b\u{2066}\u{200b}\u{2028}\u{feff}";

/// Checks that nothing in the output moves the cursor, and that no line is forged.
fn is_tame(ended: &Ended) {
    for text in [&ended.stdout, &ended.stderr] {
        let is_wild = |letter: char| {
            letter != '\n' && letter.is_control()
                || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
        };
        let wild: BTreeSet<char> = text.chars().filter(|letter| is_wild(*letter)).collect();
        assert!(wild.is_empty(), "{wild:?} in {text}");
    }
    assert!(!ended.stdout.lines().any(|line| line.trim_start().starts_with("error:")), "{}", ended.stdout);
    for line in ended.stderr.lines() {
        assert!(line.starts_with("error: ") && !line.starts_with("error: forged"), "{}", ended.stderr);
    }
}

fn both_ways(place: &Workplace, arguments: &[&str], commands: &[&str]) -> [Ended; 2] {
    let commands: Vec<&str> = commands.iter().flat_map(|command| ["-ex", *command]).collect();
    let run = |how: &[&str]| end(&mut place.command(&[&["debug"], arguments, how, &["--batch"], &commands].concat()));
    [run(&[]), run(&["--json"])]
}

#[test]
fn names_of_a_file_neither_steer_the_terminal_nor_forge_a_line() {
    let place = Workplace::new();
    let names = [("shift", "\n\u{1b}[2J"), ("inverse", "\nerror:"), ("log", "\u{202e}"), ("tail", "\u{9b}\u{9b}")];
    let bytes = renamed(&fs::read(fixture("nan.onnx")).unwrap(), &names);
    place.write("wild.onnx", bytes);
    let x = fixture("nan.input.x.npy");
    let commands = [
        "info operators",
        "info model",
        "info operator #3",
        "list #0",
        "break *",
        "info breakpoints",
        "events all",
        "run",
        "where",
        "backtrace",
        "info runs",
        "-print nothing",
        "-break \u{1b}nowhere",
        "-until nowhere\u{9b}",
        "delete",
        "catch nonfinite",
        "continue",
        "step",
        "finish",
        "-abort because\u{1b}[1m",
    ];
    for ended in both_ways(&place, &["wild.onnx", "--input", &x], &commands) {
        assert_eq!(ended.code, Some(0), "{ended:?}");
        is_tame(&ended);
    }
    let [text, _] = both_ways(&place, &["wild.onnx", "--input", &x], &["info operators"]);
    assert!(text.stdout.contains("\\u{a}error:") && text.stdout.contains("\\u{202e}"), "{text:?}");
}

/// Runs a program that speaks the protocol, and sends nasty texts wherever the protocol has a text.
fn serve(listener: UnixListener, sessions: usize) {
    for _ in 0..sessions {
        let (mut stream, _) = listener.accept().unwrap();
        let mut has_told = false;
        while let Some(request) = receive(&mut stream) {
            let kind = request["request"].as_str().unwrap();
            let (answer, attachment) = lie(kind, &request, &mut has_told);
            let message = match answer {
                Some(ok) => json!({ "id": request["id"], "ok": ok }),
                None => json!({ "id": request["id"], "error": { "code": "slice", "message": NASTY } }),
            };
            send(&mut stream, &message, attachment.as_bytes());
            if kind == "attach" {
                send(&mut stream, &json!({ "notify": {} }), b"");
            }
            if kind == "detach" {
                send(&mut stream, &json!({ "bye": { "reason": NASTY } }), b"");
                break;
            }
        }
    }
}

fn lie(kind: &str, request: &Value, has_told: &mut bool) -> (Option<Value>, String) {
    let place = json!({
        "run": 7, "operator": 3, "name": NASTY, "op_type": NASTY, "kernel": 0, "moment": "before",
    });
    let tensor = json!({
        "reference": NASTY, "value": NASTY, "holds": NASTY, "dtype": "float32", "shape": [1], "readable": true,
        "constant": true, "replaced": false,
    });
    let fused = json!({ "operator": 3, "name": NASTY, "op_type": NASTY, "exact": true });
    let value = json!({ "name": NASTY, "dtype": "float32", "shape": [NASTY], "producer": "input", "consumers": [] });
    let row = json!({
        "index": 3, "name": NASTY, "op_type": NASTY, "fate": "fused", "kernel": 0, "into": NASTY, "exact": true,
        "inputs": [NASTY], "outputs": [NASTY],
    });
    let model = json!({ "model": 1, "name": NASTY, "path": NASTY, "fidelity": "exact", "operators": 4 });
    let summary = json!({
        "dtype": "float32", "shape": [1], "count": 1, "nan": 0, "positive_infinite": 0, "negative_infinite": 0, "zeros": 0,
        "min": 1.0, "max": 1.0, "mean": 1.0, "std": 0.0, "l2": 1.0, "xxh3": "0123456789abcdef",
    });
    let breakpoint = json!({
        "id": 1, "spec": { "target": "*", "condition": NASTY }, "moment": "before", "hits": 0, "trouble": NASTY,
        "locations": [
            { "model": 1, "operator": 3, "name": NASTY, "fate": "fused", "kernel": 0, "into": NASTY, "exact": true },
            { "model": 1, "operator": 4, "name": NASTY, "fate": "removed" },
        ],
    });
    let ok = match kind {
        "hello" => json!({
            "protocol": "opscope-debug", "version": 1, "opscope": NASTY, "pid": 1, "user": 0, "program": [NASTY, NASTY],
            "attached": NASTY, "models": [model],
        }),
        "next_events" if request["queue"] == "sync" && !*has_told => {
            *has_told = true;
            let event = |sequence: u64, waiting: bool, kind: Value| {
                let mut event = json!({
                    "sequence": sequence, "at": 0, "thread": 5, "waiting": waiting, "replayed": false, "coalesced": 0,
                });
                event.as_object_mut().unwrap().extend(kind.as_object().unwrap().clone());
                event
            };
            let non_finite = json!({
                "exception": "non_finite", "breakpoints": [1],
                "inputs": [{ "origin": "initializer", "value": NASTY, "nan": 1, "infinite": 0 }],
                "outputs": [{ "slot": 0, "value": NASTY, "nan": 1, "infinite": 0 }],
            });
            json!({ "events": [
                event(1, false, json!({
                    "kind": "model_loaded", "model": 1, "name": NASTY, "path": NASTY, "fidelity": "exact", "operators": 4,
                })),
                event(2, false, json!({ "kind": "internal_error", "message": NASTY })),
                event(3, false, json!({ "kind": "attach_complete" })),
                event(4, true, json!({ "kind": "exception", "run": 7, "place": place, "exception": non_finite })),
            ] })
        }
        "next_events" => json!({ "events": [] }),
        "location" => json!({
            "event": 4, "model": 1, "place": place, "operators": 4, "kernels": 4,
            "kernel": { "name": NASTY, "op": NASTY, "operators": [fused, fused] },
            "inputs": [tensor], "outputs": [tensor], "weights": [tensor], "attributes": [[NASTY, NASTY]],
        }),
        "backtrace" => json!({ "total": 9, "frames": [
            { "operator": 3, "name": NASTY, "op_type": NASTY, "value": NASTY },
        ] }),
        "status" => json!({
            "models": [model], "runs": [{ "run": 7, "model": 1, "thread": 5, "stopped": 4 }], "stopped": [],
            "sync": { "raised": 0, "delivered": 0, "coalesced": 0, "waiting": 0, "discarded": 0 },
            "async": { "raised": 0, "delivered": 0, "coalesced": 0, "waiting": 0, "discarded": 0 },
            "released": [{ "event": 2, "kind": "breakpoint", "place": place, "because": "lease_expired" }],
        }),
        "models" => json!({ "models": [model] }),
        "model" => json!({
            "model": 1, "name": NASTY, "path": NASTY, "xxh3": "0123456789abcdef", "producer": NASTY, "opsets": {}, "operators": 4,
            "initializers": 0, "inputs": [value], "outputs": [value],
        }),
        "operators" if request["offset"] == 0 => json!({ "total": 1, "operators": [row] }),
        "operators" => json!({ "total": 1, "operators": [] }),
        "operator" => json!({
            "index": 3, "name": NASTY, "op_type": NASTY, "domain": NASTY, "fate": "fused", "kernel": 0, "into": NASTY,
            "exact": true, "attributes": [[NASTY, NASTY]], "inputs": [value], "outputs": [value], "captures": [],
        }),
        "source" => return (Some(json!({ "line": 1, "lines": 2, "total": 2 })), format!("{NASTY}\n{NASTY}")),
        "statistics" => summary,
        "top_k" => json!({ "elements": [{ "index": [0], "value": NASTY }] }),
        "add_breakpoint" => breakpoint,
        "breakpoints" => json!({ "breakpoints": [breakpoint] }),
        "attach" | "detach" | "acknowledge" | "renew" | "subscribe" | "remove_breakpoint" => json!({}),
        _ => return (None, String::new()),
    };
    (Some(ok), String::new())
}

fn receive(stream: &mut UnixStream) -> Option<Value> {
    let mut head = [0; 8];
    stream.read_exact(&mut head).ok()?;
    let length = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap()) as usize;
    let (mut json, mut attachment) = (vec![0; length(0)], vec![0; length(4)]);
    stream.read_exact(&mut json).ok()?;
    stream.read_exact(&mut attachment).ok()?;
    Some(serde_json::from_slice(&json).unwrap())
}

/// Sends a message. A debugger that is gone receives nothing, which is no error.
fn send(stream: &mut UnixStream, message: &Value, attachment: &[u8]) {
    let json = message.to_string();
    let lengths = [json.len() as u32, attachment.len() as u32].map(u32::to_le_bytes).concat();
    let _ = stream.write_all(&[&lengths, json.as_bytes(), attachment].concat());
}

#[test]
fn a_debug_server_that_lies_neither_steers_the_terminal_nor_forges_a_line() {
    let place = Workplace::new();
    let listener = UnixListener::bind(place.path("socket")).unwrap();
    let commands = [
        "wait",
        "where",
        "backtrace",
        "list",
        "info operators",
        "info operator #3",
        "info runs",
        "info inputs",
        "info attributes",
        "info model",
        "info status",
        "info events",
        "info breakpoints",
        "break *",
        "stats input[0]",
        "print dtype(input[0])",
        "topk input[0]",
        "-print input[0]",
        "-histogram input[0]",
        "-set input[0] = 0",
        "thread",
        "-pause",
        "detach",
    ];
    let server = thread::spawn(move || serve(listener, 2));
    for ended in both_ways(&place, &["--attach", "socket"], &commands) {
        assert_eq!(ended.code, Some(0), "{ended:?}");
        is_tame(&ended);
        let lies = ended.stdout.matches("forged").count();
        assert!(lies > 20, "the lies are shown: {ended:?}");
    }
    server.join().unwrap();
}
