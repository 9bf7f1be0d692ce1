//! Bad input gets one error and leaves no files.

mod process;

use std::fs;
use std::process::Stdio;

use process::{Ended, Workplace, end, engine, fixture, model};

/// Runs a benchmark with `--output out` that must be refused, and checks that `out` does not exist afterwards.
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
        if name == "local_function" && engine::is_onnxruntime() {
            // ONNX Runtime supports local functions.
            Workplace::new().benchmark_well(&[&fixture("local_function.onnx")]);
            continue;
        }
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
        ("duplicate_value", "the value 'a' has two producers"),
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
        refused(&[&digits, "--dym-shape", &format!("image:{batch},1,8,8")], 2, &["image", "there is no memory"]);
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
fn the_wrong_number_of_inputs_is_refused_with_the_names_of_all() {
    let (int8, a) = (fixture("int8.onnx"), fixture("int8.input.a.npy"));
    refused(&[&int8, "--input", &a], 2, &["2 inputs (a, b)", "1 file was given"]);
    let three = [a.as_str(); 3].join(",");
    refused(&[&int8, "--input", &three], 2, &["2 inputs (a, b)", "3 files were given"]);
    let mixed = format!("{a},{}", fixture("").trim_end_matches('/'));
    refused(&[&int8, "--input", &mixed], 2, &["mixes files and directories"]);
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
fn an_input_file_that_is_no_file_or_larger_than_the_memory_is_refused_before_it_is_read() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    assert!(std::process::Command::new("mkfifo").arg(place.path("pipe.npy")).status().unwrap().success());
    for input in ["pipe.npy", "/dev/zero"] {
        let arguments = [&digits, "--dym-batch", "8", "--input", input];
        refused_in(&place, &arguments, 2, &[input, "it is not a regular file"]);
    }
    // A sparse file of 200 GB.
    let dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (838860800, 1, 8, 8), }\n";
    let header = [b"\x93NUMPY\x01\x00", &(dict.len() as u16).to_le_bytes()[..], dict.as_bytes()].concat();
    let file = place.write("large.npy", &header);
    fs::OpenOptions::new().write(true).open(file).unwrap().set_len(header.len() as u64 + (200 << 30)).unwrap();
    refused_in(&place, &[&digits, "--input", "large.npy"], 2, &["image", "there is no memory"]);
    place.write("large.bin", "");
    fs::OpenOptions::new().write(true).open(place.path("large.bin")).unwrap().set_len(200 << 30).unwrap();
    let arguments = [&digits, "--dym-batch", "8", "--input", "large.bin"];
    refused_in(&place, &arguments, 2, &["214748364800 bytes", "2048"]);
}

#[test]
fn a_run_that_needs_more_memory_than_the_process_may_have_is_refused_before_it_is_allocated() {
    let place = Workplace::new();
    let limited = |arguments: &[&str]| {
        let mut command = std::process::Command::new("bash");
        command.args(["-c", "ulimit -v 4194304; exec \"$0\" benchmark \"$@\" --loop 1", env!("CARGO_BIN_EXE_opscope")]);
        command.args(arguments).current_dir(place.path("")).env("XDG_CACHE_HOME", "/dev/null");
        process::end(command.env("OPSCOPE_ENGINE", process::engine::name()))
    };
    // Inputs of 4 GiB, which are generated.
    let digits = model("digits_cnn.onnx");
    for data in ["random", "zero"] {
        let ended = limited(&[&digits, "--dym-shape", "image:16777216,1,8,8", "--pure-data-type", data]);
        ended.refused(2, &["input 'image' would have the shape [16777216, 1, 8, 8], for which there is no memory"]);
    }
    // Inputs of 128 KiB, and an output of 4 GiB.
    let (x, y, sum) = (["32768", "1"], ["1", "32768"], ["32768", "32768"]);
    let nodes = [process::onnx::node("sum", "Add", &["x", "y"], &["z"])];
    place.write("sum.onnx", process::onnx::file("sum", "a test", &[("x", &x), ("y", &y)], &nodes, &[("z", &sum)]));
    for verify in ["auto", "on", "off"] {
        let ended = limited(&["sum.onnx", "--verify", verify]);
        ended.refused(1, &["a run needs 4097 MiB of memory for its tensors at node 'sum', and ", " MiB are available"]);
    }
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
    let says = ["batch of 16", "2 files of 8", "5 files are not a multiple of 2"];
    refused(&[&digits, "--dym-batch", "16", "--input", &five], 2, &says);
    refused(&[&digits, "--dym-batch", "12", "--input", &image], 2, &["[8, 1, 8, 8]", "[12, 1, 8, 8]"]);
}

#[test]
fn an_output_that_cannot_be_written() {
    let place = Workplace::new();
    place.write("file", "mine");
    let digits = model("digits_cnn.onnx");
    // Not even root can create either of them.
    for output in ["file", "file/below", "/proc/opscope"] {
        for instrument in [None, Some("--profiler"), Some("--dump")] {
            let ended = place.benchmark(&[&[digits.as_str(), "--output", output], instrument.as_slice()].concat());
            let says = if output == "file" { "\"file\" is not a directory" } else { "cannot be written" };
            ended.refused(2, &[output, says]);
        }
    }
    assert_eq!((place.tree(""), place.text("file")), (vec!["file".to_owned()], "mine".to_owned()));
}

#[test]
fn a_result_that_exists_is_never_overwritten_and_the_run_gets_another_name() {
    let digits = model("digits_cnn.onnx");
    let fixed = ["-om", digits.as_str(), "--output", "out", "--output-dirname", "run"];
    let of_data = [("--profiler", "out/profiler/run/mine"), ("--dump", "out/dump/run/mine")];
    let of_any = ["out/run/mine", "out/run_summary.json", "out/run.partial"].into_iter();
    let of_any = of_any.flat_map(|existing| ["--profiler", "--dump", "--json"].map(|option| (option, existing)));
    for (option, existing) in of_data.into_iter().chain(of_any) {
        let place = Workplace::new();
        place.write(existing, "mine");
        let before = place.tree("");
        let ended = place.benchmark_well(&[&fixed[..], &[option]].concat());
        ended.says(&["note: the name run is taken; this run is run-2"]);
        assert_eq!(place.text(existing), "mine");
        assert!(place.path("out/run-2").is_dir() && place.path("out/run-2_summary.json").is_file());
        let added: Vec<_> = place.tree("").into_iter().filter(|path| !before.contains(path)).collect();
        let names_it = |path: &String| path.contains("run-2") || ["out/profiler", "out/dump"].contains(&path.as_str());
        assert!(added.iter().all(names_it), "{existing}: {added:?}");
    }
}

#[test]
fn a_command_can_be_repeated_and_each_run_has_places_of_its_own() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    for (name, option) in [("first", "--profiler"), ("dump", "--dump"), ("profiler", "--profiler")] {
        let repeated = ["-om", digits.as_str(), "--output", "out", "--output-dirname", name, option, "--json"];
        let run = |_| place.benchmark_well(&repeated).json()["run"].as_str().unwrap().to_owned();
        let [once, twice] = [1, 2].map(run);
        assert_ne!(once, twice);
        for run in [once, twice] {
            let data = option.trim_start_matches('-');
            assert!(place.path(&format!("out/{data}/{run}/manifest.json")).is_file(), "{run}");
            assert_eq!(place.json(&format!("out/{run}_summary.json"))["run"], run.as_str());
            assert_eq!(place.tree(&format!("out/{run}")), ["pure_infer_data_0.bin"]);
        }
    }
}

#[test]
fn runs_of_the_same_second_get_names_of_their_own() {
    let place = Workplace::new();
    place.write("acl.json", r#"{"profiler": {"switch": "on", "output": "recordings"}}"#);
    let digits = model("digits_cnn.onnx");
    let start = |arguments: &[&str]| {
        let mut command = place.command(&[&["benchmark", "--model", digits.as_str(), "--json"], arguments].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let named = ["--output", "out", "--output-dirname", "run", "--profiler"];
    let both = [&named[..], &["--acl-json-path", "acl.json"]];
    let running: Vec<_> = both.into_iter().flat_map(|arguments| [0; 4].map(|_| start(arguments))).collect();
    for child in running {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(fs::read_dir(place.path("out/profiler")).unwrap().count(), 4);
    assert_eq!(fs::read_dir(place.path("recordings")).unwrap().count(), 4);
    assert!(place.tree("").iter().all(|path| !path.ends_with(".partial")), "{:?}", place.tree(""));
}

#[test]
fn results_are_not_written_through_a_link_in_the_directory_of_results() {
    for (option, link) in [("--profiler", "profiler"), ("--dump", "dump"), ("--json", "inner")] {
        let place = Workplace::new();
        place.write("mine/x", "mine");
        fs::create_dir(place.path("out")).unwrap();
        std::os::unix::fs::symlink(place.path("mine"), place.path("out").join(link)).unwrap();
        let digits = model("digits_cnn.onnx");
        let ended = place.benchmark(&[&digits, "--output", "out", "--output-dirname", "inner/run", option]);
        ended.refused(2, &["is a link", link]);
        assert_eq!(place.tree("mine"), ["x"]);
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
    let mut command = place.command(&["benchmark", &model("digits_cnn.onnx"), "--json", "--loop", "1"]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("error: the result cannot be printed"));
}

#[test]
fn help_that_cannot_be_printed_is_a_failure() {
    let place = Workplace::new();
    for arguments in [&["--help"][..], &["--version"], &["benchmark", "--help"], &["help", "export"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = place.command(arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(String::from_utf8(output.stderr).unwrap().starts_with("error: the help cannot be printed"));
        assert_eq!(end(&mut place.command(arguments)).code, Some(0), "{arguments:?}");
    }
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

#[test]
fn every_command_that_loads_a_model_says_how_to_raise_its_load_budget_and_takes_that() {
    let place = Workplace::new();
    place.write("long.onnx", process::onnx::chain(100_001, "Add", process::onnx::FLOAT32));
    let commands: [&[&str]; 3] = [
        &["benchmark", "long.onnx", "--loop", "1"],
        &["compare", "long.onnx", "long.onnx"],
        &["debug", "long.onnx", "--batch", "-ex", "run"],
    ];
    for command in commands {
        let raised = [command, &["--load-budget", "2"]].concat();
        for (arguments, most) in [(command, "may have 50000"), (&raised, "may have 100000")] {
            let ended = end(&mut place.command(arguments));
            assert!(ended.code != Some(0), "{ended:?}");
            ended.says(&[most, "a load budget of 3 allows them"]);
        }
    }
}

#[test]
fn a_file_without_elements_is_taken_where_the_model_declares_none_and_only_there() {
    let place = Workplace::new();
    let negated = |size: &str| {
        let nodes = [process::onnx::node("turn", "Neg", &["x"], &["y"])];
        process::onnx::file("turn", "a test", &[("x", &[size])], &nodes, &[("y", &[size])])
    };
    for (size, numbers) in [("0", &[][..]), ("2", &[1.0f32, 2.0][..])] {
        place.write(&format!("of{size}.onnx"), negated(size));
        let tensor = opscope::tensor::Tensor::from_f32(vec![numbers.len()], numbers).unwrap();
        let mut bytes = Vec::new();
        opscope::tensor::npy::write(&tensor.view(), &mut bytes).unwrap();
        place.write(&format!("of{size}.npy"), bytes);
    }
    for (model, file, taken) in [("0", "0", true), ("2", "2", true), ("0", "2", false), ("2", "0", false)] {
        let ended = place.benchmark(&[&format!("of{model}.onnx"), "--input", &format!("of{file}.npy")]);
        if taken {
            assert_eq!(ended.code, Some(0), "{ended:?}");
        } else {
            ended.refused(2, &[&format!("has the shape [{file}], input 'x' takes [{model}]")]);
        }
    }
}
