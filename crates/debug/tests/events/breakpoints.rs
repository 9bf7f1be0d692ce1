use std::sync::Arc;
use std::thread;

use opscope_debug::{
    AttachOptions, Attachment, BreakpointChange, BreakpointInfo, BreakpointSpec, DebugError, Debugger, Event,
    EventKind, EventName, EventSet, Exception, ModelId, Moment, NonFiniteInput, OperatorMapping, Origin, Resume,
};
use opscope_model::Fidelity;

use crate::fake::{Fake, PLAIN};
use crate::{program, start, stop};

struct Scene {
    debugger: Debugger,
    fake: Arc<Fake>,
    attachment: Attachment,
}

fn scene() -> Scene {
    let (debugger, fake) = program();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    Scene { debugger, fake, attachment }
}

impl Scene {
    fn set(&self, target: &str, condition: Option<&str>) -> BreakpointInfo {
        let spec = BreakpointSpec::at(target.parse().unwrap());
        let spec = BreakpointSpec { condition: condition.map(str::to_owned), ..spec };
        self.attachment.add_breakpoint(spec).unwrap()
    }

    /// Returns the positions at which a run stops, as text.
    fn stops(&self, run: u64, input: [f32; 4]) -> Vec<String> {
        self.events(run, input).iter().map(|event| event.kind.position().unwrap().to_string()).collect()
    }

    fn events(&self, run: u64, input: [f32; 4]) -> Vec<Event> {
        let thread = start(&self.debugger, &self.fake, run, input);
        let mut events = Vec::new();
        while !thread.is_finished() {
            let Some(event) = self.attachment.next_event(opscope_debug::Queue::Sync).unwrap() else {
                std::thread::yield_now();
                continue;
            };
            if event.waiting {
                self.attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
                events.push(event);
            }
        }
        thread.join().unwrap().unwrap();
        events
    }
}

#[test]
fn breakpoints_are_set_by_name_type_index_and_pattern() {
    let scene = scene();
    for (target, place) in [
        ("log", "before #1 log (Log), run 0"),
        ("type:Mul", "before #0 scale (Mul), run 0"),
        ("Mul", "before #0 scale (Mul), run 0"),
        ("#2", "before #2 sum (Add), run 0"),
        ("name:s?m", "before #2 sum (Add), run 0"),
        ("re:^lo", "before #1 log (Log), run 0"),
    ] {
        let breakpoint = scene.set(target, None);
        assert_eq!(scene.stops(0, PLAIN), [place], "{target}");
        scene.attachment.remove_breakpoint(breakpoint.id).unwrap();
    }
    assert!(scene.stops(1, PLAIN).is_empty(), "all are gone");
}

#[test]
fn a_name_that_no_operator_has_is_refused_with_one_that_is_like_it() {
    let scene = scene();
    let error = scene.attachment.add_breakpoint(BreakpointSpec::at("scael".parse().unwrap())).unwrap_err();
    assert_eq!(error.to_string(), "no operator is called 'scael'; there is 'scale'");
    assert!(matches!(error, DebugError::NoSuchOperator { .. }));
}

#[test]
fn a_breakpoint_on_an_operator_that_was_fused_says_where_it_went_and_stops_there() {
    let scene = scene();
    let relu = scene.set("relu", None);
    assert_eq!(relu.locations[0].mapping, OperatorMapping::Fused { kernel: 2, into: "sum".into(), exact: true });
    assert_eq!(scene.stops(0, PLAIN), ["before #2 sum (Add), run 0"]);
    let shape = scene.set("shape", None);
    assert_eq!(shape.locations[0].mapping, OperatorMapping::Removed);
    assert_eq!(scene.stops(1, PLAIN).len(), 1, "what was removed never stops anything");
}

#[test]
fn conditions_are_looked_at_where_their_tensors_are() {
    let scene = scene();
    let breakpoint = scene.set("log", Some("nan"));
    assert_eq!(breakpoint.moment, Moment::After, "a condition on tensors is one on what comes out");
    assert!(scene.stops(0, PLAIN).is_empty());
    assert_eq!(scene.stops(1, [-1.0, 2.0, 3.0, 4.0]), ["after #1 log (Log), run 1"]);
    scene.attachment.remove_breakpoint(breakpoint.id).unwrap();

    let spec = BreakpointSpec::at("log".parse().unwrap()).when("max(input[0]) > 7.5");
    let before = scene.attachment.add_breakpoint(spec).unwrap();
    assert_eq!(before.moment, Moment::Before);
    assert_eq!(scene.stops(2, PLAIN), ["before #1 log (Log), run 2"]);
    assert!(scene.stops(3, [1.0; 4]).is_empty());

    let spec = BreakpointSpec::at("log".parse().unwrap()).when("nan(output[0])");
    let spec = BreakpointSpec { moment: Some(Moment::Before), ..spec };
    let error = scene.attachment.add_breakpoint(spec).unwrap_err().to_string();
    assert!(error.contains("which do not exist before the operator"), "{error}");
}

#[test]
fn hits_are_counted_ignored_and_spent() {
    let scene = scene();
    let spec = BreakpointSpec { ignore: 2, ..BreakpointSpec::at("log".parse().unwrap()) };
    let id = scene.attachment.add_breakpoint(spec).unwrap().id;
    let stops: Vec<usize> = (0..4).map(|run| scene.stops(run, PLAIN).len()).collect();
    assert_eq!(stops, [0, 0, 1, 1]);
    assert_eq!(scene.attachment.breakpoints().unwrap()[0].hits, 4);

    let change = |change| scene.attachment.change_breakpoint(id, change).unwrap();
    change(BreakpointChange { enabled: Some(false), ..BreakpointChange::default() });
    assert!(scene.stops(4, PLAIN).is_empty());
    let changed = change(BreakpointChange {
        enabled: Some(true),
        one_shot: Some(true),
        condition: Some("absmax(input) > 4".into()),
        ..BreakpointChange::default()
    });
    assert_eq!((changed.hits, changed.spec.condition.as_deref()), (4, Some("absmax(input) > 4")));
    assert!(scene.stops(5, [1.0; 4]).is_empty());
    assert_eq!(scene.stops(6, PLAIN).len(), 1);
    assert!(scene.attachment.breakpoints().unwrap().is_empty(), "it was for one stop");
    let gone = scene.attachment.change_breakpoint(id, BreakpointChange::default()).unwrap_err();
    assert!(matches!(gone, DebugError::NoSuchBreakpoint(_)));
}

#[test]
fn the_error_of_a_condition_stays_as_long_as_the_condition() {
    let scene = scene();
    let id = scene.set("log", Some("absmax(value(\"nowhere\")) > 0")).id;
    assert!(scene.stops(0, PLAIN).is_empty());
    let change = |change| scene.attachment.change_breakpoint(id, change).unwrap().condition_error;
    let off = change(BreakpointChange { enabled: Some(false), ..BreakpointChange::default() });
    assert!(off.is_some_and(|error| error.contains("nowhere")), "the condition is the same");
    let condition = Some("absmax(input) > 0".to_owned());
    assert_eq!(change(BreakpointChange { condition, ..BreakpointChange::default() }), None);
}

#[test]
fn a_breakpoint_of_one_run_leaves_the_others_alone() {
    let scene = scene();
    let spec = BreakpointSpec { run: Some(5), ..BreakpointSpec::at("log".parse().unwrap()) };
    scene.attachment.add_breakpoint(spec).unwrap();
    let stops: Vec<usize> = (4..7).map(|run| scene.stops(run, PLAIN).len()).collect();
    assert_eq!(stops, [0, 1, 0]);
}

#[test]
fn a_breakpoint_of_one_model_leaves_the_others_alone() {
    let debugger = Debugger::new().unwrap();
    let fakes = [Fake::new(), Fake::new()];
    let _loaded = fakes.each_ref().map(|fake| debugger.load(&fake.graph, Fidelity::Exact));
    let events = EventSet::default().without(EventName::ModelLoaded);
    let attachment = debugger.attach(AttachOptions { events, ..AttachOptions::default() }).unwrap();
    let models: Vec<ModelId> = attachment.status().unwrap().models.iter().map(|model| model.model).collect();
    for target in ["log", "first nonfinite"] {
        let spec = BreakpointSpec { model: Some(models[1]), ..BreakpointSpec::at(target.parse().unwrap()) };
        let set = attachment.add_breakpoint(spec).unwrap();
        assert!(set.locations.iter().all(|location| location.model == models[1]), "{set:?}");
        // A run of the other model, whose operator has the same index, does not stop. If it did, no client would resume
        // it.
        fakes[0].run(&debugger, 1, [0.0; 4]).unwrap();
        let stopped = thread::scope(|scope| {
            let run = scope.spawn(|| fakes[1].run(&debugger, 2, [0.0; 4]));
            let event = stop(&attachment);
            attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
            run.join().unwrap().unwrap();
            event
        });
        assert_eq!(stopped.kind.position().unwrap().model, models[1]);
        attachment.remove_breakpoint(set.id).unwrap();
    }
    let nowhere = BreakpointSpec { model: Some(ModelId(77)), ..BreakpointSpec::at("log".parse().unwrap()) };
    assert!(matches!(attachment.add_breakpoint(nowhere), Err(DebugError::NoSuchOperator { .. })));
}

#[test]
fn the_first_operator_that_makes_nan_or_infinity_is_found_and_not_those_behind_it() {
    let scene = scene();
    scene.set("first nonfinite", None);
    let events = scene.events(0, [0.0, -1.0, 3.0, -5.0]);
    let [Event { kind: EventKind::Exception { place: Some(place), exception, .. }, .. }] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(place.to_string(), "after #1 log (Log), run 0");
    let Exception::NonFinite { outputs, .. } = exception else { panic!("{exception:?}") };
    assert_eq!((outputs[0].nan, outputs[0].infinite, outputs[0].value.as_deref()), (2, 1, Some("b")));
    let events = scene.events(1, [f32::NAN; 4]);
    let [Event { kind: EventKind::Exception { place: Some(place), exception, .. }, .. }] = &events[..] else {
        panic!("what comes from outside is reported once: {events:?}");
    };
    assert_eq!(place.to_string(), "after #0 scale (Mul), run 1", "where the run meets it first");
    let Exception::NonFinite { inputs, .. } = exception else { panic!("{exception:?}") };
    assert_eq!(inputs[..], [NonFiniteInput { origin: Origin::Input, value: Some("x".into()), nan: 4, infinite: 0 }]);
    assert!(scene.events(2, PLAIN).is_empty());
}

#[test]
fn only_what_is_watched_for_counts_as_made() {
    let scene = scene();
    let nan = scene.set("first nan", None);
    assert!(scene.events(0, [0.0, 1.0, 1.0, 1.0]).is_empty(), "log makes -inf of 0");
    assert_eq!(scene.events(1, [-1.0, 1.0, 1.0, 1.0]).len(), 1);
    scene.attachment.remove_breakpoint(nan.id).unwrap();
    scene.set("first inf", None);
    assert_eq!(scene.events(2, [0.0, 1.0, 1.0, 1.0]).len(), 1);
    assert!(scene.events(3, [-1.0, 1.0, 1.0, 1.0]).is_empty());
}

#[test]
fn breakpoints_that_match_nothing_leave_a_run_alone() {
    let scene = scene();
    for _ in 0..100 {
        scene.set("#4", None);
    }
    let stopped = start(&scene.debugger, &scene.fake, 0, PLAIN);
    assert_eq!(stopped.join().unwrap().unwrap(), Fake::expected(PLAIN));
    scene.set("*", None);
    let run = start(&scene.debugger, &scene.fake, 1, PLAIN);
    let event = stop(&scene.attachment);
    let EventKind::Breakpoint { breakpoints, .. } = &event.kind else { panic!("{event:?}") };
    assert_eq!(breakpoints.len(), 1);
    scene.attachment.detach().unwrap();
    run.join().unwrap().unwrap();
}
