//! The recordings of runs that completed.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::sync::{Arc, Mutex};

use opscope_profile::{Fact, Format, Load, ProfileError, Profiler, ProfilerOptions, Recording, RunKind};
use opscope_trace::Bytes;
use support::{Paper, counts, open};

#[test]
fn a_finished_recording_is_complete_and_holds_every_run_and_dispatch() {
    let (root, paper) = (tempfile::tempdir().expect("a directory"), Paper::new());
    let directory = root.path().join("recording");
    let profiler = paper.profiler(&directory, &ProfilerOptions::default());
    assert!(!open(&directory).is_complete(), "it is still open");
    profiler.set_run_kind(RunKind::WarmUp);
    paper.run(&profiler, 0);
    profiler.set_run_kind(RunKind::Measured);
    for run in 1..=1000 {
        paper.run(&profiler, run);
    }
    paper.fail(&profiler, 1001);
    let manifest = profiler.finish().expect("a manifest");
    assert!(manifest.complete, "{:?}", manifest.incomplete_because);

    let recording = open(&directory);
    assert_eq!(recording.problems(), [] as [String; 0]);
    assert_eq!(counts(&recording), (1002, 2003));
    let kernel = recording.kernel(0, 1).expect("the second kernel");
    assert_eq!((kernel.operator.as_str(), kernel.op_type.as_str(), kernel.op.as_str()), ("b", "Relu", "Relu"));
    assert_eq!(kernel.inputs[0].shape, [2, 3]);

    let account = recording.account().expect("an account");
    let runs = account.runs;
    assert_eq!((runs.measured, runs.warm_up, runs.failed, runs.partial), (1000, 1, 1, 0));
    let shares = account.shares.expect("dispatches were recorded");
    let sum = shares.operators.percent + shares.between.percent + shares.in_out.percent;
    assert!((sum - 100.0).abs() < 1e-6, "{sum}");
    assert!(shares.rest.percent.abs() < 1e-6, "{shares:?}");
    assert!(shares.in_out.total_ns >= 0.0 && shares.between.total_ns >= 0.0);
    let of_types: f64 = account.op_types.iter().map(|row| row.total_ns).sum();
    assert!((of_types - shares.operators.total_ns).abs() <= 1e-6 * of_types, "tables and account tell the same");
    let copies: Vec<_> = account.copies.iter().map(|copy| (copy.direction, copy.count, copy.mean_bytes)).collect();
    assert_eq!(copies, [("copy_in", 1000, 24.0), ("copy_out", 1000, 24.0)]);
}

#[test]
fn runs_on_many_threads_and_of_several_plans_keep_their_own_dispatches() {
    let (root, paper) = (tempfile::tempdir().expect("a directory"), Paper::new());
    let directory = root.path().join("recording");
    let options =
        ProfilerOptions { buffer_size: Bytes::kib(64), watermark: Bytes::kib(8), ..ProfilerOptions::default() };
    let profiler = paper.profiler(&directory, &options);
    let other = paper.other_plan();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (profiler, paper, other) = (&profiler, &paper, &other);
            scope.spawn(move || {
                for run in 0..500 {
                    let plan = if run % 3 == 0 { other } else { paper };
                    plan.run(profiler, run * 4 + thread);
                }
            });
        }
    });
    profiler.finish().expect("a manifest");
    let recording = open(&directory);
    assert_eq!(recording.problems(), [] as [String; 0]);
    assert_eq!(recording.plans().len(), 2);
    let account = recording.account().expect("an account");
    assert_eq!((account.runs.measured, account.runs.partial), (2000, 0));
    assert_eq!(account.operators.iter().map(|row| row.dispatches).collect::<Vec<_>>(), [2000, 2000]);
}

#[test]
fn each_switch_turns_off_its_records_and_no_others() {
    let kinds = |setting: &str| {
        let (root, paper) = (tempfile::tempdir().expect("a directory"), Paper::new());
        let mut options = ProfilerOptions::default();
        options.switches.apply(setting).expect("a switch");
        let profiler = paper.profiler(&root.path().join("recording"), &options);
        paper.run(&profiler, 0);
        profiler.finish().expect("a manifest");
        let recording = open(&root.path().join("recording"));
        assert!(recording.is_complete());
        let facts = recording.facts().expect("records").map(|fact| match fact.expect("a record") {
            Fact::Run(_) => "run",
            Fact::Dispatch(_) => "dispatch",
            Fact::Call(_) => "call",
            Fact::Copy(_) => "copy",
            Fact::Sample(_) => "sample",
            Fact::Allocation(_) => "allocation",
            Fact::Retirement(_) => "retirement",
            other => panic!("{other:?}"),
        });
        facts.collect::<BTreeSet<_>>()
    };
    let usual = BTreeSet::from(["run", "dispatch", "call", "copy", "sample", "retirement"]);
    let without = |kinds: &[&'static str]| &usual - &BTreeSet::from_iter(kinds.iter().copied());
    assert_eq!(kinds("aicpu=off"), usual);
    assert_eq!(kinds("model-execution=off"), without(&["run"]));
    assert_eq!(kinds("task-time=off"), without(&["dispatch"]));
    assert_eq!(kinds("runtime-api=off"), without(&["call", "copy"]));
    assert_eq!(kinds("sys-hardware-mem=off"), without(&["sample"]));
    assert_eq!(kinds("task-memory=on"), &usual | &BTreeSet::from(["allocation"]));
}

#[test]
fn samples_have_the_name_and_the_unit_of_their_counter() {
    let (root, paper) = (tempfile::tempdir().expect("a directory"), Paper::new());
    let mut options = ProfilerOptions::default();
    options.switches.apply("sys-hardware-mem=on").expect("a switch");
    let profiler = paper.profiler(&root.path().join("recording"), &options);
    paper.run(&profiler, 0);
    profiler.finish().expect("a manifest");
    let recording = open(&root.path().join("recording"));
    let facts = recording.facts().expect("records").map(|fact| fact.expect("a record"));
    let samples = facts.filter_map(|fact| if let Fact::Sample(sample) = fact { Some(sample.counter) } else { None });
    let names: BTreeSet<String> = samples
        .map(|counter| recording.counter(counter).expect("each sample has a counter"))
        .map(|names| format!("{} [{}]", names.name, names.unit))
        .collect();
    let expected = ["memory for files [bytes]", "memory used [bytes]"].map(str::to_owned);
    assert_eq!(names, BTreeSet::from(expected));
}

#[test]
fn the_load_that_is_set_is_the_load_of_the_recording() {
    let (root, paper) = (tempfile::tempdir().expect("a directory"), Paper::new());
    let profiler = paper.profiler(&root.path().join("recording"), &ProfilerOptions::default());
    let load = Load { average_start: Some(1234.5), average_end: Some(6789.25), reference: None };
    profiler.set_load(load);
    paper.run(&profiler, 0);
    profiler.finish().expect("a manifest");
    assert_eq!(open(&root.path().join("recording")).manifest().load, load);
}

#[test]
fn a_directory_that_exists_is_left_as_it_is() {
    let (root, paper) = (tempfile::tempdir().expect("a directory"), Paper::new());
    fs::write(root.path().join("mine"), "text").expect("the disk has room");
    let refused = Profiler::create(root.path(), &paper.recording_info(), &ProfilerOptions::default()).err();
    assert!(matches!(refused, Some(ProfileError::Exists(path)) if path == root.path()));
    assert_eq!(fs::read_dir(root.path()).expect("a directory").count(), 1);
}

#[test]
fn a_profiler_that_cannot_begin_leaves_nothing() {
    let (root, paper) = (tempfile::tempdir().expect("a directory"), Paper::new());
    let options = ProfilerOptions { buffer_size: Bytes::new(0), ..ProfilerOptions::default() };
    let refused = Profiler::create(&root.path().join("recording"), &paper.recording_info(), &options).err();
    assert!(matches!(refused, Some(ProfileError::Trace(_))), "{refused:?}");
    assert_eq!(fs::read_dir(root.path()).expect("a directory").count(), 0);
}

#[test]
fn a_recording_that_was_interrupted_or_never_closed_says_so() {
    let (root, paper) = (tempfile::tempdir().expect("a directory"), Paper::new());
    let (interrupted, dropped) = (root.path().join("interrupted"), root.path().join("dropped"));
    let profiler = paper.profiler(&interrupted, &ProfilerOptions::default());
    paper.run(&profiler, 0);
    profiler.set_incomplete("1 of 10 runs was made");
    assert!(!profiler.finish().expect("a manifest").complete);
    assert_eq!(open(&interrupted).problems(), ["1 of 10 runs was made"]);

    let profiler = paper.profiler(&dropped, &ProfilerOptions::default());
    paper.run(&profiler, 0);
    drop(profiler);
    let recording = open(&dropped);
    assert!(!recording.is_complete());
    assert_eq!(counts(&recording), (1, 2));
}

#[test]
fn what_was_dropped_is_counted_and_makes_the_recording_incomplete() {
    let (root, paper) = (tempfile::tempdir().expect("a directory"), Paper::new());
    let directory = root.path().join("recording");
    // With a watermark equal to the size and a buffer for a few records, most records find the buffer full.
    let mut options = ProfilerOptions {
        buffer_size: Bytes::new(512),
        watermark: Bytes::new(512),
        when_full: opscope_trace::Policy::Discard,
        ..ProfilerOptions::default()
    };
    for setting in ["sys-hardware-mem=off", "runtime-api=off"] {
        options.switches.apply(setting).expect("a switch");
    }
    let profiler = paper.profiler(&directory, &options);
    for run in 0..10_000 {
        paper.run(&profiler, run);
    }
    let manifest = profiler.finish().expect("a manifest");
    let records = manifest.records.expect("it is closed");
    // A run, its two dispatches, and the retirement of its correlation id. Other runs of the process retire ids, too.
    assert!(records.emitted >= 40_000, "{records:?}");
    assert_eq!(records.emitted, records.delivered + records.dropped);
    assert!(records.dropped > 0);
    let recording = open(&directory);
    assert!(recording.problems()[0].contains("dropped"), "{:?}", recording.problems());
    let (runs, dispatches) = counts(&recording);
    let facts = recording.facts().expect("records").count() as u64;
    assert_eq!(facts, records.delivered);
    assert!(runs + dispatches <= facts);
    recording.account().expect("an account of what is there");
}

#[test]
fn exports_tell_their_progress_and_leave_what_exists_alone() {
    let (root, paper) = (tempfile::tempdir().expect("a directory"), Paper::new());
    let directory = root.path().join("recording");
    let profiler = paper.profiler(&directory, &ProfilerOptions::default());
    paper.run(&profiler, 0);
    profiler.finish().expect("a manifest");
    let mut recording = open(&directory);
    let read = Arc::new(Mutex::new((0, 0)));
    let told = Arc::clone(&read);
    recording.set_progress(move |bytes, all| *told.lock().expect("no panic") = (bytes, all));
    let written = recording.export(Format::Chrome, &directory).expect("an export").written;
    let events: serde_json::Value =
        serde_json::from_slice(&fs::read(&written[0]).expect("an export")).expect("a JSON array");
    assert!(events.as_array().is_some_and(|events| events.len() > 4));
    let length = fs::metadata(directory.join("records.bin")).expect("a file").len();
    assert_eq!(*read.lock().expect("no panic"), (length, length), "progress ends at the end");

    let made = fs::read(&written[0]).expect("an export");
    let again = recording.export(Format::Chrome, &directory).expect("what exists stays");
    assert_eq!((again.written.len(), &again.existed), (0, &written));
    assert!(fs::read(&written[0]).expect("an export") == made);
}

#[test]
fn a_directory_without_a_recording_is_refused() {
    let root = tempfile::tempdir().expect("a directory");
    let refused = Recording::open(root.path()).expect_err("an empty directory").to_string();
    assert!(refused.contains("manifest.json"), "{refused}");
    fs::write(root.path().join("manifest.json"), "{\"schema\": \"opscope.dump/1\"}").expect("room");
    let refused = Recording::open(root.path()).expect_err("another schema").to_string();
    assert!(refused.contains("opscope.dump/1") && refused.contains("opscope.recording/3"), "{refused}");
}
