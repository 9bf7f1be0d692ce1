use std::fs;
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::testing::{GraphBuilder, kernels};
use opscope_model::{Fidelity, Instrument, RunId, RunInfo};
use opscope_profile::{
    EngineInfo, Load, MedianEstimate, Profiler, ProfilerOptions, Recording, RecordingInfo, ReferenceTimes,
};
use serde_json::{Value, json};

use super::comparison::{Baseline, Change, MeasurementKind};
use super::measurement::Times;
use super::snapshots::{comparison, executed, times};
use super::summary_file::SummaryFile;
use super::surroundings::{Surroundings, load_differences};
use super::threshold::Threshold;
use super::{NoMeasurement, TimesComparison, TimesError};

#[test]
fn a_change_is_significant_if_its_interval_leaves_0_out() {
    let run = comparison().run;
    for (interval, significant) in [
        (None, false),
        (Some((-1.0, 1.0)), false),
        (Some((0.0, 1.0)), false),
        (Some((-1.0, 0.0)), false),
        (Some((0.001, 1.0)), true),
        (Some((-1.0, -0.001)), true),
    ] {
        let change = Change { difference_interval_ns: interval, ..run };
        assert_eq!(change.is_significant(), significant, "{interval:?}");
    }
}

#[test]
fn the_older_one_is_the_baseline_in_either_order() {
    let [older, newer] = [("a", 1), ("b", 2)]
        .map(|(name, start)| times(name, start, 1_000.0, vec![executed(&[&["/conv"]], "Conv", 1.0, 1_000)]));
    for (one, other) in [(&older, &newer), (&newer, &older)] {
        let both = TimesComparison::by_age(one, other).expect("they have an operator in common");
        assert_eq!((both.a.start_unix_ns, both.b.start_unix_ns), (older.side.start_unix_ns, newer.side.start_unix_ns));
        assert_eq!(both.baseline, Baseline::Older);
    }
    let same = TimesComparison::by_age(&older, &older).expect("they have an operator in common");
    assert_eq!(same.baseline, Baseline::Second);
}

#[test]
fn a_change_from_no_time_has_no_percentage() {
    let percent = |a, b| {
        let [a, b] = [a, b].map(|median| Some(MedianEstimate::without_interval(median)));
        Change::between(a, b, None).expect("both have a median").percent
    };
    assert_eq!((percent(0.0, 5.0), percent(4.0, 5.0), percent(4.0, 0.0)), (None, Some(25.0), Some(-100.0)));
}

#[test]
fn a_file_that_is_too_large_is_no_summary() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("large_summary.json");
    fs::File::create(&path).and_then(|file| file.set_len((1 << 30) + 1)).expect("a file with a hole");
    let Err(error) = Times::open(&path) else { panic!("it is refused") };
    assert!(matches!(error, TimesError::Neither { reason: NoMeasurement::TooLarge(_), .. }), "{error}");
}

#[test]
fn messages_name_the_kind_and_the_place_of_a_measurement() {
    let mut one = times("a", 1, 1_000.0, vec![executed(&[&["/conv"]], "Conv", 1.0, 1_000)]);
    assert_eq!(one.described(), "the recording \"out/a\"");
    one.side.kind = MeasurementKind::Summary;
    assert_eq!(one.described(), "the summary \"out/a\"");
}

#[test]
fn the_baseline_is_explained() {
    let mut both = comparison();
    let mut sentence = |baseline: Baseline, starts: [Option<u64>; 2], paths: [&str; 2]| {
        both.baseline = baseline;
        [both.a.start_unix_ns, both.b.start_unix_ns] = starts;
        [both.a.path, both.b.path] = paths.map(Into::into);
        both.baseline_sentence()
    };
    let second = 1_000_000_000;
    let earlier = [Some(second), Some(91 * second)];
    assert_eq!(
        sentence(Baseline::Older, earlier, ["a", "b"]),
        "A was measured 90 seconds before B, so it is the baseline"
    );
    assert_eq!(
        sentence(Baseline::Older, [None, Some(second)], ["a", "b"]),
        "A does not say when it was measured, so it is of an earlier version, and the baseline"
    );
    assert_eq!(
        sentence(Baseline::Chosen, [Some(121 * second), Some(second)], ["a", "b"]),
        "A was chosen as the baseline; it was measured 2 minutes after B"
    );
    assert_eq!(sentence(Baseline::Chosen, [Some(second), None], ["a", "b"]), "A was chosen as the baseline");
    assert_eq!(sentence(Baseline::Second, [None, None], ["a", "a"]), "A and B are the same measurement");
    assert_eq!(
        sentence(Baseline::Second, [None, None], ["a", "b"]),
        "nothing says which one is older, so A is taken as the baseline"
    );
}

#[test]
fn times_are_at_a_summary_at_a_recording_and_at_a_directory_with_recordings_and_no_dump() {
    let dir = tempfile::tempdir().unwrap();
    let at = |path: &str| Times::is_at(&dir.path().join(path));
    fs::write(dir.path().join("one_summary.json"), "{}").unwrap();
    fs::write(dir.path().join("summary.json"), "{}").unwrap();
    fs::create_dir(dir.path().join("other_summary.json")).unwrap();
    assert!(at("one_summary.json"));
    assert!(!at("summary.json"), "it has another name");
    assert!(!at("other_summary.json"), "it is a directory");
    assert!(!at("none_summary.json"));
    let recording = dir.path().join("out/profiler/run");
    fs::create_dir_all(&recording).unwrap();
    assert!(!at("out") && !at("out/profiler/run"));
    fs::write(recording.join("manifest.json"), json!({ "schema": "opscope.recording/1" }).to_string()).unwrap();
    assert!(at("out") && at("out/profiler/run") && !at("out/profiler"));
    fs::create_dir(dir.path().join("out/dump")).unwrap();
    assert!(!at("out") && at("out/profiler/run"), "its tensors are compared");
    let rank = dir.path().join("out/profiler/job/rank0");
    fs::create_dir_all(&rank).unwrap();
    fs::copy(recording.join("manifest.json"), rank.join("manifest.json")).unwrap();
    assert!(at("out/profiler/job") && !at("out/profiler"), "a job has ranks");
}

/// A summary of runs of these milliseconds, with an operator of this median and its interval in nanoseconds.
fn summary(times: &[f64], median: f64, interval: [f64; 2]) -> Value {
    json!({
        "schema": "opscope.summary/1", "opscope": "opscope 0.1.0", "model": { "path": "m.onnx", "xxh3": "00000000deadbeef" },
        "engine": { "name": "paper", "version": "1", "fidelity": "optimised", "threads": 1, "concurrent_runs": 1 },
        "machine": {}, "complete": true, "npu_compute_time_list": times,
        "profile": { "account": { "operators": [{
            "operator": "/conv", "op_type": "Conv", "added": false, "fused": [], "median_ns": median,
            "median_interval_95_ns": interval,
        }] } },
    })
}

#[test]
fn a_summary_has_no_negative_time_and_no_median_outside_of_its_interval() {
    let read = |times: &[f64], median: f64, interval: [f64; 2]| {
        let summary = SummaryFile::read(&summary(times, median, interval).to_string());
        summary.map(|summary| summary.times_ms).map_err(|error| error.to_string())
    };
    assert_eq!(read(&[0.0, 2.5], 2.0, [1.0, 3.0]), Ok(vec![0.0, 2.5]), "a clock of few ticks says 0");
    assert_eq!(read(&[1.0, -0.5], 2.0, [1.0, 3.0]), Err("one of its times is -0.5 ms".to_owned()));
    for (median, interval) in [(2.0, [2.0, 3.0]), (2.0, [1.0, 2.0]), (2.0, [2.0, 2.0])] {
        assert!(read(&[1.0], median, interval).is_ok(), "{median} {interval:?}");
    }
    for median in [0.9, 3.1] {
        let outside = Err("the median time of \"/conv\" lies outside of its interval".to_owned());
        assert_eq!(read(&[1.0], median, [1.0, 3.0]), outside, "{median}");
    }
}

#[test]
fn loads_differ_by_more_than_a_half_and_the_reference_work_by_more_than_a_twentieth() {
    let load = |average: f64, median_ns: f64| Load {
        average_start: Some(average),
        average_end: None,
        reference: Some(ReferenceTimes { p25_ns: median_ns, median_ns, p75_ns: median_ns, samples: 9 }),
    };
    let differing = |a: &Load, b: &Load| -> Vec<[Option<String>; 3]> {
        load_differences(a, b).into_iter().map(|one| [Some(one.what), one.a, one.b]).collect()
    };
    let text = |text: &str| Some(text.to_owned());
    let one = load(1.0, 100_000.0);
    for same in [load(1.5, 100_000.0), load(0.5, 100_000.0), load(1.0, 105_000.0), load(1.0, 95_300.0)] {
        assert_eq!(differing(&one, &same), Vec::<[Option<String>; 3]>::new(), "{same:?}");
    }
    let at_start = text("load average at the start");
    assert_eq!(differing(&one, &load(1.51, 100_000.0)), [[at_start.clone(), text("1.00"), text("1.51")]]);
    assert_eq!(differing(&load(1.51, 100_000.0), &one), [[at_start, text("1.51"), text("1.00")]]);
    for (other, shown) in [(105_100.0, "105.100 µs"), (95_200.0, "95.200 µs")] {
        let found = differing(&one, &load(1.0, other));
        assert_eq!(found, [[text("reference work"), text("100.000 µs"), text(shown)]]);
    }
    let without = Load { reference: None, ..one };
    assert_eq!(differing(&one, &without), [[text("reference work"), text("100.000 µs"), None]]);
    assert_eq!(differing(&without, &without), Vec::<[Option<String>; 3]>::new());
}

#[test]
fn a_threshold_is_a_percentage_that_is_not_negative_and_maybe_a_name() {
    for text in ["5%", "0%", "2.5%:MatMul", "5%:a:b"] {
        assert_eq!(text.parse::<Threshold>().ok().map(|threshold| threshold.to_string()).as_deref(), Some(text));
    }
    for text in ["5", "%", "-1%", "inf%", "NaN%", "5%:", "-1%:MatMul", "x%", ""] {
        assert!(text.parse::<Threshold>().is_err(), "{text}");
    }
}

#[test]
fn the_surroundings_of_a_recording_are_those_of_its_manifest_and_of_its_first_kernel() {
    let dir = tempfile::tempdir().unwrap();
    let graph = GraphBuilder::new("one").input("x", &[2, 3]).operator("op", "Relu", &["x"], &["y"]).output("y");
    let graph = Arc::new(graph.build());
    let kernels = kernels(&graph, &[&["op"]]);
    let engine = EngineInfo { threads: 3, ..EngineInfo::new("paper", "0.1", Fidelity::Optimised) };
    let info = RecordingInfo { graph: Arc::clone(&graph), engine };
    let path = dir.path().join("recording");
    let profiler = Profiler::create(&path, &info, &ProfilerOptions::default()).unwrap();
    let observer =
        profiler.observe(&RunInfo { id: RunId(0), graph: &graph, kernels: &kernels, fidelity: Fidelity::Optimised });
    let [begin, end] = [1_000, 2_000].map(|ticks| Ticks::from_raw(Ticks::now().as_raw() + ticks));
    observer.timed(kernels[0].id, &[], begin, end);
    observer.finished(Ok((begin, end)));
    drop(observer);
    profiler.finish().unwrap();
    let recording = Recording::open(&path).unwrap();
    // Nothing is known of the other side, so that everything differs.
    let known = Surroundings::of_recording(&recording).differences(&Surroundings::default());
    let fact = |name: &str| known.iter().find(|one| one.what == name).and_then(|one| one.a.clone());
    for (name, expected) in [
        ("engine", "paper"),
        ("engine version", "0.1"),
        ("fidelity", "optimised"),
        ("threads", "3"),
        ("concurrent runs", "1"),
        ("the first operator takes", "float32 [2, 3]"),
        ("profiler switch task-time", "on"),
        ("model file", &*recording.manifest().model.xxh3.to_string()),
        ("processor", &*recording.manifest().host.cpu),
    ] {
        assert_eq!(fact(name).as_deref(), Some(expected), "{name}");
    }
    assert!(known.iter().all(|one| one.b.is_none()));
}
