//! `opscope inspect`: the content of a model, a dump, a recording or a file of one.

mod process;

use std::fs;

use process::{Ended, Workplace, end, fixture, model};

fn inspect(place: &Workplace, arguments: &[&str]) -> Ended {
    end(&mut place.command(&[&["inspect"], arguments].concat()))
}

/// Inspects a path without an error, and checks that the output has all of these texts.
fn shows(place: &Workplace, path: &str, texts: &[&str]) {
    let ended = inspect(place, &[path]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    for text in texts {
        assert!(ended.stdout.contains(text), "{text}: {ended:?}");
    }
}

/// Returns a directory in which the model ran, with the data of one instrument below `out`.
fn after(instrument: &str) -> Workplace {
    let place = Workplace::new();
    let image = model("digits_cnn.input.image.npy");
    place.benchmark_well(&[&model("digits_cnn.onnx"), "--input", &image, instrument, "-o", "out", "-od", "run"]);
    place
}

#[test]
fn a_model_is_shown_with_its_operators_and_their_attributes() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    let operator = "0 Conv /conv1/Conv: image, conv1.weight, conv1.bias -> /conv1/Conv_output_0";
    let listed = inspect(&place, &[&digits, "--operators"]);
    for text in ["image float32 [batch, 1, 8, 8]", "16 operators", operator, "pads = [1, 1, 1, 1]"] {
        assert!(listed.stdout.contains(text), "{text}: {listed:?}");
    }
    let json = inspect(&place, &[&digits, "--json"]).json();
    assert_eq!(json["schema"], "opscope.model/1");
    assert_eq!(json["operators"].as_array().unwrap().len(), 16);
    assert_eq!(json["operators"][0]["op_type"], "Conv");
    assert_eq!(json["outputs"][0]["name"], "probabilities");
}

/// The expected numbers were counted by hand from the shapes of the network's layers.
#[test]
fn a_model_is_summed_up_in_one_screen_with_its_parameters_and_operations() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    let lines = [
        "input  image float32 [batch, 1, 8, 8]",
        "with image [1, 1, 8, 8]",
        "16 operators of ",
        "made by '",
        "--operators",
    ];
    shows(&place, &digits, &lines);
    let text = inspect(&place, &[&digits]).stdout;
    assert!(text.lines().count() <= 24 && !text.contains("pads = "), "{text}");
    assert!(text.lines().nth(10).unwrap().starts_with("Conv "), "the type with most operations comes first: {text}");

    let json = inspect(&place, &[&digits, "--json"]).json();
    let types = json["types"].as_array().unwrap();
    let sum = |key: &str| types.iter().map(|row| row[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("count"), sum("flops")), (16, json["flops"]["total"].as_u64().unwrap()));
    assert_eq!(sum("parameters"), json["parameters"]["count"].as_u64().unwrap());
    let parameters = json["operators"].as_array().unwrap().len();
    assert_eq!(parameters, 16);
    assert_eq!(json["parameters"]["bytes"].as_u64().unwrap() % 4, 0);
    assert_eq!(json["flops"]["shapes"], serde_json::json!([[1, 1, 8, 8]]));
    inspect(&place, &["models", "--operators"]).refused(2, &["--operators is for models"]);
}

/// Runs twice, and exports everything: the directory has one of each thing that opscope writes.
fn everything() -> Workplace {
    let place = after("--profiler");
    place.benchmark_well(&[&model("digits_cnn.onnx"), "--dump", "-o", "out", "-od", "second"]);
    let done = |arguments: &[&str]| {
        let ended = end(&mut place.command(arguments));
        assert_eq!(ended.code, Some(0), "{ended:?}");
    };
    done(&["report", "out", "--output", "page.html"]);
    done(&["export", "out/profiler/run", "--into", "set"]);
    done(&["export", "out/profiler/run", "--format", "parquet", "--output", "tables"]);
    place
}

#[test]
fn whatever_opscope_writes_is_known_with_a_command_for_it() {
    let place = everything();
    for (path, says) in [
        ("out/run_summary.json", "inference  "),
        ("out/run_summary.json", "the median of 1 run\ntry: opscope report out/run_summary.json"),
        ("out/profiler/run/manifest.json", "the manifest of a recording\ntry: opscope inspect out/profiler/run"),
        ("out/profiler/run/records.bin", "the records of a recording\ntry: opscope inspect out/profiler/run"),
        ("out/profiler/run/op_summary.csv", "a row for each execution of an operator\ntry: python3"),
        ("out/profiler/run/timeline.pftrace", "a timeline for Perfetto\ntry: open https://ui.perfetto.dev"),
        ("out/profiler/run/timeline.json", "a timeline for Chrome"),
        ("out/dump/second/manifest.json", "the manifest of a dump\ntry: opscope inspect out/dump/second"),
        ("out/dump/second/index.jsonl", "a part of a dump\ntry: opscope inspect out/dump/second"),
        ("page.html", "a report\ntry: xdg-open page.html"),
        ("set", "a set of Parquet tables of recordings"),
        ("tables", "exports of a recording or dump"),
        ("tables/operators.parquet", "a Parquet table\ntry: python3"),
    ] {
        shows(&place, path, &[&format!("{path}: "), says]);
        let json = inspect(&place, &[path, "--json"]).json();
        assert_eq!(json["schema"], "opscope.found/1", "{path}");
        inspect(&place, &[path, "--check"]).refused(2, &["--check is for dumps"]);
    }
}

#[test]
fn an_output_directory_of_several_runs_is_listed_and_its_commands_work() {
    let place = everything();
    let ended = inspect(&place, &["out"]);
    for text in
        ["out: an output directory with 2 runs", "summary    out/run_summary.json", "dump       out/dump/second"]
    {
        assert!(ended.stdout.contains(text), "{text}: {ended:?}");
    }
    let commands: Vec<&str> = ended.stdout.lines().filter_map(|line| line.strip_prefix("try: opscope ")).collect();
    assert_eq!(commands.len(), 5, "{ended:?}");
    for command in commands {
        let ended = end(&mut place.command(&command.split(' ').collect::<Vec<_>>()));
        assert!(ended.code.is_some_and(|code| code != 2), "{command}: {ended:?}");
    }
}

#[test]
fn a_dump_is_shown_with_the_statistics_of_its_tensors() {
    let place = after("--dump");
    let row = "/relu1/Relu_output_0";
    shows(&place, "out/dump/run", &["16 tensors, 212.6 KiB, complete", "exact fidelity", row, "8x8x8x8"]);
    let json = inspect(&place, &["out/dump/run", "--json"]).json();
    assert_eq!((&json["schema"], &json["complete"]), (&"opscope.inspection/1".into(), &true.into()));
    let index = place.json_lines("out/dump/run/index.jsonl");
    let tensors = json["tensors"].as_array().unwrap();
    assert_eq!(tensors.len(), index.len());
    for (tensor, line) in tensors.iter().zip(&index) {
        for field in ["operator", "value", "dtype", "shape", "bytes"] {
            assert_eq!(tensor[field], line[field]);
        }
        for field in ["min", "max", "mean", "nan", "xxh3"] {
            assert_eq!(tensor["statistics"][field], line[field], "{field} of {line}");
        }
        let bins = tensor["statistics"]["histogram"].as_array().unwrap();
        let counted: u64 = bins.iter().map(|bin| bin[2].as_u64().unwrap()).sum();
        assert_eq!(tensor["statistics"]["count"], counted);
    }
}

#[test]
fn the_tensors_of_several_runs_have_their_runs_and_as_many_rows_as_asked_for() {
    let place = Workplace::new();
    let operator = ["--dump-operator", "/conv1/Conv", "--dump-operator", "/conv2/Conv", "--loop", "2"];
    let to = ["--dump", "--output", "out", "--output-dirname", "runs"];
    place.benchmark_well(&[&[model("digits_cnn.onnx").as_str()], &operator[..], &to].concat());
    let text = inspect(&place, &["out/dump/runs", "--rows", "3"]).stdout;
    assert!(text.contains("4 tensors") && text.lines().any(|line| line.starts_with("run  tensor ")), "{text}");
    let runs: Vec<&str> = text.lines().filter(|line| line.contains("conv")).map(|line| &line[..3]).collect();
    assert_eq!(runs, ["  0", "  0", "  1"], "{text}");
    assert!(text.ends_with("... and 1 more tensor; --rows 4 shows all\n"), "{text}");
    let mut narrow = place.command(&["inspect", "out/dump/runs"]);
    let narrow = end(narrow.env("COLUMNS", "60")).stdout;
    let table = narrow.lines().skip_while(|line| !line.starts_with("run "));
    assert!(table.clone().count() == 5 && table.into_iter().all(|line| line.chars().count() <= 60), "{narrow}");
    let mut wide = place.command(&["inspect", "out/dump/runs"]);
    assert!(end(wide.env("COLUMNS", "120")).stdout.contains("  operator "), "a wide terminal has more columns");
}

#[test]
fn a_dump_that_is_not_whole_ends_with_another_code() {
    let place = after("--dump");
    let manifest = place.text("out/dump/run/manifest.json");
    place.write("out/dump/run/manifest.json", manifest.replace("\"complete\": true", "\"complete\": false"));
    let ended = inspect(&place, &["out/dump/run"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stdout.contains("NOT complete"), "{ended:?}");
}

/// Checks that the dump is reported as incomplete, for this reason, although its manifest says that it is complete.
fn is_not_whole(place: &Workplace, path: &str, says: &[&str]) {
    assert_eq!(place.json(&format!("{path}/manifest.json"))["complete"], true);
    for arguments in [&[path][..], &[path, "--check"]] {
        let ended = inspect(place, arguments);
        assert_eq!(ended.code, Some(3), "{ended:?}");
        for text in [&["NOT complete"], says].concat() {
            assert!(ended.stdout.contains(text), "{text}: {ended:?}");
        }
    }
    assert_eq!(inspect(place, &[path, "--json"]).json()["complete"], false);
}

#[test]
fn a_dump_that_lost_a_line_of_its_index_is_not_complete_whatever_its_manifest_says() {
    let place = after("--dump");
    let index = place.text("out/dump/run/index.jsonl");
    let without_last: String = index.lines().take(15).map(|line| format!("{line}\n")).collect();
    place.write("out/dump/run/index.jsonl", without_last);
    is_not_whole(&place, "out/dump/run", &["counts 16 tensors", "has 15"]);
}

#[test]
fn a_dump_that_lost_a_file_is_not_complete_whatever_its_manifest_says() {
    let place = after("--dump");
    let file = place.json_lines("out/dump/run/index.jsonl")[3]["file"].as_str().unwrap().to_owned();
    fs::remove_file(place.path("out/dump/run").join(&file)).unwrap();
    is_not_whole(&place, "out/dump/run", &["line 4", &file]);

    let ascend = Workplace::new();
    let digits = model("digits_cnn.onnx");
    ascend.benchmark_well(&[&digits, "--dump", "--dump-format", "ascend", "-o", "out", "-od", "run"]);
    let whole = inspect(&ascend, &["out/dump/run", "--check"]);
    assert_eq!(whole.code, Some(0), "{whole:?}");
    assert!(whole.stdout.contains(", complete\n"), "{whole:?}");
    let tree = ascend.tree("out/dump/run");
    let file = tree.iter().find(|file| file.contains("Softmax")).unwrap();
    fs::remove_file(ascend.path("out/dump/run").join(file)).unwrap();
    is_not_whole(&ascend, "out/dump/run", &["counts 16 tensors", "hold 15"]);
}

#[test]
fn an_element_that_was_changed_is_found_by_the_hash_of_its_tensor() {
    let place = after("--dump");
    let whole = inspect(&place, &["out/dump/run", "--check"]);
    assert_eq!(whole.code, Some(0), "{whole:?}");
    assert!(whole.stdout.contains("16 tensors were read and compared with their hashes\n"), "{whole:?}");
    let file = place.json_lines("out/dump/run/index.jsonl")[3]["file"].as_str().unwrap().to_owned();
    let mut bytes = fs::read(place.path("out/dump/run").join(&file)).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    place.write(&format!("out/dump/run/{file}"), bytes);
    is_not_whole(&place, "out/dump/run", &[&file, "its data has the hash"]);
}

#[test]
fn a_check_is_for_dumps_only() {
    let place = Workplace::new();
    inspect(&place, &[&model("digits_cnn.onnx"), "--check"]).refused(2, &["--check is for dumps"]);
}

#[test]
fn a_dump_with_a_path_that_leads_outside_is_shown_with_the_problem_and_without_the_file() {
    let place = after("--dump");
    let index = place.text("out/dump/run/index.jsonl");
    let mut lines = place.json_lines("out/dump/run/index.jsonl");
    lines[0]["file"] = "../../etc/passwd".into();
    place.write(
        "out/dump/run/index.jsonl",
        index.lines().skip(1).fold(format!("{}\n", lines[0]), |text, line| text + line + "\n"),
    );
    let ended = inspect(&place, &["out/dump/run", "--json"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert_eq!(ended.json()["tensors"].as_array().unwrap().len(), lines.len() - 1);
    let problem = ended.json()["problems"][0].as_str().unwrap().to_owned();
    assert!(problem.contains("line 1") && problem.contains("../../etc/passwd"), "{problem}");
}

#[test]
fn a_single_array_is_shown_with_its_first_elements_and_a_histogram() {
    let place = Workplace::new();
    let output = model("digits_cnn.output.probabilities.npy");
    shows(&place, &output, &["float32", "8x10", "first elements: ", "0.5000 to 1.000", "####"]);
    let json = inspect(&place, &[&output, "--json"]).json();
    assert_eq!(json["tensors"][0]["shape"], serde_json::json!([8, 10]));
    assert_eq!(json["tensors"][0]["statistics"]["count"], 80);
}

#[test]
fn a_recording_is_shown_with_where_its_time_went() {
    let place = after("--profiler");
    shows(&place, "out/profiler/run", &["a recording, complete", "Time of a run", "between operators", "Conv"]);
    let json = inspect(&place, &["out/profiler/run", "--json"]).json();
    assert_eq!(json["manifest"]["schema"], "opscope.recording/3");
    assert_eq!((&json["problems"], &json["account"]["runs"]["measured"]), (&serde_json::json!([]), &1.into()));
}

#[test]
fn what_holds_nothing_of_ours_is_refused() {
    let place = Workplace::new();
    place.write("text", "no tensors here");
    fs::create_dir(place.path("empty")).unwrap();
    inspect(&place, &["nowhere"]).refused(2, &["nowhere", "cannot be read"]);
    inspect(&place, &["text"]).refused(2, &["text", "not a dump file", "give a model (.onnx), a recording"]);
    place.write("empty.npy", "");
    inspect(&place, &["empty.npy"]).refused(2, &["this is not an npy file: it is empty"]);
    inspect(&place, &["empty"]).refused(2, &["empty", "no dump"]);
    inspect(&place, &[&fixture("truncated.onnx")]).refused(2, &["truncated.onnx", "is not an ONNX model"]);
    inspect(&place, &[]).refused(2, &["<PATH>"]);
}
