use std::fs;
use std::path::Path;

use opscope_profile::{Format, Recording};

use crate::ThreeOperators;

fn exported(recording: &Recording, format: Format, into: &Path, file: &str) -> String {
    let written = recording.export(format, into).unwrap().written;
    assert!(written.contains(&into.join(file)), "{written:?}");
    fs::read_to_string(into.join(file)).unwrap()
}

#[test]
fn the_table_of_dispatches_has_microseconds() {
    let root = tempfile::tempdir().unwrap();
    let recording = ThreeOperators::new().recorded(&root.path().join("recording"));
    let table = exported(&recording, Format::Csv, root.path(), "op_summary.csv");
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let titles = lines.next().unwrap();
    let column = |title: &str| titles.iter().position(|other| *other == title).unwrap();
    let wanted = [
        column("Task Start Time(us)"),
        column("Task Duration(us)"),
        column("Task Wait Time(us)"),
        column("Run"),
        column("Warm Up"),
    ];
    // Shapes contain commas, so these columns are before them or are counted from the end.
    let rows: Vec<Vec<String>> = lines
        .map(|cells| {
            let at = |index: usize| if index < 13 { index } else { cells.len() - titles.len() + index };
            wanted.iter().map(|index| cells[at(*index)].to_owned()).collect()
        })
        .collect();
    assert_eq!(rows.len(), 36);
    // The warm-up run comes first.
    assert_eq!(rows[0][3..], ["100", "yes"]);
    assert_eq!(rows[3 * 4], ["1600000000000004.003\t", "0.004", "0.003", "3", "no"]);
    assert_eq!(rows[3 * 4 + 1], ["1600000000000004.009\t", "0.020", "0.002", "3", "no"]);
    assert_eq!(rows[3 * 4 + 2], ["1600000000000004.034\t", "0.130", "0.005", "3", "no"]);
}

#[test]
fn the_tables_of_types_and_calls_have_sums_extremes_and_variance() {
    let root = tempfile::tempdir().unwrap();
    let recording = ThreeOperators::new().recorded(&root.path().join("recording"));
    let types = exported(&recording, Format::Csv, root.path(), "op_statistic.csv");
    let row = |table: &str, name: &str| {
        table.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}: {table}")).to_owned()
    };
    // 1,650 of 1,936 ns.
    let model = row(&types, ",Mystery,").split(',').nth(1).unwrap().to_owned();
    assert_eq!(row(&types, ",Mystery,"), format!("0,{model},Mystery,CPU,11,1.650,0.100,0.150,0.200,85.227,Mystery,no"));
    assert_eq!(row(&types, ",MatMul,"), format!("0,{model},MatMul,CPU,11,0.066,0.001,0.006,0.011,3.409,MatMul,no"));
    let calls = fs::read_to_string(root.path().join("api_statistic.csv")).unwrap();
    // Warm-up runs are calls, too: one of 1,238 ns, and 138 to 248.
    assert_eq!(row(&calls, ",run,"), "0,engine,run,3.361,12,0.280,0.138,1.238,0.085");
    assert_eq!(row(&calls, ",upload,"), "0,engine,upload,0.156,12,0.013,0.013,0.013,0.000");
    assert_eq!(row(&calls, ",download,"), "0,engine,download,0.204,12,0.017,0.017,0.017,0.000");
    assert_eq!(row(&calls, ",copy_in,"), "0,memory,copy_in,0.156,12,0.013,0.013,0.013,0.000");
    assert_eq!(row(&calls, ",copy_out,"), "0,memory,copy_out,0.204,12,0.017,0.017,0.017,0.000");
}

#[test]
fn events_of_a_timeline_have_microseconds() {
    let root = tempfile::tempdir().unwrap();
    let recording = ThreeOperators::new().recorded(&root.path().join("recording"));
    let timeline = exported(&recording, Format::Chrome, root.path(), "timeline.json");
    let events: Vec<serde_json::Value> = serde_json::from_str(&timeline).unwrap();
    let times = |cat: &str, name: &str| {
        let is_it = |event: &&serde_json::Value| {
            event["cat"] == cat && event["args"]["run"] == 3 && event["name"].as_str().unwrap().contains(name)
        };
        let event = events.iter().find(is_it).unwrap_or_else(|| panic!("no {cat} {name}"));
        (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap())
    };
    assert_eq!(times("run", "run 3"), (4.0, 0.171));
    assert_eq!(times("operator", "MatMul"), (4.003, 0.004));
    assert_eq!(times("operator", "Add"), (4.009, 0.020));
    assert_eq!(times("operator", "last"), (4.034, 0.130));
    assert_eq!(times("copy", "copy_in"), (3.950, 0.013));
    assert_eq!(times("copy", "copy_out"), (4.172, 0.017));
}
