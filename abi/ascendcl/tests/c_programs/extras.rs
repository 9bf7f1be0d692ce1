//! What a dump contains besides tensors, and what opscope adds to it.

use std::fs;
use std::path::Path;

use opscope::profile::Recording;
use opscope_c_programs::{Printed, models};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::program;

const MODEL: &str = "fixtures/scalar.onnx";

/// Runs the program with this file. Returns what it printed.
fn run(config: &Value, how: &str, numbers: &[&str], answers: Option<&str>) -> Printed {
    let directory = TempDir::new().expect("a directory");
    let file = directory.path().join("acl.json");
    fs::write(&file, config.to_string()).expect("a file");
    let shape = format!("x:{}", numbers.len());
    let program = program("extras.c").inside(models()).argument(file.to_str().expect("UTF-8")).argument(how);
    let program = program.argument(MODEL).with("OPSCOPE_ACL_INPUT_SHAPE", shape);
    let program = program.arguments(numbers.iter().copied());
    answers.into_iter().fold(program, |program, answers| program.with("ANSWERS", answers)).run()
}

fn dump(more: Value) -> Value {
    let mut dump = json!({"dump_path": "/tmp", "dump_list": [{}]});
    dump.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    json!({"dump": dump})
}

#[test]
fn statistics_come_as_the_vendors_tables() {
    let of = |more| run(&dump(more), "set", &["1", "inf", "nan", "-2"], None).stdout;
    insta::assert_snapshot!(of(json!({"dump_data": "stats"})), @r"
    callback Mul.Mul_0.1.1..csv last
    Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,Negative Inf Count,Positive Inf Count
    Output,0,16,DT_FLOAT,ND,4,inf,-2,inf,4,1,0,1
    callback ReduceSum.ReduceSum_1.2.1..csv last
    Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,Negative Inf Count,Positive Inf Count
    Output,0,4,DT_FLOAT,ND,-,nan,nan,nan,1,1,0,0
    files 2, incomplete 0, chunks 2, lost 0
    ");
    let chosen = json!({"dump_data": "stats", "dump_mode": "all", "dump_stats": ["L2norm", "Max"]});
    insta::assert_snapshot!(of(chosen), @r"
    callback Mul.Mul_0.1.1..csv last
    Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value,l2norm
    Input,0,4,DT_FLOAT,ND,-,1,1,1
    Input,1,16,DT_FLOAT,ND,4,4,inf,inf
    Output,0,16,DT_FLOAT,ND,4,4,inf,inf
    callback ReduceSum.ReduceSum_1.2.1..csv last
    Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value,l2norm
    Input,0,16,DT_FLOAT,ND,4,4,inf,inf
    Output,0,4,DT_FLOAT,ND,-,1,nan,nan
    files 2, incomplete 0, chunks 2, lost 0
    ");
}

/// Numbers, and what numpy computes from them as `float32` in double precision: `nanmax`, `nanmin`, `nanmean`, the
/// number of elements, of NaN, of negative and of positive infinities, and the square root of `nansum` of the squares.
const NUMPY: [(&[&str], [f64; 8]); 6] = [
    (&["1.5", "-2.25", "0", "0.5"], [1.5, -2.25, -0.0625, 4.0, 0.0, 0.0, 0.0, 2.75]),
    (&["1.5", "inf", "nan", "-2.25", "0", "3"], [INF, -2.25, INF, 6.0, 1.0, 0.0, 1.0, INF]),
    (&["-inf", "2", "-0.75", "nan"], [2.0, -INF, -INF, 4.0, 1.0, 1.0, 0.0, INF]),
    (&["inf", "-inf", "1"], [INF, -INF, f64::NAN, 3.0, 0.0, 1.0, 1.0, INF]),
    (&["inf", "inf"], [INF, INF, INF, 2.0, 0.0, 0.0, 2.0, INF]),
    (
        &["3e38", "3e38", "-1e-38", "0.1"],
        [
            3.000_000_005_497_755_8e38,
            -9.999_999_350_456_404e-39,
            1.500_000_002_748_877_9e38,
            4.0,
            0.0,
            0.0,
            0.0,
            4.242_640_694_894_285_6e38,
        ],
    ),
];
const INF: f64 = f64::INFINITY;

#[test]
fn statistics_are_those_that_numpy_computes_also_with_infinities() {
    let all = ["Max", "Min", "Avg", "Nan", "Negative Inf", "Positive Inf", "L2norm"];
    for (numbers, [max, min, mean, count, nan, minus, plus, l2]) in NUMPY {
        let printed = run(&dump(json!({"dump_data": "stats", "dump_stats": all})), "set", numbers, None).stdout;
        let mut lines = printed.lines().skip_while(|line| !line.starts_with("callback Mul."));
        let [_, header, row] = [(); 3].map(|()| lines.next().unwrap_or_else(|| panic!("{printed}")));
        let names =
            header.strip_prefix("Input/Output,Index,Data Size,Data Type,Format,Shape,").expect("the first columns");
        let row = row.split(',').skip(6).map(|number| number.parse::<f64>().expect("a number"));
        let found: Vec<(&str, f64)> = names.split(',').zip(row).collect();
        let expected = [
            ("Count", count),
            ("Max Value", max),
            ("Min Value", min),
            ("Avg Value", mean),
            ("Nan Count", nan),
            ("Negative Inf Count", minus),
            ("Positive Inf Count", plus),
            ("l2norm", l2),
        ];
        assert_eq!(found.len(), expected.len(), "{printed}");
        for ((name, found), (expected_name, expected)) in found.into_iter().zip(expected) {
            assert_eq!(name, expected_name);
            let is_same = found == expected || (found.is_nan() && expected.is_nan());
            assert!(
                is_same || (found - expected).abs() <= 1e-14 * expected.abs(),
                "{name} of {numbers:?}: {found}, not {expected}"
            );
        }
    }
}

#[test]
fn only_operators_that_overflowed_are_dumped_and_each_says_so() {
    let of = |numbers: &[&str]| run(&dump(json!({"dump_debug": "on"})), "init", numbers, None).stdout;
    insta::assert_snapshot!(of(&["1", "2"]), @r"
    files 0, incomplete 0, chunks 0, lost 0
    ");
    insta::assert_snapshot!(of(&["1", "inf"]), @r"
    callback Mul.Mul_0.1.1. last
    callback Opdebug.Node_OpDebug.1.1. last
    1048 bytes of overflow, model 1, stream 1, task 1, status 1
    callback ReduceSum.ReduceSum_1.2.1. last
    callback Opdebug.Node_OpDebug.2.1. last
    1048 bytes of overflow, model 1, stream 1, task 2, status 1
    files 4, incomplete 0, chunks 4, lost 0
    ");
}

#[test]
fn a_subscriber_says_what_it_wants_of_what_follows() {
    let of = |answers| run(&dump(json!({})), "init", &["1", "2", "3", "4"], Some(answers));
    // The callbacks receive everything, nothing more of the first file, and nothing more at all.
    for (answers, expected) in [("0000", 4), ("1000", 3), ("0900", 2)] {
        let printed = of(answers);
        let got = printed.stdout.lines().filter(|line| line.starts_with("subscriber")).count();
        let all = printed.stdout.lines().filter(|line| line.starts_with("callback")).count();
        assert_eq!((got, all), (expected, 4), "{answers}: {printed:?}");
    }
}

#[test]
fn the_profiler_section_leaves_a_recording_of_each_model() {
    let output = TempDir::new().expect("a directory");
    let config = json!({"profiler": {"switch": "on", "output": output.path()}, "unknown": {}});
    let printed = run(&config, "init", &["1", "2"], None);
    assert_eq!(printed.stdout, "files 0, incomplete 0, chunks 0, lost 0\n");
    let recordings: Vec<_> = fs::read_dir(output.path()).expect("a directory").flatten().collect();
    // The program ran as C and as C++.
    assert_eq!(recordings.len(), 2);
    for recording in recordings {
        let name = recording.file_name().into_string().expect("UTF-8");
        let parts: Vec<&str> = name.split('_').collect();
        assert!(
            matches!(parts[..], ["PROF", "000001", time, letters] if time.len() == 17 && letters.len() == 16),
            "{name}"
        );
        assert!(is_of_one_run(&recording.path()), "{name}");
    }
}

fn is_of_one_run(recording: &Path) -> bool {
    let account = Recording::open(recording).expect("a recording").account().expect("it can be read");
    account.complete && account.runs.measured == 1 && !account.operators.is_empty()
}
