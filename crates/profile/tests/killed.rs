//! Recordings of processes that ended early. The processes are real: this test program is started again.

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use opscope_profile::{Fact, Format, ProfilerOptions, close_abandoned};
use opscope_trace::Bytes;
use support::{Paper, counts, open};

/// Variables that are set only in the started process: the directory to record to, and the number of runs.
const DIRECTORY: &str = "OPSCOPE_TEST_RECORDING";
const RUNS: &str = "OPSCOPE_TEST_RUNS";
/// Set if its records must survive the process.
const SURVIVES: &str = "OPSCOPE_TEST_SURVIVES";

/// The body of the started process, which is not a test by itself. It also ends when its output is no longer read.
#[test]
fn process_that_records_until_it_ends() {
    let (Some(directory), Ok(runs)) = (std::env::var_os(DIRECTORY), std::env::var(RUNS)) else { return };
    let paper = Paper::new();
    let options = ProfilerOptions {
        buffer_size: Bytes::kib(64),
        watermark: Bytes::kib(4),
        flush_interval: Duration::from_millis(1),
        survives_crash: std::env::var_os(SURVIVES).is_some(),
        ..ProfilerOptions::default()
    };
    let profiler = paper.profiler(Path::new(&directory), &options);
    for run in 0..runs.parse().expect("a number") {
        let around = opscope_trace::range("a request");
        paper.run(&profiler, run);
        drop(around);
        if run % 10_000 == 9_999 {
            println!("\n10000 more runs");
        }
    }
    let manifest = profiler.finish().expect("a manifest");
    assert!(!manifest.complete, "this process is started to fail");
}

fn start(directory: &Path, before: &str, runs: u64) -> Child {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{before} exec \"$0\" --exact process_that_records_until_it_ends --nocapture"));
    command.arg(program).env(DIRECTORY, directory).env(RUNS, runs.to_string()).stdout(Stdio::piped());
    command.spawn().expect("a shell")
}

#[test]
fn a_killed_process_leaves_a_recording_that_can_be_read_and_exported() {
    let root = tempfile::tempdir().expect("a directory");
    let directory = root.path().join("recording");
    let mut child = start(&directory, "", u64::MAX);
    let mut output = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert!(output.any(|line| line.expect("text") == "10000 more runs"));
    child.kill().expect("a process");
    let status = child.wait().expect("a status");
    assert_eq!(status.signal(), Some(9), "{status}");

    let recording = open(&directory);
    assert!(!recording.is_complete());
    assert!(recording.problems()[0].contains("not closed"), "{:?}", recording.problems());
    let (runs, dispatches) = counts(&recording);
    // At most the 64 KiB of the buffer, less than 1000 records, were not written yet.
    assert!(runs > 9_500 && dispatches > 19_000, "{runs} runs, {dispatches} dispatches");
    assert!(recording.calibration().nanos_per_tick() > 0.01);
    let account = recording.account().expect("an account");
    assert!(account.runs.measured > 9_500);
    let [requests] = &account.ranges[..] else { panic!("{:?}", account.ranges) };
    assert!(requests.range == "a request" && requests.count > 9_500, "{requests:?}");
    let thread = recording.facts().expect("records").find_map(|fact| match fact {
        Ok(Fact::Run(run)) => Some(run.thread),
        _ => None,
    });
    let name = recording.thread_name(thread.expect("a run"));
    assert_eq!(name, Some("process_that_records_until_it_ends"), "the thread of a test is called as the test");
    for format in Format::ALL {
        recording.export(format, &directory).expect("an export");
    }
    let summary = fs::read_to_string(directory.join("op_summary.csv")).expect("a table");
    assert_eq!(summary.lines().count() as u64, dispatches + 1);
}

#[test]
fn a_recording_that_survives_its_process_has_every_record_once_and_the_names_of_all() {
    // Each process is killed at another moment of its writing.
    for attempt in 0..8 {
        let root = tempfile::tempdir().expect("a directory");
        let directory = root.path().join("recording");
        let mut child = start(&directory, &format!("export {SURVIVES}=1;"), u64::MAX);
        let mut output = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        assert!(output.any(|line| line.expect("text") == "10000 more runs"));
        child.kill().expect("a process");
        child.wait().expect("a status");

        let waiting = opscope_trace::recover(directory.join("buffer.bin")).expect("a buffer's file");
        let written = open(&directory).facts().expect("records").count() as u64;
        let in_both = written.saturating_sub(waiting.recovery.delivered);
        // This appends an incomplete frame and an incomplete name.
        let append = |name: &str, bytes: &[u8]| {
            let mut file = fs::OpenOptions::new().append(true).open(directory.join(name)).expect("a file");
            std::io::Write::write_all(&mut file, bytes).expect("room");
        };
        append("records.bin", b"OBAT\x40\0\0\0half");
        append("names.jsonl", b"{\"thread\":");
        fs::write(directory.join("timeline.json.x.part"), "[").expect("room");
        let manifest = close_abandoned(&directory, "it was killed").expect("a recording");
        assert_eq!((manifest.complete, &manifest.incomplete_because[..]), (false, &["it was killed".to_owned()][..]));

        let recording = open(&directory);
        assert_eq!(recording.problems(), ["it was killed"], "no frame and no line is damaged");
        let facts: Vec<Fact> = recording.facts().expect("records").map(|fact| fact.expect("a record")).collect();
        assert!(facts.len() as u64 >= written + waiting.recovery.records - in_both, "attempt {attempt}");
        let runs: Vec<u64> =
            facts.iter().filter_map(|fact| if let Fact::Run(run) = fact { Some(run.run) } else { None }).collect();
        assert_eq!(runs, (0..runs.len() as u64).collect::<Vec<_>>(), "each run is there once");
        let (_, dispatches) = counts(&recording);
        assert!((2 * runs.len() as u64..=2 * runs.len() as u64 + 2).contains(&dispatches), "and each dispatch");
        let account = recording.account().expect("an account");
        assert!(account.ranges.len() == 1 && account.ranges[0].range == "a request", "{:?}", account.ranges);
        let mut files: Vec<_> =
            fs::read_dir(&directory).expect("it").map(|entry| entry.expect("a file").file_name()).collect();
        files.sort();
        assert_eq!(files, ["manifest.json", "names.jsonl", "records.bin"]);
        assert_eq!(recording.manifest().records, None, "nobody counted what was emitted");
        close_abandoned(&directory, "it was killed").expect("a recording");
        assert_eq!(open(&directory).facts().expect("records").count(), facts.len(), "closing it again adds nothing");
    }
}

#[test]
fn a_write_that_fails_ends_the_writing_and_the_recording_names_it() {
    let root = tempfile::tempdir().expect("a directory");
    let directory = root.path().join("recording");
    // No file may grow beyond 256 KiB, and the signal for that is ignored, so the write fails as on a full disk.
    let child = start(&directory, "trap '' XFSZ; ulimit -f 512;", 20_000);
    let output = child.wait_with_output().expect("a status");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));

    let recording = open(&directory);
    let problems = recording.problems().join("; ");
    assert!(problems.contains("records.bin could not be written"), "{problems}");
    let (runs, dispatches) = counts(&recording);
    assert!(runs > 100, "{runs}");
    let records = recording.manifest().records.clone().expect("it is closed");
    assert!(records.emitted >= 60_000 && records.delivered >= runs + dispatches, "{records:?}");
    assert!(records.delivered < records.emitted);
}
