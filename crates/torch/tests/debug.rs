//! A debugger of a program without Python, whose operators are found while it runs.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use opscope_debug::expression::TensorRef;
use opscope_debug::{
    AttachOptions, Attachment, BreakpointSpec, DebugError, Debugger, Event, EventKind, EventName, EventSet, Exception,
    LoadedModelHandle, Moment, OperatorMapping, Queue, Resume, Target,
};
use opscope_model::Fidelity;
use opscope_onnx::Module;
use opscope_tensor::{DType, Tensor};
use opscope_torch::{
    CAPABILITIES, Changes, Execution, ModulePath, Phase, Place, Program, Shown, Stopped, Strided, Taken,
};

/// The program: in each step `mul`, `mul`, `log`, `neg`, each of what the one before computed.
const OPERATORS: [&str; 4] = ["aten.mul.Tensor", "aten.mul.Tensor", "aten.log.default", "aten.neg.default"];

/// Outputs that are replaced, by slot.
type Replaced = Vec<(usize, Tensor)>;

struct Debugged {
    program: Program,
    /// The module that it is in.
    module: Option<Arc<ModulePath>>,
    debugger: Debugger,
    _handle: LoadedModelHandle,
}

impl Debugged {
    fn new() -> Self {
        let mut program = Program::new(PathBuf::from("train.py"), 5, "2.15", "0..".parse().unwrap());
        let debugger = Debugger::new().unwrap();
        program.add(Arc::new(debugger.clone())).unwrap();
        let _handle = debugger.load(program.header(), Fidelity::Exact).with_capabilities(CAPABILITIES);
        Self { program, module: None, debugger, _handle }
    }

    /// Executes an operator as a program does: it is shown before, if that is wanted, and after.
    /// Returns what the debugger changes: the inputs and outputs before, and the outputs after it.
    fn execute(&mut self, operator: &Arc<str>, from: usize, numbers: [f32; 2]) -> Result<(Changes, Replaced), Stopped> {
        let class = Arc::from("");
        let place = Place {
            module: self.module.clone(),
            call: 0,
            phase: Phase::Forward,
            operator: Some(Arc::clone(operator)),
            class,
            source: None,
        };
        let bytes = |numbers: [f32; 2]| numbers.map(f32::to_le_bytes).concat();
        let (taken, given) = (bytes([1.0, 2.0]), bytes(numbers));
        let tensor = |bytes| Strided::new(DType::F32, vec![2], vec![1], bytes).unwrap();
        let inputs = [Taken { parameter: None, version: None, region: from..from + 8, tensor: Some(tensor(&taken)) }];
        let mut changes = Changes::default();
        if self.program.wants_before(&place) {
            changes = self.program.before(&Execution { place: &place, inputs: &inputs, written: &[], outputs: &[] })?;
        }
        let to = from + 8;
        let outputs = [Shown::Tensor { tensor: tensor(&given), region: to..to + 8 }];
        let execution = Execution { place: &place, inputs: &inputs, written: &[], outputs: &outputs };
        Ok((changes, self.program.executed(&execution)?))
    }

    /// Runs so many steps. `bad` is the step of which the third operator computes infinity.
    fn run(mut self, steps: u64, bad: Option<u64>) -> Result<(), Stopped> {
        let operators = OPERATORS.map(Arc::from);
        for step in 0..steps {
            for (at, operator) in operators.iter().enumerate() {
                let number = if bad == Some(step) && at == 2 { f32::INFINITY } else { at as f32 };
                self.execute(operator, 100 + 8 * at, [number, 5.0])?;
            }
            self.program.end_step();
        }
        self.program.finish(None);
        Ok(())
    }
}

fn attach(debugger: &Debugger, events: EventSet) -> Attachment {
    debugger.attach(AttachOptions { name: "test".to_owned(), events, ..AttachOptions::default() }).unwrap()
}

/// Waits for the next event at which the program waits.
fn next(attachment: &Attachment) -> Event {
    let begun = Instant::now();
    loop {
        if let Some(event) = attachment.next_event(Queue::Sync).unwrap()
            && event.waiting
        {
            return event;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "no event came");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Waits for the end of the program, and acknowledges what it reports until then.
fn end<R>(attachment: &Attachment, program: JoinHandle<R>) -> R {
    while !program.is_finished() {
        for event in attachment.next_events(Queue::Sync, 10).unwrap() {
            let _ = attachment.acknowledge(event.sequence, Resume::Continue);
        }
        thread::sleep(Duration::from_millis(1));
    }
    program.join().unwrap()
}

fn at(target: &str) -> BreakpointSpec {
    BreakpointSpec::at(target.parse::<Target>().unwrap())
}

/// Returns the name of the operator that an event is at.
fn place_of(event: &Event) -> String {
    match &event.kind {
        EventKind::Breakpoint { place, .. } | EventKind::StepComplete { place } | EventKind::Paused { place } => {
            place.name.to_string()
        }
        EventKind::OperatorReady { place } => format!("ready {}", place.name),
        EventKind::Exception { place: Some(place), exception: Exception::NonFinite { .. }, .. } => {
            format!("not finite {}", place.name)
        }
        EventKind::RunPopped { run, .. } => format!("end of {}", run.0),
        other => format!("{other:?}"),
    }
}

#[test]
fn breakpoints_hold_for_operators_that_are_found_later() {
    let debugged = Debugged::new();
    let attachment = attach(&debugged.debugger, EventSet::default());
    let pending = attachment.add_breakpoint(at("script/aten.mul.Tensor#1")).unwrap();
    assert!(pending.locations.is_empty());
    let after = BreakpointSpec { condition: Some("max(output[0]) > 1".to_owned()), ..at("type:aten.lo*") };
    let after = attachment.add_breakpoint(after).unwrap();
    let program = thread::spawn(|| debugged.run(2, None));
    for _step in 0..2 {
        let event = next(&attachment);
        assert_eq!(place_of(&event), "script/aten.mul.Tensor#1");
        let location = attachment.location(event.sequence).unwrap();
        assert_eq!(location.inputs[0].value.as_deref(), Some("script/aten.mul.Tensor"));
        let read = |attachment: &Attachment, event: &Event, reference| {
            attachment
                .look(event.sequence, move |stopped| stopped.tensor(&reference).map(|view| view.to_tensor().unwrap()))
        };
        let input = read(&attachment, &event, TensorRef::Input(0)).unwrap().unwrap();
        assert_eq!(input, Tensor::from_f32(vec![2], &[1.0, 2.0]).unwrap());
        let output = read(&attachment, &event, TensorRef::Output(0)).unwrap().unwrap_err();
        assert!(output.to_string().contains("was not executed"), "{output}");
        attachment.acknowledge(event.sequence, Resume::Continue).unwrap();

        let event = next(&attachment);
        assert_eq!(place_of(&event), "script/aten.log.default");
        let output = read(&attachment, &event, TensorRef::Output(0)).unwrap().unwrap();
        assert_eq!(output, Tensor::from_f32(vec![2], &[2.0, 5.0]).unwrap());
        attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    }
    end(&attachment, program).unwrap();
    let found = attachment.breakpoints().unwrap();
    assert_eq!(found.iter().map(|found| (found.id, found.hits)).collect::<Vec<_>>(), [(pending.id, 2), (after.id, 2)]);
}

#[test]
fn a_client_changes_what_operators_take_and_compute_and_only_what_differs_is_changed() {
    let mut debugged = Debugged::new();
    let attachment = attach(&debugged.debugger, EventSet::default());
    attachment.add_breakpoint(at("type:aten.log*")).unwrap();
    attachment.add_breakpoint(BreakpointSpec { moment: Some(Moment::After), ..at("type:aten.log*") }).unwrap();
    attachment.add_breakpoint(at("type:aten.neg*")).unwrap();
    let program = thread::spawn(move || {
        let changed: Vec<(Changes, Replaced)> = OPERATORS
            .iter()
            .enumerate()
            .map(|(at, operator)| debugged.execute(&Arc::from(*operator), 100 + 8 * at, [at as f32, 5.0]).unwrap())
            .collect();
        debugged.program.finish(None);
        changed
    });
    let tensor = |numbers: &[f32]| Tensor::from_f32(vec![numbers.len()], numbers).unwrap();
    let event = next(&attachment);
    assert_eq!(place_of(&event), "script/aten.log.default");
    let refused = attachment.replace(event.sequence, TensorRef::Input(0), tensor(&[1.0])).unwrap_err();
    assert!(refused.to_string().contains("float32 [1] was given"), "{refused}");
    attachment.replace(event.sequence, TensorRef::Input(0), tensor(&[7.0, 8.0])).unwrap();
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();

    let event = next(&attachment);
    attachment.replace(event.sequence, TensorRef::Output(0), tensor(&[2.0, 5.0])).unwrap();
    attachment.replace(event.sequence, TensorRef::Output(0), tensor(&[3.0, 5.0])).unwrap();
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();

    let event = next(&attachment);
    assert_eq!(place_of(&event), "script/aten.neg.default");
    assert!(attachment.location(event.sequence).unwrap().executes_skipped);
    // The same elements again are no change.
    attachment.replace(event.sequence, TensorRef::Input(0), tensor(&[1.0, 2.0])).unwrap();
    attachment.acknowledge(event.sequence, Resume::Skip(vec![tensor(&[9.0, 9.0])])).unwrap();
    let changed = end(&attachment, program);
    let none = (Changes::default(), Vec::new());
    let expected = [
        none.clone(),
        none,
        (Changes { inputs: vec![(0, tensor(&[7.0, 8.0]))], outputs: None }, vec![(0, tensor(&[3.0, 5.0]))]),
        (Changes { inputs: Vec::new(), outputs: Some(vec![tensor(&[9.0, 9.0])]) }, Vec::new()),
    ];
    assert_eq!(changed, expected);
}

#[test]
fn a_program_is_stepped_from_its_first_operator_on() {
    let debugged = Debugged::new();
    debugged.debugger.stop_next_run();
    let attachment = attach(&debugged.debugger, EventSet::default());
    let program = thread::spawn(|| debugged.run(2, None));
    let mut stops = Vec::new();
    for resume in [Resume::Step, Resume::Until("type:aten.neg*".parse().unwrap()), Resume::Step, Resume::Continue] {
        let event = next(&attachment);
        stops.push(place_of(&event));
        attachment.acknowledge(event.sequence, resume).unwrap();
    }
    let names = ["script/aten.mul.Tensor", "script/aten.mul.Tensor#1", "script/aten.neg.default", "end of 0"];
    assert_eq!(stops, names);
    end(&attachment, program).unwrap();
}

/// Runs steps of a program with modules: an operator outside of them, one in `block`, two in `block.attention`, one in
/// `block`, one outside.
fn run_with_modules(mut debugged: Debugged, steps: u64) -> Result<(), Stopped> {
    let path = |paths: &[&str]| {
        let module = |path: &&str| Module { path: (*path).to_owned(), class: String::new() };
        let name = paths.last().copied().unwrap_or_default().to_owned();
        (!paths.is_empty()).then(|| Arc::new(ModulePath { name, modules: paths.iter().map(module).collect() }))
    };
    let (none, block, attention) = (path(&[]), path(&["block"]), path(&["block", "block.attention"]));
    let operators = [
        (none.clone(), "first"),
        (block.clone(), "norm"),
        (attention.clone(), "q"),
        (attention, "k"),
        (block, "add"),
        (none, "last"),
    ];
    for _step in 0..steps {
        for (at, (module, operator)) in operators.iter().enumerate() {
            debugged.module = module.clone();
            debugged.execute(&Arc::from(*operator), 100 + 8 * at, [1.0, 2.0])?;
        }
        debugged.program.end_step();
    }
    debugged.program.finish(None);
    Ok(())
}

#[test]
fn a_module_is_stepped_over_and_left_whether_its_operators_are_known_or_not() {
    let ways: [(&[(Resume, &str)], &str); 4] = [
        (&[(Resume::Over, "script/last")], "script/first"),
        (&[(Resume::Over, "block/add"), (Resume::Over, "script/last")], "block/norm"),
        (&[(Resume::Over, "block.attention/k"), (Resume::Over, "block/add")], "block.attention/q"),
        (&[(Resume::Leave(2), "block/add"), (Resume::Leave(1), "script/last")], "block.attention/q"),
    ];
    for (way, begin) in ways {
        let debugged = Debugged::new();
        let attachment = attach(&debugged.debugger, EventSet::default());
        attachment.add_breakpoint(at(begin)).unwrap();
        let program = thread::spawn(|| run_with_modules(debugged, 2));
        for _step in 0..2 {
            let mut event = next(&attachment);
            assert_eq!(place_of(&event), begin);
            for (resume, to) in way {
                attachment.acknowledge(event.sequence, resume.clone()).unwrap();
                event = next(&attachment);
                assert_eq!(place_of(&event), *to, "from {begin}");
            }
            attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
        }
        end(&attachment, program).unwrap();
    }
}

#[test]
fn a_module_is_left_by_the_end_of_the_run_too_and_only_one_that_is_there() {
    let debugged = Debugged::new();
    let attachment = attach(&debugged.debugger, EventSet::default());
    attachment.add_breakpoint(at("block.attention/q")).unwrap();
    attachment.add_breakpoint(at("script/last")).unwrap();
    let program = thread::spawn(|| run_with_modules(debugged, 1));
    let event = next(&attachment);
    for depth in [0, 3] {
        let refused = attachment.acknowledge(event.sequence, Resume::Leave(depth)).unwrap_err();
        assert!(refused.to_string().contains("the operator is in 2 modules"), "{refused}");
    }
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    let event = next(&attachment);
    assert_eq!(place_of(&event), "script/last");
    attachment.acknowledge(event.sequence, Resume::Over).unwrap();
    let event = next(&attachment);
    assert_eq!(place_of(&event), "end of 0");
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    end(&attachment, program).unwrap();
}

#[test]
fn a_client_that_wants_every_operator_gets_every_one() {
    let debugged = Debugged::new();
    let events = EventSet::default().with(EventName::OperatorFinished).with(EventName::OperatorReady);
    let attachment = attach(&debugged.debugger, events);
    let program = thread::spawn(|| debugged.run(3, None));
    let mut graph = None;
    let ready: Vec<String> = (0..12)
        .map(|_| {
            let event = next(&attachment);
            let model = attachment.status().unwrap().models[0].model;
            graph = attachment.graph(model).unwrap();
            attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
            place_of(&event)
        })
        .collect();
    let names =
        ["mul.Tensor", "mul.Tensor#1", "log.default", "neg.default"].map(|name| format!("ready script/aten.{name}"));
    assert_eq!(ready, [names.clone(), names.clone(), names].concat());
    end(&attachment, program).unwrap();
    let finished = attachment.next_events(Queue::Async, 100).unwrap();
    let finished = finished.iter().filter(|event| matches!(event.kind, EventKind::OperatorFinished { .. }));
    assert_eq!(finished.count(), 12);
    let inputs = graph.map(|graph| {
        graph.operators[3].inputs.iter().flatten().map(|&id| graph.value(id).producer).collect::<Vec<_>>()
    });
    assert_eq!(
        inputs.map(|inputs| format!("{inputs:?}")).as_deref(),
        Some("[Operator(OperatorId(2), 0)]"),
        "one graph"
    );
}

#[test]
fn the_first_infinity_stops_it_and_a_client_that_aborts_ends_it() {
    let debugged = Debugged::new();
    let attachment = attach(&debugged.debugger, EventSet::default());
    attachment.add_breakpoint(at("first nonfinite")).unwrap();
    let program = thread::spawn(|| debugged.run(3, Some(1)));
    let event = next(&attachment);
    assert_eq!(place_of(&event), "not finite script/aten.log.default");
    let skipped = attachment.acknowledge(event.sequence, Resume::Skip(Vec::new())).unwrap_err();
    assert!(matches!(&skipped, DebugError::Resume(reason) if reason.contains("executed already")), "{skipped}");
    attachment.acknowledge(event.sequence, Resume::Abort("enough".to_owned())).unwrap();
    assert_eq!(end(&attachment, program), Err(Stopped("enough".to_owned())));
}

#[test]
fn a_program_goes_on_when_its_client_goes_and_a_later_one_finds_what_was_found() {
    let debugged = Debugged::new();
    let debugger = debugged.debugger.clone();
    let attachment = attach(&debugger, EventSet::default());
    attachment.add_breakpoint(at("*log*")).unwrap();
    let waits = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&waits);
    debugger.set_around_waits(move |wait| {
        wait();
        *counted.lock().unwrap() += 1;
    });
    let (go_on, gone) = std::sync::mpsc::channel();
    let program = thread::spawn(move || {
        let mut debugged = debugged;
        let operators = OPERATORS.map(Arc::from);
        for step in 0..2 {
            for (at, operator) in operators.iter().enumerate() {
                debugged.execute(operator, 100 + 8 * at, [1.0, 2.0]).unwrap();
            }
            if step == 0 {
                gone.recv().unwrap();
            }
            debugged.program.end_step();
        }
        debugged.program.finish(None);
    });
    assert_eq!(place_of(&next(&attachment)), "script/aten.log.default");
    drop(attachment);
    let attachment = attach(&debugger, EventSet::default());
    let found = attachment.add_breakpoint(at("script/aten.neg.default")).unwrap();
    let wrong = attachment.add_breakpoint(at("script/aten.neg.wrong")).unwrap();
    assert!(wrong.locations.is_empty(), "it may be found later");
    assert!(found.locations.iter().all(|location| matches!(location.mapping, OperatorMapping::Kernel { kernel: 3 })));
    go_on.send(()).unwrap();
    let event = next(&attachment);
    assert_eq!(place_of(&event), "script/aten.neg.default");
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    drop(attachment);
    program.join().unwrap();
    assert!(*waits.lock().unwrap() >= 2, "what waits is called by the program");
}
