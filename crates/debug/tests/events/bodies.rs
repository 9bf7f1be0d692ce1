//! Stops at operators in a loop.

use std::thread::{self, JoinHandle};

use opscope_debug::expression::TensorRef;
use opscope_debug::{AttachOptions, Attachment, BreakpointSpec, Debugger, Event, OperatorMapping, Queue, Resume};
use opscope_model::testing::{FakePlan, floats, kernels, looping};
use opscope_model::{EngineError, Fidelity};
use opscope_tensor::Tensor;

use crate::stop;

/// Returns a client of a program with this plan.
fn attached(plan: &FakePlan) -> (Debugger, Attachment) {
    let debugger = Debugger::new().expect("the system has descriptors");
    debugger.planned(&plan.graph, Fidelity::Exact, &plan.kernels);
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    (debugger, attachment)
}

fn start(debugger: &Debugger, plan: &FakePlan, input: [f32; 2]) -> JoinHandle<Result<Vec<Tensor>, EngineError>> {
    let (debugger, plan) = (debugger.clone(), plan.clone());
    thread::spawn(move || plan.run_on(&debugger, 0, &[Tensor::from_f32(vec![2], &input).unwrap()]))
}

/// Returns the events at which a run stops, and continues it each time.
fn stops(attachment: &Attachment, run: &JoinHandle<Result<Vec<Tensor>, EngineError>>) -> Vec<Event> {
    let mut events = Vec::new();
    while !run.is_finished() {
        match attachment.next_event(Queue::Sync).unwrap() {
            Some(event) if event.waiting => {
                attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
                events.push(event);
            }
            _ => thread::yield_now(),
        }
    }
    events
}

fn places(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| event.kind.position().unwrap().to_string()).collect()
}

fn set(attachment: &Attachment, target: &str, condition: Option<&str>) {
    let spec = BreakpointSpec::at(target.parse().unwrap());
    attachment.add_breakpoint(BreakpointSpec { condition: condition.map(str::to_owned), ..spec }).unwrap();
}

fn numbers(attachment: &Attachment, event: &Event, reference: &str) -> Vec<f32> {
    let reference: TensorRef = reference.parse().unwrap();
    attachment
        .look(event.sequence, move |stopped| floats(&stopped.tensor(&reference).unwrap().to_tensor().unwrap()))
        .unwrap()
}

#[test]
fn a_breakpoint_in_a_loop_stops_in_each_iteration() {
    let plan = looping(3);
    let (debugger, attachment) = attached(&plan);
    set(&attachment, "Loop_0/Add_0", None);
    let run = start(&debugger, &plan, [0.0; 2]);
    assert_eq!(
        places(&stops(&attachment, &run)),
        [0, 1, 2].map(|it| format!("before #2 Loop_0/Add_0[{it}] (Sum), run 0"))
    );
    run.join().unwrap().unwrap();
}

#[test]
fn a_condition_chooses_the_iteration_or_looks_at_its_tensors() {
    for (condition, expected) in [
        ("iteration == 1", vec!["before #2 Loop_0/Add_0[1] (Sum), run 0"]),
        (
            "max(input[0]) >= 12",
            vec!["before #2 Loop_0/Add_0[1] (Sum), run 0", "before #2 Loop_0/Add_0[2] (Sum), run 0"],
        ),
        ("iteration > 0 and max(output) == 14", vec!["after #2 Loop_0/Add_0[1] (Sum), run 0"]),
    ] {
        let plan = looping(3);
        let (debugger, attachment) = attached(&plan);
        set(&attachment, "Loop_0/Add_0", Some(condition));
        let run = start(&debugger, &plan, [0.0; 2]);
        assert_eq!(places(&stops(&attachment, &run)), expected, "{condition}");
        run.join().unwrap().unwrap();
    }
}

#[test]
fn a_tensor_that_is_replaced_in_one_iteration_is_what_the_next_begins_with() {
    let plan = looping(3);
    let (debugger, attachment) = attached(&plan);
    set(&attachment, "Loop_0/Add_0", Some("iteration == 1"));
    set(&attachment, "Loop_0/If_0/Neg_0", Some("iteration == 2"));
    let run = start(&debugger, &plan, [0.0; 2]);
    let event = stop(&attachment);
    assert_eq!(numbers(&attachment, &event, "input"), [1.0, 12.0]);
    let hundred = Tensor::from_f32(vec![2], &[100.0, 100.0]).unwrap();
    attachment.replace(event.sequence, "input".parse().unwrap(), hundred).unwrap();
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    let event = stop(&attachment);
    assert_eq!(numbers(&attachment, &event, "input"), [102.0, 104.0]);
    assert_eq!(numbers(&attachment, &event, r#"value("Loop_0/sum")"#), [102.0, 104.0]);
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    run.join().unwrap().unwrap();
}

#[test]
fn steps_go_through_the_body_and_finish_ends_behind_the_operator_itself() {
    let plan = looping(2);
    let (debugger, attachment) = attached(&plan);
    set(&attachment, "first", None);
    let run = start(&debugger, &plan, [0.0; 2]);
    let target = "Loop_0/If_0/Neg_0".parse().unwrap();
    let resumes = [Resume::Step, Resume::Step, Resume::Step, Resume::Finish, Resume::Step, Resume::Until(target)];
    let mut seen = Vec::new();
    for resume in resumes.into_iter().chain([Resume::Continue]) {
        let event = stop(&attachment);
        seen.push(event.kind.position().unwrap().to_string());
        attachment.acknowledge(event.sequence, resume).unwrap();
    }
    assert_eq!(
        seen,
        [
            "before #0 first (Relu), run 0",
            "before #1 Loop_0 (Loop), run 0",
            "before #2 Loop_0/Add_0[0] (Sum), run 0",
            "before #3 Loop_0/If_0[0] (If), run 0",
            "after #3 Loop_0/If_0[0] (If), run 0",
            "before #2 Loop_0/Add_0[1] (Sum), run 0",
            "before #4 Loop_0/If_0/Neg_0[1] (Neg), run 0",
        ]
    );
    run.join().unwrap().unwrap();

    let (debugger, attachment) = attached(&plan);
    set(&attachment, "Loop_0", None);
    let run = start(&debugger, &plan, [0.0; 2]);
    attachment.acknowledge(stop(&attachment).sequence, Resume::Finish).unwrap();
    let event = stop(&attachment);
    assert_eq!(event.kind.position().unwrap().to_string(), "after #1 Loop_0 (Loop), run 0");
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    run.join().unwrap().unwrap();
}

#[test]
fn the_first_nan_is_found_in_its_iteration_and_once() {
    let plan = looping(4).computing(|kernel, inputs| {
        let state = floats(&inputs[0]);
        let sum = if kernel.op == "Sum" && state[0] == 2.0 { f32::NAN } else { state[0] + 1.0 };
        let sum = if kernel.op == "Sum" { sum } else { state[0] };
        Ok(vec![Tensor::from_f32(vec![2], &[sum, 0.0]).unwrap()])
    });
    let (debugger, attachment) = attached(&plan);
    set(&attachment, "first nan", None);
    let run = start(&debugger, &plan, [0.0; 2]);
    let events = stops(&attachment, &run);
    assert_eq!(places(&events), ["after #2 Loop_0/Add_0[2] (Sum), run 0"]);
    run.join().unwrap().unwrap();

    // NaN that enters the loop from outside is reported at the operator where it enters the run, in one iteration.
    let (debugger, attachment) = attached(&plan);
    set(&attachment, "first nan", None);
    let run = start(&debugger, &plan, [f32::NAN; 2]);
    assert_eq!(places(&stops(&attachment, &run)), ["after #0 first (Relu), run 0"]);
    run.join().unwrap().unwrap();
}

#[test]
fn an_event_says_its_iterations_and_is_read_without() {
    let plan = looping(2);
    let (debugger, attachment) = attached(&plan);
    set(&attachment, "Loop_0/If_0/Neg_0", None);
    let run = start(&debugger, &plan, [0.0; 2]);
    let events = stops(&attachment, &run);
    run.join().unwrap().unwrap();
    let json = serde_json::to_value(&events[1]).unwrap();
    assert_eq!(json["place"]["iterations"], serde_json::json!([{ "operator": "Loop_0", "index": 1 }]), "{json}");
    let read: Event = serde_json::from_value(json).unwrap();
    assert_eq!(read, events[1]);
}

#[test]
fn where_an_engine_does_not_show_a_body_the_run_stops_at_the_operator_around_it() {
    let whole = looping(3);
    let main = kernels(&whole.graph, &[&["first"], &["Loop_0"]]);
    let plan = FakePlan::new(&whole.graph, main, Fidelity::Exact, |_, inputs| {
        Ok(vec![Tensor::from_f32(vec![2], &floats(&inputs[0])).unwrap()])
    });
    let (debugger, attachment) = attached(&plan);
    let spec = BreakpointSpec::at("Loop_0/If_0/Neg_0".parse().unwrap());
    let info = attachment.add_breakpoint(spec).unwrap();
    let mapping = OperatorMapping::Fused { kernel: 1, into: "Loop_0".to_owned(), exact: true };
    assert_eq!(info.locations[0].mapping, mapping);
    let run = start(&debugger, &plan, [0.0; 2]);
    assert_eq!(places(&stops(&attachment, &run)), ["before #1 Loop_0 (Loop), run 0"]);
    run.join().unwrap().unwrap();
}
