//! Correlation ids, external ids and the times of copies in a recording.

mod support;

use opscope_profile::{Call, Fact, Format, ProfilerOptions, Recording};
use opscope_trace::{AllocationOperation, ExternalId, pop_external, push_external};
use support::{Paper, open};

fn profiled(setting: &str, external: u64) -> (tempfile::TempDir, Recording) {
    let (root, paper) = (tempfile::tempdir().expect("a directory"), Paper::new());
    let directory = root.path().join("recording");
    let mut options = ProfilerOptions::default();
    options.switches.apply(setting).expect("a switch");
    let profiler = paper.profiler(&directory, &options);
    push_external(ExternalId(external));
    for run in 0..2 {
        paper.run(&profiler, run);
    }
    pop_external().expect("it was pushed");
    profiler.finish().expect("a manifest");
    (root, open(&directory))
}

fn facts(recording: &Recording) -> Vec<Fact> {
    recording.facts().expect("records").map(|fact| fact.expect("a record")).collect()
}

#[test]
fn every_record_of_a_run_has_its_ids_and_the_correlation_id_is_retired_behind_the_last_one() {
    let (root, recording) = profiled("task-memory=on", 42);
    let mut ids = Vec::new();
    let mut retired = Vec::new();
    for fact in facts(&recording) {
        let correlation = match &fact {
            Fact::Run(run) => run.correlation,
            Fact::Dispatch(dispatch) => dispatch.correlation,
            Fact::Copy(copy) => copy.correlation,
            Fact::Call(call) => call.correlation,
            Fact::Allocation(allocation) => allocation.correlation,
            Fact::Retirement(retirement) => {
                retired.push(retirement.correlation);
                continue;
            }
            _ => continue,
        };
        assert!(!retired.contains(&correlation.internal), "{fact:?} follows the retirement of its id");
        assert_eq!(correlation.external, ExternalId(42), "{fact:?}");
        if !ids.contains(&correlation.internal) {
            ids.push(correlation.internal);
        }
    }
    // Other runs of the process retire ids, too.
    retired.retain(|id| ids.contains(id));
    assert_eq!((ids.len(), &ids), (2, &retired), "each run has an id of its own, which is retired once");

    let written = recording.export(Format::Chrome, root.path()).expect("an export").written;
    let timeline = std::fs::read_to_string(&written[0]).expect("an export");
    assert_eq!(timeline.matches("\"external\":42").count(), 2, "{timeline}");
}

#[test]
fn a_run_has_the_times_of_its_copies() {
    let (_root, recording) = profiled("runtime-api=off", 0);
    for fact in facts(&recording) {
        if let Fact::Run(run) = fact {
            let (upload, download) = (run.upload.expect("its upload"), run.download.expect("its download"));
            assert!(upload.end <= run.span.start && run.span.end <= download.start, "{run:?}");
            assert!(upload.start <= upload.end && download.start <= download.end, "{run:?}");
        }
    }
}

#[test]
fn a_run_that_fails_begins_after_its_upload_and_so_does_the_engines_call() {
    let (root, paper) = (tempfile::tempdir().expect("a directory"), Paper::new());
    let directory = root.path().join("recording");
    let profiler = paper.profiler(&directory, &ProfilerOptions::default());
    paper.fail(&profiler, 0);
    profiler.finish().expect("a manifest");
    let facts = facts(&open(&directory));
    let run = facts.iter().find_map(|fact| if let Fact::Run(run) = fact { Some(*run) } else { None });
    let run = run.expect("the run that failed");
    assert!(run.failed && run.upload.expect("its upload").end <= run.span.start, "{run:?}");
    let call = facts.iter().find_map(|fact| match fact {
        Fact::Call(call) if call.call == Call::Run => Some(*call),
        _ => None,
    });
    let call = call.expect("the call");
    assert_eq!((call.failed, call.span), (true, run.span));
}

#[test]
fn what_a_run_allocates_is_freed_at_its_end_and_the_highest_sum_is_the_peak() {
    let (_root, recording) = profiled("task-memory=on", 0);
    let (mut held, mut peak) = (Vec::new(), 0);
    for fact in facts(&recording) {
        match fact {
            Fact::Allocation(allocation) if allocation.operation == AllocationOperation::Allocate => {
                assert!(!held.iter().any(|(address, _)| *address == allocation.address), "it is held: {allocation:?}");
                held.push((allocation.address, allocation.bytes));
            }
            Fact::Allocation(allocation) => {
                let at = held.iter().position(|known| *known == (allocation.address, allocation.bytes));
                held.remove(at.expect("it was allocated"));
            }
            Fact::Run(_) => assert!(held.is_empty(), "a run frees everything before its record: {held:?}"),
            _ => {}
        }
        peak = peak.max(held.iter().map(|(_, bytes)| bytes).sum());
    }
    // The input of the run, and the input and output of a kernel.
    assert_eq!(peak, 3 * 24);
    let account = recording.account().expect("an account");
    let memory = account.tensor_memory.expect("it was recorded");
    assert_eq!((memory.peak_bytes, memory.allocations), (peak, 6));
    assert!(account.to_text(10).contains("at most 72 B for tensors"), "{}", account.to_text(10));
}

#[test]
fn a_recording_of_the_first_version_is_read() {
    let stored = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/recording-1");
    let recording = open(&stored);
    assert_eq!(recording.problems(), [] as [String; 0]);
    assert_eq!(facts(&recording).len(), 39);
    let account = recording.account().expect("an account");
    assert_eq!((account.runs.measured, account.runs.warm_up, account.tensor_memory), (2, 1, None));
}
