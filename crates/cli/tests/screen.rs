//! What `opscope benchmark` prints: one screen, at the width of the terminal.

mod process;

use opscope::tensor::{Tensor, npy};
use process::onnx::{self, node};
use process::{Ended, Workplace, end, engine, model};

/// Runs a benchmark in a terminal of this many columns, or in a pipe.
fn screen(place: &Workplace, columns: Option<usize>, arguments: &[&str]) -> Vec<String> {
    let mut command = place.command(&[&["benchmark"], arguments].concat());
    command.env_remove("COLUMNS").env("LC_ALL", "C.UTF-8");
    if let Some(columns) = columns {
        command.env("COLUMNS", columns.to_string());
    }
    let ended: Ended = end(&mut command);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
    let lines: Vec<String> = ended.stdout.lines().map(str::to_owned).collect();
    assert!(lines.len() <= 15, "{} lines: {}", lines.len(), ended.stdout);
    for line in &lines {
        assert!(columns.is_none_or(|columns| line.chars().count() <= columns), "wider than {columns:?}: {line:?}");
        assert!(!line.ends_with(' '), "{line:?}");
    }
    lines
}

/// Returns the words with which lines begin. Bars have none.
fn labels(lines: &[String]) -> Vec<&str> {
    lines.iter().filter_map(|line| line.split_whitespace().next()).collect()
}

fn has<'l>(lines: &'l [String], text: &str) -> &'l str {
    lines.iter().find(|line| line.contains(text)).unwrap_or_else(|| panic!("{text:?} is not in {lines:#?}"))
}

/// Returns a model with a chain of operators with these names.
fn row_of(names: &[String]) -> Vec<u8> {
    let value = |at: usize| format!("v{at}");
    let values: Vec<String> = (0..=names.len()).map(value).collect();
    let nodes: Vec<_> =
        (0..names.len()).map(|at| node(&names[at], "Tanh", &[&values[at]], &[&values[at + 1]])).collect();
    let last = values.last().map(String::as_str).unwrap();
    onnx::file("row", "a test", &[("v0", &["4"])], &nodes, &[(last, &["4"])])
}

#[test]
fn the_default_measures_for_two_seconds_and_shows_what_matters() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    for columns in [Some(80), Some(120), None] {
        let lines = screen(&place, columns, &[&digits]);
        has(&lines, "digits_cnn.onnx, 16 operators");
        assert!(lines[1].starts_with(&format!("engine     {} ", engine::name())), "{lines:#?}");
        assert!(lines[1].ends_with("optimised, 1 thread, batch 1; outputs checked"), "{lines:#?}");
        has(&lines, "batch is open in the file and 1 here; --batch-size sets more");
        let inference = has(&lines, "inference  ");
        assert!(
            inference.contains(" to ") && inference.contains("P99 ") && inference.ends_with(" samples/s"),
            "{inference}"
        );
        // The numbers of a fast machine are long enough to wrap this sentence.
        let words: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
        let words = words.join(" ");
        assert!(words.contains(" with a profiler") && words.contains(", for the operators below "), "{lines:#?}");
        has(&lines, "Conv       █");
        let at = lines.iter().position(|line| line == "slowest operators").unwrap();
        assert!(lines[at + 1..at + 4].iter().all(|line| line.starts_with("  /") && line.contains(" %")), "{lines:#?}");
        assert!(lines[at + 4].starts_with("next       --details for all numbers"), "{lines:#?}");
        for word in ["NPU", "H2D", "D2H"] {
            assert!(lines.iter().all(|line| !line.contains(word)), "{word} is another tool's word: {lines:#?}");
        }
    }
    assert_eq!(place.tree(""), [""; 0], "the recording beside is not kept");
}

#[test]
fn a_narrow_terminal_shows_fewer_numbers_and_more_lines_and_cuts_no_sentence() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    for columns in [40, 50, 60, 80] {
        let lines = screen(&place, Some(columns), &[&digits, "--loop", "100"]);
        has(&lines, "Conv       █");
        let inference = has(&lines, "inference  ");
        assert!(!inference.contains('…') && (inference.ends_with('s') || inference.ends_with(')')), "{inference}");
        assert_eq!(inference.matches('(').count(), inference.matches(')').count(), "{inference}");
        let labels = ["engine", "runs", "note"];
        // In 40 columns, the end of the note is cut.
        for label in labels.iter().take(if columns == 40 { 2 } else { 3 }) {
            assert!(!has(&lines, &format!("{label}  ")).contains('…'), "{lines:#?}");
        }
    }
}

#[test]
fn a_path_that_was_written_is_never_cut() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    let name = "a-name-of-a-run-that-is-rather-long-for-a-terminal";
    let to = ["--loop", "20", "--profiler", "--output", "out", "--output-dirname", name];
    let mut command = place.command(&[&["benchmark", digits.as_str()], &to[..]].concat());
    let text = end(command.env("COLUMNS", "80").env("LC_ALL", "C.UTF-8")).stdout;
    assert!(text.lines().count() <= 15, "{text}");
    let written = [format!("out/{name}"), format!("out/{name}_summary.json"), format!("out/profiler/{name}")];
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("written ")).collect();
    let shown: Vec<&str> = lines.iter().take(3).map(|line| line.get(11..).unwrap_or_default()).collect();
    assert!(shown == written || shown[0] == "out", "{text}");
    assert!(text.contains("next       opscope report out"), "{text}");
}

#[test]
fn a_percentile_is_shown_only_where_the_runs_carry_it() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    for (runs, percentile) in [("1", None), ("9", None), ("10", Some("P90")), ("99", Some("P90")), ("100", Some("P99"))]
    {
        let lines = screen(&place, None, &[&digits, "--loop", runs]);
        let inference = has(&lines, "inference  ");
        let shown = ["P90", "P99"].into_iter().find(|name| inference.contains(name));
        assert_eq!(shown, percentile, "{runs} runs: {inference}");
        let details = place.benchmark_well(&[&digits, "--loop", runs, "--details"]).stdout;
        let title = details.lines().find(|line| line.starts_with("milliseconds")).unwrap();
        assert_eq!(title.contains("P90"), percentile.is_some(), "{title}");
        assert!(
            !title.contains("P99.9") && details.contains("\ninference ") && details.contains("\ncopy in "),
            "{details}"
        );
    }
}

#[test]
fn long_names_are_cut_in_the_middle_their_common_path_is_there_once_and_a_pipe_cuts_nothing() {
    let place = Workplace::new();
    let path = "/a/module/with/a/very/long/name/as/exporters/like/them/";
    let names: Vec<String> = (0..9).map(|at| format!("{path}{at}/{}/Tanh", "layer".repeat(12))).collect();
    place.write("long.onnx", row_of(&names));
    for columns in [80, 120] {
        let lines = screen(&place, Some(columns), &["long.onnx", "--loop", "5"]);
        if engine::is_onnxruntime() {
            // ONNX Runtime fuses nothing here, and the times differ by less than their resolution of a microsecond. So
            // any order is possible.
            continue;
        }
        let at = lines.iter().position(|line| line.starts_with("slowest operators, in /a/")).unwrap();
        for line in &lines[at + 1..at + 4] {
            assert!(line.contains("/Tanh") && !line.contains("/a/module") && line.contains(" %"), "{lines:#?}");
        }
    }
    let lines = screen(&place, None, &["long.onnx", "--loop", "5"]);
    assert!(lines.iter().all(|line| !line.contains('…')), "{lines:#?}");
    has(&lines, &"layer".repeat(12));
}

#[test]
fn a_model_with_many_inputs_and_one_operator_has_a_screen() {
    let place = Workplace::new();
    let names: Vec<String> = (0..9).map(|at| format!("an_input_{at}")).collect();
    let inputs: Vec<onnx::Port<'_>> = names.iter().map(|name| (name.as_str(), &["2", "3"][..])).collect();
    let list: Vec<&str> = names.iter().map(String::as_str).collect();
    let nodes = [node("only", "Sum", &list, &["y"])];
    place.write("many.onnx", onnx::file("many", "a test", &inputs, &nodes, &[("y", &["2", "3"])]));
    for columns in [Some(80), Some(120), None] {
        let lines = screen(&place, columns, &["many.onnx", "--loop", "3"]);
        assert!(lines[0].starts_with("model      many.onnx, 1 operator, an_input_0 "), "{lines:#?}");
        assert_eq!(lines[0].contains(" more"), columns.is_some(), "{lines:#?}");
        has(&lines, "slowest operator");
    }
}

#[test]
fn a_table_of_shapes_fits_the_screen_and_says_how_many_it_lacks() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    let table = ["--dym-shape-range", "image:1~20,1,8,8", "--loop", "2"];
    let lines = screen(&place, Some(80), &[&[digits.as_str()], &table[..]].concat());
    assert_eq!(lines.len(), 15, "{lines:#?}");
    has(&lines, "samples/s");
    let rows = lines.iter().filter(|line| line.starts_with("image float32 [")).count();
    has(&lines, &format!("... and {} more sets of shapes; --details shows all", 20 - rows));
    let details = place.benchmark_well(&[&[digits.as_str(), "--details"], &table[..]].concat()).stdout;
    assert_eq!(details.lines().filter(|line| line.starts_with("image float32 [")).count(), 20, "{details}");
}

#[test]
fn runs_of_several_shapes_are_a_table_without_a_batch_shapes_or_operators_of_one_of_them() {
    let place = Workplace::new();
    for batch in [1, 3] {
        let image = Tensor::from_f32(vec![batch, 1, 8, 8], &vec![0.5; batch * 64]).unwrap();
        let mut file = Vec::new();
        npy::write(&image.view(), &mut file).unwrap();
        place.write(&format!("{batch}.npy"), file);
    }
    let digits = model("digits_cnn.onnx");
    let lines = screen(&place, Some(80), &[&digits, "--input", "1.npy,3.npy", "--loop", "2"]);
    assert!(has(&lines, "model ").ends_with("operators"), "{lines:#?}");
    let text = lines.join("\n");
    assert!(!text.contains(", batch ") && !text.contains("for the operators below"), "{text}");
    assert!(text.contains("[1, 1, 8, 8]") && text.contains("[3, 1, 8, 8]"), "{text}");
}

#[test]
fn a_profile_and_a_dump_say_where_they_are_and_what_comes_next() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    let to = |name: &'static str| ["--loop", "20", "--output", "out", "--output-dirname", name];
    let lines = screen(&place, Some(80), &[&[digits.as_str(), "--profiler"], &to("first")[..]].concat());
    has(&lines, "written    out/first, out/first_summary.json, out/profiler/first");
    assert!(has(&lines, "runs       20, ").ends_with("all with the profiler"), "{lines:#?}");
    has(&lines, "opscope report out");
    has(&lines, "Conv       █");
    let lines = screen(&place, Some(80), &[&[digits.as_str(), "--dump"], &to("values")[..]].concat());
    has(&lines, "exact (these are not the model's times)");
    has(&lines, "dump       out/dump/values (");
    has(&lines, "next       opscope inspect out/dump/values");
    assert!(!labels(&lines).contains(&"slowest"), "{lines:#?}");
}

#[test]
fn bars_are_ascii_where_the_locale_is_not_utf8() {
    let place = Workplace::new();
    let mut command = place.command(&["benchmark", &model("digits_cnn.onnx"), "--loop", "5"]);
    let text = end(command.env("LC_ALL", "C")).stdout;
    assert!(text.contains("Conv       #") && !text.contains('█'), "{text}");
}

#[test]
fn details_say_what_the_operators_come_from_and_another_tools_command_line_has_none_beside() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    let text = place.benchmark_well(&[&digits, "--loop", "5", "--details"]).stdout;
    for said in ["The following is of ", "Operator types by time", "throughput ", "samples/s at the median, 1 in a run"]
    {
        assert!(text.contains(said), "{said:?} is not in {text}");
    }
    let text = place.benchmark_well(&["-om", &digits, "--loop", "5"]).stdout;
    assert!(text.contains("NPU_compute_time") && !text.contains("The following is of "), "{text}");
    let together = place.benchmark_well(&[&digits, "--loop", "20", "--threads", "2", "--details"]).stdout;
    assert!(together.contains("samples/s of 2 runs at a time"), "{together}");
}

#[test]
fn tables_are_sorted_by_the_median_and_the_summary_has_both_throughputs() {
    let place = Workplace::new();
    let arguments = ["--loop", "30", "--profiler", "--output", "out", "--output-dirname", "run", "--json"];
    let report = place.benchmark_well(&[&[&*model("digits_cnn.onnx")], &arguments[..]].concat()).json();
    let account = &report["profile"]["account"];
    for rows in ["operators", "op_types"] {
        let medians: Vec<f64> =
            account[rows].as_array().unwrap().iter().map(|row| row["median_ns"].as_f64().unwrap()).collect();
        assert!(medians.is_sorted_by(|a, b| a >= b), "{rows}: {medians:?}");
    }
    let number = |name: &str| report[name].as_f64().unwrap();
    let time = |name: &str| report["NPU_compute_time"][name].as_f64().unwrap();
    assert!((number("throughput") * time("mean") / 1000.0 - 1.0).abs() < 1e-9);
    assert!((number("throughput_at_median") * time("median") / 1000.0 - 1.0).abs() < 1e-9);
    assert_eq!(report["beside"], serde_json::Value::Null);
}
