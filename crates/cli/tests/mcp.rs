//! `opscope mcp` as agents use it: messages on stdin, a line each.

mod process;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use process::{Workplace, model};
use serde_json::{Value, json};

/// How long an answer may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(120);

struct Agent {
    child: Child,
    to: Option<ChildStdin>,
    from: Receiver<String>,
}

impl Agent {
    fn start(place: &Workplace) -> Self {
        let mut command = place.command(&["mcp"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (out, (sender, from)) = (BufReader::new(child.stdout.take().unwrap()), channel());
        std::thread::spawn(move || out.lines().map_while(Result::ok).all(|line| sender.send(line).is_ok()));
        Self { to: child.stdin.take(), child, from }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.to.as_mut().unwrap(), "{line}").unwrap();
    }

    fn next(&self) -> Value {
        let line = self.from.recv_timeout(PATIENCE).expect("an answer");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn ask(&mut self, id: impl Into<Value>, method: &str, given: Value) -> Value {
        let id = id.into();
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": given }).to_string());
        let answer = self.next();
        assert_eq!((&answer["id"], &answer["jsonrpc"]), (&id, &json!("2.0")), "{answer}");
        answer
    }

    /// Calls a tool. Returns its text, and whether that is an error.
    fn call(&mut self, tool: &str, given: Value) -> (String, bool) {
        let answer = self.ask(tool, "tools/call", json!({ "name": tool, "arguments": given }));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        (text.to_owned(), result["isError"].as_bool().unwrap())
    }

    /// Returns the code and the message of a refusal.
    fn refused(answer: &Value) -> (i64, &str) {
        let error = &answer["error"];
        (error["code"].as_i64().unwrap_or_else(|| panic!("{answer}")), error["message"].as_str().unwrap())
    }

    /// Closes the agent's side, and returns whether the server ended well.
    fn close(mut self) -> bool {
        drop(self.to.take());
        self.child.wait().unwrap().success()
    }
}

#[test]
fn an_agent_inspects_runs_and_debugs_a_model() {
    let place = Workplace::new();
    let mut agent = Agent::start(&place);
    let client = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    let initialized = agent.ask(1, "initialize", client);
    assert_eq!(initialized["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(initialized["result"]["serverInfo"]["name"], "opscope");
    agent.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let tools = agent.ask(2, "tools/list", json!({}));
    let names: Vec<&str> =
        tools["result"]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"inspect") && names.len() <= 10, "{names:?}");

    let digits = model("digits_cnn.onnx");
    let (text, is_error) = agent.call("inspect", json!({ "path": digits }));
    assert!(!is_error && text.contains("16 operators"), "{text}");
    let script = ["break /conv2/Conv after", "run", "print output[0]", "info inputs"];
    let (text, is_error) = agent.call("debug", json!({ "model": digits, "commands": script }));
    assert!(!is_error && text.contains("Breakpoint 1, after #3 /conv2/Conv") && text.contains("input[0]"), "{text}");
    let run =
        json!({ "model": digits, "duration": 0.1, "dump": true, "output": "out", "options": ["--output-dirname=a"] });
    let (text, is_error) = agent.call("benchmark", run);
    assert!(!is_error, "{text}");
    let (text, is_error) = agent.call("compare", json!({ "compared": "out/a", "baseline": "out/a" }));
    assert!(!is_error, "{text}");
    let (text, is_error) = agent.call("help", json!({ "command": "compare" }));
    assert!(!is_error && text.contains("--tolerance"), "{text}");
    assert!(agent.close());
}

#[test]
fn a_command_that_fails_is_an_answer_and_a_wrong_call_a_refusal() {
    let place = Workplace::new();
    let mut agent = Agent::start(&place);
    let (text, is_error) = agent.call("inspect", json!({ "path": "none.onnx" }));
    assert!(
        is_error && text.contains("none.onnx") && text.ends_with("exit code 2: the arguments or an input are wrong"),
        "{text}"
    );
    let answer = agent.ask(1, "tools/call", json!({ "name": "inspect", "arguments": {} }));
    assert_eq!(Agent::refused(&answer), (-32602, Agent::refused(&answer).1));
    assert!(Agent::refused(&answer).1.contains("needs 'path'"), "{answer}");
    let answer = agent.ask(2, "resources/list", json!({}));
    assert_eq!(Agent::refused(&answer), (-32601, "there is no method 'resources/list'; this server has tools only"));
    agent.send("{");
    assert_eq!(Agent::refused(&agent.next()).0, -32700);
    agent.send(r#"{"id":3,"method":"ping"}"#);
    assert_eq!(Agent::refused(&agent.next()).0, -32600);
    agent.send(&format!("\"{}\"", "x".repeat(2 << 20)));
    assert_eq!(Agent::refused(&agent.next()), (-32600, "the message is longer than 1 MiB"));
    // Answers and notifications are not answered, so the next answer is that of the ping.
    agent.send(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
    agent.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#);
    agent.send("");
    assert_eq!(agent.ask("p", "ping", Value::Null)["result"], json!({}));
    assert!(agent.close());
}

/// Returns whether a process that runs this model is there.
fn is_run(model: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(" benchmark ") && line.contains(model)
    })
}

fn wait_until(condition: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn calls_run_beside_each_other_and_end_when_they_are_cancelled_or_the_agent_goes() {
    let place = Workplace::new();
    let own = place.path("own.onnx");
    std::fs::copy(model("digits_cnn.onnx"), &own).unwrap();
    let own = own.to_str().unwrap();
    let mut agent = Agent::start(&place);
    let endless = |id: i32| {
        let call = json!({ "name": "benchmark", "arguments": { "model": own, "duration": 3600 } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call }).to_string()
    };
    agent.send(&endless(1));
    wait_until(|| is_run(own));
    let again: Value = {
        agent.send(&endless(1));
        agent.next()
    };
    assert!(Agent::refused(&again).1.contains("runs already"), "{again}");
    // Others are answered meanwhile.
    assert_eq!(agent.ask(2, "ping", Value::Null)["result"], json!({}));
    agent.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    wait_until(|| !is_run(own));
    assert_eq!(agent.ask(3, "ping", Value::Null)["result"], json!({}), "a call that was cancelled is not answered");
    agent.send(&endless(4));
    wait_until(|| is_run(own));
    assert!(agent.close());
    wait_until(|| !is_run(own));
}
