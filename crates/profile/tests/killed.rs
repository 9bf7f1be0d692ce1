//! Recordings of processes that came to a bad end. The processes are real: this test's own program, started again.

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use opscope_profile::{Fact, Format, ProfilerOptions};
use opscope_trace::Bytes;
use support::{Paper, counts, open};

/// Where the started process records to, and how many runs it makes; only set in it.
const DIRECTORY: &str = "OPSCOPE_TEST_RECORDING";
const RUNS: &str = "OPSCOPE_TEST_RUNS";

/// Not a test of its own: what the started process does. It ends as well when nobody reads its lines any more.
#[test]
fn process_that_records_until_it_ends() {
    let (Some(directory), Ok(runs)) = (std::env::var_os(DIRECTORY), std::env::var(RUNS)) else { return };
    let paper = Paper::new();
    let options = ProfilerOptions {
        buffer_size: Bytes::kib(64),
        watermark: Bytes::kib(4),
        flush_interval: Duration::from_millis(1),
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
    // At most the 64 KiB of the buffer were not written yet: less than 1000 records.
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
fn a_write_that_fails_ends_the_writing_and_the_recording_names_it() {
    let root = tempfile::tempdir().expect("a directory");
    let directory = root.path().join("recording");
    // No file may grow beyond 256 KiB, and the signal that tells so is ignored: the write fails, as on a full disk.
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
