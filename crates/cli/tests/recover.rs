//! `opscope recover`: the records of a process that was killed.

mod process;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use opscope::trace::{Buffer, BufferOptions, Bytes, Category, CounterRecord, intern};
use process::{Ended, Workplace, end};

const FILE: &str = "OPSCOPE_RECOVER_FILE";
const BARE: u64 = 500;

fn recover(place: &Workplace, arguments: &[&str]) -> Ended {
    end(&mut place.command(&[&["recover"], arguments].concat()))
}

/// Emits into a buffer with a file, prints a line, and waits until it is killed.
#[test]
#[ignore = "the other tests start it"]
fn the_process_that_is_killed() {
    let options = BufferOptions {
        size: Bytes::mib(1),
        watermark: Bytes::mib(1),
        file: Some(std::env::var_os(FILE).expect("a file is given").into()),
        ..BufferOptions::default()
    };
    let buffer = Buffer::create(options, |_| unreachable!("nobody flushes")).unwrap();
    buffer.emit(&CounterRecord { name: intern("depth"), value: 2.5, ..CounterRecord::default() }).unwrap();
    for number in 0..BARE {
        buffer.emit_bytes(Category(9), 1, &number.to_le_bytes()).unwrap();
    }
    println!("::emitted");
    loop {
        std::thread::park();
    }
}

/// Starts a process that runs `the_process_that_is_killed`, kills it after it has emitted, and returns its number.
fn killed(file: &Path) -> u32 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_process_that_is_killed", "--ignored", "--nocapture", "--test-threads=1"])
        .env(FILE, file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let told = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(told.into_iter().any(|line| line.contains("::emitted")), "it emits");
    child.kill().unwrap();
    child.wait().unwrap();
    child.id()
}

#[test]
fn every_record_of_a_killed_process_is_found_in_its_buffers_file() {
    let place = Workplace::new();
    let process = killed(&place.path("records"));

    let ended = recover(&place, &["records"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    for text in ["did not end the buffer", "501 records", "lost       nothing"] {
        assert!(ended.stdout.contains(text), "{text}: {ended:?}");
    }

    let json = recover(&place, &["records", "--json"]).json();
    assert_eq!((&json["schema"], &json["process"]), (&"opscope.recover/1".into(), &process.into()));
    assert_eq!((&json["records"], &json["delivered"], &json["dropped"]), (&501.into(), &0.into(), &0.into()));
    assert_eq!((&json["ended"], &json["damage"]), (&false.into(), &serde_json::json!([])));

    let ended = recover(&place, &["records", "--records"]);
    let records: Vec<serde_json::Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.len(), 501);
    assert_eq!(records.iter().filter(|record| record["kind"] == "counter").count(), 1);
    let payloads: Vec<_> =
        records.iter().filter(|record| record["category"] == 9).map(|record| &record["payload"]).collect();
    let bytes = |number: u64| number.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(payloads, (0..BARE).map(bytes).collect::<Vec<_>>().iter().collect::<Vec<_>>());
}

#[test]
fn a_cut_file_of_a_buffer_ends_well_only_if_every_record_is_there() {
    let place = Workplace::new();
    killed(&place.path("records"));
    let whole = std::fs::read(place.path("records")).unwrap();
    for length in [0, 7, 8, 100, 4095, 4096, whole.len() / 2, whole.len() - 1] {
        place.write("cut", &whole[..length]);
        let ended = recover(&place, &["cut"]);
        match ended.code {
            Some(2) => ended.refused(2, &["cut"]),
            // The missing part of the file was never written to.
            Some(0) => assert!(ended.stdout.contains("501 records"), "{length} bytes: {ended:?}"),
            code => {
                assert_eq!(code, Some(3), "{length} bytes: {ended:?}");
                assert!(ended.stdout.contains("damaged") && !ended.stdout.contains("nothing"), "{length}: {ended:?}");
            }
        }
    }
}

#[test]
fn a_file_that_is_not_a_buffer_is_refused_by_name() {
    let place = Workplace::new();
    place.write("text", "these are no records, and there is nothing that could be recovered of them");
    recover(&place, &["text"]).refused(2, &["text: this is not the file of a buffer"]);
    std::fs::copy(process::model("digits_cnn.onnx"), place.path("m.onnx")).unwrap();
    recover(&place, &["m.onnx"])
        .refused(2, &["m.onnx is not the file of a buffer; it is a model; write: opscope inspect m.onnx"]);
    place.benchmark_well(&["m.onnx", "--profiler", "-o", "out", "-od", "run"]);
    let recording = "it is a recording; write: opscope inspect out/profiler/run";
    recover(&place, &["out/profiler/run"]).refused(2, &[recording]);
    recover(&place, &["out/profiler/run/records.bin"])
        .refused(2, &["it is the records of a recording; write: opscope inspect out/profiler/run"]);
    recover(&place, &["nowhere"]).refused(2, &["cannot read nowhere"]);
    recover(&place, &["."]).refused(2, &["cannot read ."]);
    recover(&place, &[]).refused(2, &["<FILE>"]);
}

#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let place = Workplace::new();
    rustix::fs::mkfifoat(rustix::fs::CWD, place.path("pipe"), rustix::fs::Mode::RWXU).unwrap();
    let ended = recover(&place, &["pipe"]);
    assert!(ended.code.is_some_and(|code| code != 0), "{ended:?}");
    ended.says(&["pipe", "it is not a regular file but a named pipe"]);
}
