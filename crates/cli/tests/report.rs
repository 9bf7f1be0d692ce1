//! `opscope report`: pages of real runs.

mod process;

use process::{Workplace, end, model};

/// Runs the digits with a profiler, and again with a dump.
fn measured() -> Workplace {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    for (name, instrument) in [("timed", "--profiler"), ("dumped", "--dump")] {
        place.benchmark_well(&[&digits, "--output", "out", "--output-dirname", name, "--loop", "20", instrument]);
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
