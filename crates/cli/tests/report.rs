//! `opscope report`: pages of real runs.

mod process;

use process::{Workplace, end, fixture, model};

/// Runs the digits with a profiler, and again with a dump.
fn measured() -> Workplace {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    for (name, instrument) in [("timed", "--profiler"), ("dumped", "--dump")] {
        let run =
            [&digits, "--batch_size", "4", "--loop", "20", instrument, "--output", "out", "--output-dirname", name];
        place.benchmark_well(&run);
    }
    place
}

#[test]
fn an_output_directory_becomes_a_page_and_the_next_one_gets_another_name() {
    let place = measured();
    for name in ["report.html", "report-2.html"] {
        let ended = end(&mut place.command(&["report", "out"]));
        assert_eq!((ended.code, ended.stdout.trim()), (Some(0), name), "{ended:?}");
        let page = place.text(name);
        for text in
            ["<section id=\"r1-dump\"", "<section id=\"r2-timeline\"", "/conv1/Conv", "No tensor of the dump has a NaN"]
        {
            assert!(page.contains(text), "{name} has no {text}");
        }
        assert!(page.ends_with("</html>\n"));
    }
    let json = end(&mut place.command(&["report", "out/profiler/timed", "--json", "--output", "one.html"]));
    let expected = serde_json::json!({ "schema": "opscope.report/1", "path": "one.html", "problems": [] });
    assert_eq!((json.code, json.json()), (Some(0), expected));
}

#[test]
fn wrong_paths_and_outputs_that_exist_are_refused_before_anything_is_written() {
    let place = measured();
    place.write("mine.html", "mine");
    let refused = |arguments: &[&str], says: &[&str]| end(&mut place.command(arguments)).refused(2, says);
    refused(&["report", "out", "--output", "mine.html"], &["mine.html exists and stays as it is"]);
    refused(&["report", "nowhere"], &["nowhere", "a report is made of recordings, dumps, summaries"]);
    refused(&["report", "mine.html"], &["mine.html"]);
    refused(&["report"], &["<PATH>"]);
    let ended = end(&mut place.command(&["report", "out", "--output", "no/such/place.html"]));
    ended.refused(1, &["could not write no/such/place.html"]);
    assert_eq!(place.text("mine.html"), "mine");
    assert!(!place.tree("").iter().any(|name| name.ends_with("report.html") || name.contains(".part")));
}

/// Returns the commands that a page offers.
fn commands(page: &str) -> Vec<String> {
    let text = |code: &str| {
        let code = code.split("</code>").next().unwrap_or_default();
        [("&#39;", "'"), ("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")]
            .into_iter()
            .fold(code.to_owned(), |text, (escaped, letter)| text.replace(escaped, letter))
    };
    page.split("<dd><code>").skip(1).map(text).collect()
}

#[test]
fn every_command_that_a_page_offers_runs() {
    let place = measured();
    place.write("nan.onnx", std::fs::read(fixture("nan.onnx")).unwrap());
    place.write("x.npy", std::fs::read(fixture("nan.input.x.npy")).unwrap());
    place.benchmark_well(&["nan.onnx", "--input", "x.npy", "--output", "out", "--output-dirname", "nan", "--dump"]);
    assert_eq!(end(&mut place.command(&["report", "out"])).code, Some(0));
    let offered = commands(&place.text("report.html"));
    assert!(offered.len() >= 10, "{offered:#?}");
    let debug = "opscope debug nan.onnx --input=x.npy -ex 'catch nonfinite' -ex run";
    assert!(offered.iter().any(|command| command == debug), "{offered:#?}");
    let batches = offered.iter().filter(|command| command.contains("--dym-batch=4"));
    assert!(batches.count() >= 2, "the run's own shapes: {offered:#?}");
    let directory = std::path::Path::new(env!("CARGO_BIN_EXE_opscope")).parent().unwrap().to_owned();
    for command in offered {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &command]).current_dir(place.path("")).stdin(std::process::Stdio::null());
        shell.env("PATH", format!("{}:/usr/bin:/bin", directory.display())).env("XDG_CACHE_HOME", "/dev/null");
        let ended = end(&mut shell);
        assert_eq!(ended.code, Some(0), "{command}: {ended:?}");
        assert!(!command.contains("catch nonfinite") || ended.stdout.contains("has 1 NaN"), "{command}: {ended:?}");
    }
}

#[test]
fn the_graph_is_that_of_the_file_or_of_the_one_that_is_given() {
    let place = Workplace::new();
    let content = std::fs::read(model("tiny_transformer.onnx")).unwrap();
    place.write("tiny.onnx", &content);
    place.benchmark_well(&["tiny.onnx", "--output", "out", "--output-dirname", "a", "--loop", "3", "--profiler"]);
    let page = |name: &str, more: &[&str]| {
        let ended = end(&mut place.command(&[&["report", "out", "--output", name], more].concat()));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        place.text(name)
    };
    let graph = "<svg class=\"model\"";
    let found = page("found.html", &[]);
    assert!(found.contains(graph) && found.contains(">encoder/layer.0</text>") && found.contains("data-find=\"time\""));
    std::fs::rename(place.path("tiny.onnx"), place.path("moved.onnx")).unwrap();
    let moved = page("moved.html", &[]);
    assert!(!moved.contains(graph) && moved.contains("tiny.onnx is not found here; --model FILE gives it."));
    assert!(page("given.html", &["--model", "moved.onnx"]).contains(graph));
    let other = end(&mut place.command(&["report", "out", "--output", "x.html", "--model", &fixture("nan.onnx")]));
    other.refused(2, &["is the model of none of the runs; a ran tiny.onnx (xxh3 "]);
}

#[test]
fn two_dumps_of_a_model_colour_its_graph_by_the_largest_difference() {
    let place = Workplace::new();
    for (name, seed) in [("a", "1"), ("b", "2")] {
        let data = ["--pure-data-type", "random", "--seed", seed];
        let dump = ["--output", "out", "--output-dirname", name, "--dump"];
        place.benchmark_well(&[&[&*model("digits_cnn.onnx")], &data[..], &dump[..]].concat());
    }
    assert_eq!(end(&mut place.command(&["report", "out"])).code, Some(0));
    let page = place.text("report.html");
    assert!(page.contains("data-find=\"error\"") && page.contains("of the largest element"), "no difference is shown");
}

#[test]
fn an_incomplete_run_ends_with_3_and_says_why() {
    let place = measured();
    let manifest = "out/profiler/timed/manifest.json";
    let text = place.text(manifest).replace("\"incomplete_because\": []", "\"incomplete_because\": [\"it was cut\"]");
    place.write(manifest, text.replacen("\"complete\": true", "\"complete\": false", 1));
    let ended = end(&mut place.command(&["report", "out/profiler/timed"]));
    assert_eq!((ended.code, ended.stdout.trim()), (Some(3), "report.html"), "{ended:?}");
    ended.says(&["warning: timed: recording: it was cut"]);
}

/// Writes an `.npy` file of three numbers.
fn three(place: &Workplace, name: &str, numbers: [f32; 3]) {
    let header = format!("{:<117}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.as_bytes());
    numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    place.write(name, bytes);
}

/// Dumps a run of the model with a logarithm on three numbers.
fn dumped(place: &Workplace, name: &str, numbers: [f32; 3]) {
    place.write("nan.onnx", std::fs::read(fixture("nan.onnx")).unwrap());
    let file = format!("{name}.npy");
    three(place, &file, numbers);
    place.benchmark_well(&["nan.onnx", "--input", &file, "--output", "out", "--output-dirname", name, "--dump"]);
}

/// Returns the page of some paths.
fn page(place: &Workplace, paths: &[&str], name: &str) -> String {
    let ended = end(&mut place.command(&[&["report"], paths, &["--output", name]].concat()));
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    place.text(name)
}

#[test]
fn a_nan_on_one_side_only_is_a_difference_and_the_first_one_is_named_in_the_order_of_execution() {
    let place = Workplace::new();
    dumped(&place, "good", [1.0, 2.0, 3.0]);
    dumped(&place, "nan", [f32::NAN, 2.0, 3.0]);
    let html = page(&place, &["out/dump/good", "out/dump/nan"], "one.html");
    for text in [
        "Tensors of nan against good, the reference",
        "nan differs from good, the reference: ",
        "<strong>The first tensor that differs</strong> is <code>a</code>, of <code>shift</code> (Add)",
        "1 element is NaN or infinite on one side only",
        "The two runs were given different inputs: x.",
        "differs without a size: by NaN",
        "opscope compare out/dump/nan out/dump/good",
    ] {
        assert!(html.contains(text), "the page has no {text}");
    }
    assert!(!html.contains("finding good\">nan") && html.contains("class=\"n e5"), "the graph shows it");
    let rows = html.split("id=\"compared-values\"").nth(1).unwrap().split("</table>").next().unwrap();
    let places = ["a", "b", "y", "z"].map(|name| rows.find(&format!("<th scope=\"row\">{name}</th>")));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
    let same = page(&place, &["out/dump/good", "out/dump/good"], "same.html");
    assert!(same.contains("<p class=\"finding good\">good agrees with good, the reference: "), "{}", same.len());
    // The model's file is not needed for the order of execution, because the dump has it.
    std::fs::remove_file(place.path("nan.onnx")).unwrap();
    let html = page(&place, &["out/dump/good", "out/dump/nan"], "alone.html");
    assert!(html.contains("The first tensor that differs</strong> is <code>a</code>"), "without the model");
}

#[test]
fn a_tensor_of_another_name_is_said_to_be_not_compared() {
    let place = Workplace::new();
    dumped(&place, "a", [1.0, 2.0, 3.0]);
    dumped(&place, "b", [1.0, 2.0, 3.0]);
    let index = "out/dump/b/index.jsonl";
    let text = place.text(index).replace("\"value\":\"z\"", "\"value\":\"copy\"").replace("\"inverse\"", "\"moved\"");
    place.write(index, text);
    let html = page(&place, &["out/dump/a", "out/dump/b"], "one.html");
    for text in ["1 tensor is only in b: copy.", "1 tensor is only in a: z.", "but not everything was: "] {
        assert!(html.contains(text), "the page has no {text}");
    }
    assert!(!html.contains("finding good\">b agrees"));
}

#[test]
fn a_nan_of_the_models_input_is_not_said_to_be_the_first_operators() {
    let place = Workplace::new();
    dumped(&place, "nan", [f32::NAN, 2.0, 3.0]);
    let html = page(&place, &["out"], "one.html");
    let found = html.split("The first tensor that is not finite").nth(1).unwrap();
    assert!(found.starts_with("</strong> is <code>a</code>, which is given by <code>shift</code>"), "{found:.200}");
    assert!(
        html.contains(
            "Its operator takes what the model was given (x), which is not in the dump and may have had them."
        )
    );
    let with_inputs = ["nan.onnx", "--input", "nan.npy", "--output", "in", "--output-dirname", "n", "--dump"];
    place.benchmark_well(&[&with_inputs[..], &["--dump-io", "all"]].concat());
    let html = page(&place, &["in"], "two.html");
    assert!(
        html.contains(
            "is <code>x</code>, an input of the model: no operator made it. It is taken by <code>shift</code>"
        )
    );
}

#[test]
fn the_commands_of_a_page_that_is_made_in_another_directory_run_there() {
    let place = measured();
    dumped(&place, "nan", [-1.0, 0.0, 3.0]);
    std::fs::create_dir(place.path("else where")).unwrap();
    let ended = end(place.command(&["report", "../out"]).current_dir(place.path("else where")));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let html = place.text("else where/report.html");
    assert!(html.contains("<svg class=\"model\""), "the model is found from the results");
    let directory = std::path::Path::new(env!("CARGO_BIN_EXE_opscope")).parent().unwrap().to_owned();
    let offered = commands(&html);
    let debug = "(cd .. && opscope debug nan.onnx --input=nan.npy -ex 'catch nonfinite' -ex run)";
    assert!(offered.iter().any(|command| command == debug), "{offered:#?}");
    for command in offered {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &command]).current_dir(place.path("else where")).stdin(std::process::Stdio::null());
        shell.env("PATH", format!("{}:/usr/bin:/bin", directory.display())).env("XDG_CACHE_HOME", "/dev/null");
        let ended = end(&mut shell);
        assert_eq!(ended.code, Some(0), "{command}: {ended:?}");
    }
}

#[test]
fn a_recording_of_several_shapes_says_so() {
    let place = Workplace::new();
    let shapes = ["--dym-shape-range", "image:1~2,1,8,8", "--loop", "3"];
    let run = ["--output", "out", "--output-dirname", "a", "--profiler"];
    place.benchmark_well(&[&[&*model("digits_cnn.onnx")], &shapes[..], &run[..]].concat());
    let html = page(&place, &["out"], "one.html");
    assert!(html.contains("The recorded runs are of 2 sets of shapes, put together"), "it does not say so");
    assert!(html.contains("image [2, 1, 8, 8]"), "the times of each shape are there");
}

#[test]
fn a_memory_chart_is_that_of_a_measured_run() {
    let place = Workplace::new();
    let run = ["--loop", "5", "--profiler", "--profiler-option", "task-memory=on", "--warmup-count", "3"];
    place.benchmark_well(
        &[&[&*model("digits_cnn.onnx"), "--output", "out", "--output-dirname", "a"], &run[..]].concat(),
    );
    let html = page(&place, &["out"], "one.html");
    let number = html.split("Tensors of run ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    assert!(number.parse::<u64>().unwrap() >= 3, "run {number} warms up");
}
