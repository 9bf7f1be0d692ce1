//! What cannot be used gets one error and leaves nothing behind.

mod process;

use std::fs;

use process::{Ended, Workplace, end, fixture, model};

/// Runs with `--output out`, which must not exist afterwards.
fn refused(arguments: &[&str], code: i32, says: &[&str]) {
    let place = Workplace::new();
    refused_in(&place, arguments, code, says);
    assert_eq!(place.tree(""), [""; 0], "{arguments:?} leaves nothing");
}

fn refused_in(place: &Workplace, arguments: &[&str], code: i32, says: &[&str]) {
    for instrument in [None, Some("--profiler"), Some("--dump")] {
        let fixed = ["--output", "out", "--output-dirname", "run"];
        let ended: Ended = place.benchmark(&[arguments, &fixed, instrument.as_slice()].concat());
        ended.refused(code, says);
    }
}

#[test]
fn a_missing_empty_cut_or_foreign_model_file() {
    refused(&["nowhere.onnx"], 2, &["nowhere.onnx", "cannot be read"]);
    refused(&["/"], 2, &["is not a regular file but a directory"]);
    refused(&["/dev/zero"], 2, &["is not a regular file but a device"]);
    refused(&[&fixture("empty.onnx")], 2, &["empty.onnx", "is empty"]);
    refused(&[&fixture("truncated.onnx")], 2, &["truncated.onnx", "is not an ONNX model, or is cut short or damaged"]);
    refused(&[&fixture("text.onnx")], 2, &["text.onnx", "is not an ONNX model"]);
    refused(&[&fixture("no_graph.onnx")], 2, &["no_graph.onnx"]);
    refused(&[&model("digits_cnn.input.image.npy")], 2, &["is not an ONNX model"]);
}

#[test]
fn an_om_file_is_refused_with_what_to_pass_instead() {
    let place = Workplace::new();
    fs::copy(model("digits_cnn.onnx"), place.path("resnet50_v1.om")).unwrap();
    for spelling in [&["--om-model", "./resnet50_v1.om"][..], &["resnet50_v1.om"], &["-om", "missing.OM"]] {
        refused_in(&place, spelling, 2, &["is an .om file", "pass the ONNX file it was converted from"]);
    }
    assert_eq!(place.tree(""), ["resnet50_v1.om"]);
}

#[test]
fn an_operator_that_the_engine_lacks_is_named_with_its_node() {
    for (name, says) in [
        ("unknown_operator", ["Frobnicate", "needs_frobnicate"]),
        ("unknown_domain", ["com.example.Fused", "vendor_node"]),
        ("local_function", ["local.scaled_square", "call"]),
    ] {
        refused(&[&fixture(&format!("{name}.onnx"))], 1, &says);
    }
}

#[test]
fn a_graph_that_contradicts_itself() {
    for (name, says) in [
        ("cycle", "in a cycle"),
        ("self_cycle", "takes its own output"),
        ("dangling_input", "'nobody', which nothing computes"),
        ("dangling_output", "nothing computes the output 'y'"),
        ("duplicate_value", "the value 'a' is made twice"),
        ("nested", "nested.onnx"),
        ("strange_dtype", "unknown element type 99"),
    ] {
        refused(&[&fixture(&format!("{name}.onnx"))], 2, &[says]);
    }
}

#[test]
fn sizes_that_no_machine_has() {
    for name in ["huge_initializer", "wrapping_initializer", "negative_initializer"] {
        refused(&[&fixture(&format!("{name}.onnx"))], 2, &["impossible shape"]);
    }
    refused(&[&fixture("short_initializer.onnx")], 2, &["needs 16 bytes and has 12"]);
    for name in ["large_constant_of_shape", "huge_constant_of_shape"] {
        let place = Workplace::new();
        let file = fixture(&format!("{name}.onnx"));
        place.benchmark(&[&file, "--output", "out"]).refused(1, &["'fill'"]);
        assert_eq!(place.tree(""), [""; 0]);
    }
    let digits = model("digits_cnn.onnx");
    for batch in ["100000000000", "10000000000000000000"] {
        refused(&[&digits, "--dym-shape", &format!("image:{batch},1,8,8")], 2, &["image", "this machine's memory"]);
    }
}

#[test]
fn external_data_outside_of_the_models_directory_is_never_read() {
    for (name, at) in
        [("outside", "../../etc/passwd"), ("absolute", "/etc/passwd"), ("parent", "../tiny_transformer.onnx")]
    {
        let file = fixture(&format!("external_{name}.onnx"));
        refused(&[&file], 2, &[at, "outside of the model's directory"]);
    }
    refused(&[&fixture("external_missing.onnx")], 2, &["nowhere.bin"]);
    refused(&[&fixture("external_short.onnx")], 2, &["needs 12 bytes from 60 on"]);
}

#[test]
fn the_wrong_number_of_inputs_is_told_with_the_names_of_all() {
    let (int8, a) = (fixture("int8.onnx"), fixture("int8.input.a.npy"));
    refused(&[&int8, "--input", &a], 2, &["2 inputs (a, b)", "1 files were given"]);
    let three = [a.as_str(); 3].join(",");
    refused(&[&int8, "--input", &three], 2, &["2 inputs (a, b)", "3 files were given"]);
    let mixed = format!("{a},{}", fixture("").trim_end_matches('/'));
    refused(&[&int8, "--input", &mixed], 2, &["files and directories"]);
}

#[test]
fn an_input_file_of_another_type_or_shape_or_none_at_all() {
    let (digits, image) = (model("digits_cnn.onnx"), model("digits_cnn.input.image.npy"));
    refused(&[&model("token_classifier.onnx"), "--input", &image], 2, &["float32", "'input_ids' takes int64"]);
    let says = ["[8, 1, 8, 8]", "'hidden_states' takes [batch, sequence, 64]"];
    refused(&[&model("tiny_transformer.onnx"), "--input", &image], 2, &says);
    refused(&[&digits, "--input", "nowhere.npy"], 2, &["nowhere.npy", "No such file"]);

    let place = Workplace::new();
    let whole = fs::read(&image).unwrap();
    place.write("cut.npy", &whole[..whole.len() - 4]);
    place.write("odd.bin", [0; 250]);
    fs::create_dir(place.path("empty")).unwrap();
    refused_in(&place, &[&digits, "--input", "cut.npy"], 2, &["cut.npy", "cannot be read"]);
    refused_in(&place, &[&digits, "--input", "odd.bin"], 2, &["does not say its shape", "--dym-shape"]);
    let batch = ["--dym-batch", "1"];
    refused_in(&place, &[&[digits.as_str(), "--input", "odd.bin"], &batch[..]].concat(), 2, &["250 bytes", "256"]);
    refused_in(&place, &[&digits, "--input", "empty"], 2, &["no .npy or .bin file"]);
    assert_eq!(place.tree(""), ["cut.npy", "empty", "odd.bin"]);
}

#[test]
fn a_shape_that_the_model_does_not_have() {
    let transformer = model("tiny_transformer.onnx");
    let says = ["[batch, sequence, 64]", "[4, 32, 65] was given"];
    refused(&[&transformer, "--dym-shape", "hidden_states:4,32,65"], 2, &says);
    refused(&[&transformer, "--dym-shape", "hidden:4,32,64"], 2, &["no input 'hidden'", "hidden_states"]);
    refused(&[&transformer, "--dym-shape", "4,32,64"], 2, &["--dym-shape"]);
    let says = ["[batch, 1, 8, 8]", "[1, 1, 16, 16] does not fit"];
    refused(&[&model("digits_cnn.onnx"), "--dym-hw", "16,16"], 2, &says);
}

#[test]
fn files_that_do_not_fill_the_batch_are_refused_with_the_sizes_and_never_padded() {
    let (digits, image) = (model("digits_cnn.onnx"), model("digits_cnn.input.image.npy"));
    let five = [image.as_str(); 5].join(",");
    let says = ["batch of 16", "2 files of 8", "5 files are no multiple of 2"];
    refused(&[&digits, "--dym-batch", "16", "--input", &five], 2, &says);
    refused(&[&digits, "--dym-batch", "12", "--input", &image], 2, &["[8, 1, 8, 8]", "[12, 1, 8, 8]"]);
}

#[test]
fn an_output_that_cannot_be_written() {
    let place = Workplace::new();
    place.write("file", "mine");
    let digits = model("digits_cnn.onnx");
    // Neither can be made by anyone, not even by root.
    for output in ["file", "file/below", "/proc/opscope"] {
        for instrument in [None, Some("--profiler"), Some("--dump")] {
            let ended = place.benchmark(&[&[digits.as_str(), "--output", output], instrument.as_slice()].concat());
            ended.refused(2, &[output, "cannot be written"]);
        }
    }
    assert_eq!((place.tree(""), place.text("file")), (vec!["file".to_owned()], "mine".to_owned()));
}

#[test]
fn a_result_that_exists_is_never_overwritten() {
    let digits = model("digits_cnn.onnx");
    let fixed = [digits.as_str(), "--output", "out", "--output-dirname", "run"];
    for existing in ["out/run/mine", "out/run_summary.json", "out/run.partial"] {
        let place = Workplace::new();
        place.write(existing, "mine");
        let before = place.tree("");
        for instrument in [None, Some("--profiler"), Some("--dump")] {
            place.benchmark(&[&fixed, instrument.as_slice()].concat()).refused(2, &["exists already"]);
        }
        assert_eq!((place.tree(""), place.text(existing)), (before, "mine".to_owned()));
    }
    for (instrument, existing) in [("--profiler", "out/profiler/run/mine"), ("--dump", "out/dump/run/mine")] {
        let place = Workplace::new();
        place.write(existing, "mine");
        let before = place.tree("");
        place.benchmark(&[&fixed[..], &[instrument]].concat()).refused(2, &["exists already"]);
        assert_eq!((place.tree(""), place.text(existing)), (before, "mine".to_owned()));
    }
}

#[test]
fn a_run_name_cannot_lead_out_of_the_output_directory() {
    for name in ["../run", "/tmp/run", "a/../../b", ""] {
        let place = Workplace::new();
        let ended = place.benchmark(&[&model("digits_cnn.onnx"), "--output", "out", "--output-dirname", name]);
        ended.refused(2, &["--output-dirname"]);
        assert_eq!(place.tree(""), [""; 0]);
    }
}

#[test]
fn a_result_that_cannot_be_printed_is_a_failure() {
    let place = Workplace::new();
    let mut command = place.command(&["benchmark", &model("digits_cnn.onnx"), "--json"]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("error: the result cannot be printed"));
}

#[test]
fn an_acl_json_that_is_missing_or_no_json() {
    let place = Workplace::new();
    place.write("cut.json", "{\"dump\": ");
    let digits = model("digits_cnn.onnx");
    place.benchmark(&[&digits, "--acl-json-path", "nowhere.json"]).refused(2, &["nowhere.json"]);
    place.benchmark(&[&digits, "--acl-json-path", "cut.json"]).refused(2, &["cut.json"]);
    assert_eq!(place.tree(""), ["cut.json"]);
}

#[test]
fn a_command_line_without_sense() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    for arguments in [
        &[][..],
        &[&digits, "--model", &digits],
        &[&digits, "--loop", "0"],
        &[&digits, "--lop", "1"],
        &[&digits, "--threads", "100000"],
        &[&digits, "--engine-threads", "100000"],
    ] {
        let ended = place.benchmark(arguments);
        ended.refused(2, &[]);
    }
    let ended = end(&mut place.command(&["bench"]));
    ended.refused(2, &[]);
}
