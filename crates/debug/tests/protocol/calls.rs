//! Calls of a debugger at a stop, through the client.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use opscope_debug::server::{Listen, ServerOptions};
use opscope_debug::{
    AttachOptions, BreakpointChange, BreakpointSpec, CodeFrame, DebugError, Debugger, ErrorCode, EvaluationError,
    EventKind, EventName, EventSet, Host, Moment, Queue, Resume,
};
use opscope_model::{Capabilities, Fidelity};
use opscope_onnx::SourceLine;
use opscope_tensor::{DType, Tensor};
use serde_json::{Value, json};

use crate::fake::{Fake, PLAIN, floats, tensor};
use crate::raw::Raw;
use crate::{LONG, Program, at, next, stop};

#[test]
fn the_program_says_who_it_is_and_who_is_attached() {
    let program = Program::new();
    let first = program.attached();
    assert_eq!(first.hello().attached, None);
    let second = program.client();
    let hello = second.hello();
    assert_eq!((hello.protocol.as_str(), hello.version, hello.pid), ("opscope-debug", 1, std::process::id()));
    assert_eq!(hello.program[0], std::env::args().next().unwrap());
    assert_eq!((hello.models.len(), hello.models[0].path.as_str()), (1, "fake.onnx"));
    assert_eq!(hello.attached.as_deref(), Some("a test"));

    let refused = second.attach(AttachOptions::default()).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::AlreadyAttached);
    assert!(refused.to_string().contains("'a test' is attached already"), "{refused}");
    assert_eq!(second.status().unwrap_err().code(), ErrorCode::NotAttached);
    first.detach().unwrap();
    second.attach(AttachOptions::default()).expect("the other one has gone");
}

/// Keeps what it is told.
#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl Host for Told {
    fn attached(&self, is_attached: bool) {
        self.0.lock().unwrap().push(format!("attached: {is_attached}"));
        assert!(is_attached, "a panic of the program's ends nothing");
    }

    fn instrument(&self, wanted: &Value) -> bool {
        self.0.lock().unwrap().push(wanted.to_string());
        wanted["what"] == "dump"
    }

    fn frames(&self) -> Vec<CodeFrame> {
        let source = SourceLine { file: "train.py".to_owned(), line: 7, code: Some("y = net(x)".to_owned()) };
        vec![CodeFrame { function: "main".to_owned(), source }]
    }

    fn evaluate(&self, expression: &str) -> Result<String, EvaluationError> {
        match expression {
            "thread" => Ok(format!("{:?}", thread::current().id())),
            other => Err(EvaluationError(format!("NameError: name '{other}' is not defined"))),
        }
    }
}

#[test]
fn the_code_of_the_program_is_looked_at_on_the_thread_that_is_stopped() {
    let program = Program::new();
    program.debugger.set_host(Arc::new(Told::default()));
    let client = program.attached();
    client.add_breakpoint(at("sum")).unwrap();
    let run = program.start(0, PLAIN);
    let event = stop(&client);
    let code = client.backtrace(event.sequence, 1).unwrap().code;
    assert_eq!((code.len(), code[0].function.as_str(), code[0].source.place()), (1, "main", "train.py:7".to_owned()));
    let thread = client.evaluate(event.sequence, "thread").unwrap();
    assert_eq!(thread, format!("{:?}", run.thread().id()));
    let wrong = client.evaluate(event.sequence, "x").unwrap_err();
    assert_eq!(
        (wrong.code(), wrong.to_string()),
        (ErrorCode::Evaluation, "NameError: name 'x' is not defined".to_owned())
    );
    client.acknowledge(event.sequence, Resume::Continue).unwrap();
    run.join().unwrap().unwrap();
}

#[test]
fn a_program_without_code_of_its_own_says_so() {
    let program = Program::new();
    let client = program.attached();
    client.add_breakpoint(at("sum")).unwrap();
    let run = program.start(0, PLAIN);
    let event = stop(&client);
    assert_eq!(client.backtrace(event.sequence, 1).unwrap().code, []);
    let refused = client.evaluate(event.sequence, "1 + 1").unwrap_err();
    assert_eq!(
        (refused.code(), refused.to_string()),
        (ErrorCode::Evaluation, "this program evaluates no expressions".to_owned())
    );
    client.acknowledge(event.sequence, Resume::Continue).unwrap();
    run.join().unwrap().unwrap();
}

#[test]
fn a_program_is_told_of_its_debugger_and_of_the_instruments_that_any_client_wants() {
    let program = Program::new();
    let client = program.client();
    let refused = client.instrument(json!({})).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Instrument);
    assert!(refused.to_string().contains("does not attach this instrument"), "{refused}");

    let told = Arc::new(Told::default());
    program.debugger.set_host(Arc::clone(&told) as _);
    let debugger = program.attached();
    client.instrument(json!({"what": "dump"})).unwrap();
    let refused = client.instrument(json!({"what": "else"})).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Instrument);
    debugger.detach().unwrap();
    client.attach(AttachOptions::default()).expect("the server still answers");
    let expected =
        ["attached: true", "{\"what\":\"dump\"}", "{\"what\":\"else\"}", "attached: false", "attached: true"];
    assert_eq!(*told.0.lock().unwrap(), expected);
}

/// Counts how often the debugger has begun to want something.
#[derive(Default)]
struct Interests(AtomicU64);

impl Host for Interests {
    fn attached(&self, _is_attached: bool) {}

    fn interested(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn instrument(&self, _wanted: &Value) -> bool {
        false
    }
}

#[test]
fn a_program_is_told_when_its_debugger_wants_something_of_its_runs() {
    let program = Program::new();
    let interests = Arc::new(Interests::default());
    program.debugger.set_host(Arc::clone(&interests) as _);
    let is_interested = || program.debugger.is_interested();
    let client = program.attached();
    client.subscribe(EventSet::default()).unwrap();
    assert!(!is_interested());
    assert_eq!(interests.0.load(Ordering::Relaxed), 0);

    let breakpoint = client.add_breakpoint(at("sum")).unwrap().id;
    assert!(is_interested());
    assert_eq!(interests.0.load(Ordering::Relaxed), 1);
    for enabled in [false, true] {
        let change = BreakpointChange { enabled: Some(enabled), ..BreakpointChange::default() };
        client.change_breakpoint(breakpoint, change).unwrap();
        assert_eq!(is_interested(), enabled);
    }
    client.remove_breakpoint(breakpoint).unwrap();
    assert!(!is_interested());

    client.subscribe(EventSet::default().with(EventName::OperatorFinished)).unwrap();
    assert!(is_interested());
    client.subscribe(EventSet::default()).unwrap();
    assert!(!is_interested());
    assert_eq!(interests.0.load(Ordering::Relaxed), 3);

    client.pause(None).unwrap();
    assert!(is_interested(), "the next run stops");
    let run = program.start(0, PLAIN);
    let event = stop(&client);
    assert!(!is_interested(), "it has stopped");
    client.acknowledge(event.sequence, Resume::Step).unwrap();
    let event = stop(&client);
    client.acknowledge(event.sequence, Resume::Continue).unwrap();
    run.join().unwrap().unwrap();
    client.add_breakpoint(at("sum")).unwrap();
    client.detach().unwrap();
    assert!(!is_interested());
}

#[test]
fn a_stopped_run_is_looked_at_from_all_sides() {
    let program = Program::new();
    let client = program.attached();
    let spec = BreakpointSpec { moment: Some(Moment::After), ..at("sum").when("absmax(input[0]) == 8") };
    let breakpoint = client.add_breakpoint(spec).unwrap();
    assert_eq!(client.breakpoints().unwrap(), std::slice::from_ref(&breakpoint));
    let run = program.start(5, PLAIN);
    let event = stop(&client);
    assert!(matches!(&event.kind, EventKind::Breakpoint { breakpoints, .. } if *breakpoints == [breakpoint.id]));

    let location = client.location(event.sequence).unwrap();
    assert_eq!((location.place.run.0, &*location.place.name), (5, "sum"));
    let references: Vec<_> = location.inputs.iter().chain(&location.outputs).map(|info| &*info.reference).collect();
    assert_eq!(references, ["input[0]", "input[1]", "output[0]"]);
    let frames = client.backtrace(event.sequence, 10).unwrap().frames;
    let way: Vec<_> = frames.iter().map(|frame| (&*frame.name, frame.value.as_deref())).collect();
    assert_eq!(way, [("sum", None), ("log", Some("b")), ("scale", Some("a"))]);
    let cut = client.backtrace(event.sequence, 1).unwrap();
    assert_eq!((cut.frames.len(), cut.total as usize), (1, frames.len()), "what is left out is counted");

    let output = client.whole_tensor(event.sequence, "output[0]").unwrap();
    assert_eq!((output.shape(), floats(&output)), (&[2, 2][..], Fake::expected(PLAIN)));
    let row = client.tensor(event.sequence, "input[0][1, ::-1]", 0, 10).unwrap();
    assert_eq!((row.dtype, &*row.shape, row.elements, row.count), (DType::F32, &[2][..], 2, 2));
    assert_eq!((row.element(0).unwrap().to_f64(), row.element(2)), (Some(8.0), None));
    let live = client.whole_tensor(event.sequence, "value('a')").unwrap();
    assert_eq!(floats(&live), [2.0, 4.0, 6.0, 8.0]);

    let statistics = client.statistics(event.sequence, "value('a')").unwrap();
    assert_eq!(
        (statistics.count, statistics.min, statistics.max, statistics.mean),
        (4, Some(2.0), Some(8.0), Some(5.0))
    );
    let part = client.statistics(event.sequence, "value('a')[:, 0]").unwrap();
    assert_eq!((part.shape, part.max), (vec![2], Some(6.0)));
    let histogram = client.histogram(event.sequence, "value('a')").unwrap();
    let bins: Vec<_> = histogram.bins.iter().map(|bin| (bin.from, bin.count)).collect();
    assert_eq!((bins, histogram.non_finite), (vec![(2.0, 1), (4.0, 2), (8.0, 1)], 0));
    let top = client.top_k(event.sequence, "value('a')", 2, false).unwrap();
    let top: Vec<_> = top.iter().map(|ranked| (&*ranked.index, &*ranked.value)).collect();
    assert_eq!(top, [(&[1, 1][..], "8.0"), (&[1, 0][..], "6.0")]);

    client.renew(event.sequence).unwrap();
    let status = client.status().unwrap();
    assert_eq!((status.stopped[0].event, status.runs[0].run.0), (event.sequence, 5));
    assert_eq!(client.acknowledge_sync_events().unwrap(), 1);
    assert_eq!(run.join().unwrap().unwrap(), Fake::expected(PLAIN));
    client.remove_breakpoint(breakpoint.id).unwrap();
    assert!(client.breakpoints().unwrap().is_empty());
}

#[test]
fn a_large_tensor_comes_in_pages_that_make_it_whole() {
    let program = Program::new();
    let client = program.attached();
    client.add_breakpoint(at("scale")).unwrap();
    let run = program.start(0, PLAIN);
    let event = stop(&client);
    let pages: Vec<_> = (0..4)
        .map(|offset| client.tensor(event.sequence, "input[0]", offset, 3).unwrap())
        .map(|page| page.count)
        .collect();
    assert_eq!(pages, [3, 3, 2, 1]);
    assert_eq!(client.tensor(event.sequence, "input[0]", 4, 1).unwrap().count, 0);
    assert_eq!(client.tensor(event.sequence, "input[0]", 5, 1).unwrap_err().code(), ErrorCode::Offset);
    client.acknowledge(event.sequence, Resume::Continue).unwrap();
    run.join().unwrap().unwrap();
}

#[test]
fn a_run_continues_with_what_was_replaced_or_skipped() {
    let program = Program::new();
    let client = program.attached();
    client.add_breakpoint(at("log")).unwrap();
    let run = program.start(0, PLAIN);
    let event = stop(&client);
    client.replace(event.sequence, "input[0]", &tensor(&[1.0; 4])).unwrap();
    let misfit = Tensor::from_f32(vec![4], &[1.0; 4]).unwrap();
    assert_eq!(client.replace(event.sequence, "input[0]", &misfit).unwrap_err().code(), ErrorCode::Replacement);
    let of_part = client.replace(event.sequence, "input[0][0]", &misfit).unwrap_err();
    assert_eq!(of_part.code(), ErrorCode::Replacement, "{of_part}");
    client.acknowledge(event.sequence, Resume::Continue).unwrap();
    // The logarithm of 1 is 0, and the sum adds the value itself.
    assert_eq!(run.join().unwrap().unwrap(), [2.0, 4.0, 6.0, 8.0]);

    let run = program.start(1, PLAIN);
    let event = stop(&client);
    assert_eq!(client.acknowledge(event.sequence, Resume::Skip(vec![misfit])).unwrap_err().code(), ErrorCode::Resume);
    client.acknowledge(event.sequence, Resume::Skip(vec![tensor(&[100.0; 4])])).unwrap();
    assert_eq!(run.join().unwrap().unwrap(), [102.0, 104.0, 106.0, 108.0]);

    let run = program.start(2, PLAIN);
    let event = stop(&client);
    client.acknowledge(event.sequence, Resume::Abort("it is enough".into())).unwrap();
    assert!(run.join().unwrap().unwrap_err().to_string().contains("it is enough"));
}

#[test]
fn a_debugger_learns_that_the_engine_executes_what_is_skipped() {
    let debugger = Debugger::with_log(|_| ()).unwrap();
    let fake = Arc::new(Fake::new());
    let loaded = debugger.load(&fake.graph, Fidelity::Exact).with_capabilities(Capabilities::default());
    let server = debugger.serve(ServerOptions { listen: Listen::Nowhere }).unwrap();
    let program = Program { debugger, server, fake };
    let mut raw = Raw::attached(program.server.connect().unwrap());
    raw.ask(json!({"id": 3, "request": "add_breakpoint", "target": "log"}));
    let run = program.start(0, PLAIN);
    let event = loop {
        let answer = raw.ask(json!({"id": 4, "request": "next_events", "queue": "sync", "most": 10}));
        match answer["ok"]["events"].as_array().unwrap().iter().find(|event| event["waiting"] == true) {
            Some(event) => break event["sequence"].clone(),
            None => drop(raw.receive().unwrap()),
        }
    };
    let location = raw.ask(json!({"id": 5, "request": "location", "event": event}));
    assert_eq!(location["ok"]["executes_skipped"], true, "{location}");
    let outputs = json!([{"dtype": "float32", "shape": [2, 2]}]);
    let skip = json!({"id": 6, "request": "acknowledge", "event": event, "resume": {"skip": outputs}});
    let hundreds = [100_f32; 4].map(f32::to_le_bytes).concat();
    raw.send(skip.to_string().as_bytes(), &hundreds).unwrap();
    assert_eq!(raw.answer(), json!({"id": 6, "ok": {"executed": true}}));
    assert_eq!(run.join().unwrap().unwrap(), [102.0, 104.0, 106.0, 108.0]);
    drop(loaded);
}

#[test]
fn steps_pauses_and_changed_breakpoints_reach_the_run() {
    let program = Program::new();
    let client = program.attached();
    assert_eq!(client.pause(None).unwrap(), 0, "the next run to come is paused");
    let run = program.start(0, PLAIN);
    let paused = stop(&client);
    assert_eq!(paused.kind.name(), EventName::Paused);
    client.acknowledge(paused.sequence, Resume::Step).unwrap();
    let stepped = stop(&client);
    assert_eq!((stepped.kind.name(), &*stepped.kind.position().unwrap().name), (EventName::StepComplete, "log"));
    client.acknowledge(stepped.sequence, Resume::Until("sum".parse().unwrap())).unwrap();
    let there = stop(&client);
    assert_eq!(&*there.kind.position().unwrap().name, "sum");
    let breakpoint = client.add_breakpoint(at("sum")).unwrap();
    let change = BreakpointChange { enabled: Some(false), ignore: Some(3), ..BreakpointChange::default() };
    let changed = client.change_breakpoint(breakpoint.id, change).unwrap();
    assert!(!changed.spec.enabled && changed.spec.ignore == 3);
    client.acknowledge(there.sequence, Resume::Finish).unwrap();
    let finished = stop(&client);
    assert_eq!(finished.kind.position().unwrap().moment, Moment::After);
    client.acknowledge(finished.sequence, Resume::Continue).unwrap();
    run.join().unwrap().unwrap();

    client.subscribe(EventSet::default().with(EventName::OperatorFinished)).unwrap();
    program.start(1, PLAIN).join().unwrap().unwrap();
    let told: Vec<_> = (0..3).map(|_| next(&client, Queue::Async).kind.position().unwrap().operator).collect();
    assert_eq!(told, [0, 1, 2]);
}

#[test]
fn a_request_that_is_too_long_is_refused_before_it_is_sent_and_the_connection_stays() {
    let program = Program::new();
    let client = program.attached();
    client.add_breakpoint(at("scale")).unwrap();
    let run = program.start(0, PLAIN);
    let event = stop(&client);
    // A mebibyte, plus the JSON around the reason.
    for letters in [1 << 20, (1 << 20) + 1, 3 << 20] {
        let refused = client.acknowledge(event.sequence, Resume::Abort("r".repeat(letters))).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::TooLong, "{letters}");
        let begin = "a request has at most 1048576 bytes of JSON and 1073741824 bytes of tensors; this one has ";
        assert!(refused.to_string().contains(begin), "{letters}");
    }
    client.acknowledge(event.sequence, Resume::Abort("r".repeat((1 << 20) - 1_000))).unwrap();
    let reason = run.join().unwrap().unwrap_err().to_string();
    assert!(reason.contains(&"r".repeat(1_000)));
}

#[test]
fn a_refusal_has_its_code() {
    let program = Program::new();
    let client = program.attached();
    program.start(0, PLAIN).join().unwrap().unwrap();
    let refusal = |result: Result<_, DebugError>| result.map(|_: ()| ()).unwrap_err().code().to_owned();
    let event = opscope_debug::Sequence(1_000_000);
    assert_eq!(refusal(client.acknowledge(event, Resume::Continue)), ErrorCode::NotStopped);
    assert_eq!(refusal(client.location(event).map(drop)), ErrorCode::NotStopped);
    assert_eq!(refusal(client.add_breakpoint(at("scael")).map(drop)), ErrorCode::NoSuchOperator);
    assert_eq!(refusal(client.add_breakpoint(at("log").when("absmax >")).map(drop)), ErrorCode::Condition);
    assert_eq!(refusal(client.remove_breakpoint(opscope_debug::BreakpointId(9))), ErrorCode::NoSuchBreakpoint);
    assert_eq!(refusal(client.model(opscope_debug::ModelId(9)).map(drop)), ErrorCode::NoSuchModel);
    assert_eq!(refusal(client.tensor(event, "inptu", 0, 1).map(drop)), ErrorCode::Reference);

    client.add_breakpoint(at("log")).unwrap();
    let run = program.start(1, PLAIN);
    assert!(client.wait(LONG));
    while !client.status().unwrap().stopped.iter().any(|stop| stop.place.is_some()) {
        std::thread::yield_now();
    }
    let unread = client.status().unwrap().stopped[0].event;
    assert_eq!(refusal(client.acknowledge(unread, Resume::Continue)), ErrorCode::NotRead);
    let event = stop(&client);
    assert_eq!(refusal(client.tensor(event.sequence, "output[0]", 0, 1).map(drop)), ErrorCode::NoSuchTensor);
    assert_eq!(refusal(client.tensor(event.sequence, "input[0][7]", 0, 1).map(drop)), ErrorCode::Slice);
    client.detach().unwrap();
    run.join().unwrap().unwrap();
    assert_eq!(refusal(client.status().map(drop)), ErrorCode::NotAttached);
    let last = std::iter::from_fn(|| client.next_event(Queue::Sync).unwrap()).last().unwrap();
    assert_eq!(last.kind, EventKind::DetachComplete, "what was queued can be read behind the detaching");
}

#[test]
fn within_the_callback_events_are_taken_and_acknowledged_and_all_else_is_recursive() {
    for strict in [false, true] {
        let program = Program::new();
        let client = Arc::new(program.client());
        client.attach(AttachOptions { strict_callbacks: strict, ..AttachOptions::default() }).unwrap();
        client.add_breakpoint(at("log")).unwrap();
        let (told, tells) = mpsc::channel();
        let within = Arc::downgrade(&client);
        let callback = move || {
            let Some(client) = within.upgrade() else { return };
            let recursive = client.status().unwrap_err();
            let read = client.next_events(Queue::Sync, 10);
            for event in read.iter().flatten().filter(|event| event.waiting) {
                client.acknowledge(event.sequence, Resume::Continue).unwrap();
            }
            let _ = told.send((recursive.code().to_owned(), read.map(drop).map_err(|error| error.code().to_owned())));
        };
        client.set_notification_callback(Some(Box::new(callback))).unwrap();
        let run = program.start(0, PLAIN);
        let (recursive, read) = tells.recv_timeout(LONG).unwrap();
        assert_eq!(recursive, ErrorCode::RecursiveCall);
        assert_eq!(read, if strict { Err(ErrorCode::RecursiveCall) } else { Ok(()) });
        if strict {
            client.set_notification_callback(None).unwrap();
            client.detach().unwrap();
        }
        assert_eq!(run.join().unwrap().unwrap(), Fake::expected(PLAIN));
        client.set_notification_callback(None).unwrap();
    }
}

#[test]
fn a_notification_is_repeated_for_events_that_were_not_read() {
    let program = Program::new();
    let client = program.attached();
    client.add_breakpoint(at("*")).unwrap();
    let runs: Vec<_> = (0..4).map(|run| program.start(run, PLAIN)).collect();
    let mut stops = 0;
    while stops < 12 {
        assert!(client.wait(LONG), "{stops} of 12 stops were told");
        // Events are read one at a time although several wait, and the descriptor must stay readable.
        if let Some(event) = client.next_event(Queue::Sync).unwrap().filter(|event| event.waiting) {
            stops += 1;
            client.acknowledge(event.sequence, Resume::Continue).unwrap();
        }
    }
    for run in runs {
        run.join().unwrap().unwrap();
    }
}

#[test]
fn threads_that_share_a_client_read_for_each_other() {
    const CALLS: u64 = 300;
    let program = Program::new();
    let client = program.attached();
    client.add_breakpoint(at("log")).unwrap();
    let calls_are_done = AtomicU64::new(0);
    thread::scope(|scope| {
        for caller in 0..3 {
            let (client, calls_are_done) = (&client, &calls_are_done);
            scope.spawn(move || {
                for call in 0..CALLS {
                    client.status().unwrap();
                    // Some calls also have a deadline, and stop reading when it has passed.
                    if call % 3 == caller {
                        client.wait(Duration::from_micros(call));
                    }
                }
                calls_are_done.fetch_add(1, Ordering::SeqCst);
            });
        }
        let mut run = 0;
        while calls_are_done.load(Ordering::SeqCst) < 3 {
            let running = program.start(run, PLAIN);
            let event = stop(&client);
            client.acknowledge(event.sequence, Resume::Continue).unwrap();
            assert_eq!(running.join().unwrap().unwrap(), Fake::expected(PLAIN));
            run += 1;
        }
    });
}

#[test]
fn calls_that_wait_return_at_once_when_the_program_ends() {
    let program = Program::new();
    let client = Arc::new(program.attached());
    client.add_breakpoint(at("log")).unwrap();
    let run = program.start(0, PLAIN);
    let event = stop(&client);
    let reached = Arc::new(Mutex::new(()));
    let waiters: Vec<_> = (0..3)
        .map(|_| {
            let (client, reached) = (Arc::clone(&client), Arc::clone(&reached));
            std::thread::spawn(move || {
                drop(reached);
                loop {
                    if let Err(error) = client.renew(event.sequence) {
                        return error;
                    }
                }
            })
        })
        .collect();
    let Program { debugger, server, .. } = program;
    drop(server);
    assert_eq!(run.join().unwrap().unwrap(), Fake::expected(PLAIN), "the run continues without its debugger");
    for waiter in waiters {
        let error = waiter.join().unwrap();
        assert!(error.code() == ErrorCode::Connection || error.code() == ErrorCode::NotAttached, "{error}");
    }
    assert!(client.wait(LONG), "a thread that waits for events is woken");
    let gone = client.next_events(Queue::Sync, 1).unwrap_err();
    assert_eq!(gone.code(), ErrorCode::Connection);
    assert!(gone.to_string().contains("debug server is stopped"), "{gone}");
    drop(debugger);
}
