//! What a page contains, and what it never contains.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use opscope_clock::Ticks;
use opscope_profile::Recording;
use opscope_report::{Report, ReportError};
use serde_json::json;
use support::{HOSTILE, dump, layered, model, page, record, record_graph, summary};

/// Returns the names of the elements of a page. The texts of a page cannot contain a `<`.
fn tags(html: &str) -> Vec<&str> {
    let after_style = html.split("</style>").nth(1).expect("there is a style");
    let before_script = after_style.split("<script>").next().expect("there is a script");
    before_script
        .split('<')
        .skip(1)
        .map(|rest| rest.split([' ', '>', '/']).find(|tag| !tag.is_empty()).unwrap_or(""))
        .collect()
}

/// Writes the result of a search in which every second one of these operators is kept.
fn precision(directory: &Path, operators: &[&str]) {
    let look = |(index, operator): (usize, &&str)| {
        let error = (index != 1).then_some(2e-4 * (index + 1) as f64);
        let cause = (index == 1).then_some("overflow");
        json!({ "operator": operator, "op_type": "Add", "error": error, "cause": cause, "kept": index % 2 == 1, "time": 0.1 })
    };
    let looks: Vec<_> = operators.iter().enumerate().map(look).collect();
    let kept = looks.iter().filter(|look| look["kept"] == true).map(|look| {
        json!({ "operator": look["operator"], "node": look["operator"], "op_type": "Add", "cause": look["cause"], "value_without": null })
    });
    let report = json!({
        "schema": "opscope.precision/1", "model": "m.onnx", "to": "fp16", "target": "cosine >= 0.9999", "noise": 1.0,
        "noise_between": ["tract", "onnxruntime"], "all_low": { "value": null, "first": null, "cause": null },
        "kept": kept.collect::<Vec<_>>(), "all_operators": looks, "kept_time": 0.25, "value": 0.999_987,
        "measured_by": "tract, which ran the file", "file_ran": true,
        "held_out": { "mean": 0.999_98, "low": 0.999_97, "high": 0.999_985, "inputs": 4 }, "inputs": 4, "full_runs": 11.0,
        "candidates": operators.len(), "operators": operators.len(), "minimal": true, "written": "out/m_fp16.onnx", "list": null,
    });
    fs::create_dir_all(directory).expect("a directory");
    fs::write(directory.join("precision.json"), report.to_string()).expect("a file");
}

#[test]
fn the_result_of_a_search_is_a_section_of_its_own() {
    let root = tempfile::tempdir().expect("a directory");
    let search = root.path().join("half");
    precision(&search, &["a", "norm", "b", "root"]);
    let html = page(&[&search]);
    assert_eq!(html, page(&[&search.join("precision.json")]), "the directory and the file are the same");
    for text in [
        "2 of 4 operators stay in float32, 25.00 % of the time; the others compute in fp16. Without any one of them, cosine &gt;= 0.9999 is missed.",
        "The model with every operator in fp16 gives outputs that are not finite.",
        "The written model reaches 0.999987 on 4 sets of inputs, by tract, which ran the file.",
        "It reaches 0.999980 (0.999970 to 0.999985 with 95 % confidence) on 4 sets that the search did not see.",
        "The own error of every operator in rounding units",
        "norm: not finite, or not known, stays in float32",
        "<td>overflow</td><td>float32</td>",
    ] {
        assert!(html.contains(text), "{text:?} is not in {html}");
    }
    for section in ["r1-summary", "r1-graph", "r1-latency"] {
        assert!(!html.contains(&format!("id=\"{section}\"")), "{section} has nothing to show");
    }
    // 2e-4 is 0.4096 rounding units of fp16.
    assert!(html.contains("data-v=\"4.096e-1\">0.4096</td>"), "{html}");
    let first = |name: &str| html.find(&format!("<th scope=\"row\">{name}</th>")).expect("a row");
    assert!(first("norm") < first("root") && first("root") < first("a"), "those that stay are first");

    precision(&search, &HOSTILE);
    let html = page(&[&search]);
    assert_eq!((html.matches("<script").count(), html.matches("<img").count()), (1, 0));
    fs::write(search.join("precision.json"), "{}").expect("a file");
    let error = Report::read(&[search], &|_| {}).expect_err("it is no result").to_string();
    assert!(error.contains("precision.json is not the result of `opscope precision`"), "{error}");
}

#[test]
fn hostile_names_of_operators_values_files_and_engines_stay_text() {
    let root = tempfile::tempdir().expect("a directory");
    let operators: Vec<_> = HOSTILE.iter().map(|name| ((*name).to_owned(), "Add")).collect();
    let recording = root.path().join("'><script>hostile");
    record(&recording, &operators, 3);
    let values: Vec<_> = HOSTILE.iter().map(|name| (*name, *name, 1, 0)).collect();
    dump(&root.path().join("dump"), &values);
    let manifest = recording.join("manifest.json");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    let hostile = serde_json::to_string(HOSTILE[0]).expect("a text");
    fs::write(
        &manifest,
        text.replace("\"paper\"", &hostile).replace("\"notes\": []", &format!("\"notes\": [{hostile}]")),
    )
    .expect("it can be written");
    let html = page(&[&recording, &root.path().join("dump")]);
    assert_eq!(html.matches("<script").count(), 1);
    assert_eq!(html.matches("</script").count(), 1);
    let known = [
        "a",
        "article",
        "body",
        "button",
        "circle",
        "code",
        "dd",
        "desc",
        "details",
        "div",
        "dl",
        "dt",
        "figcaption",
        "figure",
        "footer",
        "g",
        "h1",
        "h2",
        "h3",
        "h4",
        "header",
        "input",
        "label",
        "li",
        "line",
        "main",
        "marker",
        "nav",
        "output",
        "p",
        "path",
        "polygon",
        "polyline",
        "rect",
        "section",
        "small",
        "span",
        "strong",
        "summary",
        "svg",
        "table",
        "tbody",
        "td",
        "text",
        "th",
        "thead",
        "title",
        "tr",
        "ul",
    ];
    for tag in tags(&html) {
        assert!(known.contains(&tag) || tag == "head", "a name became the element {tag:?}");
    }
    assert!(
        html.contains("&lt;/script&gt;&lt;script&gt;window.hostile = 1&lt;/script&gt;"),
        "the name itself is shown"
    );
    assert!(
        html.contains("\\u{202e}reversed\\u{1b}[31m\\u{a}") && !html.contains('\u{202e}'),
        "and what is not seen, too"
    );
}

#[test]
fn the_size_depends_on_the_model_and_not_on_how_often_it_ran() {
    let root = tempfile::tempdir().expect("a directory");
    let operators = layered(1_000);
    let sizes = [50u64, 400].map(|runs| {
        let directory = root.path().join(format!("{runs}"));
        record(&directory, &operators, runs);
        page(&[&directory]).len()
    });
    assert!(sizes[1] < 2_000_000, "1000 operators take {} bytes", sizes[1]);
    assert!(sizes[1] - sizes[0] < 100_000, "eight times as many runs add {} bytes", sizes[1] - sizes[0]);
}

#[test]
fn a_run_of_many_thousand_dispatches_stays_small_and_says_that_it_is_put_together() {
    let root = tempfile::tempdir().expect("a directory");
    record(&root.path().join("long"), &layered(12_000), 2);
    let html = page(&[&root.path().join("long")]);
    assert!(html.len() < 6_000_000, "{} bytes", html.len());
    assert!(html.contains("short dispatches: ") && html.contains("11\u{202f}000 more take less time"));
}

#[test]
fn every_part_of_a_run_has_its_section_and_the_first_nan_is_named() {
    let root = tempfile::tempdir().expect("a directory");
    record(&root.path().join("profiler/first"), &layered(40), 30);
    let values = [("a", "/one", 0, 0), ("b", "/two", 0, 3), ("c", "/three", 5, 0)];
    dump(&root.path().join("dump/first"), &values);
    fs::write(root.path().join("first_summary.json"), summary(&[2.0; 30]).to_string()).expect("a new file");
    let html = page(&[root.path()]);
    for section in ["summary", "latency", "timeline", "operators", "dump", "surroundings", "commands"] {
        assert!(html.contains(&format!("<section id=\"r1-{section}\"")), "there is no section {section}");
    }
    assert!(!html.contains("id=\"r2\""), "the three parts are one run");
    let text = html.split("The first tensor that is not finite").nth(1).expect("it is named");
    assert!(
        text.starts_with("</strong> is <code>b</code>, which is given by <code>/two</code> (Add) in run 0: 0 elements"),
        "{text:.200}"
    );
    let alone = page(&[&root.path().join("first_summary.json")]);
    assert!(alone.contains("1.900 ms to 2.100 ms with 95 % confidence"));
    assert!(!html.contains("catch nonfinite") && html.contains("The model&#39;s file was not found from there"));
    for text in ["2 of 3", "5 NaN, 3 infinite elements", "first in b"] {
        assert!(html.contains(text), "the tile counts all tensors: {text}");
    }
    assert!(html.contains("of 30 recorded runs") && html.contains("of the summary"), "the tiles say what they are of");
}

/// Returns the page of a model of these operators, which was recorded, with its graph.
fn drawn(root: &Path, operators: &[(String, &'static str)]) -> String {
    let graph = model(&root.join("made.onnx"), operators);
    record_graph(&root.join("recording"), &graph, 3);
    let mut report = Report::read(&[root.join("recording")], &|_| {}).expect("a recording");
    report.draw_graphs(&[]).expect("nothing was given");
    report.to_html().expect("charts can be drawn")
}

#[test]
fn the_graph_of_a_model_is_drawn_folded_by_module_with_every_operator_and_shape() {
    let root = tempfile::tempdir().expect("a directory");
    let html = drawn(root.path(), &layered(400));
    let graph =
        html.split("<svg class=\"model\"").nth(1).and_then(|rest| rest.split("</figure>").next()).expect("a graph");
    assert_eq!(graph.matches("<g class=\"n t").count() + graph.matches("<g class=\"n\"").count(), 400);
    assert!(html.contains("400 operators, folded by module."));
    for text in [
        ">bert/encoder/layer.0</text>",
        ">attention</text>",
        ">2×3</text>",
        "MatMul in bert/encoder/layer.3/attention/self",
    ] {
        assert!(graph.contains(text), "{text} is not in the graph");
    }
    assert_eq!(graph.matches("data-most=\"time\"").count(), 1, "one operator is the slowest");
}

#[test]
fn five_thousand_operators_stay_within_three_megabytes_with_modules_and_without() {
    for (modules, operators) in
        [(true, layered(5_000)), (false, (0..5_000).map(|index| (format!("n{index}"), "Add")).collect())]
    {
        let root = tempfile::tempdir().expect("a directory");
        let html = drawn(root.path(), &operators);
        let graph = html
            .split("<figure class=\"graph\"")
            .nth(1)
            .and_then(|rest| rest.split("</figure>").next())
            .expect("a graph");
        assert!(graph.len() < 3_000_000, "{} bytes, modules: {modules}", graph.len());
        let most = graph.split("<g class=\"v\"").map(|level| level.split("</g><g class=\"n").count()).max();
        assert!(most < Some(120), "a level has {most:?} nodes, modules: {modules}");
    }
}

/// Returns the page of two runs of a model of this many operators, with their graphs.
fn drawn_twice(operators: usize) -> String {
    let root = tempfile::tempdir().expect("a directory");
    fs::create_dir(root.path().join("models")).expect("a directory");
    let operators: Vec<(String, &str)> = (0..operators).map(|index| (format!("n{index}"), "Add")).collect();
    let graph = model(&root.path().join("models/made.onnx"), &operators);
    let mut content = summary(&[2.0; 3]);
    content["model"]["xxh3"] = json!(graph.source.xxh3);
    let paths = ["a_summary.json", "b_summary.json"].map(|name| root.path().join(name));
    paths.iter().for_each(|path| fs::write(path, content.to_string()).expect("a new file"));
    let mut report = Report::read(&paths, &|_| {}).expect("summaries");
    report.draw_graphs(&[]).expect("nothing was given");
    report.to_html().expect("charts can be drawn")
}

#[test]
fn a_page_draws_twelve_thousand_operators_and_says_which_graph_is_left_out() {
    let html = drawn_twice(6_001);
    assert_eq!(html.matches("<svg class=\"model\"").count(), 1);
    assert!(html.contains("6\u{202f}001 operators, folded by module."));
    assert!(html.contains("The graph of this run is not drawn: pages show at most 12000 operators."));
    // Two graphs of 200 operators are far below that.
    let html = drawn_twice(200);
    assert_eq!(html.matches("<svg class=\"model\"").count(), 2);
    assert!(!html.contains("is not drawn"));
}

#[test]
fn a_model_that_changed_or_is_another_one_is_not_drawn_and_the_page_says_why() {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("made.onnx");
    let graph = model(&path, &layered(40));
    record_graph(&root.path().join("recording"), &graph, 3);
    model(&path, &layered(41));
    let mut report = Report::read(&[root.path().join("recording")], &|_| {}).expect("a recording");
    report.draw_graphs(&[]).expect("nothing was given");
    let html = report.to_html().expect("charts can be drawn");
    assert!(
        html.contains("made.onnx has changed since the run; --model FILE gives it."),
        "the reason is not on the page"
    );
    assert!(!html.contains("<svg class=\"model\""));
    let error = report.draw_graphs(&[path]).expect_err("it is another model").to_string();
    assert!(error.contains("is the model of none of the runs; recording ran "), "{error}");
}

#[test]
fn a_dump_has_no_times_and_what_is_not_finite_comes_first() {
    let root = tempfile::tempdir().expect("a directory");
    dump(&root.path().join("dump/first"), &[("a", "/one", 0, 0), ("b", "/two", 0, 3)]);
    fs::write(root.path().join("first_summary.json"), summary(&[2.0; 30]).to_string()).expect("a new file");
    let html = page(&[root.path()]);
    for text in ["Throughput", "Median run", "id=\"r1-latency\""] {
        assert!(!html.contains(text), "the page of a dump has {text}");
    }
    let rows = html.split("id=\"r1-values\"").nth(1).expect("a table");
    assert!(rows.find("<th scope=\"row\">b</th>") < rows.find("<th scope=\"row\">a</th>"), "b has an infinity");
}

#[test]
fn two_models_are_two_runs_and_no_error() {
    let root = tempfile::tempdir().expect("a directory");
    let paths = ["one", "two"].map(|name| {
        let operators = [(format!("/{name}/a"), "Add"), (format!("/{name}/b"), "Mul")];
        let graph = model(&root.path().join(format!("{name}.onnx")), &operators);
        let directory = root.path().join(name);
        record_graph(&directory, &graph, 10);
        directory
    });
    let html = page(&[&paths[0], &paths[1]]);
    assert!(
        html.contains("<article id=\"r2\"") && !html.contains("cannot be compared") && !html.contains("A against B")
    );
    for link in ["<a href=\"#r1\" class=\"run\">", "<a href=\"#r2\" class=\"run\">"] {
        assert_eq!(html.matches(link).count(), 1, "{link}");
    }
    assert!(!page(&[&paths[0]]).contains("class=\"run\""), "one run needs no link to itself");
}

#[test]
fn two_runs_without_the_name_of_a_model_are_compared_only_if_its_contents_are_the_same() {
    let root = tempfile::tempdir().expect("a directory");
    let written = |name: &str, path: &str, xxh3: &str| {
        let mut content = summary(&[1.0, 2.0, 3.0]);
        (content["model"]["path"], content["model"]["xxh3"]) = (path.into(), xxh3.into());
        let file = root.path().join(format!("{name}_summary.json"));
        fs::write(&file, content.to_string()).expect("a new file");
        file
    };
    let (a, b) = ("000000000000000a", "000000000000000b");
    for (index, (paths, contents, is_compared)) in
        [(["", ""], [a, b], false), (["", ""], [a, a], true), (["m.onnx", "m.onnx"], [a, b], true)]
            .into_iter()
            .enumerate()
    {
        let file = |run: usize| written(&format!("{index}{run}"), paths[run], contents[run]);
        let html = page(&[&file(0), &file(1)]);
        assert_eq!(html.contains("A against B"), is_compared, "{paths:?} {contents:?}");
    }
}

#[test]
fn the_marks_of_the_distribution_are_named() {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("a_summary.json");
    fs::write(&path, summary(&(0..100).map(|run| 2.0 + f64::from(run) / 100.0).collect::<Vec<_>>()).to_string())
        .expect("a new file");
    let html = page(&[&path]);
    for text in ["median 2.000 ms", "P90 2.500 ms"] {
        assert!(html.split("<svg class=\"wide\"").nth(1).is_some_and(|chart| chart.contains(text)), "no {text}");
    }
}

#[test]
fn nothing_that_exists_is_replaced_and_a_wrong_summary_is_refused_by_name() {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("a_summary.json");
    fs::write(&path, summary(&[1.0, 2.0, 3.0]).to_string()).expect("a new file");
    let report = Report::read(std::slice::from_ref(&path), &|_| {}).expect("a summary");
    let output = root.path().join("report.html");
    fs::write(&output, "mine").expect("a new file");
    let error = report.write(&output).expect_err("it exists");
    assert!(matches!(error, ReportError::Exists(_)), "{error}");
    assert_eq!(fs::read_to_string(&output).expect("it is there"), "mine");
    assert_eq!(fs::read_dir(root.path()).expect("a directory").count(), 2, "no part of it is left");
    let refused = |content: &str| {
        let path: PathBuf = root.path().join("b_summary.json");
        fs::write(&path, content).expect("it can be written");
        Report::read(&[path], &|_| {}).expect_err("it is none").to_string()
    };
    assert!(refused("{").contains("b_summary.json is not a summary that can be read: EOF"));
    assert!(
        refused("{\"schema\": \"opscope.summary/9\"}")
            .ends_with("its schema is 'opscope.summary/9', this version reads 'opscope.summary/1'")
    );
    assert!(refused("{\"schema\": \"opscope.summary/1\"}").contains("missing field"));
}

#[test]
fn what_a_killed_process_left_is_shown_and_said_to_be_incomplete() {
    let root = tempfile::tempdir().expect("a directory");
    let directory = root.path().join("cut");
    record(&directory, &layered(40), 30);
    let records = directory.join("records.bin");
    let bytes = fs::read(&records).expect("records");
    fs::write(&records, &bytes[..bytes.len() / 2]).expect("it can be written");
    let report = Report::read(&[directory], &|_| {}).expect("a recording");
    assert!(report.problems().next().is_some_and(|problem| problem.starts_with("cut: recording: ")));
    let html = report.to_html().expect("charts can be drawn");
    assert!(html.contains("<span class=\"state bad\">incomplete</span>"));
}

#[test]
fn an_incomplete_dump_and_one_without_tensors_get_no_all_clear() {
    let root = tempfile::tempdir().expect("a directory");
    let directory = root.path().join("dump/first");
    dump(&directory, &[("a", "/one", 0, 0)]);
    assert!(
        page(&[&directory]).contains("<p class=\"finding good\">No tensor of the dump has a NaN or an infinity.</p>")
    );
    let manifest = directory.join("manifest.json");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    fs::write(&manifest, text.replace("\"complete\":true", "\"complete\":false")).expect("it can be written");
    let html = page(&[&directory]);
    assert!(
        !html.contains("finding good") && html.contains("but the dump is incomplete: what is missing may have them.")
    );
    assert!(html.contains("the dump is incomplete, so others may have them") && !html.contains("is finite"));
}

#[test]
fn times_beside_shares_are_medians_and_those_of_the_account() {
    let root = tempfile::tempdir().expect("a directory");
    let graph = model(&root.path().join("made.onnx"), &layered(40));
    record_graph(&root.path().join("recording"), &graph, 5);
    let account =
        Recording::open(root.path().join("recording")).and_then(|recording| recording.account()).expect("an account");
    let mut report = Report::read(&[root.path().join("recording")], &|_| {}).expect("a recording");
    report.draw_graphs(&[]).expect("nothing was given");
    let html = report.to_html().expect("charts can be drawn");
    let micros = |nanos: f64| format!("{:.3} µs", nanos / 1e3);
    let slowest = &account.operators[0];
    assert_ne!(micros(slowest.median_ns), micros(slowest.mean_ns), "the runs tell them apart");
    let shown = format!("{} · {:.2} %", micros(slowest.median_ns), slowest.percent);
    assert!(html.contains(&format!(">{shown}</text>")), "the graph has no {shown}");
    let layers = account.layers();
    let layer = &layers.layers[0];
    let shown = format!("{:.2} % · {:.2} µs", layer.percent, layer.median_ns / 1e3);
    assert!(html.contains(&shown), "the layers have no {shown}");
    let shares = account.shares.expect("dispatches were recorded");
    let between = 100.0 * shares.between.median_ns / account.run.median_ns;
    assert!(html.contains(&format!("{between:.2} %")), "between operators: {between:.2} %");
}

#[test]
fn runs_have_the_numbers_of_the_recording_everywhere() {
    let root = tempfile::tempdir().expect("a directory");
    record(&root.path().join("recording"), &layered(40), 30);
    let html = page(&[&root.path().join("recording")]);
    let charts = html.split("id=\"r1-latency\"").nth(1).expect("charts");
    assert!(charts.contains("&quot;run 0: ") && charts.contains("&quot;run 29: ") && !charts.contains("run 30: "));
    assert!(charts.contains("Their numbers are those of the recording."));
    // The first run takes 500 ticks, and for each of its 40 kernels 1100 ticks plus a number that depends on the
    // kernel's number.
    let ticks: u64 = 500 + (0..40).map(|index: u64| 1_100 + (index * 7_919) % 5_000).sum::<u64>();
    let recording = Recording::open(root.path().join("recording")).expect("a recording");
    let nanos = recording.calibration().nanos(Ticks::from_raw(0), Ticks::from_raw(ticks));
    let shown = charts.split("&quot;run 0: ").nth(1).and_then(|rest| rest.split("&quot;").next()).expect("a duration");
    let (number, unit) = shown.split_once(' ').expect("a unit");
    let unit = [("µs", 1e3), ("ms", 1e6)].into_iter().find(|(name, _)| *name == unit).expect("a unit").1;
    let shown = number.parse::<f64>().expect("a number") * unit;
    assert!((shown / nanos - 1.0).abs() < 0.001, "{shown} for {nanos} ns");
}

#[test]
fn runs_of_several_shapes_are_said_to_be_put_together_and_each_shape_has_its_times() {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("a_summary.json");
    let mut content = summary(&[2.0; 30]);
    let shape = |sizes: [u64; 2], median: f64| {
        json!({
            "inputs": [{ "name": "x", "dtype": "float32", "shape": sizes }], "throughput": 1.0, "throughput_at_median": 7.0,
            "NPU_compute_time": { "min": 1.0, "max": 3.0, "mean": 2.0, "median": median, "P90": 2.5, "P99": 2.9, "count": 15 },
        })
    };
    content["by_shape"] = json!([shape([1, 3], 1.5), shape([8, 3], 6.5)]);
    fs::write(&path, content.to_string()).expect("a new file");
    let html = page(&[&path]);
    for text in ["The runs are of 2 sets of shapes, put together", "x [8, 3]", "6.500 ms"] {
        assert!(html.contains(text), "the page has no {text}");
    }
    content["dym_shape_range"] = content["by_shape"].take();
    content["by_shape"] = json!([]);
    fs::write(&path, content.to_string()).expect("it can be written");
    assert!(page(&[&path]).contains("The numbers above are those of the first of 2 sets of shapes."));
}

#[test]
fn operators_in_bodies_say_whose() {
    let root = tempfile::tempdir().expect("a directory");
    let directory = root.path().join("dump/first");
    dump(&directory, &[("a", "inner", 0, 0)]);
    let index = directory.join("index.jsonl");
    let text = fs::read_to_string(&index).expect("an index");
    let within = "\"iterations\":[{\"operator\":\"repeat\",\"index\":0}],\"io\":";
    fs::write(&index, text.replace("\"io\":", within)).expect("it can be written");
    assert!(page(&[&directory]).contains("<small>in the body of repeat</small>"));
}
