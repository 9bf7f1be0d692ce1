//! Exceptions that stop a run: NaN and infinity, and a failure.

use std::fs;

use opscope::onnx::{Graph, OnnxError};
use opscope::tensor::{Tensor, npy};
use serde_json::Value;

use super::process::onnx::{self, node};
use super::process::{Workplace, engine, fixture, model};
use super::{batch, in_order};

#[test]
fn nan_and_infinity_are_caught_where_they_begin() {
    let place = Workplace::new();
    let (nan, x) = (fixture("nan.onnx"), fixture("nan.input.x.npy"));
    let commands = ["catch nonfinite", "run", "print output[0]", "c", "print output[0]", "c"];
    let ended = batch(&place, &[&nan, "--input", &x], &commands);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let log = [
        "after #1 log (Log), run 0: output[0] b has 1 NaN and 1 infinite",
        "output[0]  float32 [3]\n[      nan      -inf 0.6931472]",
    ];
    let inverse = ["after #3 inverse (Div), run 0: output[0] z has 1 infinite", "inf"];
    // Neither operator takes an output of the other, so each engine has an order of its own.
    let order = if engine::is_onnxruntime() { [inverse, log] } else { [log, inverse] };
    in_order(&ended.stdout, &[&order.concat()[..], &["Run 0 ended"]].concat());
    let ended = batch(&place, &[&nan, "--input", &x], &["catch nan", "run", "c"]);
    assert!(!ended.stdout.contains("inverse"), "{ended:?}");
}

/// Writes a model in which the first element of an initializer is NaN.
fn spoiled(place: &Workplace, file: &str, initializer: &str) -> String {
    let mut bytes = fs::read(model(file)).unwrap();
    let graph = Graph::load(model(file).as_ref()).unwrap();
    let wanted = graph.value_named(initializer).unwrap().id;
    let read = graph.initializers(
        |value| value == wanted,
        |_, tensor| {
            let at = bytes.windows(tensor.bytes().len()).position(|part| part == tensor.bytes()).unwrap();
            bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
            Ok::<(), OnnxError>(())
        },
    );
    read.unwrap();
    place.write("spoiled.onnx", bytes).to_str().unwrap().to_owned()
}

#[test]
fn nan_that_comes_from_outside_is_caught_where_the_run_meets_it_with_the_name_of_what_has_it() {
    let place = Workplace::new();
    let stop = |arguments: &[&str], what: &str, says: &str| {
        let ended = batch(&place, arguments, &[&format!("catch {what}"), "run", "-continue", "-continue"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        in_order(&ended.stdout, &["Breakpoint 1, after", says, "Run 0 ended"]);
        assert_eq!(ended.stdout.matches(says).count(), 1, "it is reported once: {ended:?}");
    };
    // ONNX Runtime shows no values between operators that it has optimised. When it loads an exact model, it computes
    // no operator.
    let is_onnxruntime = engine::is_onnxruntime();
    let both: &[&str] = if is_onnxruntime { &["exact"] } else { &["exact", "optimised"] };

    let x = Tensor::from_f32(vec![3], &[1.0, f32::NAN, f32::INFINITY]).unwrap();
    let mut bytes = Vec::new();
    npy::write(&x.view(), &mut bytes).unwrap();
    place.write("x.npy", bytes);
    let nan = fixture("nan.onnx");
    let first = if is_onnxruntime { "#3 inverse (Div)" } else { "#1 log (Log)" };
    let says = format!("{first}, run 0: the model's input x has 1 NaN and 1 infinite");
    for fidelity in both {
        for what in ["nan", "inf", "nonfinite"] {
            stop(&[&nan, "--input", "x.npy", "--fidelity", fidelity], what, &says);
        }
    }

    let first = if is_onnxruntime { "/embeddings/position_embeddings/Slice" } else { "/embeddings/Add" };
    // Three weights: of an ordinary operator, of an operator that the engine folds into another one, and of an operator
    // that is not executed at all.
    for (file, initializer, operator) in [
        ("digits_cnn.onnx", "conv2.weight", "/conv2/Conv"),
        ("digits_cnn.onnx", "bn2.weight", "/bn2/BatchNormalization"),
        ("tiny_transformer.onnx", "embeddings.position_embeddings.weight", first),
    ] {
        let spoiled = spoiled(&place, file, initializer);
        for fidelity in both {
            let says = format!("run 0: the initializer {initializer} has 1 NaN");
            stop(&[&spoiled, "--fidelity", fidelity], "nonfinite", &says);
        }
        let ended = batch(&place, &[&spoiled], &["catch nan", "run"]);
        assert!(ended.stdout.contains(&format!(" {operator} (")), "{ended:?}");
    }
    // A constant that is computed from finite weights when the model is loaded.
    let nodes = [node("fold", "Log", &["w"], &["l"]), node("sum", "Add", &["x", "l"], &["y"])];
    let folded = onnx::weighted(&[("x", &["2"])], &nodes, &[("w", &[1.0, -1.0])], &[("y", &["2"])]);
    let folded = place.write("folded.onnx", folded).to_str().unwrap().to_owned();
    for fidelity in both {
        let says = if is_onnxruntime {
            "#0 fold (Log), run 0: output[0] l has 1 NaN"
        } else {
            "#1 sum (Add), run 0: a constant"
        };
        stop(&[&folded, "--fidelity", fidelity], "nan", says);
    }
    // Outputs of the model that no operator takes. One is computed from finite weights, the other from a weight with
    // NaN.
    let nodes = [node("fold", "Log", &["w"], &["l"]), node("turn", "Neg", &["x"], &["y"])];
    let given = onnx::weighted(&[("x", &["2"])], &nodes, &[("w", &[1.0, -1.0])], &[("l", &["2"]), ("y", &["2"])]);
    let computed = place.write("computed.onnx", given).to_str().unwrap().to_owned();
    let given = onnx::weighted(&[("x", &["2"])], &nodes, &[("w", &[f32::NAN, 1.0])], &[("l", &["2"]), ("y", &["2"])]);
    let spoiled = place.write("given.onnx", given).to_str().unwrap().to_owned();
    for fidelity in both {
        let [constant, initializer] = if is_onnxruntime {
            ["#0 fold (Log), run 0: output[0] l has 1 NaN", "#0 fold (Log), run 0: the initializer w has 1 NaN"]
        } else {
            ["#1 turn (Neg), run 0: a constant l has 1 NaN", "#1 turn (Neg), run 0: the initializer w has 1 NaN"]
        };
        stop(&[&computed, "--fidelity", fidelity], "nan", constant);
        stop(&[&spoiled, "--fidelity", fidelity], "nan", initializer);
    }
    // The fields that a script looks for.
    let ended = batch(&place, &[&nan, "--input", "x.npy", "--json"], &["catch nonfinite", "run"]);
    let stops: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let exception = &stops.iter().find(|line| line["type"] == "stopped").unwrap()["event"]["exception"];
    let input = serde_json::json!([{ "origin": "input", "value": "x", "nan": 1, "infinite": 1 }]);
    assert_eq!(exception["inputs"], input, "{exception}");
}

#[test]
fn a_run_that_fails_is_reported_or_stays_stopped_and_ends_a_batch_with_exit_code_1() {
    let place = Workplace::new();
    let beyond = Tensor::from_i64(vec![1, 3], &[1_000_000; 3]).unwrap();
    let mut bytes = Vec::new();
    npy::write(&beyond.view(), &mut bytes).unwrap();
    place.write("ids.npy", bytes);
    let classifier = model("token_classifier.onnx");
    let ended = batch(&place, &[&classifier, "--input", "ids.npy"], &["run", "echo the end"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""), "{ended:?}");
    in_order(&ended.stdout, &["Run 0 failed: ", "/embeddings/word_embeddings/Gather", "the end"]);

    let commands = ["catch error", "run", "info runs", "-print input[0]", "info operator", "continue", "info runs"];
    let ended = batch(&place, &[&classifier, "--input", "ids.npy"], &commands);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(
        ended.stderr,
        "error: the run has failed, and its tensors are gone; `break #0` stops the next one before that\n"
    );
    let held = "Run 0 failed at #0 /embeddings/word_embeddings/Gather (Gather): ";
    let listed = "failed at #0 /embeddings/word_embeddings/Gather (Gather)\n#0 /embeddings/word_embeddings/Gather (Gather), kernel";
    in_order(&ended.stdout, &[held, "*  run 0", listed, "Run 0 failed: ", "No run is active."]);
}
