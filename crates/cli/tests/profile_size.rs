//! Profiles of many runs: how large the recording becomes, where it ends, and which runs its timelines show.

mod process;

use std::collections::BTreeSet;

use process::{Workplace, csv, end, model};
use serde_json::Value;

/// Profiles a job into `out/profiler/run`. It must succeed.
fn profiled(arguments: &[&str]) -> (Workplace, process::Ended) {
    let place = Workplace::new();
    let model = model("digits_cnn.onnx");
    let fixed = [model.as_str(), "--profiler", "--output", "out", "--output-dirname", "run", "--json"];
    let ended = place.benchmark_well(&[&fixed, arguments].concat());
    (place, ended)
}

/// Returns the runs that a table of dispatches shows, and how many rows it has.
fn runs_of_table(place: &Workplace, directory: &str) -> (BTreeSet<u64>, usize) {
    let rows = csv(&place.text(&format!("{directory}/op_summary.csv")));
    let run = rows[0].iter().position(|column| column == "Run").unwrap();
    (rows[1..].iter().map(|row| row[run].parse().unwrap()).collect(), rows.len() - 1)
}

/// Returns the runs that a timeline shows, each with its duration, and the arguments of its first event.
fn runs_of_timeline(place: &Workplace, directory: &str) -> (Vec<(u64, f64)>, Value) {
    let timeline = place.json(&format!("{directory}/timeline.json"));
    let events = timeline.as_array().unwrap();
    let runs = events.iter().filter(|event| event["cat"] == "run");
    let run = |event: &Value| (event["args"]["run"].as_u64().unwrap(), event["dur"].as_f64().unwrap());
    (runs.map(run).collect(), events[0]["args"].clone())
}

/// Returns how many dispatches the table of operator types counts.
fn counted(place: &Workplace, directory: &str) -> u64 {
    let rows = csv(&place.text(&format!("{directory}/op_statistic.csv")));
    let count = rows[0].iter().position(|column| column == "Count").unwrap();
    rows[1..].iter().map(|row| row[count].parse::<u64>().unwrap()).sum()
}

#[test]
fn a_recording_takes_at_most_24_bytes_for_each_dispatch_with_everything_else_that_is_recorded() {
    let (place, ended) = profiled(&["--loop", "400", "--timeline-runs", "all"]);
    let (runs, dispatches) = runs_of_table(&place, "out/profiler/run");
    assert_eq!(runs.len(), 401, "the warm-up run is shown, too");
    let bytes = place.path("out/profiler/run/records.bin").metadata().unwrap().len();
    assert!(bytes as f64 / dispatches as f64 <= 24.0, "{bytes} bytes for {dispatches} dispatches");
    assert_eq!(ended.json()["profile"]["recording_bytes"], bytes);
    let manifest = place.json("out/profiler/run/manifest.json");
    assert_eq!((&manifest["schema"], &manifest["complete"]), (&"opscope.recording/3".into(), &true.into()));
}

#[test]
fn a_recording_ends_at_its_budget_and_the_measurement_goes_on() {
    let small = ["--profile-budget", "64K", "--profiler-size", "64K", "--profiler-watermark", "4K"];
    let (place, ended) = profiled(&[&["--loop", "3000"], &small[..]].concat());
    ended.says(&["note: the recording has reached its budget", "(--profile-budget)"]);
    let report = ended.json();
    assert_eq!(report["NPU_compute_time"]["count"], 3000, "every run is measured");
    assert_eq!(report["complete"], true);
    let manifest = place.json("out/profiler/run/manifest.json");
    assert_eq!((&manifest["complete"], &manifest["incomplete_because"]), (&true.into(), &serde_json::json!([])));
    assert!(manifest["notes"].to_string().contains("ended at its budget of 64.0 KiB"), "{manifest}");
    let beyond = manifest["records"]["runs_beyond_budget"].as_u64().unwrap();
    assert_eq!(report["profile"]["runs_beyond_budget"], beyond);
    let counts = &report["profile"]["account"]["runs"];
    let recorded = counts["measured"].as_u64().unwrap() + counts["warm_up"].as_u64().unwrap();
    assert_eq!(recorded + beyond, 3001, "each run is in the recording, whole, or counted: {counts}");
    assert_eq!((&counts["failed"], &counts["partial"]), (&0.into(), &0.into()));
    let bytes = place.path("out/profiler/run/records.bin").metadata().unwrap().len();
    assert!((64 << 10..192 << 10).contains(&bytes), "{bytes} bytes");
    let inspected = end(&mut place.command(&["inspect", "out/run"]));
    let said = format!("it ended at its budget; what follows is without the {beyond} runs after that");
    assert!(inspected.code == Some(0) && inspected.stdout.contains(&said), "{inspected:?}");
}

#[test]
fn a_recording_that_will_be_larger_than_its_budget_is_announced_with_the_first_runs() {
    let small = ["--profile-budget", "64K", "--profiler-size", "64K", "--profiler-watermark", "4K"];
    let (_, ended) = profiled(&[&["--loop", "3000"], &small[..]].concat());
    ended.says(&["note: all runs would take about ", "in the recording, which ends at 64.0 KiB (--profile-budget)"]);
    let (_, ended) = profiled(&["--loop", "20"]);
    assert!(!ended.stderr.contains("recording"), "{}", ended.stderr);
}

#[test]
fn timelines_show_the_first_runs_the_slowest_and_those_nearest_to_the_median_and_say_so() {
    let (place, ended) = profiled(&["--loop", "60", "--timeline-runs", "9"]);
    let note =
        "timelines and op_summary.csv show 9 of 61 runs: the first, the slowest, and those nearest to the median";
    ended.says(&[note]);
    let report = ended.json();
    assert_eq!(report["profile"]["shown_runs"], serde_json::json!({"shown": 9, "recorded": 61}));
    assert_eq!(report["profile"]["account"]["runs"]["measured"], 60, "the account is of all runs");
    let (shown, head) = runs_of_timeline(&place, "out/profiler/run");
    assert_eq!(head["runs"], report["profile"]["shown_runs"]);
    assert!(head["shows"].as_str().unwrap().contains("9 of 61 runs"), "{head}");
    let shown: BTreeSet<u64> = shown.into_iter().map(|(run, _)| run).collect();
    assert_eq!(runs_of_table(&place, "out/profiler/run").0, shown);
    let perfetto = std::fs::read(place.path("out/profiler/run/timeline.pftrace")).unwrap();
    let says = |text: &[u8]| perfetto.windows(text.len()).any(|bytes| bytes == text);
    assert!(says(b"shows 9 of 61 runs") && says(b"one of the slowest runs"));

    let again = place.export(&["out/profiler/run", "--output", "again", "--timeline-runs", "all"]);
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""));
    let (mut all, head) = runs_of_timeline(&place, "again");
    assert_eq!((all.len(), head.get("shows")), (61, None));
    assert_eq!(counted(&place, "again"), counted(&place, "out/profiler/run"), "statistics are of all runs");
    all.retain(|(run, _)| *run > 0);
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    let of = |runs: &[(u64, f64)]| -> BTreeSet<u64> { runs.iter().map(|(run, _)| *run).collect() };
    assert!(shown.is_superset(&BTreeSet::from([0, 1, 2])), "the first ones: {shown:?}");
    // Runs are ordered by ticks, which the timeline rounds.
    assert!(!shown.is_disjoint(&of(&all[59..])), "the slowest is there: {shown:?}, {all:?}");
    assert!(!shown.is_disjoint(&of(&all[29..32])), "the one at the median is there: {shown:?}, {all:?}");
}

#[test]
fn timelines_of_few_runs_show_all_of_them_and_other_exports_choose_for_themselves() {
    let (place, ended) = profiled(&["--loop", "5"]);
    assert!(!ended.stderr.contains("runs: the first"), "{}", ended.stderr);
    assert!(ended.json()["profile"].get("shown_runs").is_none());
    let (shown, head) = runs_of_timeline(&place, "out/profiler/run");
    assert_eq!((shown.len(), head.get("shows")), (6, None));
    let few = place.export(&["out/profiler/run", "--output", "few", "--timeline-runs", "3"]);
    assert_eq!(few.code, Some(0), "{few:?}");
    few.says(&["note: timelines and op_summary.csv show 3 of 6 runs", "--timeline-runs all shows all"]);
    assert_eq!(runs_of_timeline(&place, "few").0.len(), 3);
    let wrong = place.export(&["out/profiler/run", "--output", "none", "--timeline-runs", "0"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    wrong.says(&["a number from 1, or 'all'"]);
}

#[test]
fn the_memory_of_tensors_and_runs_without_records_are_shown_of_some_runs_as_of_all() {
    let (place, _) = profiled(&["--loop", "30", "--timeline-runs", "3", "--profiler-option", "task-memory=on"]);
    let timeline = place.json("out/profiler/run/timeline.json");
    let held: Vec<f64> = timeline
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["name"].as_str().is_some_and(|name| name.starts_with("tensor memory")))
        .map(|event| event["args"]["bytes"].as_f64().unwrap())
        .collect();
    assert!(!held.is_empty() && held.iter().all(|bytes| *bytes >= 0.0));
    assert_eq!(
        held.iter().filter(|bytes| **bytes == 0.0).count(),
        3,
        "each run that is shown ends with nothing: {held:?}"
    );
    let (place, _) = profiled(&["--loop", "30", "--timeline-runs", "3", "--profiler-option", "model-execution=off"]);
    assert_eq!(runs_of_table(&place, "out/profiler/run").0.len(), 3);
}

#[test]
fn the_size_is_in_the_text_of_the_result() {
    let place = Workplace::new();
    let model = model("digits_cnn.onnx");
    let ended =
        end(&mut place.command(&["benchmark", &model, "--profiler", "--output", "out", "--loop", "3", "--details"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("records.bin ("), "{}", ended.stdout);
}
