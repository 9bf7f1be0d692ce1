//! A debugger that sends anything while a run is stopped: the server answers or hangs up, and the run comes to its end.
//!
//! The first byte says how the rest is meant: as the bytes of the stream, or as lines that each become a frame, with
//! sixteen bytes attached where a line begins with `+`. The latter finds requests, the former breaks frames.

#![no_main]

#[path = "../../crates/debug/tests/fake/mod.rs"]
mod fake;

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use fake::{Fake, PLAIN};
use libfuzzer_sys::fuzz_target;
use opscope_debug::Debugger;
use opscope_debug::server::{Listen, Server, ServerOptions};

/// Before the fuzzed bytes: a debugger with a breakpoint.
const BEGINNING: [&str; 3] = [
    r#"{"id": 1, "request": "hello", "protocol": "opscope-debug", "version": 1}"#,
    r#"{"id": 2, "request": "attach", "name": "fuzz", "lease_ms": 600000}"#,
    r##"{"id": 3, "request": "add_breakpoint", "target": "#1"}"##,
];

static PROGRAM: LazyLock<(Debugger, Server, Arc<Fake>)> = LazyLock::new(|| {
    let debugger = Debugger::with_log(|_| ()).unwrap();
    let server = debugger.serve(ServerOptions { listen: Listen::Nowhere }).unwrap();
    (debugger, server, Arc::new(Fake::new()))
});

fuzz_target!(|bytes: &[u8]| {
    let (debugger, server, fake) = &*PROGRAM;
    let mut stream = server.connect().unwrap();
    // Far beyond what any answer takes: a server that hangs is a finding.
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    for request in BEGINNING {
        stream.write_all(&frame(request.as_bytes())).unwrap();
        assert!(answer(&mut stream).contains("\"ok\""));
    }
    let run = {
        let (debugger, fake) = (debugger.clone(), Arc::clone(fake));
        std::thread::spawn(move || fake.run(&debugger, 0, PLAIN))
    };
    let status = frame(br#"{"id": 4, "request": "status"}"#);
    loop {
        stream.write_all(&status).unwrap();
        if !answer(&mut stream).contains("\"stopped\":[]") {
            break;
        }
    }

    let mut sent = Vec::new();
    match bytes.split_first() {
        Some((mode, stream)) if mode % 2 == 0 => sent.extend_from_slice(stream),
        Some((_, lines)) => lines.split(|byte| *byte == b'\n').for_each(|line| sent.extend(frame(line))),
        None => {}
    }
    let _ = stream.write_all(&sent);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answers = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answers) {
        assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "the server neither answers nor hangs up");
    }
    drop(stream);
    match run.join().expect("the run does not panic") {
        Ok(outputs) => assert_eq!(outputs.len(), 4),
        Err(error) => assert!(matches!(error, opscope_model::EngineError::Stopped(_)), "{error}"),
    }
});

fn frame(line: &[u8]) -> Vec<u8> {
    let (json, attached) = match line.strip_prefix(b"+") {
        Some(json) => (json, 16u32),
        None => (line, 0),
    };
    let mut frame = (json.len() as u32).to_le_bytes().to_vec();
    frame.extend_from_slice(&attached.to_le_bytes());
    frame.extend_from_slice(json);
    frame.resize(frame.len() + attached as usize, 0);
    frame
}

/// The next message that has an id.
fn answer(stream: &mut UnixStream) -> String {
    loop {
        let mut head = [0; 8];
        stream.read_exact(&mut head).unwrap();
        let length = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap()) as usize;
        let mut message = vec![0; length(0) + length(4)];
        stream.read_exact(&mut message).unwrap();
        let text = String::from_utf8(message).unwrap();
        if text.starts_with("{\"id\"") {
            return text;
        }
    }
}
