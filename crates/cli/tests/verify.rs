//! What a benchmark reports about whether the plan is right.

mod process;

use opscope::tensor::{Tensor, npy};
use process::onnx::{node, weighted};
use process::{Workplace, end, engine, fixture, model, tensors};
use serde_json::Value;

#[test]
fn the_text_the_summary_and_the_recording_say_that_the_plan_is_right() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    let line =
        [digits.as_str(), "--output", "out", "--output-dirname", "run", "--profiler", "--verify", "on", "--details"];
    let ended = place.benchmark_well(&line);
    let said = "the outputs are those of the exact plan, within ";
    assert!(ended.stdout.contains(&format!("verified  {said}")), "{}", ended.stdout);
    let verification = &place.json("out/run_summary.json")["verification"];
    assert_eq!(verification["outcome"], "right", "{verification}");
    assert_eq!(verification["form"], "every rewrite");
    assert!(verification["largest_difference"].as_f64().unwrap() < 1e-5);
    let values: Vec<&Value> = verification["kernels"].as_array().unwrap().iter().map(|found| &found["value"]).collect();
    assert!(values.contains(&&Value::from("probabilities")), "{values:?}");
    let notes = place.json("out/profiler/run/manifest.json")["notes"].clone();
    assert!(notes[0].as_str().unwrap().starts_with(said), "{notes}");
}

#[test]
fn what_was_found_is_used_again_unless_it_is_asked_for_anew() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    let run = |more: &[&str]| {
        let arguments = [&["benchmark", &digits, "--loop", "1", "--json"], more].concat();
        end(place.command(&arguments).env("XDG_CACHE_HOME", place.path("cache"))).json()["verification"].clone()
    };
    assert_eq!(run(&[])["kept_since"], Value::Null);
    assert!(run(&[])["kept_since"].is_string());
    assert_eq!(run(&["--verify", "on"])["kept_since"], Value::Null);
    assert_eq!(run(&["--dym-batch", "2"])["kept_since"], Value::Null, "other shapes are another plan");
    let image = model("digits_cnn.input.image.npy");
    assert_eq!(run(&["--input", &image])["kept_since"], Value::Null, "other inputs were not checked");
    assert!(run(&["--input", &image])["kept_since"].is_string());
    assert_eq!(run(&["--verify", "off"]), Value::Null);
    assert!(place.tree("").iter().all(|path| path.starts_with("cache")), "{:?}", place.tree(""));
}

#[test]
fn what_is_computed_in_another_type_is_said() {
    let place = Workplace::new();
    let ended = place.benchmark_well(&[&fixture("fp16.onnx"), "--json"]);
    let notes = &ended.json()["notes"];
    assert!(notes[0].as_str().unwrap().contains("float16 in float32"), "{notes}");
    assert_eq!(place.benchmark_well(&[&model("digits_cnn.onnx"), "--json"]).json()["notes"], Value::Null);
}

/// A model with a NaN that the engine's kernels drop and the exact plan keeps.
#[test]
fn a_nan_that_only_the_exact_plan_hands_on_is_a_difference() {
    let place = Workplace::new();
    let image = tensors::read(model("digits_cnn.input.image.npy"));
    let mut bytes = image.bytes().to_vec();
    bytes[400..404].copy_from_slice(&f32::NAN.to_le_bytes());
    let with_nan = Tensor::new(image.dtype(), image.shape().to_vec(), bytes).unwrap();
    let mut file = Vec::new();
    npy::write(&with_nan.view(), &mut file).unwrap();
    place.write("nan.npy", file);
    let digits = model("digits_cnn.onnx");
    let ended = place.benchmark_well(&[&digits, "--input", "nan.npy", "--verify", "on"]);
    let lines: Vec<&str> = ended.stdout.lines().filter(|line| line.contains("runs with the exact plan")).collect();
    let [line] = lines[..] else { panic!("one line says it: {}", ended.stdout) };
    assert!(line.contains("it runs with the exact plan, because the engine's own plan gives other outputs"), "{line}");
    let engine = ended.stdout.lines().find(|line| line.starts_with("engine ")).unwrap();
    assert!(engine.contains(", with the exact plan, 1 thread") && !engine.contains("optimised"), "{engine}");
    for columns in ["40", "80"] {
        let mut command = place.command(&["benchmark", &digits, "--input", "nan.npy", "--verify", "on", "--loop", "5"]);
        let ended = end(command.env("COLUMNS", columns));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let narrow = ended.stdout;
        assert!(narrow.lines().count() <= 15 && narrow.contains(", with the exact"), "{narrow}");
        let said: Vec<&str> = narrow.lines().skip_while(|line| !line.starts_with("checked ")).take(2).collect();
        assert!(
            said[0].starts_with("checked    it runs with the")
                && (columns == "40" || said[1].starts_with("           ")),
            "{narrow}"
        );
        assert!(said.iter().all(|line| !line.contains('…')), "{narrow}");
    }
    let detailed = place.benchmark_well(&[&digits, "--input", "nan.npy", "--verify", "on", "--details"]);
    let is_named =
        |line: &&str| line.contains("gives other outputs: ") && line.contains("NaN or infinite in one of the two only");
    assert!(detailed.stdout.lines().filter(is_named).count() > 2, "each form has a line: {}", detailed.stdout);
}

/// A Sigmoid of numbers around -20 has values of about 2e-9, which an engine approximates.
#[test]
fn a_sigmoid_near_zero_is_judged_by_what_a_sigmoid_can_give() {
    let place = Workplace::new();
    let x = [("x", &["1", "64"][..])];
    let nodes = [node("shift", "Add", &["x", "b"], &["logits"]), node("sigmoid", "Sigmoid", &["logits"], &["p"])];
    let model = weighted(&x, &nodes, &[("b", &[-20.0])], &[("p", &["1", "64"])]);
    place.write("near_zero.onnx", model);
    let ended = place.benchmark_well(&["near_zero.onnx", "--verify", "on", "--json"]);
    let verification = &ended.json()["verification"];
    assert_eq!((&verification["outcome"], &verification["wrong"]), (&Value::from("right"), &Value::Null), "{ended:?}");
    assert_eq!(verification["outputs"][0]["scale"], 1.0, "{verification}");
    let of_largest = verification["outputs"][0]["of_largest"].as_f64().unwrap();
    if process::engine::name() == "tract" {
        assert!(of_largest > 1.0, "its approximation is far off by another measure: {verification}");
    }
}

/// Another engine is the reference. The sine of a large number depends on the number's last bit, in which two engines
/// may differ although both are right.
#[test]
fn another_engine_is_the_reference_and_no_form_that_gives_its_outputs_is_exit_code_4() {
    if let Err(error) = opscope::engine::Library::find(None) {
        return opscope_model::testing::skipped(error.to_string().lines().next().unwrap_or_default());
    }
    let place = Workplace::new();
    let (other, own) = if engine::is_onnxruntime() { ("tract", "onnxruntime") } else { ("onnxruntime", "tract") };
    let against = ["--engine", own, "--reference-engine", other, "--verify", "on", "--pure-data-type", "random"];
    let ended = place.benchmark_well(&[&[model("digits_cnn.onnx").as_str(), "--json"], &against[..]].concat());
    let verification = &ended.json()["verification"];
    assert_eq!(verification["outcome"], "right", "{verification}");
    assert!(verification["reference"].as_str().unwrap().starts_with(other), "{verification}");
    let port = ["4096"];
    let nodes = [
        node("exp", "Exp", &["x"], &["e"]),
        node("mul", "Mul", &["e", "large"], &["m"]),
        node("sin", "Sin", &["m"], &["y"]),
    ];
    place.write("sine.onnx", weighted(&[("x", &port)], &nodes, &[("large", &[1e6])], &[("y", &port)]));
    let ended = place.benchmark(&[&["sine.onnx", "--output", "out", "-od", "run"], &against[..]].concat());
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stdout.contains("outputs WRONG"), "{ended:?}");
    ended.says(&[&format!("warning: no form of the plan gives the outputs of {other} ")]);
    assert_eq!(place.json("out/run_summary.json")["verification"]["outcome"], "wrong");
    // The engine does agree with its own exact plan.
    place.benchmark_well(&["sine.onnx", "--engine", own, "--verify", "on", "--pure-data-type", "random"]);
}

#[test]
fn a_reference_engine_needs_a_comparison_and_has_to_be_there() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    let off = place.benchmark(&[&digits, "--reference-engine", "tract", "--verify", "off"]);
    off.refused(2, &["--reference-engine", "--verify off", "without a comparison there is no reference"]);
    let missing = ["--engine", "tract", "--reference-engine", "ort", "--engine-library", "/nowhere/libonnxruntime.so"];
    let missing = place.benchmark(&[&[digits.as_str(), "--output", "out"], &missing[..]].concat());
    missing.refused(2, &["/nowhere/libonnxruntime.so"]);
    assert_eq!(place.tree(""), [""; 0]);
}
