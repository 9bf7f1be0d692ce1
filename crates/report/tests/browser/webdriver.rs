//! Chromium, driven over chromedriver's WebDriver interface.

#![allow(dead_code, reason = "tests and the benchmark use a part each")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use opscope_model::testing::skipped;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A browser with one window, and a directory of its own.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _profile: TempDir,
}

/// The key by which WebDriver names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

impl Browser {
    /// Starts a browser. If there is none, reports that and returns `None`.
    pub fn start() -> Option<Self> {
        let driver = Command::new("chromedriver").arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut driver = match driver {
            Ok(driver) => driver,
            Err(error) => {
                skipped(format!("chromedriver cannot be started ({error}); it is in Debian's package chromium-driver"));
                return None;
            }
        };
        let mut lines = BufReader::new(driver.stdout.take().expect("it is piped"));
        let port = loop {
            let mut line = String::new();
            let read = lines.read_line(&mut line).expect("chromedriver's text");
            assert!(read > 0, "chromedriver ended before it named its port");
            if let Some((_, port)) = line.split_once("started successfully on port ") {
                break port.trim().trim_end_matches('.').parse().expect("a port");
            }
        };
        // chromedriver would stop if nothing read its output.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        let profile = tempfile::tempdir().expect("a directory");
        let mut browser = Self { driver, port, session: String::new(), _profile: profile };
        let directory = format!("--user-data-dir={}", browser._profile.path().display());
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-quic",
            "--no-first-run",
            // The page scrolls without animation, so that elements stay in place while they are measured.
            "--force-prefers-reduced-motion",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            &directory,
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        // If several browsers start at the same time, one of them may fail.
        let mut session = browser.ask("POST", "/session", &wanted);
        for _ in 0..2 {
            session = session.or_else(|_| browser.ask("POST", "/session", &wanted));
        }
        let session = session.unwrap_or_else(|error| panic!("no browser starts: {error:#}"));
        browser.session = session["sessionId"].as_str().expect("a session").to_owned();
        Some(browser)
    }

    /// Disconnects the browser from the network.
    pub fn offline(&self) {
        let conditions = json!({ "offline": true, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0 });
        self.command("Network.enable", &json!({}));
        self.command("Network.emulateNetworkConditions", &conditions);
    }

    /// Opens a file.
    pub fn open(&self, path: &Path) {
        self.post("url", &json!({ "url": format!("file://{}", path.display()) }));
    }

    /// Opens a file, and returns how long that took until the end of its `load` event, in milliseconds.
    pub fn opening_ms(&self, path: &Path) -> f64 {
        self.open(path);
        let took = self.run("return performance.getEntriesByType('navigation')[0].loadEventEnd");
        took.as_f64().expect("a number")
    }

    /// Runs a script, and returns its result.
    pub fn run(&self, script: &str) -> Value {
        self.post("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Returns the messages on the console since the last call.
    pub fn console(&self) -> Vec<String> {
        let log = self.post("se/log", &json!({ "type": "browser" }));
        let entries = log.as_array().expect("a list of messages");
        entries.iter().map(|entry| entry["message"].to_string()).collect()
    }

    /// Types into an element.
    pub fn keys(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.post(&format!("element/{element}/value"), &json!({ "text": text }));
    }

    /// Drags the mouse over an element, from one part of its width to another.
    pub fn drag(&self, selector: &str, from: f64, to: f64) {
        let area = self.run(&format!(
            "const view = document.querySelector('{selector}'); view.scrollIntoView({{block: 'center', behavior: 'instant'}}); \
             const area = view.getBoundingClientRect(); return [area.left, area.top + area.height / 2, area.width]"
        ));
        let [left, top, width] = [0, 1, 2].map(|index| area[index].as_f64().expect("a number"));
        let at = |part: f64| json!({ "type": "pointerMove", "duration": 0, "x": (left + part * width) as i64, "y": top as i64 });
        let actions = json!([
            at(from),
            { "type": "pointerDown", "button": 0 },
            at((from + to) / 2.0),
            at(to),
            { "type": "pointerUp", "button": 0 },
        ]);
        let mouse =
            json!({ "type": "pointer", "id": "mouse", "parameters": { "pointerType": "mouse" }, "actions": actions });
        self.post("actions", &json!({ "actions": [mouse] }));
    }

    /// Shows the page on a screen of this width, in pixels, `light` or `dark`.
    pub fn screen(&self, width: u64, scheme: &str) {
        let metrics = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.command("Emulation.setDeviceMetricsOverride", &metrics);
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.command("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    /// Sends the browser a command of its DevTools protocol.
    pub fn command(&self, name: &str, parameters: &Value) -> Value {
        self.post("goog/cdp/execute", &json!({ "cmd": name, "params": parameters }))
    }

    fn element(&self, selector: &str) -> String {
        let found = self.post("element", &json!({ "using": "css selector", "value": selector }));
        found[ELEMENT].as_str().unwrap_or_else(|| panic!("no element {selector}: {found}")).to_owned()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.request("POST", &format!("/session/{}/{path}", self.session), body)
    }

    fn request(&self, method: &str, path: &str, body: &Value) -> Value {
        self.ask(method, path, body).unwrap_or_else(|error| panic!("{method} {path}: {error:#}"))
    }

    /// Sends a request. Returns the response, or the error in it.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Value, Value> {
        let body = body.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("chromedriver listens");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{body}",
            self.port,
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("chromedriver reads");
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line).expect("chromedriver answers");
            match line.to_ascii_lowercase().trim().split_once(':') {
                Some(("content-length", bytes)) => length = bytes.trim().parse().expect("a length"),
                Some(_) => {}
                None if line.trim().is_empty() => break,
                None => {}
            }
        }
        let mut content = vec![0; length];
        answer.read_exact(&mut content).expect("a whole answer");
        let answer: Value = serde_json::from_slice(&content).expect("an answer in JSON");
        let value = &answer["value"];
        if value.get("error").is_some() { Err(value.clone()) } else { Ok(value.clone()) }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !std::thread::panicking() {
            self.request("DELETE", &format!("/session/{}", self.session), &json!({}));
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
