//! The JSON of the protocol: every request, every kind of event, and the answers, compared with reviewed snapshots.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use opscope_clock::Timestamp;
use opscope_debug::client::Client;
use opscope_debug::protocol::{
    AcknowledgeRequest, AcknowledgeSyncEventsRequest, AnyRequest, At, BacktraceRequest, BreakpointsRequest,
    ChangeBreakpointRequest, Continuation, DetachRequest, EvaluateRequest, Hello, HelloRequest, HistogramRequest,
    InstrumentRequest, LocationRequest, ModelRequest, ModelsRequest, NextEventsRequest, OperatorRequest,
    OperatorsRequest, PauseRequest, RemoveBreakpointRequest, RenewRequest, ReplaceRequest, SourceRequest,
    StatisticsRequest, StatusRequest, SubscribeRequest, TensorForm, TensorRequest, TopKRequest, ValuesRequest,
};
use opscope_debug::server::{Listen, ServerOptions};
use opscope_debug::{
    AttachOptions, BreakpointChange, BreakpointId, BreakpointSpec, Debugger, Event, EventKind, EventName, EventSet,
    ModelId, Moment, Queue, Resume, Sequence, Status,
};
use opscope_model::testing::assert_snapshot;
use opscope_model::{Fidelity, RunId};
use opscope_tensor::DType;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::fake::{Fake, PLAIN};
use crate::raw::Raw;
use crate::{Program, at, next};

/// The thread of all events, in place of the system's numbers, which vary.
const THREAD: u32 = 77;

fn options() -> AttachOptions {
    AttachOptions {
        name: "a test".to_owned(),
        events: EventSet::all(),
        statistics: true,
        timeout: Some(Duration::from_secs(1_000_000)),
        ..AttachOptions::default()
    }
}

fn lines<T: Serialize>(items: impl IntoIterator<Item = T>) -> Vec<u8> {
    let line = |item| format!("{}\n", serde_json::to_string(&item).unwrap());
    items.into_iter().map(line).collect::<String>().into_bytes()
}

#[test]
fn every_request_is_as_it_was() {
    let (event, model, breakpoint) = (Sequence(3), ModelId(1), BreakpointId(2));
    let reference = || "value(\"a\")[0]".to_owned();
    let form = || TensorForm { dtype: DType::F32, shape: vec![2, 2] };
    let spec = BreakpointSpec { moment: Some(Moment::After), run: Some(4), ..at("type:Log").when("max(output) > 1") };
    let change = BreakpointChange { enabled: Some(false), ..BreakpointChange::default() };
    let resumed = |resume| AnyRequest::from(AcknowledgeRequest { event, resume });
    let requests = [
        HelloRequest::new("a test 0.1").into(),
        AttachOptions::default().into(),
        options().into(),
        InstrumentRequest { wanted: json!({"what": "dump"}) }.into(),
        DetachRequest {}.into(),
        NextEventsRequest { queue: Queue::Sync, most: 1 }.into(),
        NextEventsRequest { queue: Queue::Async, most: u64::MAX }.into(),
        resumed(Continuation::Continue),
        resumed(Continuation::Step),
        resumed(Continuation::Finish),
        resumed(Continuation::Until("relu".parse().unwrap())),
        resumed(Continuation::Over),
        resumed(Continuation::Leave(2)),
        resumed(Continuation::Skip(vec![form()])),
        resumed(Continuation::Abort("it is enough".to_owned())),
        AcknowledgeSyncEventsRequest {}.into(),
        RenewRequest { event }.into(),
        SubscribeRequest { events: EventSet::default().with(EventName::OperatorFinished) }.into(),
        at("#1").into(),
        spec.into(),
        at("first nonfinite").into(),
        ChangeBreakpointRequest { breakpoint, change }.into(),
        RemoveBreakpointRequest { breakpoint }.into(),
        BreakpointsRequest {}.into(),
        PauseRequest { run: None }.into(),
        PauseRequest { run: Some(4) }.into(),
        LocationRequest { event }.into(),
        BacktraceRequest { event, most: 10 }.into(),
        EvaluateRequest { event, expression: "x.grad_fn".to_owned() }.into(),
        TensorRequest { at: At::Event(event), reference: reference(), offset: 2, count: 100 }.into(),
        StatisticsRequest { at: At::Model(model), reference: reference() }.into(),
        HistogramRequest { at: At::Event(event), reference: reference() }.into(),
        TopKRequest { at: At::Event(event), reference: reference(), k: 3, magnitude: true }.into(),
        ReplaceRequest { event, reference: reference(), form: form() }.into(),
        StatusRequest {}.into(),
        ModelsRequest {}.into(),
        ModelRequest { model }.into(),
        OperatorsRequest { model, pattern: "type:Log".to_owned(), offset: 1, most: 2 }.into(),
        OperatorRequest { model, operator: 1 }.into(),
        SourceRequest { model, line: 1, most: 2 }.into(),
        ValuesRequest { model, offset: 1, most: 2 }.into(),
    ];
    let text = lines(&requests);
    assert_snapshot!("requests.jsonl", text.clone());
    let read = |line: &str| serde_json::from_str::<AnyRequest>(line).unwrap();
    assert_eq!(lines(str::from_utf8(&text).unwrap().lines().map(read)), text, "each is read as it was written");
}

/// Takes the sync events until a model is unloaded, and acknowledges each. Steps at a breakpoint, pauses the second
/// run, and then subscribes to the events of every operator, which would come before the end of a step.
fn answer_until_unloaded(client: &Client) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let event = next(client, Queue::Sync);
        let name = event.kind.name();
        match name {
            EventName::RunPushed if event.kind.run() == Some(RunId(1)) => drop(client.pause(None).unwrap()),
            EventName::Paused => client.subscribe(EventSet::all()).unwrap(),
            _ => (),
        }
        let resume = if name == EventName::Breakpoint { Resume::Step } else { Resume::Continue };
        if event.waiting {
            client.acknowledge(event.sequence, resume).unwrap();
        }
        events.push(event);
        if name == EventName::ModelUnloaded {
            return events;
        }
    }
}

#[test]
fn every_kind_of_event_is_as_it_was() {
    let debugger = Debugger::with_log(|_| ()).unwrap();
    let server = debugger.serve(ServerOptions { listen: Listen::Nowhere }).unwrap();
    let client = Client::over(server.connect().unwrap()).unwrap();
    let events = EventName::ALL.into_iter().filter(|name| *name != EventName::OperatorReady).collect();
    client.attach(AttachOptions { events, ..options() }).unwrap();
    client.add_breakpoint(BreakpointSpec { run: Some(0), ..at("log") }).unwrap();
    client.add_breakpoint(at("first nonfinite")).unwrap();
    let program = thread::spawn(move || {
        let fake = Arc::new(Fake::new());
        let loaded = debugger.load(&fake.graph, Fidelity::Exact);
        debugger.planned(&fake.graph, Fidelity::Exact, &fake.kernels);
        // The second one takes logarithms of negative numbers, and the third one has the number for which the
        // multiplication fails.
        for (run, input) in [PLAIN, [-1.0; 4], [666.0; 4]].into_iter().enumerate() {
            let _ = fake.run(&debugger, run as u64, input);
        }
        drop(loaded);
    });
    let mut events = answer_until_unloaded(&client);
    program.join().unwrap();
    client.detach().unwrap();
    for queue in [Queue::Sync, Queue::Async] {
        events.extend(client.next_events(queue, usize::MAX).unwrap());
    }
    events.sort_by_key(|event| event.sequence);
    // These cannot be caused at will.
    let last = events.last().unwrap().clone();
    let message = "the disk is full".to_owned();
    let more = [EventKind::Timeout, EventKind::InternalError { message }].map(|kind| Event { kind, ..last.clone() });
    let events = events.into_iter().chain(more).enumerate().map(|(index, event)| Event {
        at: Timestamp::from_nanos_since_boot(1_000_000 * index as u64),
        thread: if event.thread == 0 { 0 } else { THREAD },
        ..event
    });
    let events: Vec<Event> = events.collect();
    for name in EventName::ALL {
        assert!(events.iter().any(|event| event.kind.name() == name), "no event is of the kind {name}");
    }
    assert_snapshot!("events.jsonl", lines(&events));
}

/// A debugger that records the answers to its requests.
struct Keeper {
    raw: Raw,
    kept: Vec<Value>,
}

impl Keeper {
    /// Sends a request, and records the answer as it is.
    fn keep(&mut self, request: &Value) {
        let answer = self.raw.ask(request.clone());
        self.kept.push(answer);
    }

    /// Sends a request, and records the answer after `make_constant` has changed it.
    fn keep_as<T: Serialize + DeserializeOwned>(&mut self, request: &Value, make_constant: impl FnOnce(T) -> T) {
        let answer = self.raw.ask(request.clone());
        let constant = make_constant(serde_json::from_value(answer["ok"].clone()).unwrap());
        self.kept.push(json!({ "id": answer["id"], "ok": constant }));
    }

    /// Waits for the event at which a run stops, and returns its number.
    fn stop(&mut self) -> Value {
        loop {
            let answer = self.raw.ask(json!({"id": 0, "request": "next_events", "queue": "sync"}));
            let events = answer["ok"]["events"].as_array().unwrap();
            if let Some(event) = events.iter().find(|event| event["waiting"] == true) {
                return event["sequence"].clone();
            }
            thread::yield_now();
        }
    }
}

#[test]
fn the_answer_to_every_request_is_as_it_was() {
    let program = Program::new();
    let mut debugger = Keeper { raw: Raw::over(program.server.connect().unwrap()), kept: Vec::new() };
    let hello = json!({"id": 1, "request": "hello", "protocol": "opscope-debug", "version": 1});
    debugger.keep_as(&hello, |hello: Hello| Hello {
        opscope: "0.1.0".to_owned(),
        pid: 70,
        user: 1000,
        program: vec!["program".to_owned(), "--debug-server".to_owned()],
        ..hello
    });
    debugger.keep(&json!({"id": 2, "request": "attach", "name": "a test"}));
    let condition = "absmax(input[0]) == 8";
    debugger.keep(&json!({"id": 3, "request": "add_breakpoint", "target": "sum", "condition": condition}));
    debugger.keep(&json!({"id": 4, "request": "add_breakpoint", "target": "relu", "enabled": false}));
    debugger.keep(&json!({"id": 5, "request": "add_breakpoint", "target": "shape"}));
    debugger.keep(&json!({"id": 6, "request": "change_breakpoint", "breakpoint": 3, "ignore": 2}));
    debugger.keep(&json!({"id": 7, "request": "subscribe", "events": []}));
    let run = program.start(5, PLAIN);
    let event = debugger.stop();
    debugger.keep(&json!({"id": 8, "request": "breakpoints"}));
    debugger.keep(&json!({"id": 9, "request": "remove_breakpoint", "breakpoint": 3}));
    debugger.keep(&json!({"id": 10, "request": "location", "event": event}));
    debugger.keep(&json!({"id": 11, "request": "backtrace", "event": event, "most": 2}));
    let reference = "value('a')";
    debugger.keep(&json!({"id": 12, "request": "tensor", "event": event, "reference": reference, "offset": 1}));
    debugger.keep(&json!({"id": 13, "request": "statistics", "event": event, "reference": reference}));
    debugger.keep(&json!({"id": 14, "request": "histogram", "event": event, "reference": reference}));
    debugger.keep(&json!({"id": 15, "request": "top_k", "event": event, "reference": reference, "k": 2}));
    debugger.keep_as(&json!({"id": 16, "request": "status"}), |mut status: Status| {
        status.runs.iter_mut().for_each(|run| run.thread = THREAD);
        status.stopped.iter_mut().for_each(|stop| stop.thread = THREAD);
        status
    });
    debugger.keep(&json!({"id": 17, "request": "renew", "event": event}));
    debugger.keep(&json!({"id": 18, "request": "acknowledge", "event": event, "resume": "continue"}));
    run.join().unwrap().unwrap();
    debugger.keep(&json!({"id": 19, "request": "acknowledge_sync_events"}));
    debugger.keep(&json!({"id": 20, "request": "pause"}));
    debugger.keep(&json!({"id": 21, "request": "models"}));
    debugger.keep(&json!({"id": 22, "request": "model", "model": 1}));
    debugger.keep(&json!({"id": 23, "request": "operators", "model": 1, "offset": 1, "most": 3}));
    debugger.keep(&json!({"id": 24, "request": "operator", "model": 1, "operator": 0}));
    debugger.keep(&json!({"id": 25, "request": "source", "model": 1, "line": 2, "most": 2}));
    debugger.keep(&json!({"id": 26, "request": "operator", "model": 1, "operator": 100}));
    debugger.keep(&json!({"id": 27, "request": "next_events", "queue": "sync"}));
    debugger.keep(&json!({"id": 28, "request": "values", "model": 1, "offset": 1, "most": 2}));
    debugger.keep(&json!({"id": 29, "request": "detach"}));
    assert_snapshot!("answers.jsonl", lines(&debugger.kept));
}
