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
        for text in ["<section id=\"r1-dump\"", "<section id=\"r2-timeline\"", "/conv1/Conv", "No tensor has a NaN"] {
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
