//! What a page holds, and what it never holds.

mod support;

use std::fs;
use std::path::PathBuf;

use opscope_report::{Report, ReportError};
use support::{HOSTILE, dump, layered, page, record, summary};

/// Returns the elements of a page by name, with how often each stands there. Texts of the page cannot have a `<`.
fn tags(html: &str) -> Vec<&str> {
    let after_style = html.split("</style>").nth(1).expect("there is a style");
    let before_script = after_style.split("<script>").next().expect("there is a script");
    before_script
        .split('<')
        .skip(1)
        .map(|rest| rest.split([' ', '>', '/']).find(|tag| !tag.is_empty()).unwrap_or(""))
        .collect()
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
        "caption",
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
        "nav",
        "output",
        "p",
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
    assert!(html.contains("short dispatches: ") && html.contains("8\u{202f}000 more take less time"));
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
    assert!(html.contains(" -ex &#39;catch nonfinite&#39; -ex run"));
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
    assert!(refused("{").contains("b_summary.json is no summary that can be read: EOF"));
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
