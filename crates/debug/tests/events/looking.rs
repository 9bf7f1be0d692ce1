use std::sync::Arc;

use opscope_debug::expression::TensorRef;
use opscope_debug::{AttachOptions, Attachment, BreakpointSpec, DebugError, Debugger, Event, Moment, Resume, Sequence};
use opscope_model::EngineError;
use opscope_tensor::{Tensor, TensorView};

use crate::fake::{Fake, PLAIN, floats, tensor};
use crate::{loaded, program, start, stop};

fn at(target: &str, moment: Moment) -> BreakpointSpec {
    BreakpointSpec { moment: Some(moment), ..BreakpointSpec::at(target.parse().unwrap()) }
}

fn numbers(attachment: &Attachment, event: &Event, reference: &str) -> Result<Vec<f32>, DebugError> {
    let reference: TensorRef = reference.parse().unwrap();
    attachment.look(event.sequence, move |stopped| {
        let view: TensorView<'_> = stopped.tensor(&reference)?;
        Ok(floats(&view.to_tensor()?))
    })?
}

#[test]
fn inputs_outputs_weights_and_live_values_are_what_the_run_computes_with() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    attachment.add_breakpoint(at("scale", Moment::Before)).unwrap();
    attachment.add_breakpoint(at("log", Moment::After)).unwrap();
    let run = start(&debugger, &fake, 0, PLAIN);

    let event = stop(&attachment);
    assert_eq!(numbers(&attachment, &event, "input").unwrap(), PLAIN);
    assert_eq!(numbers(&attachment, &event, "weight[0]").unwrap(), [2.0; 4]);
    let missing = numbers(&attachment, &event, "output").unwrap_err().to_string();
    assert!(missing.contains("was not executed"), "{missing}");
    let missing = numbers(&attachment, &event, "input[9]").unwrap_err().to_string();
    assert_eq!(missing, "there is no input[9] here: there are input[0] to input[1]");
    let location = attachment.location(event.sequence).unwrap();
    assert_eq!(location.place.to_string(), "before #0 scale (Mul), run 0");
    assert_eq!(location.attributes, [("axis".to_owned(), "1".to_owned())]);
    assert_eq!(location.inputs[1].value.as_deref(), Some("w"));
    assert!(location.inputs[1].constant && location.weights.len() == 1);
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();

    let event = stop(&attachment);
    let doubled = PLAIN.map(|x| x * 2.0);
    assert_eq!(numbers(&attachment, &event, "output").unwrap(), doubled.map(f32::ln));
    assert_eq!(numbers(&attachment, &event, "input").unwrap(), doubled, "inputs are kept for stops after the operator");
    assert_eq!(numbers(&attachment, &event, "value(\"x\")").unwrap(), PLAIN);
    assert_eq!(numbers(&attachment, &event, "value(\"b\")").unwrap(), doubled.map(f32::ln));
    let missing = numbers(&attachment, &event, "value(\"y\")").unwrap_err().to_string();
    assert!(missing.contains("was not computed yet"), "{missing}");
    let missing = numbers(&attachment, &event, "value(\"none\")").unwrap_err().to_string();
    assert!(missing.contains("no value of this name"), "{missing}");
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    assert_eq!(run.join().unwrap().unwrap(), Fake::expected(PLAIN));
}

#[test]
fn a_status_names_the_thread_of_each_run() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    attachment.add_breakpoint(at("scale", Moment::Before)).unwrap();
    let (send, numbers) = std::sync::mpsc::channel();
    let runs: Vec<_> = (0..2)
        .map(|run| {
            let (debugger, fake, send) = (debugger.clone(), Arc::clone(&fake), send.clone());
            std::thread::spawn(move || {
                send.send((run, rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs())).unwrap();
                fake.run(&debugger, run, PLAIN)
            })
        })
        .collect();
    let events = [stop(&attachment), stop(&attachment)];
    let mut expected: Vec<(u64, u32)> = numbers.iter().take(2).collect();
    expected.sort_unstable();
    let status = attachment.status().unwrap();
    let mut threads: Vec<(u64, u32)> = status.runs.iter().map(|run| (run.run.0, run.thread)).collect();
    threads.sort_unstable();
    assert_eq!(threads, expected);
    assert_ne!(threads[0].1, threads[1].1);
    events.iter().for_each(|event| attachment.acknowledge(event.sequence, Resume::Continue).unwrap());
    runs.into_iter().for_each(|run| drop(run.join().unwrap().unwrap()));
}

#[test]
fn a_run_continues_with_a_replaced_tensor() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    attachment.add_breakpoint(at("scale", Moment::Before)).unwrap();
    attachment.add_breakpoint(at("log", Moment::After)).unwrap();
    let run = start(&debugger, &fake, 0, PLAIN);
    let event = stop(&attachment);
    let replace = |event: Sequence, reference: &str, tensor: Tensor| {
        attachment.replace(event, reference.parse().unwrap(), tensor)
    };
    replace(event.sequence, "weight", tensor(&[1.0; 4])).unwrap();
    assert_eq!(numbers(&attachment, &event, "input[1]").unwrap(), [1.0; 4]);
    assert!(attachment.location(event.sequence).unwrap().inputs[1].replaced);
    let wrong = Tensor::from_f32(vec![4], &[0.0; 4]).unwrap();
    let error = replace(event.sequence, "input", wrong).unwrap_err().to_string();
    assert_eq!(error, "input[0] cannot be replaced: it is float32 [2, 2], and float32 [4] was given");
    assert!(replace(event.sequence, "output", tensor(&[0.0; 4])).is_err(), "there are no outputs yet");
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();

    let event = stop(&attachment);
    assert_eq!(numbers(&attachment, &event, "input").unwrap(), PLAIN);
    replace(event.sequence, "output", tensor(&[10.0; 4])).unwrap();
    attachment.acknowledge(event.sequence, Resume::Continue).unwrap();
    assert_eq!(run.join().unwrap().unwrap(), [11.0, 12.0, 13.0, 14.0]);
}

#[test]
fn an_operator_is_skipped_by_giving_its_outputs() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    attachment.add_breakpoint(at("log", Moment::Before)).unwrap();
    let run = start(&debugger, &fake, 0, PLAIN);
    let event = stop(&attachment);
    for wrong in [vec![], vec![Tensor::from_f32(vec![1], &[0.0]).unwrap()], vec![tensor(&[0.0; 4]); 2]] {
        let error = attachment.acknowledge(event.sequence, Resume::Skip(wrong)).unwrap_err();
        assert!(matches!(error, DebugError::Resume(_)), "{error}");
    }
    attachment.acknowledge(event.sequence, Resume::Skip(vec![tensor(&[100.0; 4])])).unwrap();
    assert_eq!(run.join().unwrap().unwrap(), [102.0, 104.0, 106.0, 108.0]);
}

#[test]
fn an_aborted_run_fails_with_the_reason_that_was_given() {
    let (debugger, fake) = program();
    let attachment = debugger.attach(AttachOptions::default()).unwrap();
    attachment.add_breakpoint(at("log", Moment::After)).unwrap();
    let run = start(&debugger, &fake, 0, PLAIN);
    let event = stop(&attachment);
    attachment.acknowledge(event.sequence, Resume::Abort("seen enough".into())).unwrap();
    assert!(matches!(run.join().unwrap(), Err(EngineError::Stopped(reason)) if reason == "seen enough"));
}

#[test]
fn looking_while_the_debugger_goes_ends_with_an_error_and_not_with_a_hang() {
    let (debugger, fake) = loaded(Debugger::with_log(|_| ()).unwrap());
    let attachment = Arc::new(debugger.attach(AttachOptions::default()).unwrap());
    attachment.add_breakpoint(at("log", Moment::Before)).unwrap();
    let run = start(&debugger, &fake, 0, PLAIN);
    let event = stop(&attachment).sequence;
    let looker = {
        let attachment = Arc::clone(&attachment);
        std::thread::spawn(move || while attachment.location(event).is_ok() {})
    };
    attachment.detach().unwrap();
    looker.join().unwrap();
    run.join().unwrap().unwrap();
}
