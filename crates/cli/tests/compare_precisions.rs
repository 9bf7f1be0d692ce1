//! `opscope compare` of models that compute in other precisions: in half precision, and in 8 bits.

mod process;

use std::fs;

use process::{Workplace, engine, model, rows};
use serde_json::Value;

#[test]
fn what_is_stored_in_half_precision_on_the_way_to_a_value_decides_its_tolerance() {
    let place = Workplace::new();
    let (mixed, single) = (model("precision/mixed.onnx"), model("precision/single.onnx"));
    let input = ["--input", &model("precision/mixed.input.x.npy")];
    let ended = place.compare(&[&[&*mixed, &single, "--json"], &input[..]].concat());
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let json = ended.json();
    let within = |value: &str| rows(&json).iter().find(|row| row["value"] == value).unwrap()["within"].clone();
    assert_eq!(["wide", "same", "plain", "small"].map(within), [true, true, true, false].map(Value::Bool));
    // Small numbers beside large ones are lost in the product. Operators that only widen or move them are not at fault.
    let first = &json["first_divergence"];
    let product = rows(&json).iter().find(|row| row["value"] == "product").unwrap();
    assert_eq!((&first["operator"], &first["seen_in"]), (&product["operator"], &"small".into()));
    assert_eq!(first["blame"], "operator");
    let text = place.compare(&[&[&*mixed, &single], &input[..]].concat());
    assert!(text.stdout.contains("(MatMul), seen behind it in 'small', which only moves its values"), "{text:?}");
}

#[test]
fn a_value_without_half_precision_on_its_way_keeps_its_tolerance_between_engines() {
    let place = Workplace::new();
    let (mixed, x) = (model("precision/mixed.onnx"), model("precision/mixed.input.x.npy"));
    place.dump(&mixed, &x, "one");
    let index = place.json_lines("dump/one/index.jsonl");
    let plain = index.iter().find(|line| line["value"] == "plain").unwrap()["file"].clone();
    for file in place.tree("dump/one").iter().filter(|file| file.contains('.')) {
        let mut content = fs::read(place.path("dump/one").join(file)).unwrap();
        if plain == file.as_str() {
            let first = content.len() - 4 * 4;
            content[first..first + 4].copy_from_slice(&(500.15_f32 * 1.001).to_le_bytes());
        }
        if file == "manifest.json" {
            let mut manifest = place.json("dump/one/manifest.json");
            manifest["engine"]["name"] = "other".into();
            content = manifest.to_string().into_bytes();
        }
        place.write(&format!("other/{file}"), content);
    }
    let known = place.compare(&["other", "dump/one", "--model", &mixed, "--json"]);
    assert_eq!((known.code, &known.json()["first_divergence"]["operator"]), (Some(4), &"Mul_7".into()), "{known:?}");
    assert_eq!(known.json()["notes"], Value::Array(vec![]));
    // In a comparison with a dump of the same engine, each tensor has the tolerance of its own type.
    place.dump(&mixed, &x, "two");
    let own = place.compare(&["dump/two", "dump/one"]);
    assert!(own.stdout.contains("the tolerance of its own type, also behind float16; --model MODEL"), "{own:?}");
    let known = place.compare(&["dump/two", "dump/one", "--model", &mixed, "--json"]);
    assert_eq!(known.json()["notes"], Value::Array(vec![]));
    let running = place.compare(&[&mixed, "dump/one", "--input", &x, "--json"]);
    assert_eq!(running.json()["notes"], Value::Array(vec![]));
    let unknown = place.compare(&["other", "dump/one"]);
    assert_eq!(unknown.code, Some(0), "{unknown:?}");
    assert!(unknown.stdout.contains("the tolerance of float16 holds for every tensor; --model MODEL"), "{unknown:?}");
}

#[test]
fn quantised_models_are_judged_by_their_signal_to_noise_ratio_and_the_largest_drop_is_named() {
    let place = Workplace::new();
    let (original, image) = (model("digits_cnn.onnx"), model("digits_cnn.input.image.npy"));
    let quantised = model("precision/digits_qdq.onnx");
    let ended = place.compare(&[&quantised, &original, "--input", &image, "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let json = ended.json();
    assert_eq!((&json["quantised"], &json["complete"]), (&true.into(), &true.into()));
    let text = fs::read_to_string(model("precision/digits_qdq.sqnr.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    for (value, about) in expected.as_object().unwrap() {
        let row = rows(&json).iter().find(|row| row["value"] == value.as_str()).unwrap_or_else(|| panic!("{value}"));
        let (found, expected) = (row["sqnr_db"].as_f64().unwrap(), about[1].as_f64().unwrap());
        assert_eq!(row["reference"], about[0], "{value}");
        // Another engine may round a few numbers to the next step.
        assert!((found - expected).abs() < 0.5, "{value}: {found} dB, and numpy computes {expected} dB");
        assert_eq!(row["max_ulp"], Value::Null);
    }
    assert_eq!(rows(&json).len(), expected.as_object().unwrap().len());

    let noise = &json["first_noise"];
    let first = rows(&json).iter().find(|row| row["value"] == noise["value"]).unwrap();
    assert_eq!((&first["value"], &first["drop_db"]), (&"/conv1/Conv_output_0".into(), &Value::Null), "{noise}");
    assert_eq!(first["sqnr_db"], noise["sqnr_db"]);
    let drop = &json["largest_drop"];
    let [from, to] = ["from_db", "to_db"].map(|key| drop[key].as_f64().unwrap());
    let largest = rows(&json).iter().filter_map(|row| row["drop_db"].as_f64()).fold(0.0, f64::max);
    assert!((from - to - largest).abs() < 1e-9 && largest > 3.0, "{drop}");
    let text = place.compare(&[&quantised, &original, "--input", &image, "--order", "error", "--rows", "3"]).stdout;
    let heading = text.lines().next().unwrap();
    assert!(heading.contains("sqnr") && heading.contains("drop") && !heading.contains("ulp"), "{text}");
    assert!(text.contains("sorted by sqnr, the lowest first\n"), "{text}");
    let operator = drop["operator"].as_str().unwrap();
    assert!(text.contains(&format!("the largest drop is at {operator}: {from:.1} to {to:.1} dB\n")), "{text}");
    // The original may also come first, and dumps can be compared as well as runs.
    for (name, file) in [("int8", &quantised), ("float", &original)] {
        place.dump(file, &image, name);
    }
    // The model of one of two dumps says nothing about the other dump.
    for model in [&original, &quantised] {
        let ended = place.compare(&["dump/int8", "dump/float", "--model", model]);
        assert_eq!(ended.code, Some(0), "{model}: {ended:?}");
        assert!(ended.stdout.contains("the first noise is at /conv1/Conv: 45."), "{model}: {ended:?}");
    }
    for pair in [
        ["dump/int8", "dump/float"],
        ["dump/float", "dump/int8"],
        [&original, &quantised],
        [&original, "dump/int8"],
        [&quantised, "dump/float"],
    ] {
        let input = ["--input", &image];
        let given = if pair[0].ends_with(".onnx") { &input[..] } else { &[] };
        let json = place.compare(&[&pair[..], given, &["--json"]].concat()).json();
        assert_eq!((&json["quantised"], &json["same"]), (&true.into(), &true.into()), "{pair:?}");
        let row = rows(&json).iter().find(|row| row["reference"] == "/conv2/Conv_output_0").unwrap();
        assert!((row["sqnr_db"].as_f64().unwrap() - 32.8).abs() < 0.7, "{pair:?}: {row}");
    }
    let strict = place.compare(&[&quantised, &original, "--input", &image, "--least-sqnr", "29.6"]);
    assert_eq!(strict.code, Some(4), "{strict:?}");
    let by_operators = model("precision/digits_qoperator.onnx");
    let ended = place.compare(&["dump/float", "dump/float", "--least-sqnr", "29.6"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    if engine::is_onnxruntime() {
        let ended = place.compare(&[&by_operators, &original, "--input", &image, "--json"]);
        assert_eq!((ended.code, &ended.json()["quantised"]), (Some(0), &true.into()), "{ended:?}");
    }
}
