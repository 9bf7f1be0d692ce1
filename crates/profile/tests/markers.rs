//! Markers of user code while a profiler records. Markers are process-wide, so these tests take turns.

mod support;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use opscope_profile::{Fact, Format, ProfilerOptions, Recording};
use opscope_sys::{Mutex, MutexGuard};
use opscope_trace::MarkerOperation::{self, Mark, OpenRange, Range};
use opscope_trace::{Kind, counter, intern, mark, range, wanted};
use serde_json::Value;
use support::{Paper, counts, open};

fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock()
}

fn markers(recording: &Recording) -> Vec<(String, MarkerOperation)> {
    let facts = recording.facts().expect("records");
    let marker = |fact| match fact {
        Fact::Marker(marker) => Some((recording.marker(marker.name).expect("its name").to_owned(), marker.operation)),
        _ => None,
    };
    facts.filter_map(|fact| marker(fact.expect("a record"))).collect()
}

fn export(recording: &Recording, format: Format, into: &Path) -> Vec<String> {
    let paths = recording.export(format, into).expect("an export").written;
    paths.iter().map(|path| String::from_utf8_lossy(&fs::read(path).expect("an export")).into_owned()).collect()
}

#[test]
fn a_range_around_two_runs_comes_out_in_every_export() {
    let (_turn, root, paper) = (turn(), tempfile::tempdir().expect("a directory"), Paper::new());
    let directory = root.path().join("recording");
    let profiler = paper.profiler(&directory, &ProfilerOptions::default());
    let in_flight = intern("tokens in flight [tokens]");
    let worker = std::thread::Builder::new().name("decoder".to_owned());
    std::thread::scope(|scope| {
        let work = || {
            let _around = range("decode");
            for run in 0..2 {
                let _one = range("a token");
                paper.run(&profiler, run);
                mark("token done");
                counter(in_flight, 2.0 - run as f64);
            }
        };
        worker.spawn_scoped(scope, work).expect("a thread").join().expect("no panic");
    });
    let manifest = profiler.finish().expect("a manifest");
    assert!(manifest.complete, "{:?}", manifest.incomplete_because);
    drop(range("after the end"));

    let recording = open(&directory);
    assert_eq!(recording.problems(), [] as [String; 0]);
    let order = [("token done", Mark), ("a token", Range), ("token done", Mark), ("a token", Range), ("decode", Range)];
    assert_eq!(markers(&recording), order.map(|(name, operation)| (name.to_owned(), operation)));

    let account = recording.account().expect("an account");
    let ranges: Vec<_> = account.ranges.iter().map(|row| (row.range.as_str(), row.count)).collect();
    assert_eq!(ranges, [("decode", 1), ("a token", 2)], "by time");
    assert!(account.ranges[0].total_ns >= account.run.total_ns);
    let text = account.to_text(10);
    assert!(text.contains("User ranges by time\n") && text.contains("\ndecode "), "{text}");

    let [timeline] = &export(&recording, Format::Chrome, &directory)[..] else { panic!("one file") };
    let events: Vec<Value> = serde_json::from_str(timeline).expect("an array");
    let times = |name: &str| -> Vec<(u64, f64, f64)> {
        let named = events.iter().filter(|event| event["name"] == name && event["ph"] == "X");
        let number = |value: &Value| value.as_f64().expect("a number");
        let times = |event: &Value| (event["tid"].as_u64(), number(&event["ts"]), number(&event["dur"]));
        named.map(times).map(|(row, start, length)| (row.expect("a row"), start, start + length)).collect()
    };
    let (around, tokens) = (times("decode"), times("a token"));
    assert_eq!((around.len(), tokens.len()), (1, 2));
    // Microseconds since boot as doubles: exact to less than a nanosecond.
    let lies_within = |inner: &(u64, f64, f64), outer: &(u64, f64, f64)| {
        inner.0 == outer.0 && outer.1 <= inner.1 + 1e-4 && inner.2 <= outer.2 + 1e-4
    };
    for (run, token) in tokens.iter().enumerate() {
        assert!(lies_within(&times(&format!("run {run}"))[0], token) && lies_within(token, &around[0]), "{events:?}");
    }
    let moments = events.iter().filter(|event| event["ph"] == "i" && event["name"] == "token done").count();
    let counted = events.iter().filter(|event| event["ph"] == "C" && event["name"] == "tokens in flight").count();
    assert_eq!((moments, counted), (2, 2));
    let names: Vec<_> =
        events.iter().filter(|event| event["name"] == "thread_name").map(|event| &event["args"]).collect();
    assert!(names.iter().any(|args| args["name"] == "decoder"), "{names:?}");

    let [perfetto] = &export(&recording, Format::Perfetto, &directory)[..] else { panic!("one file") };
    for name in ["decode", "a token", "token done", "tokens in flight", "decoder"] {
        assert!(perfetto.contains(name), "{name}");
    }
    let tables = export(&recording, Format::Csv, &directory);
    let rows: Vec<Vec<&str>> = tables[3].lines().skip(1).map(|row| row.split(',').collect()).collect();
    let found: Vec<_> = rows.iter().map(|row| (row[9], if row[3] == "range" { Range } else { Mark })).collect();
    assert_eq!(found, order);
    assert!(rows.iter().all(|row| row[6].trim_end() <= row[7].trim_end()));
}

#[test]
fn every_profiler_of_the_process_has_the_markers_and_none_asks_for_them_after_its_end() {
    let (_turn, root, paper) = (turn(), tempfile::tempdir().expect("a directory"), Paper::new());
    let paths = [root.path().join("first"), root.path().join("second")];
    let [first, second] = [&paths[0], &paths[1]].map(|path| paper.profiler(path, &ProfilerOptions::default()));
    drop(range("both"));
    paper.run(&first, 0);
    first.finish().expect("a manifest");
    drop(range("the second one"));
    drop(second);
    assert!(!wanted(Kind::Marker), "a profiler that is dropped stops, too");

    let [first, second] = [&paths[0], &paths[1]].map(|path| open(path));
    assert_eq!(markers(&first), [("both".to_owned(), Range)]);
    assert_eq!(markers(&second), [("both".to_owned(), Range), ("the second one".to_owned(), Range)]);
    assert_eq!((counts(&first).0, counts(&second).0), (1, 0), "runs are those of one profiler");
}

#[test]
fn ranges_that_are_open_when_a_profile_ends_are_recorded_as_open() {
    let (_turn, root) = (turn(), tempfile::tempdir().expect("a directory"));
    let (paper, directory) = (Paper::new(), root.path().join("recording"));
    let profiler = paper.profiler(&directory, &ProfilerOptions::default());
    let (begun, has_begun) = mpsc::channel();
    let (end, ends) = mpsc::channel::<()>();
    let worker = std::thread::spawn(move || {
        let _range = range("of another thread");
        begun.send(()).expect("the test waits");
        // The wait ends when the other side is dropped.
        let _ = ends.recv();
    });
    has_begun.recv().expect("the thread began its range");
    let outer = range("outer");
    drop(range("closed"));
    let inner = range("inner");
    profiler.finish().expect("a manifest");
    drop((inner, outer, end));
    worker.join().expect("no panic");

    let recording = open(&directory);
    assert_eq!(recording.problems(), [] as [String; 0]);
    let mut found = markers(&recording);
    found.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = [("closed", Range), ("inner", OpenRange), ("of another thread", OpenRange), ("outer", OpenRange)];
    assert_eq!(found, expected.map(|(name, operation)| (name.to_owned(), operation)));
    let [timeline] = &export(&recording, Format::Chrome, &directory)[..] else { panic!("one file") };
    assert_eq!(timeline.matches("open_at_the_end").count(), 3);
}

#[test]
fn ranges_of_another_thread_lie_inside_of_the_one_that_it_leaves_open() {
    let (_turn, root) = (turn(), tempfile::tempdir().expect("a directory"));
    let (paper, directory) = (Paper::new(), root.path().join("recording"));
    let profiler = paper.profiler(&directory, &ProfilerOptions::default());
    let (begun, has_begun) = mpsc::channel();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _serve = range("serve");
            for request in 0.. {
                drop(range("request"));
                if request == 100 {
                    begun.send(()).expect("the test waits");
                }
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        has_begun.recv().expect("the thread serves");
        profiler.finish().expect("a manifest");
        is_over.store(true, Ordering::Relaxed);
    });
    let recording = open(&directory);
    let open_ones = markers(&recording).iter().filter(|(_, operation)| *operation == OpenRange).count();
    assert!((1..=2).contains(&open_ones), "serve, and a request if it was open: {open_ones}");
    let [timeline] = &export(&recording, Format::Chrome, &directory)[..] else { panic!("one file") };
    assert!(!timeline.contains("\"ph\":\"b\""), "no range crosses another");
}

#[test]
fn a_recording_without_markers_has_no_table_of_them() {
    let (_turn, root, paper) = (turn(), tempfile::tempdir().expect("a directory"), Paper::new());
    let directory = root.path().join("recording");
    let profiler = paper.profiler(&directory, &ProfilerOptions::default());
    paper.run(&profiler, 0);
    profiler.finish().expect("a manifest");
    assert_eq!(export(&open(&directory), Format::Csv, &directory).len(), 3);
    assert!(!directory.join("msprof_tx.csv").exists());
}
