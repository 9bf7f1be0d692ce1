//! What a dump makes beside tensors, and what opscope adds to it.

use std::fs;
use std::path::Path;

use opscope::profile::Recording;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::models::models;
use super::support::{Printed, program};

const MODEL: &str = "fixtures/scalar.onnx";

/// Runs the program with this file. Returns what it printed.
fn run(config: &Value, how: &str, numbers: &[&str], answers: Option<&str>) -> Printed {
    let directory = TempDir::new().expect("a directory");
    let file = directory.path().join("acl.json");
    fs::write(&file, config.to_string()).expect("a file");
    let shape = format!("x:{}", numbers.len());
    let program = program("extras.c").inside(models()).argument(file.to_str().expect("UTF-8")).argument(how);
    let program = program.argument(MODEL).with("OPSCOPE_ACL_INPUT_SHAPE", shape);
    let program = numbers.iter().fold(program, |program, number| program.argument(*number));
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

#[test]
fn only_operators_that_overflowed_are_dumped_and_each_says_so() {
    let of = |numbers: &[&str]| run(&dump(json!({"dump_debug": "on"})), "init", numbers, None).stdout;
    insta::assert_snapshot!(of(&["1", "2"]), @r"
    files 0, incomplete 0, chunks 0, lost 0
    ");
    insta::assert_snapshot!(of(&["1", "inf"]), @r"
    callback Mul.Mul_0.1.1. last
    callback Opdebug.Node_OpDebug.1.1. last
    1048 bytes of overflow, status 1
    callback ReduceSum.ReduceSum_1.2.1. last
    callback Opdebug.Node_OpDebug.2.1. last
    1048 bytes of overflow, status 1
    files 4, incomplete 0, chunks 4, lost 0
    ");
}

#[test]
fn a_subscriber_says_what_it_wants_of_what_follows() {
    let of = |answers| run(&dump(json!({})), "init", &["1", "2", "3", "4"], Some(answers));
    // Everything; nothing more of the first file; nothing more at all.
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
