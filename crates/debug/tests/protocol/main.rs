//! The debug protocol between a program and a debugger, over real sockets.

#[path = "../fake/mod.rs"]
mod fake;

mod calls;
mod connections;
mod graphs;
mod hostile;
mod raw;
mod snapshots;
mod sockets;
mod time;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use fake::Fake;
use opscope_debug::client::Client;
use opscope_debug::server::{Listen, Server, ServerOptions};
use opscope_debug::{AttachOptions, BreakpointSpec, Debugger, ErrorCode, Event, Queue};
use opscope_model::{EngineError, Fidelity};

/// Longer than any of these tests takes. To wait this long is a failure.
const LONG: Duration = Duration::from_secs(100);

/// A program with a debug server, and a run of the fake model.
struct Program {
    debugger: Debugger,
    server: Server,
    fake: Arc<Fake>,
}

impl Program {
    fn new() -> Self {
        Self::of(Debugger::with_log(|_| ()).unwrap())
    }

    fn of(debugger: Debugger) -> Self {
        let server = debugger.serve(ServerOptions { listen: Listen::Nowhere }).unwrap();
        let fake = Arc::new(Fake::new());
        debugger.planned(&fake.graph, Fidelity::Exact, &fake.kernels);
        Self { debugger, server, fake }
    }

    fn client(&self) -> Client {
        Client::over(self.server.connect().unwrap()).unwrap()
    }

    /// Returns an attached client, as soon as the server has noticed that an earlier one is gone.
    fn attached(&self) -> Client {
        let client = self.client();
        loop {
            match client.attach(AttachOptions { name: "a test".into(), ..AttachOptions::default() }) {
                Err(error) if error.code() == ErrorCode::AlreadyAttached => std::thread::yield_now(),
                attached => return attached.map(|()| client).unwrap(),
            }
        }
    }

    /// Starts a run on a thread of its own.
    fn start(&self, run: u64, input: [f32; 4]) -> JoinHandle<Result<Vec<f32>, EngineError>> {
        let (debugger, fake) = (self.debugger.clone(), Arc::clone(&self.fake));
        std::thread::spawn(move || fake.run(&debugger, run, input))
    }
}

fn at(target: &str) -> BreakpointSpec {
    BreakpointSpec::at(target.parse().unwrap())
}

/// Waits for the next event of a queue.
fn next(client: &Client, queue: Queue) -> Event {
    loop {
        if let Some(event) = client.next_event(queue).expect("the debugger is attached") {
            return event;
        }
        assert!(client.wait(LONG), "no event came");
    }
}

/// Waits for the next event that stops a thread.
fn stop(client: &Client) -> Event {
    loop {
        let event = next(client, Queue::Sync);
        if event.waiting {
            return event;
        }
    }
}
