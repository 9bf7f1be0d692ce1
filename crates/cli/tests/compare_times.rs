//! `opscope compare`: the times of recordings and of summaries.

mod process;

use std::collections::{BTreeMap, BTreeSet};

use process::{Workplace, csv, model};
use serde_json::Value;

/// The seconds of a benchmark that is long enough for an interval.
const LONG: &str = "1.5";

/// Records `out_NAME/profiler/NAME` and `out_NAME/NAME_summary.json`, in a directory of its own.
fn record(place: &Workplace, file: &str, name: &str, options: &[&str]) -> String {
    let (file, out) = (model(file), format!("out_{name}"));
    let fixed = [file.as_str(), "--profiler", "--output", &out, "--output-dirname", name];
    place.benchmark_well(&[&fixed, options].concat());
    format!("{out}/profiler/{name}")
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

#[test]
fn two_recordings_are_compared_by_the_operators_of_the_file_as_a_table_as_json_and_as_csv() {
    let place = Workplace::new();
    let a = record(&place, "digits_cnn.onnx", "a", &["--duration", LONG]);
    let b = record(&place, "digits_cnn.onnx", "b", &["--duration", LONG]);
    let json = place.compare(&[&a, &b, "--json", "--csv", "times.csv"]);
    assert_eq!(json.code, Some(0), "{json:?}");
    let json = json.json();
    assert_eq!(json["schema"], "opscope.times/1");
    for change in [&json["run"], &json["outside"]] {
        // On a machine whose speed changes all the time, even a long benchmark is not enough for an interval.
        let Some(interval) = change["difference_interval_ns"].as_array() else { continue };
        let [low, high] = [0, 1].map(|end| interval[end].as_f64().unwrap());
        let difference = change["difference_ns"].as_f64().unwrap();
        assert!(low <= difference && difference <= high, "{change}");
    }
    let account = place.json("out_a/a_summary.json")["profile"]["account"]["operators"].clone();
    let recorded: BTreeSet<&str> =
        account.as_array().unwrap().iter().map(|row| row["operator"].as_str().unwrap()).collect();
    let rows = json["operators"].as_array().unwrap();
    let compared: BTreeSet<&str> = rows.iter().map(|row| strings(&row["operators"])[0]).collect();
    assert_eq!(compared, recorded);
    assert!(rows.iter().all(|row| row["presence"] == "both"), "{rows:?}");
    let costs: Vec<f64> = rows.iter().map(|row| row["change"]["difference_ns"].as_f64().unwrap().abs()).collect();
    assert!(costs.is_sorted_by(|a, b| a >= b), "{costs:?}");

    let table = csv(&place.text("times.csv"));
    let of = |kind: &str| table.iter().filter(|row| row[0] == kind).count();
    assert_eq!((of("run"), of("outside"), of("operator")), (1, 1, rows.len()));

    // The output directories have one recording each.
    let text = place.compare(&["out_a", "out_b", "--rows", "2"]);
    assert_eq!(text.code, Some(0), "{text:?}");
    let begins = |start: &str| text.stdout.lines().any(|line| line.starts_with(start));
    assert!(begins("A  out_a/profiler/a (") && begins("run "), "{}", text.stdout);
    assert!(begins("... and "), "{}", text.stdout);
    assert!(place.compare(&[&a, &b, "--csv", "times.csv"]).code == Some(1), "nothing is overwritten");
}

#[test]
fn a_threshold_ends_with_4_only_where_the_whole_interval_lies_above_and_with_3_where_there_is_none() {
    let place = Workplace::new();
    let one = record(&place, "digits_cnn.onnx", "one", &["--duration", LONG, "--dym-batch", "1"]);
    let many = record(&place, "digits_cnn.onnx", "many", &["--duration", LONG, "--dym-batch", "64"]);
    let short = record(&place, "digits_cnn.onnx", "short", &["--loop", "2"]);
    for (baseline, compared, threshold, code) in [
        (&one, &many, "5%", 4),
        (&one, &many, "5%:Conv", 4),
        (&one, &many, "5%:/conv2/Conv", 4),
        (&one, &many, "1000000%", 0),
        (&many, &one, "5%", 0),
        (&one, &short, "5%", 3),
    ] {
        let ended = place.compare(&[compared, "--baseline", baseline, "--fail-above", threshold]);
        let is_unknown = ended.stdout.contains("cannot tell");
        assert_eq!(ended.code, Some(if is_unknown { 3 } else { code }), "{threshold}: {ended:?}");
        assert!(ended.stdout.contains(&format!("{threshold} (")), "{ended:?}");
        assert_eq!(ended.stdout.contains("; measure both for longer, with --duration "), is_unknown, "{ended:?}");
    }
    let both = place.compare(&[&one, &many, "--fail-above", "1000000%", "--fail-above", "5%:Conv", "--json"]);
    let exceeded: Vec<Value> =
        both.json()["judgements"].as_array().unwrap().iter().map(|one| one["exceeded"].clone()).collect();
    assert_eq!((both.code, exceeded), (Some(4), vec![Value::Bool(false), Value::Bool(true)]));

    place.compare(&[&one, &many, "--fail-above", "5%:Konv"]).refused(2, &["'Konv'", "did you mean 'Conv'?"]);
    place.compare(&[&one, &many, "--fail-above", "5"]).refused(2, &["'5' is not a threshold", "5%"]);

    // Summaries say the same, of the run and of each operator.
    let summary = |name: &str| format!("out_{name}/{name}_summary.json");
    for threshold in ["5%", "5%:Conv", "5%:/conv2/Conv"] {
        let ended = place.compare(&[&summary("one"), &summary("many"), "--fail-above", threshold]);
        let is_unknown = ended.stdout.contains("cannot tell");
        assert_eq!(ended.code, Some(if is_unknown { 3 } else { 4 }), "{threshold}: {ended:?}");
    }
    let operators = |measurement: &str| {
        let compared = place.compare(&[measurement, measurement, "--json"]).json();
        let rows = compared["operators"].as_array().unwrap().clone();
        let operators = rows.into_iter().map(|row| (row["operators"][0].to_string(), row["change"].clone()));
        (operators.collect::<BTreeMap<_, _>>(), compared["op_types"].clone())
    };
    let of_recording = operators(&one);
    assert!(!of_recording.0.is_empty());
    assert_eq!(operators(&summary("one")), of_recording);
}

#[test]
fn the_older_measurement_is_the_baseline_in_either_order_unless_another_one_is_chosen() {
    let place = Workplace::new();
    let old = record(&place, "digits_cnn.onnx", "old", &["--loop", "3"]);
    let new = record(&place, "digits_cnn.onnx", "new", &["--loop", "3"]);
    let summary = |name: &str| format!("out_{name}/{name}_summary.json");
    let sides = |arguments: &[&str]| {
        let json = place.compare(&[arguments, &["--json"]].concat()).json();
        ["a", "b", "baseline"].map(|key| json[key]["path"].as_str().or(json[key].as_str()).unwrap().to_owned())
    };
    for (old, new) in [(old, new), (summary("old"), summary("new"))] {
        for [first, second] in [[&old, &new], [&new, &old]] {
            assert_eq!(sides(&[first, second]), [&old, &new, "older"]);
            assert_eq!(sides(&[first, second, "--baseline", &new]), [&new, &old, "chosen"]);
        }
        assert_eq!(sides(&[&new, "--baseline", &old]), [&old, &new, "chosen"]);
        assert_eq!(sides(&[&new, &new])[2], "second");
        let text = place.compare(&[&new, &old]).stdout;
        assert!(text.contains("A was measured ") && text.contains(" before B, so it is the baseline\n"), "{text}");
        let text = place.compare(&[&new, &old, "--baseline", &format!("./{new}")]).stdout;
        assert!(text.contains("A was chosen as the baseline; it was measured "), "{text}");
        place.compare(&[&new, &old, "--baseline", "nothing"]).refused(2, &["--baseline nothing is neither"]);
    }
    // Summaries of earlier versions do not say when they were made.
    for name in ["old", "new"] {
        let mut json = place.json(&summary(name));
        json.as_object_mut().unwrap().remove("start_unix_ns");
        place.write(&format!("{name}_summary.json"), json.to_string());
    }
    let (undated_old, undated_new) = ("old_summary.json".to_owned(), "new_summary.json".to_owned());
    assert_eq!(sides(&[&undated_new, &undated_old]), [&undated_old, &undated_new, "second"]);
    assert_eq!(sides(&[&undated_new, &summary("old")]), [&undated_new, &summary("old"), "older"]);
}

#[test]
fn an_interval_around_a_threshold_cannot_tell_and_ends_with_3_and_a_duration() {
    let place = Workplace::new();
    record(&place, "digits_cnn.onnx", "a", &["--loop", "3"]);
    // Runs of 200 ms, so that each counts as an independent one. Those of the second summary vary around +8 %.
    for (name, middle, swing) in [("first", 200.0, 0.1), ("second", 216.0, 3.0)] {
        let mut json = place.json("out_a/a_summary.json");
        let millis = |run: u64| middle + swing * ((run * 37 % 60) as f64 - 29.5);
        json["npu_compute_time_list"] = (0..60).map(millis).collect();
        json["load"] = serde_json::json!({});
        place.write(&format!("{name}_summary.json"), json.to_string());
    }
    let pair = ["second_summary.json", "--baseline", "first_summary.json", "--json", "--fail-above"];
    let interval = place.compare(&[&pair[..], &["5%"]].concat()).json()["run"]["percent_interval"].clone();
    let [low, high] = [0, 1].map(|end| interval[end].as_f64().unwrap());
    assert!(low < 0.0 && high > 9.0, "{interval}");
    for (percent, code) in [(low - 1.0, 4), (low + 0.5, 3), (5.0, 3), (high - 0.5, 3), (high + 1.0, 0)] {
        let percent = percent.max(0.0);
        let ended = place.compare(&[&pair[..], &[&format!("{percent}%")]].concat());
        let code = if percent == 0.0 { 3 } else { code };
        assert_eq!(ended.code, Some(code), "{percent} in {interval}");
        let seconds = &ended.json()["judgements"][0]["measure_seconds"];
        assert_eq!(seconds.as_u64().is_some_and(|seconds| seconds >= 25), code == 3, "{seconds}");
    }
    let text = place.compare(&["second_summary.json", "--baseline", "first_summary.json", "--fail-above", "5%"]);
    assert!(text.stdout.contains("5% (run): cannot tell; the change is -"), "{text:?}");
    assert!(text.stdout.contains("; measure both for longer, with --duration "), "{text:?}");
}

#[test]
fn operators_are_not_gone_because_one_side_has_no_times_of_operators() {
    let place = Workplace::new();
    record(&place, "digits_cnn.onnx", "with", &["--loop", "3"]);
    let digits = model("digits_cnn.onnx");
    place.benchmark_well(&[&digits, "--loop", "3", "--output", "out_without", "--output-dirname", "without"]);
    let compared = place.compare(&["out_with/with_summary.json", "out_without/without_summary.json", "--json"]).json();
    assert_eq!((&compared["operators"], &compared["op_types"]), (&serde_json::json!([]), &serde_json::json!([])));
    assert!(compared["notes"].to_string().contains("B has no times of operators, so only the runs are compared"));
}

#[test]
fn what_has_no_times_or_no_operator_in_common_is_refused_with_what_would_be_right() {
    let place = Workplace::new();
    let digits = record(&place, "digits_cnn.onnx", "digits", &["--loop", "2"]);
    let other = record(&place, "tiny_transformer.onnx", "other", &["--loop", "2"]);
    let summary = "out_digits/digits_summary.json";
    place.compare(&[&digits, &other]).refused(2, &["no operator in common", "names in the model's file"]);
    place.compare(&[&digits, summary]).refused(2, &["two recordings or two summaries"]);
    place.compare(&[&digits, "nothing"]).refused(2, &["nothing", "does not exist"]);
    for [option, value] in [["--tolerance", "0.1"], ["--fidelity", "optimised"], ["--seed", "4"], ["--order", "error"]]
    {
        place.compare(&[&digits, &digits, option, value]).refused(2, &[&format!("{option} is for tensors")]);
    }

    let file = model("digits_cnn.onnx");
    place.compare(&[&file, &file, "--fail-above", "5%"]).refused(2, &["--fail-above 5% is for times"]);

    for (name, content) in [
        ("cut_summary.json", r#"{"schema": "opscope.summary/1", "npu_compute"#),
        ("other_summary.json", r#"{"schema": "opscope.comparison/1"}"#),
        ("empty_summary.json", "[]"),
    ] {
        place.write(name, content);
        place.compare(&[summary, name]).refused(2, &[name, "neither a recording nor a summary"]);
    }
    let negative = place.text(summary).replacen("\"npu_compute_time_list\": [", "\"npu_compute_time_list\": [ -1,", 1);
    place.write("negative_summary.json", negative);
    place.compare(&[summary, "negative_summary.json"]).refused(2, &["-1 ms"]);
    let mut outside = place.json(summary);
    outside["profile"]["account"]["operators"][0]["median_interval_95_ns"] = serde_json::json!([0.0, 0.5]);
    place.write("outside_summary.json", outside.to_string());
    place.compare(&[summary, "outside_summary.json"]).refused(2, &["lies outside of its interval"]);
}

#[test]
fn summaries_and_manifests_say_how_busy_the_machine_was() {
    let place = Workplace::new();
    let recording = record(&place, "digits_cnn.onnx", "a", &["--duration", LONG]);
    for load in
        [&place.json("out_a/a_summary.json")["load"], &place.json(&format!("{recording}/manifest.json"))["load"]]
    {
        assert!(load["average_start"].as_f64() >= Some(0.0) && load["average_end"].as_f64() >= Some(0.0), "{load}");
        let [low, high] = ["p25_ns", "p75_ns"].map(|key| load["reference"][key].as_f64().unwrap());
        assert!(0.0 < low && low <= high, "{load}");
    }
}
