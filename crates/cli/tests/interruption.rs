//! Runs that end early: signals, a killed process, a file that may not grow.

mod process;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use process::disk::{SmallDisk, with_disks};
use process::onnx::{FLOAT32, chain};
use process::{Ended, Workplace, end, engine, model};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Starts a benchmark that would take days, and waits until its recording has some runs.
fn endless(place: &Workplace, arguments: &[&str]) -> Child {
    let model = model("digits_cnn.onnx");
    let fixed = ["benchmark", &model, "--loop", "10000000000", "--output", "out", "--output-dirname", "run"];
    let watched = ["--profiler", "--profiler-watermark", "4K"];
    let mut command = place.command(&[&fixed[..], &watched, arguments].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let records = place.path("out/profiler/run.partial/records.bin");
    // 64 KiB are about two hundred runs. One of them is a warm-up.
    while records.metadata().map_or(0, |file| file.len()) < 1 << 16 {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it recorded anything");
        std::thread::yield_now();
    }
    child
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn wait(mut child: Child) -> Ended {
    let (mut stdout, mut stderr) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    Ended { code: child.wait().unwrap().code(), stdout, stderr }
}

const RAW: [&str; 3] = ["manifest.json", "names.jsonl", "records.bin"];

/// Checks that what was measured is reported, and that the recording is closed, can be read, and says what is missing.
fn ends_well_after(kind: Signal) {
    let place = Workplace::new();
    let child = endless(&place, &["--json"]);
    signal(&child, kind);
    let ended = wait(child);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    ended.says(&["warning: incomplete: it was interrupted", "make them with: opscope export out/profiler/run"]);
    assert_eq!(place.tree("out/profiler/run"), RAW, "exports would take longer than a user waits");
    let report = ended.json();
    let measured = report["NPU_compute_time"]["count"].as_u64().unwrap();
    assert!(measured > 0);
    assert_eq!(report["complete"], false);
    assert_eq!(report["profile"]["account"]["runs"]["measured"], measured, "every measured run is in the recording");
    assert_eq!(place.json("out/run_summary.json")["complete"], false);
    let manifest = place.json("out/profiler/run/manifest.json");
    assert_eq!(manifest["complete"], false);
    assert!(manifest["incomplete_because"][0].as_str().unwrap().contains("interrupted"), "{manifest}");
    for form in [&[][..], &["--json"]] {
        let inspected = end(&mut place.command(&[&["inspect", "out/run"], form].concat()));
        assert_eq!(inspected.code, Some(3), "{inspected:?}");
    }
    let ended = place.export(&["out/profiler/run", "--output", "again"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert_eq!(place.tree("again").len(), 5);
    assert!(place.tree("").iter().all(|path| !path.contains(".partial")));
}

#[test]
fn ctrl_c_reports_what_was_measured_and_closes_the_recording() {
    ends_well_after(Signal::INT);
}

#[test]
fn a_request_to_terminate_reports_what_was_measured_and_closes_the_recording() {
    ends_well_after(Signal::TERM);
}

#[test]
fn ctrl_c_in_a_table_says_how_many_sets_of_shapes_are_missing() {
    let place = Workplace::new();
    let child = endless(&place, &["--dym-shape-range", "image:1~3,1,8,8"]);
    let again = ["--loop", "1", "--output", "out", "--output-dirname", "run", "--overwrite"];
    let second = place.benchmark(&[&[model("digits_cnn.onnx").as_str()], &again[..]].concat());
    second.refused(2, &["a run of that name is in progress", "run.partial"]);
    signal(&child, Signal::INT);
    let ended = wait(child);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    ended.says(&["it was interrupted; ", " runs measured; 2 of 3 sets of shapes are missing"]);
}

#[test]
fn a_run_that_is_interrupted_does_not_take_the_place_of_a_whole_one() {
    for warm_up in ["1", "10000000000"] {
        let place = Workplace::new();
        let model = model("digits_cnn.onnx");
        let named = ["--output", "out", "--output-dirname", "run"];
        place.benchmark_well(&[&[model.as_str(), "--loop", "3", "--profiler"], &named[..]].concat());
        let whole: Vec<(String, Vec<u8>)> = files(&place, "out");
        let child = endless(&place, &["--overwrite", "--warmup-count", warm_up]);
        signal(&child, Signal::INT);
        let ended = wait(child);
        assert_eq!(ended.code, Some(3), "{ended:?}");
        ended.says(&["out/profiler/run.partial"]);
        let kept: Vec<_> = files(&place, "out").into_iter().filter(|(name, _)| !name.contains(".partial")).collect();
        assert!(kept == whole, "the whole run is as it was: {:?}", place.tree("out"));
        // An interrupted run does not block its name.
        place.benchmark_well(&[&[model.as_str(), "--loop", "4", "--overwrite"], &named[..]].concat());
        assert!(place.tree("").iter().all(|path| !path.contains(".partial")), "{:?}", place.tree(""));
    }
}

/// Returns the files below a directory, with their contents.
fn files(place: &Workplace, name: &str) -> Vec<(String, Vec<u8>)> {
    let paths = place.tree(name).into_iter().map(|path| format!("{name}/{path}"));
    paths.filter_map(|path| Some((path.clone(), std::fs::read(place.path(&path)).ok()?))).collect()
}

#[test]
fn a_signal_while_the_engine_plans_ends_it_at_once_and_leaves_nothing_behind() {
    for (kind, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let place = Workplace::new();
        std::fs::write(place.path("chain.onnx"), chain(20_000, "Add", FLOAT32)).unwrap();
        let fixed = ["benchmark", "chain.onnx", "--debug", "--output", "out", "--profiler", "--verify", "off"];
        let mut command = place.command(&fixed);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("planning") {
            line.clear();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "it ended before it planned");
        }
        signal(&child, kind);
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{rest}");
        assert!(rest.contains("interrupted while planning"), "{rest}");
        assert_eq!(place.tree(""), ["chain.onnx"], "directories that were made for it are gone, too");
    }
}

#[test]
fn the_recording_of_a_killed_run_can_be_exported() {
    let place = Workplace::new();
    let child = endless(&place, &[]);
    signal(&child, Signal::KILL);
    assert_eq!(wait(child).code, None);
    assert!(!place.path("out/profiler/run").exists() && !place.path("out/run").exists(), "nothing claims to be whole");
    // It is found by the run's name, too.
    let inspected = end(&mut place.command(&["inspect", "out/run"]));
    assert_eq!(inspected.code, Some(3), "{inspected:?}");
    assert!(inspected.stdout.contains("out/profiler/run.partial: a recording, NOT complete"), "{inspected:?}");
    let ended = place.export(&["out/run"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    ended.says(&["warning: the recording is incomplete", "the process was killed"]);
    let timeline = place.json("out/profiler/run.partial/timeline.json");
    let runs = timeline.as_array().unwrap().iter().filter(|event| event["cat"] == "run").count();
    assert!(runs > 1, "what was written before is there");
}

#[test]
fn a_run_that_is_killed_while_it_exports_leaves_a_recording_that_is_complete_but_for_the_exports() {
    let place = Workplace::new();
    let model = model("digits_cnn.onnx");
    // So many runs that the exports take seconds.
    let fixed = ["benchmark", &model, "--loop", "20000", "--profiler", "--debug", "--output", "out", "-od", "run"];
    let mut child = place.command(&fixed).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.into_iter().any(|line| line.contains("exporting the profile")));
    signal(&child, Signal::KILL);
    assert_eq!(child.wait().unwrap().code(), None);
    assert!(!place.path("out/profiler/run").exists() && !place.path("out/run").exists(), "nothing claims to be whole");
    let manifest = place.json("out/profiler/run.partial/manifest.json");
    assert_eq!((&manifest["complete"], &manifest["incomplete_because"]), (&true.into(), &serde_json::json!([])));
    let ended = place.export(&["out/profiler/run.partial", "--format", "csv", "--timeline-runs", "all"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let table = place.text("out/profiler/run.partial/op_statistic.csv");
    assert!(table.lines().count() > 1, "{table}");
}

#[test]
fn ctrl_c_while_it_exports_ends_the_exports_and_says_how_to_make_them() {
    let place = Workplace::new();
    let model = model("digits_cnn.onnx");
    // So many runs that the exports take seconds.
    let fixed = ["benchmark", &model, "--loop", "20000", "--profiler", "--debug", "--output", "out", "-od", "run"];
    let all = [&fixed[..], &["--timeline-runs", "all"]].concat();
    let mut child = place.command(&all).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("exporting the profile") {
        assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "it ended before it exported: {said}");
    }
    signal(&child, Signal::INT);
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{said}");
    let says = ["interrupted before all exports were written", "make them with: opscope export out/profiler/run"];
    says.iter().for_each(|text| assert!(said.contains(text), "{said}"));
    let files = place.tree("out/profiler/run");
    assert!(files.len() < 3 + 5 && files.iter().all(|file| !file.ends_with(".part")), "{files:?}");
    assert_eq!(place.json("out/profiler/run/manifest.json")["complete"], true, "every record is there");
    assert_eq!(place.export(&["out/profiler/run"]).code, Some(0));
    assert_eq!(place.tree("out/profiler/run").len(), 3 + 5);
}

/// Runs a command whose files must not become larger than this, in KiB. Unlike on a full disk, there is still space for
/// other files.
fn limited(place: &Workplace, kibibytes: u32, arguments: &[&str]) -> Ended {
    let script = format!("ulimit -f {kibibytes}; exec \"$0\" \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_opscope"), "benchmark"]).args(arguments);
    end(command.current_dir(place.path("")).stdin(Stdio::null()))
}

fn reasons(document: &Value) -> String {
    document["incomplete_because"].to_string()
}

#[test]
fn a_limit_of_file_sizes_leaves_a_recording_that_says_what_is_missing() {
    let place = Workplace::new();
    let model = model("digits_cnn.onnx");
    let fixed = [model.as_str(), "--output", "out", "--output-dirname", "run", "--json"];
    let watched = ["--profiler", "--profiler-watermark", "4K", "--loop", "500"];
    let ended = limited(&place, 48, &[&fixed[..], &watched].concat());
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    ended.says(&["warning: incomplete", "records.bin could not be written"]);
    let manifest = place.json("out/profiler/run/manifest.json");
    assert_eq!(manifest["complete"], false);
    assert!(reasons(&manifest).contains("records were not written"), "{manifest}");
    let ended = place.export(&["out/profiler/run", "--format", "chrome", "--output", "again"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let timeline = place.json("again/timeline.json");
    assert!(timeline.as_array().unwrap().iter().any(|event| event["cat"] == "run"), "what found room is there");
}

#[test]
fn a_full_disk_of_any_size_costs_no_result_and_the_recording_says_what_is_missing() {
    with_disks("a_full_disk_of_any_size_costs_no_result_and_the_recording_says_what_is_missing", || {
        let place = Workplace::new();
        let (disk, model) = (place.path("disk"), model("digits_cnn.onnx"));
        // ONNX Runtime has fewer kernels, and so fewer records of a run.
        let loops = if engine::is_onnxruntime() { "600" } else { "300" };
        let watched = ["--profiler", "--profiler-watermark", "4K", "--loop", loops];
        let arguments = [&[model.as_str(), "--output", "disk/out", "--output-dirname", "run", "--json"], &watched[..]];
        let (mut refused, mut ended_full) = (0, 0);
        for kibibytes in
            [4, 8, 16, 20, 24, 28, 32, 40, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072]
        {
            let _mounted = SmallDisk::mount(&disk, kibibytes);
            let ended = place.benchmark(&arguments.concat());
            if ended.code == Some(1) {
                // There was no space for an empty recording, so nothing ran.
                ended.refused(1, &["No space left on device"]);
                assert_eq!(place.tree("disk"), [""; 0], "{kibibytes} KiB");
                refused += 1;
                continue;
            }
            assert_eq!(ended.code, Some(3), "{kibibytes} KiB: {ended:?}");
            let report = ended.json();
            assert!(report["NPU_compute_time"]["count"].as_u64().unwrap() >= 1, "{kibibytes} KiB: {report}");
            assert!(report["complete"] == false && !reasons(&report).contains("[]"), "{kibibytes} KiB: {report}");
            let manifest = place.json("disk/out/profiler/run/manifest.json");
            let records = &manifest["records"];
            assert!(records.is_object(), "{kibibytes} KiB: the recording is closed: {manifest}");
            let is_whole = records["delivered"] == records["emitted"] && !reasons(&manifest).contains("be written");
            assert_eq!(manifest["complete"], is_whole, "{kibibytes} KiB: {manifest}");
            assert!(!place.tree("disk").iter().any(|path| path.ends_with(".part") || path.ends_with(".reserve")));
            ended_full += u32::from(!is_whole);
        }
        assert!(refused < 8 && ended_full > 5, "{refused} refused, {ended_full} with records that are missing");
    });
}

#[test]
fn a_full_disk_leaves_a_dump_that_says_what_is_missing() {
    with_disks("a_full_disk_leaves_a_dump_that_says_what_is_missing", || {
        let place = Workplace::new();
        let model = model("digits_cnn.onnx");
        // The tensors of this batch have 200 to 400 KiB, so some of them fit.
        let disk = place.path("disk");
        let _mounted = SmallDisk::mount(&disk, 1024);
        let ended =
            place.benchmark(&[&model, "--dym-batch", "100", "--dump", "-o", "disk/out", "-od", "run", "--json"]);
        assert_eq!(ended.code, Some(3), "{}", ended.stderr);
        ended.says(&["warning: incomplete", "No space left on device"]);
        assert_eq!(ended.json()["complete"], false);
        let manifest = place.json("disk/out/dump/run/manifest.json");
        assert_eq!(manifest["complete"], false, "{manifest}");
        let missing = manifest["missing_count"].as_u64().unwrap();
        let tensors = manifest["tensors"].as_u64().unwrap();
        assert!(
            tensors >= 2 && missing > 0 && tensors + missing == 16,
            "each of the 16 is there or missing: {manifest}"
        );
        let whole: Vec<_> = place.tree("disk/out/dump/run").into_iter().filter(|path| path.ends_with(".npy")).collect();
        assert_eq!(whole.len() as u64, tensors);
        for file in whole {
            process::tensors::read(place.path("disk/out/dump/run").join(file));
        }
    });
}

#[test]
fn a_limit_of_file_sizes_leaves_no_output_that_is_cut_short_under_the_runs_name() {
    let place = Workplace::new();
    let model = model("tiny_transformer.onnx");
    let shape = "hidden_states:4,32,64";
    let ended = limited(&place, 16, &[&model, "--dym-shape", shape, "-o", "out", "-od", "run", "--json"]);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    ended.says(&["warning: incomplete: the outputs could not be written"]);
    assert_eq!(place.tree("out"), ["run.partial", "run.partial/last_hidden_state.npy", "run_summary.json"]);
    assert!(reasons(&place.json("out/run_summary.json")).contains("the outputs could not be written"));
}

#[test]
fn a_summary_that_finds_no_room_does_not_lose_the_report() {
    let place = Workplace::new();
    let model = model("digits_cnn.onnx");
    let ended = limited(&place, 8, &[&model, "--loop", "1000", "-o", "out", "-od", "run", "--json"]);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    ended.says(&["warning: incomplete: the summary was not written"]);
    assert_eq!(ended.json()["NPU_compute_time"]["count"], 1000);
    assert_eq!(place.tree("out"), ["run", "run/probabilities.npy"]);
}

#[test]
fn a_report_whose_reader_left_is_no_failure() {
    let place = Workplace::new();
    let mut command = place.command(&["benchmark", &model("digits_cnn.onnx"), "--loop", "1"]);
    let closed = File::open("/dev/null").unwrap();
    let mut child = command.stdout(Stdio::piped()).stderr(closed).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
