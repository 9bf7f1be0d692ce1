//! A job with a debugger in addition to a profiler or a dumper.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;

use opscope::debug::expression::{TensorRef, Tensors};
use opscope::debug::{AttachOptions, Attachment, BreakpointSpec, Debugger, Event, EventName, Moment, Queue, Resume};
use opscope::dump::{DumpFormat, Request};
use opscope::model::Fidelity;
use opscope::profile::{Format, ProfilerOptions, TimelineRuns};
use opscope::tensor::{Tensor, npy};
use opscope_job::benchmark::{CaptureSpec, Job, JobHooks, OutputFormat, OutputNames, OutputSpec, Report};
use opscope_job::inputs::InputSpec;
use rustix::event::{PollFd, PollFlags, poll};

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models")
}

fn job(directory: &Path, debugger: &Debugger) -> Job {
    let mut job = Job::new(models().join("digits_cnn.onnx"));
    job.repetition.warmups = 0;
    job.repetition.concurrent = NonZeroUsize::MIN;
    job.inputs = InputSpec::Files { paths: vec![models().join("digits_cnn.input.image.npy")].into(), join: false };
    job.output =
        Some(OutputSpec { directory: directory.to_owned(), format: OutputFormat::Npy, names: OutputNames::OfOutputs });
    job.run_name = "run".into();
    job.debugger = Some(debugger.clone());
    job
}

/// Runs a job while a client of its debugger replaces the outputs of the first operator by zeros.
fn with_zeros_after_the_first_operator(job: &Job, debugger: &Debugger) -> Report {
    let client = debugger.attach(AttachOptions::default()).unwrap();
    thread::scope(|scope| {
        let client = scope.spawn(move || {
            let mut told = Vec::new();
            while !told.contains(&EventName::ModelUnloaded) {
                poll(&mut [PollFd::from_borrowed_fd(client.notification_fd(), PollFlags::IN)], None).unwrap();
                for event in client.next_events(Queue::Sync, 16).unwrap() {
                    told.push(event.kind.name());
                    answer(&client, &event);
                }
            }
            told
        });
        let report = job.run(&JobHooks::default()).unwrap();
        let told = client.join().unwrap();
        assert!(told.contains(&EventName::Breakpoint), "{told:?}");
        report
    })
}

fn answer(client: &Attachment, event: &Event) {
    let output = || "output[0]".parse::<TensorRef>().unwrap();
    match event.kind.name() {
        EventName::ModelLoaded => {
            let spec = BreakpointSpec::at("#0".parse().unwrap());
            client.add_breakpoint(BreakpointSpec { moment: Some(Moment::After), ..spec }).unwrap();
        }
        EventName::Breakpoint => {
            let zeros = client.look(event.sequence, move |stopped| {
                let view = stopped.view(&output()).unwrap();
                Tensor::new(view.dtype(), view.shape().to_vec(), vec![0; view.byte_len().unwrap()]).unwrap()
            });
            client.replace(event.sequence, output(), zeros.unwrap()).unwrap();
        }
        _ => {}
    }
    client.acknowledge(event.sequence, Resume::Continue).unwrap();
}

#[test]
fn a_dump_holds_what_the_debugger_replaced_and_the_report_counts_the_stop() {
    let directory = tempfile::tempdir().unwrap();
    let debugger = Debugger::new().unwrap();
    let mut job = job(directory.path(), &debugger);
    let dump = directory.path().join("dump");
    job.capture = CaptureSpec::Dump {
        directory: dump.clone(),
        request: Box::new(Request::default()),
        format: &DumpFormat::NPY,
        histograms: false,
    };
    let report = with_zeros_after_the_first_operator(&job, &debugger);
    assert_eq!((report.debugger.as_ref().unwrap().stopped_runs, report.engine.fidelity), (1, Fidelity::Exact));

    let index = std::fs::read_to_string(dump.join("index.jsonl")).unwrap();
    let first: serde_json::Value = serde_json::from_str(index.lines().next().unwrap()).unwrap();
    let dumped = npy::read_file(&dump.join(first["file"].as_str().unwrap())).unwrap();
    assert!(dumped.bytes().iter().all(|byte| *byte == 0), "{first}");
    let output = npy::read_file(&directory.path().join("run/probabilities.npy")).unwrap();
    let usual = npy::read_file(&models().join("digits_cnn.output.probabilities.npy")).unwrap();
    assert_ne!(output.bytes(), usual.bytes(), "the run went on with the zeros");
}

#[test]
fn a_profiled_run_stays_optimised_and_is_complete() {
    let directory = tempfile::tempdir().unwrap();
    let debugger = Debugger::new().unwrap();
    let mut job = job(directory.path(), &debugger);
    job.capture = CaptureSpec::Profile {
        directory: directory.path().join("profile"),
        options: Box::new(ProfilerOptions::default()),
        exports: vec![Format::Csv],
        timeline_runs: TimelineRuns::default(),
    };
    let report = with_zeros_after_the_first_operator(&job, &debugger);
    assert_eq!((report.debugger.as_ref().unwrap().stopped_runs, report.engine.fidelity), (1, Fidelity::Optimised));
    let account = report.profile.unwrap().account.unwrap();
    assert_eq!(account.runs.measured, 1);
    assert!(report.complete, "{:?}", report.incomplete_because);
}

#[test]
fn without_a_client_a_debugger_is_only_mentioned() {
    let directory = tempfile::tempdir().unwrap();
    let debugger = Debugger::new().unwrap();
    let report = job(directory.path(), &debugger).run(&JobHooks::default()).unwrap();
    assert_eq!(report.debugger.unwrap().stopped_runs, 0);
    let plain = tempfile::tempdir().unwrap();
    let alone = Job { debugger: None, ..job(plain.path(), &debugger) }.run(&JobHooks::default()).unwrap();
    assert!(alone.debugger.is_none());
    let output = |directory: &Path| npy::read_file(&directory.join("run/probabilities.npy")).unwrap();
    assert_eq!(output(directory.path()), output(plain.path()));
}
