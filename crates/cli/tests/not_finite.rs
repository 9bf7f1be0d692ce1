//! NaN and infinity in a model's outputs are reported, with the command that finds where they come from.

mod process;

use std::path::Path;
use std::process::{Command, Stdio};

use opscope::tensor::{Tensor, npy};
use process::{Ended, Workplace, end, fixture, model, onnx};
use serde_json::Value;

const NAN: [&str; 2] = ["nan.onnx", "nan.input.x.npy"];

/// Returns a directory with a model whose logarithm computes NaN, and its input. A shell has to quote the directory's
/// name.
fn place() -> Workplace {
    let place = Workplace::new();
    for name in NAN {
        place.write(&format!("it's here/{name}"), std::fs::read(fixture(name)).unwrap());
    }
    place
}

const MODEL: [&str; 3] = ["it's here/nan.onnx", "--input", "it's here/nan.input.x.npy"];

/// Returns the command that a warning prints.
fn command(ended: &Ended) -> String {
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.contains("NaN")).collect();
    let [line] = lines[..] else { panic!("one line says it: {ended:?}") };
    let (_, command) = line.split_once("; find the operator with: ").unwrap_or_else(|| panic!("{line}"));
    command.to_owned()
}

/// Runs a command as if a user had pasted it into a shell.
fn pasted(place: &Workplace, command: &str) -> Ended {
    let program = Path::new(env!("CARGO_BIN_EXE_opscope")).parent().unwrap().display();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("PATH={program}:$PATH; {command}")).current_dir(place.path(""));
    end(shell.stdin(Stdio::null()).env("OPSCOPE_ENGINE", process::engine::name()))
}

#[test]
fn a_benchmark_names_the_output_and_the_command_that_finds_the_operator() {
    let place = place();
    let ended =
        place.benchmark_well(&[&MODEL[..], &["--loop", "5", "--output", "out", "--output-dirname", "r"]].concat());
    assert!(
        ended.stderr.contains(
            "in run 0, output y has 1 NaN and 1 infinite among its 3 elements, and so does 1 more output; find the operator"
        ),
        "{ended:?}"
    );
    let found = pasted(&place, &command(&ended));
    assert!(found.stdout.contains("Breakpoint 1, after #1 log (Log), run 0: output[0] b has 1 NaN"), "{found:?}");
    let summary = &place.json("out/r_summary.json")["not_finite"];
    assert_eq!(summary["command"], command(&ended));
    let output = |name: &str, nan: u64| serde_json::json!({ "output": name, "nan": nan, "infinite": 1, "elements": 3 });
    assert_eq!(summary["outputs"], Value::from(vec![output("y", 1), output("z", 0)]));
}

#[test]
fn the_command_runs_what_ran_whatever_batch_was_wished_for_and_in_whatever_order_files_stood() {
    let place = place();
    let ended = place.benchmark_well(&[&MODEL[..], &["--batch-size", "8", "--loop", "1"]].concat());
    let found = pasted(&place, &command(&ended));
    assert!(found.stdout.contains("after #1 log (Log)"), "{}: {found:?}", command(&ended));
    // In another tool's spelling, files follow the order of the inputs, and the last option counts.
    let dims: &[&str] = &["3"];
    let nodes = [onnx::node("log", "Log", &["first"], &["l"]), onnx::node("sum", "Add", &["l", "second"], &["s"])];
    let file = onnx::file("two", "a test", &[("first", dims), ("second", dims)], &nodes, &[("s", dims)]);
    place.write("two.onnx", file);
    let array = |elements: [f32; 3]| {
        let mut file = Vec::new();
        npy::write(&Tensor::from_f32(vec![3], &elements).unwrap().view(), &mut file).unwrap();
        file
    };
    place.write("second.npy", array([-1.0, 1.0, 1.0]));
    place.write("first.npy", array([1.0, 1.0, 1.0]));
    let crossed = ["-om", "two.onnx", "-i", "first.npy,second.npy", "-i", "second.npy,first.npy"];
    let ended = place.benchmark_well(&crossed);
    let found = pasted(&place, &command(&ended));
    assert!(found.stdout.contains("after #0 log (Log)"), "{}: {found:?}", command(&ended));
}

#[test]
fn a_dump_says_it_too() {
    let place = place();
    let line = ["--dump", "--output", "out", "--output-dirname", "r"];
    let ended = place.benchmark_well(&[&MODEL[..], &line[..]].concat());
    assert!(pasted(&place, &command(&ended)).stdout.contains("after #1 log (Log)"), "{ended:?}");
    assert_eq!(place.json("out/r_summary.json")["not_finite"]["run"], 0);
}

#[test]
fn the_command_has_the_options_of_the_run_and_gets_to_the_set_of_inputs() {
    let place = place();
    let array = |elements: [f32; 3]| {
        let mut file = Vec::new();
        npy::write(&Tensor::from_f32(vec![3], &elements).unwrap().view(), &mut file).unwrap();
        file
    };
    place.write("in/0.npy", array([1.0, 2.0, 3.0]));
    place.write("in/1.npy", array([4.0, -2.0, 3.0]));
    let line = ["it's here/nan.onnx", "--input", "in", "--auto-set-dymshape-mode", "--engine-threads", "1"];
    let ended = place.benchmark_well(&line);
    assert!(ended.stderr.contains("in run 1, output y has 1 NaN among its 3 elements;"), "{ended:?}");
    assert!(command(&ended).ends_with("-ex 'catch nan' -ex 'run 2'"), "{ended:?}");
    let found = pasted(&place, &command(&ended)).stdout;
    assert!(found.contains("Run 0 ended") && found.contains("after #1 log (Log), run 1"), "{found}");

    let random = ["it's here/nan.onnx", "--pure-data-type", "zero", "--dym-shape", "x:4", "--load-budget", "2"];
    let ended = place.benchmark_well(&random);
    assert!(ended.stderr.contains("4 infinite among its 4 elements"), "{ended:?}");
    let words = "nan.onnx' --pure-data-type=zero --load-budget=2 --dym-shape=x:4 -ex 'catch inf' -ex run";
    assert!(ended.stderr.contains(words), "{ended:?}");
}

#[test]
fn finite_outputs_are_not_mentioned() {
    let place = Workplace::new();
    let ended = place.benchmark_well(&[&model("digits_cnn.onnx"), "--json"]);
    assert_eq!((ended.stderr.as_str(), &ended.json()["not_finite"]), ("", &Value::Null));
}
