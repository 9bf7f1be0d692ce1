//! `opscope export --format parquet` and `opscope export --into`: tables that other programs read.

mod process;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::file::reader::{FileReader, SerializedFileReader};
use process::{Ended, Workplace, csv, end, model};
use serde_json::Value;

type Table = BTreeMap<String, Vec<Value>>;

/// Reads the columns of a table. Missing values are null.
fn table(path: &Path) -> Table {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let mut columns = Table::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).unwrap();
        let rows = usize::try_from(group.metadata().num_rows()).unwrap();
        for index in 0..group.num_columns() {
            let descriptor = group.metadata().column(index).column_descr_ptr();
            let (optional, mut levels) = (descriptor.max_def_level() == 1, Vec::new());
            let defined = optional.then_some(&mut levels);
            let values: Vec<Value> = match group.get_column_reader(index).unwrap() {
                ColumnReader::Int64ColumnReader(mut reader) => {
                    let mut values = Vec::new();
                    reader.read_records(rows, defined, None, &mut values).unwrap();
                    values.into_iter().map(Value::from).collect()
                }
                ColumnReader::DoubleColumnReader(mut reader) => {
                    let mut values = Vec::new();
                    reader.read_records(rows, defined, None, &mut values).unwrap();
                    values.into_iter().map(Value::from).collect()
                }
                ColumnReader::BoolColumnReader(mut reader) => {
                    let mut values = Vec::new();
                    reader.read_records(rows, defined, None, &mut values).unwrap();
                    values.into_iter().map(Value::from).collect()
                }
                ColumnReader::ByteArrayColumnReader(mut reader) => {
                    let mut values: Vec<ByteArray> = Vec::new();
                    reader.read_records(rows, defined, None, &mut values).unwrap();
                    values.into_iter().map(|text| Value::from(text.as_utf8().unwrap())).collect()
                }
                _ => panic!("{} has a type that no table has", descriptor.name()),
            };
            let mut values = values.into_iter();
            let column = columns.entry(descriptor.name().to_owned()).or_default();
            if optional {
                column
                    .extend(levels.iter().map(|level| if *level == 1 { values.next().unwrap() } else { Value::Null }));
            } else {
                column.extend(values);
            }
        }
    }
    columns
}

/// Records a model. Returns the recording's directory.
fn record(place: &Workplace, file: &str, run: &str, more: &[&str]) -> String {
    let fixed = [file, "--profiler", "--output", "out", "--output-dirname", run, "--quiet"];
    place.benchmark_well(&[&fixed, more].concat());
    format!("out/profiler/{run}")
}

/// Returns the tables of a set, as their files' paths.
fn files(place: &Workplace, set: &str) -> Vec<String> {
    place.tree(set).into_iter().filter(|path| path.ends_with(".parquet")).collect()
}

fn rows(table: &Table) -> usize {
    table.values().next().map_or(0, Vec::len)
}

/// Returns nanoseconds as the CSV tables write them.
fn micros(nanos: &Value) -> String {
    let nanos = nanos.as_u64().unwrap();
    format!("{}.{:03}", nanos / 1000, nanos % 1000)
}

#[test]
fn the_tables_of_a_recording_say_what_its_csv_tables_say() {
    let place = Workplace::new();
    let recording = record(&place, &model("tiny_transformer.onnx"), "r", &["--loop", "7"]);
    let ended = place.export(&[&recording, "--format", "parquet", "--output", "tables", "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.json().as_array().unwrap().len(), 6);

    let summary = csv(&place.text(&format!("{recording}/op_summary.csv")));
    let dispatches = table(&place.path("tables/dispatches.parquet"));
    assert_eq!(rows(&dispatches), summary.len() - 1);
    let column = |name: &str| summary[0].iter().position(|title| title == name).unwrap();
    for (row, line) in summary[1..].iter().enumerate() {
        let cell = |name: &str| line[column(name)].trim_end_matches('\t').to_owned();
        let value = |name: &str| &dispatches[name][row];
        assert_eq!(cell("Op Name"), *value("operator"), "row {row}");
        assert_eq!(cell("OP Type"), *value("op_type"), "row {row}");
        assert_eq!(cell("Task Start Time(us)"), micros(value("start")), "row {row}");
        assert_eq!(cell("Task Duration(us)"), micros(value("duration_ns")), "row {row}");
        assert_eq!(cell("Task Wait Time(us)"), micros(value("wait_ns")), "row {row}");
        for (name, csv) in [("run", "Run"), ("plan", "Model ID"), ("kernel", "Task ID"), ("thread", "Stream ID")] {
            assert_eq!(cell(csv), value(name).to_string(), "row {row}");
        }
        assert_eq!(cell("Warm Up") == "no", value("measured").as_bool().unwrap(), "row {row}");
        assert!(value("path").is_null());
    }

    // The times of the operators add up to those of their types.
    let operators = table(&place.path("tables/operators.parquet"));
    let statistic = csv(&place.text(&format!("{recording}/op_statistic.csv")));
    for line in &statistic[1..] {
        let of_type = |name: &str| -> u64 {
            let rows = operators["op_type"].iter().zip(&operators[name]).filter(|(op_type, _)| **op_type == line[2]);
            rows.map(|(_, value)| value.as_u64().unwrap()).sum()
        };
        assert_eq!(line[4], of_type("dispatches").to_string());
        assert_eq!(line[5], micros(&of_type("total_duration_ns").into()));
    }
    let runs = table(&place.path("tables/runs.parquet"));
    assert_eq!(runs["measured"].iter().filter(|measured| **measured == true).count(), 7);
    assert!(rows(&table(&place.path("tables/counters.parquet"))) > 0);
    assert_eq!(rows(&table(&place.path("tables/marks.parquet"))), 0);
    let about = table(&place.path("tables/recordings.parquet"));
    let manifest = place.json(&format!("{recording}/manifest.json"));
    assert_eq!(about["host_name"], [manifest["host"]["name"].clone()]);
    assert_eq!(about["start"], [manifest["clock"]["start_unix_ns"].clone()]);
    assert_eq!((&about["complete"][0], &about["model_name"][0]), (&true.into(), &"tiny_transformer".into()));
    assert_eq!(about["recording"][0], dispatches["recording"][0]);

    let again = place.export(&[&recording, "--format", "parquet", "--output", "tables"]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), ""), "{again:?}");
    again.says(&["tables/runs.parquet exists already and stays as it is"]);
}

#[test]
fn the_table_of_a_dump_says_what_its_index_says() {
    let place = Workplace::new();
    place.benchmark_well(&[&model("torch/network.onnx"), "--dump", "--output", "out", "--output-dirname", "d"]);
    let ended = place.export(&["out/dump/d", "--format", "parquet"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let tensors = table(&place.path("out/dump/d/tensors.parquet"));
    let index = place.json_lines("out/dump/d/index.jsonl");
    assert_eq!(rows(&tensors), index.len());
    for (row, line) in index.iter().enumerate() {
        for name in ["run", "operator", "op_type", "position", "io", "slot", "value", "dtype", "min", "max", "mean"] {
            assert_eq!(tensors[name][row], line[name], "{name} of row {row}");
        }
        for name in ["nan", "inf", "xxh3", "module", "class"] {
            assert_eq!(tensors[name][row], line[name], "{name} of row {row}");
        }
        let [place, code] = tensors["source"][row].as_str().unwrap().splitn(2, "  ").collect::<Vec<_>>()[..] else {
            panic!("{} has no line of code", tensors["source"][row]);
        };
        assert_eq!(line["source"]["code"], code);
        assert!(place.ends_with(&format!(":{}", line["source"]["line"])), "{place}");
        assert_eq!(tensors["size_bytes"][row], line["bytes"]);
        let shape: Vec<String> = line["shape"].as_array().unwrap().iter().map(Value::to_string).collect();
        assert_eq!(tensors["shape"][row], shape.join(","));
    }
}

#[test]
fn a_recording_enters_a_set_once_also_when_two_processes_append_it_at_the_same_time() {
    let place = Workplace::new();
    let names = ["a", "b", "c"].map(|run| record(&place, &model("digits_cnn.onnx"), run, &["--loop", "20"]));
    let all: Vec<&str> = ["export", "--into", "set"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let mut processes: Vec<_> = (0..3).map(|_| place.command(&all)).collect();
    let running: Vec<_> = processes.iter_mut().map(|process| process.stdout(Stdio::null()).spawn().unwrap()).collect();
    for process in running {
        assert!(process.wait_with_output().unwrap().status.success());
    }
    for name in ["recordings", "runs", "dispatches", "operators", "counters"] {
        let of_table = files(&place, &format!("set/{name}"));
        assert_eq!(of_table.len(), 3, "{of_table:?}");
        assert!(of_table[0].contains("/model=digits_cnn/host="), "{of_table:?}");
    }
    assert!(!place.path("set/marks").exists(), "nothing was marked");
    assert!(place.tree("set/.parts").is_empty());

    let before = files(&place, "set");
    let again = end(&mut place.command(&all));
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), ""), "{again:?}");
    again.says(&["out/profiler/a is in the set already and stays as it is: set/recordings/date="]);
    again.says(&["note: 0 of ", " recordings added to set: 0 files, 0 B; ", " were there already"]);
    let quiet = end(&mut place.command(&[&all[..], &["--quiet"]].concat()));
    assert_eq!((quiet.code, quiet.stdout.as_str(), quiet.stderr.as_str()), (Some(0), "", ""), "{quiet:?}");
    // A copy is the same recording.
    let copied = place.path("moved");
    std::fs::create_dir(&copied).unwrap();
    for file in ["manifest.json", "names.jsonl", "records.bin"] {
        std::fs::copy(place.path(&format!("out/profiler/b/{file}")), copied.join(file)).unwrap();
    }
    place.export(&["moved", "--into", "set"]).says(&["moved is in the set already"]);
    assert_eq!(files(&place, "set"), before);
}

#[test]
fn an_export_that_is_killed_leaves_nothing_that_readers_see_and_the_next_one_repairs_it() {
    let place = Workplace::new();
    let recording = record(&place, &model("digits_cnn.onnx"), "long", &["--loop", "8000"]);
    let arguments = ["export", &recording, "--into", "set", "--quiet"];
    let mut running = place.command(&arguments).stdout(Stdio::null()).spawn().unwrap();
    while place.tree("set/.parts").len() < 6 {
        assert!(running.try_wait().unwrap().is_none(), "it ended before it could be killed");
        std::thread::yield_now();
    }
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(files(&place, "set").is_empty());
    assert_eq!(place.tree("set/.parts").len(), 6);

    assert_eq!(end(&mut place.command(&arguments)).code, Some(0));
    let whole = files(&place, "set");
    assert!(place.tree("set/.parts").is_empty(), "what the killed process left is removed");
    let dispatches = whole.iter().find(|path| path.starts_with("dispatches")).unwrap();
    let expected = rows(&table(&place.path("set").join(dispatches)));

    // As if the process was killed while files got their names: the last ones are missing.
    for path in whole.iter().filter(|path| path.starts_with("recordings") || path.starts_with("operators")) {
        std::fs::remove_file(place.path("set").join(path)).unwrap();
    }
    assert_eq!(end(&mut place.command(&arguments)).code, Some(0));
    assert_eq!(files(&place, "set"), whole);
    assert_eq!(rows(&table(&place.path("set").join(dispatches))), expected);
}

#[test]
fn names_of_models_and_hosts_stay_within_the_set() {
    let place = Workplace::new();
    let file = place.path("date=1 %2F é.onnx");
    std::fs::copy(model("digits_cnn.onnx"), &file).unwrap();
    let recording = record(&place, file.to_str().unwrap(), "r", &["--loop", "2"]);
    let mut manifest = place.json(&format!("{recording}/manifest.json"));
    manifest["host"]["name"] = "../../../../escaped".into();
    place.write(&format!("{recording}/manifest.json"), manifest.to_string());
    assert_eq!(place.export(&[&recording, "--into", "set"]).code, Some(0));
    for path in files(&place, "set") {
        let parts: Vec<&str> = path.split('/').collect();
        assert_eq!(parts.len(), 5, "{path}");
        assert!(
            parts[2].starts_with("model=date_1__2F__-") && parts[3].starts_with("host=.._.._.._.._escaped-"),
            "{path}"
        );
    }
    let about = files(&place, "set/recordings");
    let about = table(&place.path("set/recordings").join(&about[0]));
    assert_eq!(about["model_name"][0], "date=1 %2F é");
    assert_eq!(about["host_name"][0], "../../../../escaped");
}

#[test]
fn an_incomplete_recording_is_exported_with_what_it_has_and_says_so() {
    let place = Workplace::new();
    let recording = record(&place, &model("digits_cnn.onnx"), "r", &["--loop", "5"]);
    let mut manifest = place.json(&format!("{recording}/manifest.json"));
    manifest["complete"] = false.into();
    manifest["incomplete_because"] = serde_json::json!(["the lamp went out"]);
    place.write(&format!("{recording}/manifest.json"), manifest.to_string());
    let ended = place.export(&[&recording, "--into", "set"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    ended.says(&["the recording is incomplete: the lamp went out"]);
    let about = table(&place.path("set/recordings").join(&files(&place, "set/recordings")[0]));
    assert_eq!(about["complete"], [Value::from(false)]);
    assert_eq!(about["incomplete_because"], [Value::from("the lamp went out")]);
}

#[test]
fn what_cannot_become_tables_is_refused_with_what_would_be_right() {
    let place = Workplace::new();
    let recording = record(&place, &model("digits_cnn.onnx"), "r", &["--loop", "1"]);
    place.benchmark_well(&[&model("digits_cnn.onnx"), "--dump", "--output", "out", "--output-dirname", "d"]);
    let refused = |arguments: &[&str], says: &[&str]| {
        let ended: Ended = place.export(arguments);
        ended.refused(2, says);
    };
    place.write("letters/a.txt", "text");
    refused(&["letters", "--format", "parquet"], &["a recording or a dump would be right"]);
    refused(&[&recording, &recording], &["2 recordings are given", "--into DIR"]);
    refused(&["out/dump/d", "--into", "set"], &["out/dump/d/manifest.json has schema 'opscope.dump/1'"]);
    refused(&[&recording, "nowhere", "--into", "set"], &["nowhere holds no recording"]);
    refused(&[&recording, "--into", "set", "--format", "csv"], &["a set holds Parquet tables, not csv"]);
    assert!(!place.path("set").exists(), "a wrong path adds nothing");
    place.write("file", "text");
    let ended = place.export(&[&recording, "--into", "file"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    ended.says(&["could not create file/.parts"]);
}

#[test]
fn the_operators_of_an_exported_network_have_their_module_class_and_source() {
    let place = Workplace::new();
    let network = model("torch/network.onnx");
    place.benchmark_well(&[&network, "--output", "out", "--output-dirname", "first", "--loop", "3", "--profiler"]);
    let ended = place.export(&["out/profiler/first", "--format", "parquet"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let file = place.tree("out/profiler/first").into_iter().find(|file| file.ends_with("operators.parquet")).unwrap();
    let operators = table(&place.path("out/profiler/first").join(file));
    let row = operators["operator"].iter().position(|name| name == "node_softmax").unwrap();
    assert_eq!(operators["module"][row], "layers.0.attn");
    assert_eq!(operators["class"][row], "train_lib.attention.Attention");
    assert_eq!(operators["source"][row], "train_lib/attention.py:18  attn = torch.softmax(scores, -1)");
    let log = operators["operator"].iter().position(|name| name == "node_log").unwrap();
    assert_eq!(operators["module"][log], Value::Null, "it lies in no module");
}
