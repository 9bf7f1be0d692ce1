//! How close operators come to what the machine reaches: `opscope machine`, and what `opscope inspect` shows of a
//! recording.

mod process;

use std::fs;

use process::{Ended, Workplace, end, model};
use serde_json::Value;

/// The operations of digits_cnn for one image, counted by hand: two for each weight in every window, and one for each
/// bias; two for each element of a normalisation; one for each element of a Relu; one for each element in the windows
/// of the poolings; five for each element of the softmax.
const DIGITS_FLOPS: u64 = (512 * (2 * 9 + 1) + 2 * 512 + 512)
    + (1024 * (2 * 72 + 1) + 2 * 1024 + 1024 + 256 * 4)
    + (512 * (2 * 144 + 1) + 2 * 512 + 512 + 128 * 4)
    + (64 * (2 * 128 + 1) + 64)
    + (10 * (2 * 64 + 1) + 5 * 10);

/// Returns a directory with a recording of the digits, for eight images.
fn recorded(arguments: &[&str]) -> Workplace {
    let place = Workplace::new();
    let (digits, image) = (model("digits_cnn.onnx"), model("digits_cnn.input.image.npy"));
    let fixed = [&digits, "--input", &image, "--profiler", "--loop", "5", "-o", "out", "-od", "run"];
    place.benchmark_well(&[&fixed[..], arguments].concat());
    place
}

fn inspect(place: &Workplace, arguments: &[&str]) -> Ended {
    end(&mut place.command(&[&["inspect", "out/profiler/run"], arguments].concat()))
}

fn flops(account: &Value) -> f64 {
    let rows = account["operators"].as_array().unwrap().iter().filter(|row| row["added"] == false);
    rows.map(|row| row["work"]["flops"].as_f64().unwrap_or_else(|| panic!("{row}"))).sum()
}

#[test]
fn the_operations_of_a_model_are_those_counted_by_hand_however_it_is_fused() {
    let place = recorded(&[]);
    let document = inspect(&place, &["--no-roofline", "--json"]).json();
    assert_eq!(flops(&document["account"]), (8 * DIGITS_FLOPS) as f64);
    assert_eq!(document["account"]["roofline"], Value::Null);
    let text = inspect(&place, &["--no-roofline"]).stdout;
    assert!(text.contains("Work of operators by time") && text.contains("GFLOP/s"), "{text}");
    assert!(text.contains("A run computes 0.00265 GFLOP"), "{text}");
}

#[test]
fn operators_are_compared_with_this_machine_which_is_measured_once() {
    let place = recorded(&[]);
    let with_cache = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        end(command.env("XDG_CACHE_HOME", place.path("cache")))
    };
    let document = with_cache(&["inspect", "out/profiler/run", "--json"]).json();
    let machine = &document["account"]["roofline"];
    assert!(machine["peaks"][0]["gflops_per_s"].as_f64().unwrap() > 0.0, "{machine}");
    let bounds = document["account"]["operators"].as_array().unwrap().iter();
    let percents = bounds.filter_map(|row| row["work"]["bound"]["percent"].as_f64()).collect::<Vec<_>>();
    assert!(!percents.is_empty() && percents.iter().all(|percent| *percent > 0.0), "{percents:?}");
    // If the machine were measured again, the numbers would differ.
    let kept = with_cache(&["machine", "--threads", "1", "--json"]).json();
    assert_eq!((&kept["schema"], &kept["machine"][0]), (&"opscope.machine/1".into(), machine));
    let text = with_cache(&["machine", "--threads", "1"]).stdout;
    assert!(text.contains("1 thread") && text.contains("multiply and add float32"), "{text}");
    // A benchmark compares if the machine was measured before, and never measures it itself.
    let summary =
        with_cache(&["benchmark", &model("digits_cnn.onnx"), "--loop", "1", "--profiler", "-o", "more", "--json"])
            .json();
    assert_eq!(&summary["profile"]["account"]["roofline"], machine);
    let file = fs::read_dir(place.path("cache/opscope")).unwrap().map(|entry| entry.unwrap().path());
    let file = file.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("machine-")).last().unwrap();
    fs::write(&file, "{").unwrap();
    let again = with_cache(&["machine", "--threads", "1", "--json"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(fs::read_to_string(file).unwrap().contains("opscope.machine/1"), "it is written anew");
}

#[test]
fn a_number_of_threads_that_the_machine_lacks_is_refused() {
    let place = Workplace::new();
    end(&mut place.command(&["machine", "--threads", "100000"])).refused(2, &["--threads 100000", "at most"]);
    end(&mut place.command(&["machine", "--threads", "0"])).refused(2, &["--threads"]);
}

#[test]
fn layers_percentiles_and_memory_are_shown_where_they_are_asked_for() {
    let place = recorded(&["--profiler-option", "task-memory=on"]);
    let options = ["--group-depth", "1", "--distribution", "--memory", "--no-roofline"];
    let text = inspect(&place, &options).stdout;
    for part in
        ["Layers by time", "/conv1", "Times of operators in a run", "P99", "Memory for tensors over time", "(inputs)"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let document = inspect(&place, &[&options[..], &["--json"]].concat()).json();
    let account = &document["account"];
    let sum =
        |rows: &Value, key: &str| rows.as_array().unwrap().iter().map(|row| row[key].as_f64().unwrap()).sum::<f64>();
    let (layers, operators) = (sum(&document["layers"], "total_ns"), sum(&account["operators"], "total_ns"));
    assert!((layers / operators - 1.0).abs() < 1e-9, "{layers} of {operators}");
    assert_eq!(sum(&document["layers"], "flops"), flops(account));
    let histograms = document["histograms"].as_array().unwrap();
    assert_eq!(histograms.len(), account["operators"].as_array().unwrap().len());
    for histogram in histograms {
        assert_eq!(histogram["counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum::<u64>(), 5);
    }
    let memory = &document["memory"];
    assert_eq!(memory["peak_bytes"], account["tensor_memory"]["peak_bytes"]);
    assert_eq!(sum(&memory["operators"], "bytes_at_peak"), memory["peak_bytes"].as_f64().unwrap());
    // Eight images of 8 x 8 numbers.
    assert_eq!(
        (&memory["operators"][0]["operator"], &memory["operators"][0]["allocated_bytes"]),
        (&Value::Null, &2048.into())
    );
}

#[test]
fn what_only_recordings_have_is_refused_for_others() {
    let place = recorded(&[]);
    let digits = model("digits_cnn.onnx");
    end(&mut place.command(&["inspect", &digits, "--memory"])).refused(2, &["--memory", "not a recording"]);
    inspect(&place, &["--memory"]).refused(2, &["--memory", "task-memory=on"]);
}
